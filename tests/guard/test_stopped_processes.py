"""Guards and windows that are stopped: what was said last happens, and nobody waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from clawkit.guard import approvals_view
from clawkit.guard.approvals import pending
from clawkit.guard.approvals_view import SharedView
from tests.claw import claw
from tests.guard.approvals import Asking, question, until
from tests.guard.guarded_server import Guarded, guarded
from tests.guard.terminal import terminal
from tests.guard.test_approvals_terminal import COMMAND, KEYS
from tests.guard.test_prompt_rules import POLICY, deletions
from tests.guard.test_prompts_in_a_view import send, socket
from tests.processes import PATIENCE

__all__ = ["socket"]
PATIENT = POLICY.replace("prompt_timeout = 20", f"prompt_timeout = {PATIENCE}")


@contextmanager
def stopped(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGSTOP)
    threads = Path(f"/proc/{process}/task")
    until(lambda: all(") T " in (one / "stat").read_text() for one in threads.iterdir()))
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


@pytest.fixture
def guard(socket: Path, tmp_path: Path) -> Iterator[Guarded]:  # noqa: ARG001 - in that home
    with guarded(tmp_path, PATIENT, "--name", "files") as running:
        running.initialize()
        yield running


@pytest.mark.parametrize("last", ["deny", "once"])
def test_a_no_after_a_yes_that_the_guard_has_not_confirmed_is_what_counts(
    socket: Path, guard: Guarded, last: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals_view, "ANSWER_SECONDS", 0.5)
    with SharedView(socket) as window, SharedView(socket, "page") as other:
        send(guard, 1)
        until(window.asks)
        id = window.asks()[0].id
        until(other.asks)
        with stopped(guard.process.pid):
            assert not window.answer(id, "once")
            until(lambda: other.asks() and other.given() == {id: "once"})
            done = claw("approvals", "answer", id, "session")
            assert done.returncode == 4
            assert "“Allow once” is sent, and its guard has not confirmed it yet" in done.stderr
            if last == "deny":
                assert not other.answer(id, "deny")
                assert window.given() == {id: "deny"}
        reply = guard.receive()
        assert ("result" in reply) is (last == "once")
        assert deletions(guard) == (1 if last == "once" else 0)
        until(window.ended)
        (end,) = window.ended()
        assert (end.how, end.source) == (last, "page" if last == "deny" else "terminal")
        late = claw("approvals", "answer", id, "tool")
        assert late.returncode == 3
        assert "this answer came too late; the call no longer waits: " in late.stderr


def test_an_answer_for_which_its_guard_wakes_too_late_allows_nothing(
    socket: Path, tmp_path: Path
) -> None:
    hasty = POLICY.replace("prompt_timeout = 20", "prompt_timeout = 2")
    with SharedView(socket) as window, guarded(tmp_path, hasty, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1)
        until(window.asks)
        with stopped(guard.process.pid):
            giving = Thread(target=window.answer, args=(window.asks()[0].id, "once"))
            giving.start()
            until(window.ended)
            giving.join()
            assert "its guard has not said what became of it" in approvals_view.in_words(
                window.ended()[0]
            )
        reply = guard.receive()
        assert "in time" in reply.get("error", {}).get("message", ""), reply
        assert deletions(guard) == 0


def test_a_stopped_window_silences_no_other_and_joins_them_when_it_goes_on(
    socket: Path, guard: Guarded
) -> None:
    with terminal(*COMMAND) as first:
        first.shows("nothing waiting")
        assert pending(socket) == []
        with terminal(*COMMAND) as second:
            second.shows("nothing waiting")
            send(guard, 1)
            first.shows(KEYS)
            second.shows(KEYS)
            with stopped(first.process.pid):
                send(guard, 2, "/work/b")
                second.shows("2 waiting")
                second.type("d")
                assert "a person said no" in guard.receive()["error"]["message"]
            second.shows("1 waiting", KEYS)
            first.shows("1 waiting", KEYS)
            first.type("a")
            assert guard.receive()["result"]
            second.shows("nothing waiting")


def test_calls_are_decided_while_the_only_window_is_stopped(socket: Path, guard: Guarded) -> None:
    with terminal(*COMMAND) as window:
        window.shows("nothing waiting")
        assert pending(socket) == []
        with stopped(window.process.pid):
            send(guard, 1)
            assert guard.tool("echo", id=2, text="meanwhile")["result"]
        window.shows(KEYS)
        window.type("a")
        assert guard.receive()["result"]


def test_what_a_script_no_longer_waits_for_is_no_answer(socket: Path) -> None:
    with terminal(*COMMAND) as window:
        window.shows("nothing waiting")
        asking = Asking(socket, question())
        window.shows(KEYS)
        with stopped(window.process.pid):
            code = "import sys; from tests.guard.test_stopped_processes import hasty; hasty()"
            subprocess.run([sys.executable, "-c", code, str(socket)], check=True, timeout=PATIENCE)
        window.shows("1 waiting", KEYS)
        assert [ask.id for ask in pending(socket) or []] == ["q1"]
        window.type("d")
        assert asking.answer == "deny"


def hasty() -> None:
    """Send an answer and go."""
    import socket as sockets

    from clawkit.guard.approvals import VERSION

    request = b'{"version":%d,"kind":"answer","id":"q1","answer":"once"}\n' % VERSION
    with sockets.socket(sockets.AF_UNIX) as end:
        end.connect(sys.argv[1])
        end.sendall(request)
