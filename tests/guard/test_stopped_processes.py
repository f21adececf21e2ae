"""Guards and windows that are stopped: what was said last happens, and nobody waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from clawkit.guard import approvals_view
from clawkit.guard.approval_answers import in_words
from clawkit.guard.approvals import Answer, look, pending
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
            assert "its guard has not said what became of it" in in_words(window.ended()[0])
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


@contextmanager
def killed(process: int) -> Iterator[None]:
    os.kill(process, signal.SIGKILL)
    yield


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of this process wait no longer than they have to."""
    monkeypatch.setattr(approvals_view, "ANSWER_SECONDS", 0.5)
    monkeypatch.setattr(approvals_view, "_TICK", 0.01)


def take_over(window: SharedView, socket: Path) -> None:
    """Wait until a window of this process is the one in which guards ask."""
    owner = socket.with_suffix(".lock")
    until(lambda: window.asks() and owner.read_text() == str(os.getpid()))


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("said", ["deny", "session"])
@pytest.mark.parametrize("gone", [killed, stopped])
def test_a_yes_whose_window_is_gone_is_asked_about_anew(
    socket: Path,
    guard: Guarded,
    monkeypatch: pytest.MonkeyPatch,
    gone: Callable[[int], AbstractContextManager[None]],
    said: Answer,
) -> None:
    monkeypatch.setattr(approvals_view, "_RETURN", 0.1)
    with terminal(*COMMAND) as first:
        first.shows("nothing waiting")
        assert pending(socket) == []
        with SharedView(socket, "page") as other, ExitStack() as until_end:
            send(guard, 1)
            first.shows(KEYS)
            (ask,) = other.asks()
            with stopped(guard.process.pid):
                first.type("a")
                until(lambda: other.asks() and other.given() == {ask.id: "once"})
                until_end.enter_context(gone(first.process.pid))
                take_over(other, socket)
                assert other.given() == {}
                assert not other.answer(ask.id, said)
                time.sleep(0.3)  # no guard that goes on has so long to come back
                assert [each.id for each in other.asks()] == [ask.id]
                monkeypatch.setattr(approvals_view, "_RETURN", PATIENCE)
            reply = guard.receive()
            assert ("error" in reply) is (said == "deny"), reply
            assert deletions(guard) == (0 if said == "deny" else 1)
            until(lambda: other.asks() == ())
            (end,) = other.ended()
            assert (end.how, end.source) == (said, "page")


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("knows_yes", [True, False])
def test_a_no_in_a_window_that_is_gone_is_not_undone_by_the_yes_before_it(
    socket: Path, guard: Guarded, *, knows_yes: bool
) -> None:
    """The last window may have seen the yes, but not the no that came after it."""
    with ExitStack() as windows:
        first = windows.enter_context(SharedView(socket))
        send(guard, 1)
        until(first.asks)
        (ask,) = first.asks()
        second, third = SharedView(socket), SharedView(socket, "page")
        second.asks()
        with stopped(guard.process.pid):
            assert not first.answer(ask.id, "once")
            assert second.asks() == (ask,)
            if knows_yes:
                assert third.asks() == (ask,)
                assert third.given() == {ask.id: "once"}
            first.close()
            assert second.asks() == (ask,)
            assert not second.answer(ask.id, "deny")
            second.close()
            windows.enter_context(third)
            assert third.asks() == ((ask,) if knows_yes else ())
        until(third.asks)
        third.answer(ask.id, "session")
        assert guard.receive()["result"]
        until(third.ended)
        assert [(end.how, end.source) for end in third.ended()] == [("session", "page")]


@pytest.mark.usefixtures("hurried")
def test_the_question_of_a_guard_that_was_killed_while_windows_changed_has_an_unknown_end(
    socket: Path, guard: Guarded
) -> None:
    first, second = SharedView(socket), SharedView(socket)
    until(lambda: first.asks() == second.asks() == ())
    send(guard, 1)
    until(second.asks)
    with second:
        with stopped(guard.process.pid):
            first.close()
            take_over(second, socket)
            guard.process.kill()
        until(second.ended)
        assert [end.how for end in second.ended()] == ["unknown"]


@pytest.mark.usefixtures("hurried")
def test_a_no_that_its_guard_finds_in_a_window_that_is_gone_ends_the_question_in_the_next(
    socket: Path, guard: Guarded
) -> None:
    with terminal(*COMMAND) as first, SharedView(socket) as second:
        first.shows("nothing waiting")
        until(lambda: pending(socket) == [])
        assert second.asks() == ()
        send(guard, 1)
        first.shows(KEYS)
        (ask,) = second.asks()
        with stopped(guard.process.pid):
            first.type("d")
            until(lambda: (found := look(socket)) and found.given)
            os.kill(first.process.pid, signal.SIGKILL)
            take_over(second, socket)
            assert second.asks() == (ask,)
        assert "a person said no" in guard.receive()["error"]["message"]
        until(second.ended)
        assert [(end.ask, end.how) for end in second.ended()] == [(ask, "deny")]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("denied_first", [True, False])
def test_an_answer_to_all_calls_of_a_tool_leaves_a_no_to_one_of_them(
    socket: Path, guard: Guarded, *, denied_first: bool
) -> None:
    """Both reach the guard at once when it goes on."""
    with SharedView(socket) as window:
        for id, path in ((1, "/work/a"), (2, "/work/b"), (3, "/work/c")):
            send(guard, id, path)
            until(lambda id=id: len(window.asks()) == id)
        allowed, denied, _ = (ask.id for ask in window.asks())
        said: list[tuple[str, Answer]] = [(denied, "deny"), (allowed, "tool")]
        with stopped(guard.process.pid):
            for id, answer in said if denied_first else reversed(said):
                assert not window.answer(id, answer)
        replies = {reply["id"]: reply for reply in (guard.receive() for _ in range(3))}
        assert "a person said no" in replies[2]["error"]["message"]
        assert replies[1]["result"]
        assert replies[3]["result"]
        assert deletions(guard) == 2


@pytest.mark.usefixtures("hurried")
def test_a_no_outlives_the_window_in_which_it_was_said(socket: Path, guard: Guarded) -> None:
    with terminal(*COMMAND) as first, terminal(*COMMAND) as second, SharedView(socket) as last:
        first.shows("nothing waiting")
        second.shows("nothing waiting")
        until(lambda: pending(socket) == [])
        send(guard, 1)
        first.shows(KEYS)
        second.shows(KEYS)
        with stopped(guard.process.pid):
            first.type("a")
            second.shows("“Allow once” is sent")
            owner = int(socket.with_suffix(".lock").read_text())
            one, other = (first, second) if owner == first.process.pid else (second, first)
            os.kill(one.process.pid, signal.SIGKILL)
            until(lambda: last.asks() and pending(socket))
            other.type("d")
            until(lambda: last.asks() and "deny" in last.given().values())
            os.kill(other.process.pid, signal.SIGKILL)
            take_over(last, socket)
            assert list(last.given().values()) == ["deny"]
        assert "a person said no" in guard.receive()["error"]["message"]
        assert deletions(guard) == 0
        until(last.ended)
        assert [end.how for end in last.ended()] == ["deny"]


@pytest.mark.parametrize(
    ("key", "why"), [("a", "nobody is left to ask"), ("d", "a person said no")]
)
def test_without_any_window_no_yes_counts_and_a_no_is_one(
    socket: Path, guard: Guarded, key: str, why: str
) -> None:
    with terminal(*COMMAND) as window:
        window.shows("nothing waiting")
        assert pending(socket) == []
        send(guard, 1)
        window.shows(KEYS)
        with stopped(guard.process.pid):
            window.type(key)
            until(lambda: (found := look(socket)) and found.given)
            os.kill(window.process.pid, signal.SIGKILL)
            window.process.wait(PATIENCE)
        assert why in guard.receive()["error"]["message"]
        assert deletions(guard) == 0


def hasty() -> None:
    """Send an answer and go."""
    import socket as sockets

    from clawkit.guard.approvals import VERSION

    request = b'{"version":%d,"kind":"answer","id":"q1","answer":"once"}\n' % VERSION
    with sockets.socket(sockets.AF_UNIX) as end:
        end.connect(sys.argv[1])
        end.sendall(request)
