"""`prompt` for a client that shows no forms: the guard asks in `claw approvals`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from clawkit.errors import PolicyError
from clawkit.guard.approval_answers import rule_of
from clawkit.guard.approval_window import ApprovalWindow
from clawkit.guard.approvals import Answer, Ask, has_window
from clawkit.guard.locations import approvals_folder
from clawkit.settings import settings
from tests.claw import claw
from tests.guard.approvals import until
from tests.guard.guarded_server import ALLOW_ALL, Guarded, guarded
from tests.guard.test_approvals_are_exact import asks
from tests.guard.test_prompt_rules import (
    ELICITS,
    MODERN_META,
    POLICY,
    answer,
    approve,
    deletions,
    modern,
)


@pytest.fixture
def socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where guards ask, in a home with a short path, as sockets need it."""
    with TemporaryDirectory(prefix="claw-") as folder:
        monkeypatch.setenv("CLAW_HOME", folder)
        settings.cache_clear()
        yield approvals_folder()
    settings.cache_clear()


@pytest.fixture
def view(socket: Path) -> Iterator[ApprovalWindow]:
    with ApprovalWindow(socket) as opened:
        yield opened


def send(guard: Guarded, number: int, path: str = "/work/a", **more: Any) -> None:
    params = {"name": "delete_file", "arguments": {"path": path, **more}}
    guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})


def asked(view: ApprovalWindow) -> Ask:
    until(view.asks)
    return view.asks()[0]


@pytest.mark.parametrize(("said", "passes"), [("once", True), ("session", True), ("deny", False)])
def test_the_view_decides(said: Answer, passes: bool, view: ApprovalWindow, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        ask = asked(view)
        assert (ask.server, ask.tool, ask.client) == ("files", "delete_file", "tester/7")
        assert ask.call["arguments"] == {"path": "/work/a"}
        assert deletions(guard) == 0
        assert view.answer(ask.id, said)
        assert ("result" in guard.receive()) is passes
        assert deletions(guard) == int(passes)


def test_always_writes_a_rule_and_the_rule_allows_the_call(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        ask = asked(view)
        assert view.answer(ask.id, "always", rule=rule_of(ask))
        assert guard.receive()["result"]
        send(guard, 2)
        assert guard.receive()["result"]
        send(guard, 3, "/work/b")
        assert asked(view).call["arguments"] == {"path": "/work/b"}
        assert "/work/a" in guard.policy.read_text()


def test_always_is_for_this_call_without_other_arguments(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1, options={"dry_run": True})
        ask = asked(view)
        assert view.answer(ask.id, "always", rule=rule_of(ask))
        assert guard.receive()["result"]
        send(guard, 2, options={"dry_run": True}, force=True)
        more = asked(view)
        assert more.call["arguments"]["force"] is True
        assert view.answer(more.id, "deny")
        assert guard.receive()["error"]["code"] == -32001
        assert deletions(guard) == 1


def test_what_stands_outside_the_arguments_is_shown_and_no_rule_says_it(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        params = {"name": "delete_file", "arguments": {"path": "/work/a"}, "input": {"force": True}}
        guard.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        ask = asked(view)
        assert ask.call["outside"] == [{"input": {"force": True}}]
        with pytest.raises(PolicyError, match="outside the arguments"):
            rule_of(ask)


def test_a_view_that_closes_denies_what_waits(socket: Path, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize()
        with ApprovalWindow(socket) as view:
            send(guard, 1)
            asked(view)
        assert guard.receive()["error"]["code"] == -32001


def test_nobody_answering_in_the_view_is_a_no_in_the_end(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    policy = POLICY.replace("prompt_timeout = 20", "prompt_timeout = 0.5")
    with guarded(tmp_path, policy) as guard:
        guard.initialize()
        send(guard, 1)
        asked(view)
        assert "in time" in guard.receive()["error"]["message"]


LONG = f"{'harmless ' * 100}; rm -rf / ; {'harmless ' * 100}"
HIDING = (
    {"path": LONG},
    {f"a{n}": n for n in range(40)},
    {"x" * 3000: 1},
    {"path": "\u202e" * 400},
    {"deep": [[[[[[[[[[[[[[1]]]]]]]]]]]]]]},
)
REFERRED = "decide in claw approvals"


def test_what_a_form_has_no_room_for_is_decided_in_the_view(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        send(guard, 1, LONG)
        form = guard.receive()
        assert "claw approvals" in form["params"]["message"]
        assert asked(view).call["arguments"] == {"path": LONG}
        answer(guard, form, REFERRED)
        assert guard.tool("echo", id=2, text="meanwhile")["result"]
        assert deletions(guard) == 0
        assert view.answer(asked(view).id, "once")
        assert guard.receive()["id"] == 1
        assert deletions(guard) == 1


NO_ANSWER = "no answer of a person"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("allow once", NO_ANSWER),
        ("allow for this session", NO_ANSWER),
        ("deny", "a person said no"),
    ],
)
def test_a_form_that_has_no_room_for_a_call_can_only_deny_it(
    said: str, why: str, view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        send(guard, 1, LONG)
        answer(guard, guard.receive(), said)
        assert why in guard.receive()["error"]["message"]
        until(lambda: not view.asks())
        assert deletions(guard) == 0


def test_the_form_goes_when_the_view_has_decided(view: ApprovalWindow, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        send(guard, 1, LONG)
        form = guard.receive()
        assert view.answer(asked(view).id, "once")
        assert guard.receive()["params"] == {"requestId": form["id"]}
        assert guard.receive()["id"] == 1


def test_in_the_modern_era_the_form_hands_over_to_the_view(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    call = {"name": "delete_file", "arguments": {"path": LONG}}
    with guarded(tmp_path, POLICY) as guard:
        forged = approve(modern(guard, 1, **call)["result"])
        assert NO_ANSWER in modern(guard, 2, **call, **forged)["error"]["message"]
        form = modern(guard, 3, **call)["result"]
        assert "claw approvals" in str(form["inputRequests"])
        params = {**call, **approve(form, REFERRED), "_meta": MODERN_META}
        guard.send({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": params})
        assert view.answer(asked(view).id, "once")
        assert guard.receive()["result"]["resultType"] == "complete"
        assert deletions(guard) == 1


def test_without_a_view_what_a_form_has_no_room_for_is_denied_at_once(
    socket: Path, tmp_path: Path
) -> None:
    assert not has_window(socket)
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        for number, arguments in enumerate(HIDING):
            params = {"name": "delete_file", "arguments": arguments}
            legacy = guard.call("tools/call", params, number)["error"]["message"]
            assert "nothing is approved unseen" in legacy
            assert 'open "claw approvals"' in legacy
        later = modern(guard, 99, name="delete_file", arguments={"path": LONG})
        assert 'open "claw approvals"' in later["error"]["message"]
        assert deletions(guard) == 0


def test_questions_in_a_result_that_a_form_has_no_room_for_are_read_in_the_view(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    rules = '[[rule]]\naction = "prompt"\nmethod = "elicitation/create"\n'
    with guarded(tmp_path, rules + ALLOW_ALL) as guard:
        asks(guard, a="Harmless?", b="Which one? " * 200)
        form = modern(guard, 2, "resources/read", uri="notes://one")["result"]
        assert "claw approvals" in str(form["inputRequests"])
        params = {"uri": "notes://one", **approve(form, REFERRED), "_meta": MODERN_META}
        guard.send({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": params})
        ask = asked(view)
        assert "Harmless?" in str(ask.call)
        assert "Which one? " * 200 in str(ask.call)
        assert view.answer(ask.id, "once")
        assert guard.receive()["result"]["requestState"] == "s"


CLOSED = "the window was closed before anybody answered, and nobody is left to ask"


def test_a_window_that_is_closed_has_not_said_no(socket: Path, tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        with ApprovalWindow(socket) as view:
            send(guard, 1)
            asked(view)
        assert CLOSED in guard.receive()["error"]["message"]
        assert deletions(guard) == 0
    said = claw("log", code=0).stdout
    assert "asked, the window was closed before anybody answered" in said
    assert "a person said no" not in said
    assert "asked, the window was closed" in claw("log", "stats", code=0).stdout


def test_a_call_waits_on_in_the_window_that_is_left(socket: Path, tmp_path: Path) -> None:
    first = ApprovalWindow(socket)
    first.asks()
    with ApprovalWindow(socket) as second, guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        until(second.asks)
        first.close()
        assert second.answer(second.asks()[0].id, "once")
        assert "result" in guard.receive()
        assert deletions(guard) == 1
    assert "asked, allowed once" in claw("log", code=0).stdout


def test_a_form_in_the_client_still_asks_when_the_window_is_closed(
    socket: Path, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize(ELICITS)
        with ApprovalWindow(socket) as view:
            send(guard, 1)
            first = guard.receive()
            send(guard, 2, "/work/b")
            assert asked(view).call["arguments"] == {"path": "/work/b"}
        answer(guard, first, "deny")
        replies = [guard.receive(), guard.receive()]
        second = next(one for one in replies if one.get("method") == "elicitation/create")
        answer(guard, second, "allow once")
        assert guard.receive()["result"]


def test_the_view_says_of_a_call_that_nobody_answered_what_its_client_is_told(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, POLICY.replace("= 20", "= 3"), "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        asked(view)
        assert "nobody answered in time" in guard.receive()["error"]["message"]
        until(view.ended)
        assert [one.how for one in view.ended()] == ["expired"]
