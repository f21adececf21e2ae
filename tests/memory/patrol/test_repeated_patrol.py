"""Memories that say the same in the same words become one, without a model; others never do."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory import undo as history
from clawkit.memory.patrol.new_memories import remember
from clawkit.memory.records import MemorySource, Note, Scene
from clawkit.memory.store import notes
from tests.memory.patrol.minds import DAY, NOW, TODAY, Mind, open_mind

LATER = "2026-09-24"
DOSE = "Margaret takes 75 micrograms of levothyroxine before breakfast."


@pytest.fixture
def either(address: str) -> Iterator[Mind]:
    mind = open_mind(address)
    yield mind
    mind.database.close()


def _told(mind: Mind, scene: Scene, days: int = 0, **source: str) -> int:
    """Tell a scene so many days later, and patrol; gives how many memories were merged."""
    at = NOW + days * DAY
    source = {"speaker": "Anna", "token": "token-1", **source}
    with mind.database.write(mind.being) as unit:
        known = len(mind.nodes(ended=True))
        note = Note(f"told-{known:04}-{days:02}", at, scene, source=MemorySource(**source))
        notes.add(unit, [note])
    merged = mind.patrol(now=at).steps["repeated"]
    assert isinstance(merged, int)
    return merged


def test_what_is_told_again_on_another_day_is_one_memory_with_both_days(either: Mind) -> None:
    first = Scene(DOSE, ("Margaret",), (TODAY,))
    again = Scene(DOSE.upper().rstrip("."), ("margaret",), (LATER,))
    assert _told(either, first) == 0
    assert _told(either, again, 3) == 1
    (one,) = either.nodes()
    assert one.scene.action == again.action
    assert one.scene.when == (TODAY, LATER)
    assert one.scene.importance == pytest.approx(0.55)
    assert {node.successor for node in either.nodes(ended=True) if node.ended} == {one.seq}
    with either.database.read(either.being) as unit:
        assert one.seq in unit.vectors.fetch("words", [one.seq])
    assert either.patrol(now=NOW + 4 * DAY).steps["repeated"] == 0


def test_a_third_time_is_the_same_memory_still(mind: Mind) -> None:
    for days, day in ((0, TODAY), (3, LATER), (5, "2026-09-26")):
        _told(mind, Scene(DOSE, ("Margaret",), (day,)), days)
    (one,) = mind.nodes()
    assert one.scene.when == (TODAY, LATER, "2026-09-26")


def test_what_is_so_again_after_it_was_otherwise_is_news(mind: Mind) -> None:
    for days, dose in enumerate((100, 75, 100)):
        day = f"2026-09-{21 + days}"
        _told(mind, Scene(f"Margaret takes {dose} micrograms now", ("Margaret",), (day,)), days)
    assert [node.scene.action.split()[2] for node in mind.nodes()] == ["100", "75", "100"]


def test_a_merge_of_what_says_the_same_can_be_undone(mind: Mind) -> None:
    _told(mind, Scene(DOSE, ("Margaret",), (TODAY,)))
    _told(mind, Scene(DOSE, ("Margaret",), (LATER,)), 3)
    (entry,) = [one for one in mind.history() if one.kind == "merged"]
    assert entry.why == "2 memories that said the same became one"
    with mind.database.write(mind.being) as unit:
        history.undo(unit, entry.n, NOW + 4 * DAY, "t")
    assert [node.scene.when for node in mind.nodes()] == [(TODAY,), (LATER,)]
    assert mind.patrol(now=NOW + 5 * DAY).steps["repeated"] == 0


@pytest.mark.parametrize(
    "other",
    [
        Scene("Ben lent Anna 50 euros", ("Anna", "Ben"), (LATER,)),
        Scene("Anna lent Ben 60 euros", ("Anna", "Ben"), (LATER,)),
        Scene("Anna lent Ben 50 euros", ("Anna", "Ben", "Cleo"), (LATER,)),
        Scene("Anna lent Ben 50 euros", ("Anna", "Ben"), (LATER,), setting="Rome"),
        Scene("Anna lent Ben 50 euros", ("Anna", "Ben"), (LATER,), feeling="angry"),
        Scene("Anna never lent Ben 50 euros", ("Anna", "Ben"), (LATER,)),
    ],
)
def test_what_differs_in_a_word_its_order_or_who_takes_part_stays_apart(
    mind: Mind, other: Scene
) -> None:
    _told(mind, Scene("Anna lent Ben 50 euros", ("Anna", "Ben"), (TODAY,)))
    assert _told(mind, other, 3) == 0
    assert len(mind.nodes()) == 2


def test_another_speakers_i_is_another_person(mind: Mind) -> None:
    _told(mind, Scene("I am allergic to nuts", (), (TODAY,)), speaker="Anna")
    assert _told(mind, Scene("I am allergic to nuts", (), (LATER,)), 3, speaker="Ben") == 0


@pytest.mark.parametrize(
    ("action", "when"),
    [
        ("Ben came for dinner", "2026-09-10"),
        ("Ben came for dinner yesterday", LATER),
        ("Ben comes for dinner on 2026-10-01", LATER),
    ],
)
def test_what_has_a_day_of_its_own_is_another_event(mind: Mind, action: str, when: str) -> None:
    _told(mind, Scene(action, ("Ben",), (TODAY,)))
    assert _told(mind, Scene(action, ("Ben",), (when,)), 3) == 0
    assert len(mind.nodes()) == 2


@pytest.mark.parametrize(
    ("action", "merged"),
    [
        ("I am allergic to penicillin and nuts", 1),
        ("Ben has a new job in Leeds now", 1),
        ("It goes up to 100 micrograms", 0),
        ("goes up to 100 micrograms a day", 0),
        ("she has a new job in Leeds now", 0),
    ],
)
def test_a_remark_that_goes_on_about_another_is_not_merged(
    mind: Mind, action: str, merged: int
) -> None:
    with mind.database.write(mind.being) as unit:
        for days, day in ((0, TODAY), (3, LATER)):
            note = Note(f"n{days}", NOW + days * DAY, Scene(action, ("Ben",), (day,)))
            remember(unit, [note], None, NOW + days * DAY, "t")
        unit.run("UPDATE nodes SET message = 'said in a chat' WHERE being = $being")
    assert mind.patrol(now=NOW + 3 * DAY).steps["repeated"] == merged


def test_what_is_above_the_cap_waits_for_the_next_patrol(mind: Mind) -> None:
    said = ("Margaret sings alto", "Pickle is a border terrier", "the shed has a padlock")
    mind.remember(*(Scene(one, ("Margaret",), (TODAY,)) for one in said))
    mind.note(*(Scene(one, ("Margaret",), (LATER,)) for one in said), at=NOW + 3 * DAY)
    merged = [mind.patrol(now=NOW + 3 * DAY, cap=cap).steps["repeated"] for cap in (0, 2, 2, 2)]
    assert merged == [0, 2, 1, 0]
    assert len(mind.nodes()) == 3


def test_without_vectors_what_says_the_same_is_merged_too(mind: Mind) -> None:
    mind.embedder = None
    _told(mind, Scene(DOSE, ("Margaret",), (TODAY,)))
    assert _told(mind, Scene(DOSE, ("Margaret",), (LATER,)), 3) == 1
