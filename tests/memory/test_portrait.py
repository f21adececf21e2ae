"""What is known of a person when a session begins, and when they ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import Scene
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database
from tests.memory.http.being_store import Clock

DAY = 86_400.0
ANA, BEN = Caller(token="t1", person="Ana Lopes"), Caller(token="t2", person="Ben Whitaker")


@pytest.fixture
def memory(database: Database, clock: Clock) -> Iterator[Memory]:
    clock.now = datetime(2026, 8, 3, 9, tzinfo=UTC).timestamp()
    store = BeingStore(database, clock=clock)
    yield store.open(store.create("life"))
    store.close()


def tell(memory: Memory, clock: Clock, *texts: str, caller: Caller | None = None) -> None:
    """One message a day."""
    for text in texts:
        memory.patrol(caller or Caller(), [ConversationMessage("user", text, memory.now)])
        clock.now += DAY


def part(memory: Memory, title: str, asker: str = "") -> str:
    """The lines under one heading of the snapshot."""
    return (
        memory.context(asker=asker)["snapshot"].partition(f"### {title}\n")[2].partition("###")[0]
    )


def test_a_session_begins_with_who_somebody_is_and_not_with_small_talk(
    memory: Memory, clock: Clock
) -> None:
    small_talk = (
        "perfect, thanks",
        "ok sent it",
        "ok danke",
        "Can you turn this into a table: desks 14, chairs 52, screens 9",
        "kannst du mir mal eben nm in lbf ft umrechnen, 4200 nm",
        "Ideas for finger food that isn't beige",
    )
    tell(memory, clock, *small_talk[:3])
    tell(memory, clock, "Hello, I'm Tessa Marlowe, I do purchasing at Brightwell in Leeds.")
    tell(memory, clock, *small_talk[3:])
    snapshot = memory.context()["snapshot"]
    assert part(memory, "Who").startswith("- 2026-08-06, Tessa Marlowe: Hello, I'm Tessa Marlowe")
    assert [text for text in small_talk if text in snapshot] == []


def test_what_holds_comes_first_and_what_held_before_after_it(memory: Memory, clock: Clock) -> None:
    tell(
        memory,
        clock,
        "Hello, I'm Tessa Marlowe, I do purchasing at Brightwell in Leeds.",
        "I work from home on Mondays and Fridays.",
        "My cat Biscuit eats Felix pouches, the salmon ones.",
    )
    clock.now += 30 * DAY
    tell(
        memory,
        clock,
        "New rule: working from home is now on Tuesdays and Thursdays for me.",
        "Biscuit is allergic to fish, so no more Felix pouches, he gets dry food now.",
    )
    snapshot = memory.context()["snapshot"]
    for old, new in (("Mondays and Fridays", "Tuesdays and Thursdays"), ("salmon", "dry food")):
        line = next(line for line in snapshot.splitlines() if old in line)
        assert line.index(new) < line.index("before: 2026-08-") < line.index(old)
        assert snapshot.count(old) == 1


def test_a_memory_stands_under_the_heading_it_belongs_to_and_under_no_other(
    memory: Memory, clock: Clock
) -> None:
    tell(
        memory,
        clock,
        "Hello, I'm Tessa Marlowe, I do purchasing at Brightwell in Leeds.",
        "Priyanka Sethi is my new manager since Monday, she comes from the Manchester office.",
        "I'm allergic to penicillin.",
        "dachrinne gereinigt, dabei wespennest am giebel gefunden",
        "My sister Ellie is expecting a girl in January.",
        "I rent a flat on Otley Road in Headingley, top floor.",
        "so, the weather is what it is",
    )
    clock.now += 40 * DAY
    tell(memory, clock, *(f"Swam {n} lengths in the big pool before breakfast" for n in range(9)))
    snapshot = memory.context()["snapshot"]
    assert "Otley Road" in part(memory, "Home")
    assert "penicillin" in part(memory, "Health")
    assert "Ellie" in part(memory, "People")
    for word in ("Priyanka", "penicillin", "Otley", "Ellie"):
        assert snapshot.count(word) == 1
    assert "dachrinne" not in part(memory, "Health")
    assert "Priyanka" not in part(memory, "Home")


def test_an_appointment_that_is_over_is_not_what_is_known(memory: Memory, clock: Clock) -> None:
    tell(
        memory, clock, "Hello, I'm Tessa Marlowe, I work at Brightwell in Leeds.", "Good day today."
    )
    tell(memory, clock, "The hospital appointment for the operation is on 24 September at noon.")
    assert "24 September" in memory.context()["snapshot"]
    clock.now += 90 * DAY
    assert "24 September" not in memory.context()["snapshot"]


def test_asked_about_oneself_one_is_told_what_a_session_begins_with(
    memory: Memory, clock: Clock
) -> None:
    told = (
        "Hello, I'm Tessa Marlowe, I do purchasing at Brightwell in Leeds.",
        "I'm allergic to penicillin.",
        "My sister Ellie lives in Bristol with her husband Marcus.",
        "I rent a flat on Otley Road in Headingley.",
    )
    tell(memory, clock, *told)
    clock.now += 60 * DAY
    tell(
        memory, clock, *(f"I watched episode {n} of the series about octopuses" for n in range(30))
    )
    for question in (
        *("What do you know about me?", "Who am I?"),
        *("Was weißt du über mich?", "Wer bin ich?"),
    ):
        block = memory.recall(question, Caller()).text
        assert [text for text in told if text not in block] == [], question


def test_a_session_says_who_is_asking_and_tells_nobody_the_life_of_another(
    memory: Memory, clock: Clock
) -> None:
    tell(memory, clock, "I'm Ana Lopes, I run the bakery.", "I am allergic to nuts.", caller=ANA)
    tell(memory, clock, "I'm Ben Whitaker, I bake.", "I am allergic to kiwi.", caller=BEN)
    memory.take_notes(Caller(), scenes=[Scene("Ana plays the cello on Sundays", ("Ana Lopes",))])
    memory.patrol(Caller())
    for caller in (ANA, BEN):
        snapshot = memory.context(asker=caller.person)["snapshot"]
        assert f"## Who is asking\n- {caller.person}\n" in snapshot
        assert part(memory, "Who", caller.person).partition("\n")[0].count(caller.person) == 2
    assert "Who is asking" not in memory.context()["snapshot"]
    block = memory.recall("What do you know about me?", ANA).text
    assert "nuts" in block
    assert "kiwi" not in block


def test_what_was_about_a_secret_is_none_of_what_a_session_begins_with(
    memory: Memory, clock: Clock
) -> None:
    tell(
        memory,
        clock,
        "We agreed on oak for the new doors.",
        "The new password of the router is Tulip#2291.",
    )
    snapshot = memory.context()["snapshot"]
    assert "We agreed on oak" in snapshot
    assert "[removed" not in part(memory, "Decided")
