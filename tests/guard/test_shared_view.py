"""Several windows are one view: whoever is open is asked, and an answer counts once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.guard.approvals import answer_pending, has_view
from clawkit.guard.shared_view import SharedView
from tests.guard.approvals import Asking, question, short_folder, until


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "a.sock"


def ids(view: SharedView) -> list[str]:
    return [ask.id for ask in view.asks()]


def test_what_waits_is_shown_in_every_window_and_answered_once(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
        assert (first.denies_when_closed, second.denies_when_closed) == (True, False)
        asking = Asking(socket, question("q1"))
        until(lambda: ids(first) == ["q1"])
        assert ids(second) == ["q1"]
        assert second.answer("q1", "once")
        assert asking.answer == "once"
        assert not first.answer("q1", "deny")
        assert not second.answer("q1", "deny")
        assert [one.how for one in first.ended()] == ["once"]
        assert [one.how for one in second.ended()] == ["once"]


def test_a_window_notes_what_was_answered_elsewhere(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
        asking = Asking(socket, question("q1"))
        until(lambda: ids(second) == ["q1"])
        assert first.answer("q1", "deny")
        assert asking.answer == "deny"
        assert ids(second) == []
        assert [one.how for one in second.ended()] == ["elsewhere"]


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
        assert second.answer("q1", "always")
        assert asking.answer == "always"


def test_a_question_about_each_call_takes_no_answer_that_reaches_further(socket: Path) -> None:
    with SharedView(socket) as first, SharedView(socket) as second:
        asking = Asking(socket, question("q1", each_call=True))
        until(lambda: ids(first) == ["q1"])
        assert not second.answer("q1", "tool")
        assert not second.answer("q1", "always")
        assert second.answer("q1", "once")
        assert asking.answer == "once"
