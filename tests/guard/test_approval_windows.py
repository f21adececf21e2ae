"""Several windows are asked at once, and an answer counts once."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from shutil import rmtree

import pytest

from clawkit.errors import PolicyError
from clawkit.guard.approval_window import ApprovalWindow, answer_pending
from clawkit.guard.approvals import has_window, places_in, socket_at, sockets_in
from tests.guard.approvals import Asking, asked, question, short_folder, until


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "a"


def ids(view: ApprovalWindow) -> list[str]:
    return [ask.id for ask in view.asks()]


def test_what_waits_is_shown_in_every_window_and_answered_once(socket: Path) -> None:
    with ApprovalWindow(socket) as first, ApprovalWindow(socket) as second:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ids(second) == ["q1"])
        assert second.answer("q1", "once")
        assert asking.answer == "once"
        assert not first.answer("q1", "deny")
        assert not second.answer("q1", "deny")
        assert [one.how for one in first.ended()] == ["once"]
        assert [one.how for one in second.ended()] == ["once"]


def test_a_window_knows_how_a_question_ended_elsewhere(socket: Path) -> None:
    with ApprovalWindow(socket) as first, ApprovalWindow(socket) as second:
        waiting = {id: Asking(socket, question(id)) for id in ("q1", "q2", "q3", "q4")}
        until(lambda: len(ids(second)) == 4)
        assert first.answer("q1", "deny")
        assert answer_pending(socket, "q2", "once") == ""
        waiting["q3"].cancelled.end("timeout")
        waiting["q4"].cancelled.end("withdrawn")
        until(lambda: ids(second) == [])
        found = {one.ask.id: (one.how, one.source) for one in second.ended()}
        assert found == {
            "q1": ("deny", "terminal"),
            "q2": ("once", "script"),
            "q3": ("expired", None),
            "q4": ("withdrawn", None),
        }
        assert {one.ask.id: (one.how, one.source) for one in first.ended()} == found


@pytest.mark.parametrize("others", [0, 1, 2])
def test_what_waits_outlives_a_window_while_another_is_open(socket: Path, others: int) -> None:
    first = ApprovalWindow(socket)
    first.asks()
    with ExitStack() as until_end:
        left = [until_end.enter_context(ApprovalWindow(socket)) for _ in range(others)]
        asking = [Asking(socket, question(id)) for id in ("q1", "q2")]
        until(lambda: all(sorted(ids(one)) == ["q1", "q2"] for one in (first, *left)))
        assert first.denies_when_closed is (others == 0)
        first.close()
        if not left:
            assert [one.answer for one in asking] == ["closed", "closed"]
            return
        assert all(sorted(ids(one)) == ["q1", "q2"] for one in left)
        assert left[-1].answer("q1", "once")
        assert asking[0].answer == "once"
        until(lambda: all(ids(one) == ["q2"] for one in left))
        assert left[0].answer("q2", "deny")
        assert asking[1].answer == "deny"


def test_a_window_that_is_opened_later_is_asked_too(socket: Path) -> None:
    with ApprovalWindow(socket) as first:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ["q1"])
        with ApprovalWindow(socket) as second:
            assert ids(second) == ["q1"]
            first.close()
            assert second.denies_when_closed
            assert second.answer("q1", "session")
            assert asking.answer == "session"


def test_what_waits_stays_in_the_order_of_asking_when_another_window_takes_over(
    socket: Path,
) -> None:
    with ApprovalWindow(socket) as window:
        for id, at in (("q2", 2.0), ("q3", 3.0), ("q1", 1.0)):  # as they happen to come back
            Asking(socket, question(id, asked=at))
            until(lambda id=id: id in ids(window))
        assert ids(window) == ["q1", "q2", "q3"]


def test_closing_a_window_that_only_looks_on_denies_nothing(socket: Path) -> None:
    with ApprovalWindow(socket) as first:
        second = ApprovalWindow(socket)
        second.asks()
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ids(second) == ["q1"])
        second.close()
        assert ids(first) == ["q1"]
        assert first.answer("q1", "once")
        assert asking.answer == "once"


def test_a_window_whose_folder_was_removed_is_one_again(socket: Path) -> None:
    with ApprovalWindow(socket) as window:
        rmtree(socket)
        assert not has_window(socket)
        assert ids(window) == []
        assert has_window(socket)
        asking = Asking(socket, question("q1"))
        until(lambda: ids(window) == ["q1"])
        assert window.answer("q1", "once")
        assert asking.answer == "once"


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_what_leads_to_a_guard_shows_its_questions_once(
    socket: Path, link: Callable[[Path, Path], None]
) -> None:
    with ApprovalWindow(socket) as first:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ["q1"])
        (path,) = sockets_in(socket)
        for number in range(80):
            link(path, socket_at(socket, f"link{number}"))
        assert ids(first) == ["q1"]
        with ApprovalWindow(socket) as second:
            assert ids(first) == ids(second) == ["q1"]
            assert second.answer("q1", "once")
        assert asking.answer == "once"
        until(first.ended)
        assert [one.how for one in first.ended()] == ["once"]


def test_always_is_for_whoever_has_shown_the_rule(socket: Path) -> None:
    with ApprovalWindow(socket) as first, ApprovalWindow(socket) as second:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ids(second) == ["q1"])
        refused = answer_pending(socket, "q1", "always")
        assert refused is not None
        assert "reviewed in the view" in refused
        assert second.answer("q1", "always", rule="the rule that was shown")
        assert asking.answer == "always"


def test_a_question_about_each_call_takes_no_answer_that_reaches_further(socket: Path) -> None:
    with ApprovalWindow(socket) as first, ApprovalWindow(socket) as second:
        asking = Asking(socket, question("q1", each_call=True))
        until(lambda: ids(first) == ids(second) == ["q1"])
        assert "wants to be asked about each such call" in (
            answer_pending(socket, "q1", "tool") or ""
        )
        assert second.answer("q1", "once")
        assert asking.answer == "once"


def test_a_program_that_locks_the_places_of_windows_keeps_none_waiting(socket: Path) -> None:
    def lock(place: Path) -> int:
        fd = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return fd

    socket.mkdir()
    first, *others = places_in(socket)
    locks = [lock(first)]
    with ApprovalWindow(socket) as window:
        assert not window.denies_when_closed
        os.close(locks.pop())
        assert window.denies_when_closed
        own = next(place for place in others if place.exists())
        locks = [lock(place) for place in (first, *others) if place != own]
        with pytest.raises(PolicyError, match="another program"):
            ApprovalWindow(socket).asks()
        assert window.asks() == ()
        assert not window.denies_when_closed
    for fd in locks:
        os.close(fd)
    assert not has_window(socket)


FLOOD = """
import socket, sys
from pathlib import Path
print("begins", flush=True)
while True:
    for path in Path(sys.argv[1]).glob("*.sock"):
        with socket.socket(socket.AF_UNIX) as end:
            try:
                end.connect(str(path))
            except OSError:
                pass
"""


def test_guarded_servers_that_connect_without_end_keep_no_answer_from_counting(
    socket: Path,
) -> None:
    command = (sys.executable, "-c", FLOOD, str(socket))
    environment = {**os.environ, "CLAW_GUARDED": "1"}
    with ApprovalWindow(socket) as view, ExitStack() as until_end:
        asking = asked(view, socket, question("q1"))
        for _ in range(2):
            child = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
            until_end.enter_context(child)
            until_end.callback(child.kill)
            assert child.stdout is not None
            assert child.stdout.readline() == b"begins\n"
        assert view.answer("q1", "once")
        assert asking.answer == "once"
