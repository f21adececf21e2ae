"""`prompt` for a client that shows no forms: the guard asks in `claw approvals`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from clawkit.guard.approvals import Answer, Ask
from clawkit.guard.approvals_view import View, rule_of, write_rule
from clawkit.guard.places import approvals_socket
from clawkit.settings import settings
from tests.guard.approving import until
from tests.guard.guarding import Guarded, guarded
from tests.guard.test_prompt_rules import POLICY, deletions


@pytest.fixture
def socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where guards ask, in a home with a short path, as sockets need it."""
    with TemporaryDirectory(prefix="claw-") as folder:
        monkeypatch.setenv("CLAW_HOME", folder)
        settings.cache_clear()
        yield approvals_socket()
    settings.cache_clear()


@pytest.fixture
def view(socket: Path) -> Iterator[View]:
    with View(socket) as opened:
        yield opened


def send(guard: Guarded, number: int, path: str = "/work/a") -> None:
    params = {"name": "delete_file", "arguments": {"path": path}}
    guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def asked(view: View) -> Ask:
    until(view.asks)
    return view.asks()[0]


@pytest.mark.parametrize(("said", "passes"), [("once", True), ("session", True), ("deny", False)])
def test_the_view_decides(said: Answer, passes: bool, view: View, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        ask = asked(view)
        assert (ask.server, ask.tool, ask.client) == ("files", "delete_file", "tester/7")
        assert "/work/a" in ask.arguments
        assert deletions(guard) == 0
        assert view.answer(ask.id, said)
        assert ("result" in guard.receive()) is passes
        assert deletions(guard) == int(passes)


def test_always_writes_a_rule_and_the_rule_allows_the_call(view: View, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        ask = asked(view)
        write_rule(ask, rule_of(ask))
        assert view.answer(ask.id, "always")
        assert guard.receive()["result"]
        send(guard, 2)
        assert guard.receive()["result"]
        send(guard, 3, "/work/b")
        assert asked(view).call == {
            "method": "tools/call",
            "tool": "delete_file",
            "arguments": {"path": "/work/b"},
        }
        assert "/work/a" in guard.policy.read_text()


def test_a_view_that_closes_denies_what_waits(socket: Path, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize()
        with View(socket) as view:
            send(guard, 1)
            asked(view)
        assert guard.receive()["error"]["code"] == -32001


def test_nobody_answering_in_the_view_is_a_no_in_the_end(view: View, tmp_path: Path) -> None:
    policy = POLICY.replace("prompt_timeout = 20", "prompt_timeout = 0.5")
    with guarded(tmp_path, policy) as guard:
        guard.initialize()
        send(guard, 1)
        asked(view)
        assert "in time" in guard.receive()["error"]["message"]
