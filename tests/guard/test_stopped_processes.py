"""Guards and windows that are stopped: what was said last happens, and nobody waits for them."""

from __future__ import annotations

import os
import signal
import socket as sockets
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import permutations
from pathlib import Path
from threading import Thread

import pytest

from clawkit.guard import approval_window
from clawkit.guard.approval_answers import in_words
from clawkit.guard.approval_window import ApprovalWindow, pending
from clawkit.guard.approvals import Answer, sockets_in
from tests.claw import claw
from tests.guard.approvals import until
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
    monkeypatch.setattr(approval_window, "ANSWER_SECONDS", 0.5)
    with ApprovalWindow(socket) as window, ApprovalWindow(socket, "page") as other:
        send(guard, 1)
        until(lambda: window.asks() and other.asks())
        id = window.asks()[0].id
        with stopped(guard.process.pid):
            assert not window.answer(id, "once")
            assert window.given() == {id: "once"}
            done = claw("approvals", "answer", id, "session")
            assert done.returncode == 1
            assert "a guard that may have it does not reply" in done.stderr
            if last == "deny":
                assert not other.answer(id, "deny")
                assert other.given() == {id: "deny"}
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
    with ApprovalWindow(socket) as window, guarded(tmp_path, hasty, "--name", "files") as guard:
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


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of this process wait no longer than they have to."""
    monkeypatch.setattr(approval_window, "ANSWER_SECONDS", 0.5)


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("said", ["deny", "session"])
def test_a_yes_ends_with_its_window(socket: Path, guard: Guarded, said: Answer) -> None:
    with terminal(*COMMAND) as first, ApprovalWindow(socket, "page") as other:
        send(guard, 1)
        first.shows(KEYS)
        until(other.asks)
        (ask,) = other.asks()
        with stopped(guard.process.pid):
            first.type("a")
            first.shows("“Allow once” is sent")
            first.process.kill()
            first.process.wait(PATIENCE)
            if said == "session":
                assert not other.answer(ask.id, said)
        if said == "deny":
            assert other.asks() == (ask,)
            assert other.answer(ask.id, said)
        reply = guard.receive()
        assert ("error" in reply) is (said == "deny"), reply
        assert deletions(guard) == (0 if said == "deny" else 1)
        until(other.ended)
        assert [(end.how, end.source) for end in other.ended()] == [(said, "page")]


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_three_windows_the_no_counts_in_whatever_order_they_speak_and_go(
    socket: Path, guard: Guarded, order: tuple[int, ...]
) -> None:
    said: list[Answer] = ["once", "deny", "session"]
    windows = [ApprovalWindow(socket) for _ in said]
    until(lambda: all(window.asks() == () for window in windows))
    send(guard, 1)
    until(lambda: all(window.asks() for window in windows))
    with stopped(guard.process.pid):
        for n in order:
            (ask,) = windows[n].asks()
            assert not windows[n].answer(ask.id, said[n])
            if n < 2:
                windows[n].close()
    assert "a person said no" in guard.receive()["error"]["message"]
    assert deletions(guard) == 0
    until(windows[2].ended)
    assert [end.how for end in windows[2].ended()] == ["deny"]
    windows[2].close()


@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("answered", [True, False])
def test_the_question_of_a_guard_that_was_killed_ends_alike_in_every_window(
    socket: Path, guard: Guarded, *, answered: bool
) -> None:
    with ApprovalWindow(socket) as window, ApprovalWindow(socket) as other:
        send(guard, 1)
        until(lambda: window.asks() and other.asks())
        with stopped(guard.process.pid):
            if answered:
                assert not window.answer(window.asks()[0].id, "once")
            guard.process.kill()
        until(lambda: window.ended() and other.ended())
        ends = [*window.ended(), *other.ended()]
        assert [end.how for end in ends] == ["unknown", "unknown"]


@pytest.mark.usefixtures("hurried")
def test_a_no_counts_in_a_window_that_has_to_make_room_for_others(
    socket: Path, guard: Guarded
) -> None:
    with (
        ApprovalWindow(socket) as first,
        ApprovalWindow(socket) as second,
        ExitStack() as until_end,
    ):
        send(guard, 1)
        until(lambda: first.asks() and second.asks())
        (ask,) = first.asks()
        (path,) = sockets_in(socket)
        with stopped(guard.process.pid):
            assert not first.answer(ask.id, "deny")
            assert not second.answer(ask.id, "once")
            for _ in range(64):
                end = until_end.enter_context(sockets.socket(sockets.AF_UNIX))
                end.connect(os.fspath(path))
        assert "a person said no" in guard.receive()["error"]["message"]
        assert deletions(guard) == 0


@pytest.mark.usefixtures("hurried")
def test_a_no_that_its_guard_finds_in_a_window_that_is_gone_ends_the_question_in_the_next(
    socket: Path, guard: Guarded
) -> None:
    with terminal(*COMMAND) as first, ApprovalWindow(socket) as second:
        send(guard, 1)
        first.shows(KEYS)
        until(second.asks)
        (ask,) = second.asks()
        with stopped(guard.process.pid):
            first.type("d")
            first.shows("“Deny” is sent")
            first.process.kill()
            first.process.wait(PATIENCE)
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
    with ApprovalWindow(socket) as window:
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


@pytest.mark.parametrize(
    ("key", "answer", "why"),
    [("a", "Allow once", "nobody is left to ask"), ("d", "Deny", "a person said no")],
)
def test_without_any_window_no_yes_counts_and_a_no_is_one(
    socket: Path, guard: Guarded, key: str, answer: str, why: str
) -> None:
    with terminal(*COMMAND) as window:
        window.shows("nothing waiting")
        until(lambda: pending(socket) == [])
        send(guard, 1)
        window.shows(KEYS)
        with stopped(guard.process.pid):
            window.type(key)
            window.shows(f"“{answer}” is sent")
            window.process.kill()
            window.process.wait(PATIENCE)
        assert why in guard.receive()["error"]["message"]
        assert deletions(guard) == 0


@pytest.mark.usefixtures("hurried")
def test_a_window_that_opens_while_a_guard_is_stopped_shows_its_question_when_it_goes_on(
    socket: Path, guard: Guarded
) -> None:
    with ApprovalWindow(socket) as first:
        send(guard, 1)
        until(first.asks)
        with stopped(guard.process.pid), ApprovalWindow(socket) as second:
            assert second.asks() == ()
        with ApprovalWindow(socket) as second:
            until(second.asks)
            assert second.answer(second.asks()[0].id, "deny")
        assert "a person said no" in guard.receive()["error"]["message"]
