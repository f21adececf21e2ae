"""Several windows are one view: whoever is open is asked, and an answer counts once."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from clawkit.errors import PolicyError
from clawkit.guard import approvals_view
from clawkit.guard.approvals import answer_pending, has_view, has_window, places_of
from clawkit.guard.approvals_view import SharedView
from tests.guard.approvals import Asking, question, short_folder, until


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "a.sock"


def ids(view: SharedView) -> list[str]:
    return [ask.id for ask in view.asks()]


def test_what_waits_is_shown_in_every_window_and_answered_once(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ["q1"])
        assert ids(second) == ["q1"]
        assert second.answer("q1", "once")
        assert asking.answer == "once"
        assert not first.answer("q1", "deny")
        assert not second.answer("q1", "deny")
        assert [one.how for one in first.ended()] == ["once"]
        assert [one.how for one in second.ended()] == ["once"]


def test_a_window_knows_how_a_question_ended_elsewhere(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
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
def test_what_waits_outlives_the_window_that_has_the_view_while_another_is_open(
    socket: Path, others: int
) -> None:
    first = SharedView(socket)
    first.asks()
    with ExitStack() as until_end:
        left = [until_end.enter_context(SharedView(socket)) for _ in range(others)]
        asking = [Asking(socket, question(id)) for id in ("q1", "q2")]
        until(lambda: sorted(ids(first)) == ["q1", "q2"])
        for one in left:
            assert sorted(ids(one)) == ["q1", "q2"]
        assert first.denies_when_closed is (others == 0)
        first.close()
        if not left:
            assert [one.answer for one in asking] == ["closed", "closed"]
            return
        for one in left:  # at no time does one of them take it for ended
            assert sorted(ids(one)) == ["q1", "q2"]
        assert left[-1].answer("q1", "once")
        assert asking[0].answer == "once"
        until(lambda: all(ids(one) == ["q2"] for one in left))
        assert left[0].answer("q2", "deny")
        assert asking[1].answer == "deny"


def test_who_asks_while_one_window_follows_another_waits_for_it(socket: Path) -> None:
    first = SharedView(socket)
    first.asks()
    with SharedView(socket) as second:
        first.close()
        assert has_view(socket)
        asking = Asking(socket, question("q1"))
        until(lambda: ids(second) == ["q1"])
        assert second.answer("q1", "once")
        assert asking.answer == "once"


def test_what_does_not_come_back_to_the_next_window_is_over_there(
    socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(approvals_view, "_RETURN", 0.1)
    first = SharedView(socket)
    first.asks()
    with SharedView(socket) as second:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(second) == ["q1"])
        asking.cancelled.end("withdrawn")
        assert asking.answer == "withdrawn"
        first.close()
        until(lambda: ids(second) == [])
        assert not second.answer("q1", "once")
        assert [one.how for one in second.ended()] in (["elsewhere"], ["withdrawn"])


def test_when_the_window_that_has_the_view_closes_another_takes_its_place(socket: Path) -> None:
    first = SharedView(socket)
    first.asks()
    with SharedView(socket) as second:
        assert not second.denies_when_closed
        first.close()
        assert ids(second) == []
        assert second.denies_when_closed
        asking = Asking(socket, question("q1"))
        until(lambda: ids(second) == ["q1"])
        assert second.answer("q1", "session")
        assert asking.answer == "session"
    assert not has_view(socket)


def test_what_waits_stays_in_the_order_of_asking_when_another_window_takes_over(
    socket: Path,
) -> None:
    with SharedView(socket) as window:
        for id, at in (("q2", 2.0), ("q3", 3.0), ("q1", 1.0)):  # as they happen to come back
            Asking(socket, question(id, asked=at))
            until(lambda id=id: id in ids(window))
        assert ids(window) == ["q1", "q2", "q3"]


def test_closing_a_window_that_only_looks_on_denies_nothing(socket: Path) -> None:
    with SharedView(socket) as first:
        second = SharedView(socket)
        second.asks()
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ["q1"])
        second.close()
        assert ids(first) == ["q1"]
        assert first.answer("q1", "once")
        assert asking.answer == "once"


def test_always_is_for_whoever_has_shown_the_rule(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ["q1"])
        refused = answer_pending(socket, "q1", "always")
        assert refused is not None
        assert "reviewed in the view" in refused
        assert second.answer("q1", "always", rule="the rule that was shown")
        assert asking.answer == "always"


def test_a_question_about_each_call_takes_no_answer_that_reaches_further(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
        asking = Asking(socket, question("q1", each_call=True))
        until(lambda: ids(first) == ["q1"])
        assert not second.answer("q1", "tool")
        assert not second.answer("q1", "always")
        assert second.answer("q1", "once")
        assert asking.answer == "once"


def test_a_program_that_locks_the_places_of_windows_keeps_none_waiting(socket: Path) -> None:
    def lock(place: Path) -> int:
        fd = os.open(place, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        return fd

    first, *others = places_of(socket)
    locks = [lock(first)]
    with SharedView(socket) as window:
        assert not window.denies_when_closed
        os.close(locks.pop())
        assert window.denies_when_closed
        own = next(place for place in others if place.exists())
        locks = [lock(place) for place in (first, *others) if place != own]
        with pytest.raises(PolicyError, match="another program"):
            SharedView(socket).asks()
        assert window.asks() == ()
        assert not window.denies_when_closed
    for fd in locks:
        os.close(fd)
    assert not has_window(socket)
