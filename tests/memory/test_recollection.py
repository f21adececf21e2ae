"""What is told beside the best memory: what it leads to, and what came after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from tests.memory.http.being_store import Clock


@pytest.fixture
def memory(address: str, clock: Clock) -> Iterator[Memory]:
    store = BeingStore(open_store(address), clock=clock)
    yield store.open(store.create("mind"))
    store.close()


def told(memory: Memory, question: str) -> str:
    return memory.recall(question, Caller()).text


def test_whom_the_best_memory_introduces_is_told_beside_it(memory: Memory) -> None:
    memory.remember("Stan's daughter is called Ivy", Caller(), actors=["Stan", "Ivy"])
    memory.remember("Ivy repairs clocks for a museum in Leeds", Caller(), actors=["Ivy"])
    assert "museum in Leeds" in told(memory, "Where does Stan's daughter work?")


def test_what_came_later_on_the_same_matter_is_told_beside_the_older(
    memory: Memory, clock: Clock
) -> None:
    memory.remember("I take 75 micrograms of thyroxine every morning", Caller())
    clock.now += 40 * 86_400
    memory.remember("The thyroxine goes up to 100 micrograms from today", Caller())
    block = told(memory, "How much thyroxine do I take?")
    assert "2027-01-15: I take 75 micrograms" in block
    assert "2027-02-24: The thyroxine goes up to 100 micrograms" in block


def test_what_is_so_now_comes_before_what_it_replaced(memory: Memory, clock: Clock) -> None:
    memory.remember("I take 75 micrograms of thyroxine every morning", Caller())
    clock.now += 40 * 86_400
    memory.remember("I take 100 micrograms of thyroxine every morning now", Caller())
    found = memory.recall("How much thyroxine do I take every morning?", Caller())
    assert "100" in found.hits[0].node.scene.action
    assert found.text.index("100 micrograms") < found.text.index("75 micrograms")


def test_a_question_about_the_past_begins_with_what_was_so(memory: Memory, clock: Clock) -> None:
    memory.remember("I live in Hamburg, in a flat by the canal", Caller())
    clock.now += 40 * 86_400
    memory.remember("I moved, my flat by the park in Bremen is bright", Caller())
    found = memory.recall("Where did I live before, in which flat by the canal?", Caller())
    assert "Hamburg" in found.hits[0].node.scene.action


def test_what_somebody_else_said_replaces_nothing(memory: Memory, clock: Clock) -> None:
    memory.remember("I live in Hamburg, in a flat by the canal", Caller(person="Anna"))
    clock.now += 40 * 86_400
    memory.remember("I moved, I live in Bremen now, in a flat", Caller(person="Ben"))
    found = memory.recall("Where do I live?", Caller(person="Anna"))
    assert "Hamburg" in found.hits[0].node.scene.action


def test_what_is_far_behind_the_best_is_not_told(memory: Memory) -> None:
    memory.remember("The spare key of the greenhouse hangs behind the fern", Caller())
    memory.remember("Ken is allergic to hazelnuts", Caller())
    memory.remember("We decided to use PostgreSQL for the billing service", Caller())
    block = told(memory, "Where did we leave the spare key?")
    assert "fern" in block
    assert "hazelnuts" not in block
    assert "PostgreSQL" not in block


def test_what_became_of_a_thing_is_told_beside_it_though_nothing_else_is_alike(
    memory: Memory, clock: Clock
) -> None:
    memory.remember("I drive a red Honda Jazz.", Caller())
    for text in ("My cat is called Biscuit.", "I play bridge on Wednesdays.", "Jean has my key."):
        memory.remember(text, Caller())
    clock.now += 86_400
    memory.remember("I sold the Jazz to Brenda's nephew and take the bus.", Caller())
    assert "sold the Jazz" in told(memory, "What car do I drive?")
    assert "Biscuit" not in told(memory, "What car do I drive?")


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        ("I live in Leeds, in a flat near the canal", "I moved to York", "Where do I live?"),
        ("Ik woon in Utrecht", "Ik ben vorige week naar Gent verhuisd", "Waar woon ik?"),
        ("Ich wohne in Kiel", "Ich bin nach Bremen umgezogen", "Wo wohne ich?"),
        (
            "Mijn pianoles is op dinsdag",
            "De pianoles is verplaatst naar vrijdag",
            "Wanneer is pianoles?",
        ),
    ],
)
def test_what_is_so_now_is_listed_first_and_the_earlier_one_is_marked(
    memory: Memory, clock: Clock, old: str, new: str, question: str
) -> None:
    memory.remember(old, Caller())
    clock.now += 40 * 86_400
    memory.remember(new, Caller())
    found = memory.recall(question, Caller())
    assert [hit.node.scene.action.split(" (")[0] for hit in found.hits] == [new, old]
    assert [hit.earlier for hit in found.hits] == [False, True]
    assert f"2027-01-15 (earlier): {old}" in found.text
    assert "2027-02-24: " in found.text


def test_what_somebody_tells_of_another_home_marks_none(memory: Memory, clock: Clock) -> None:
    memory.remember("I live in Leeds, in a flat near the canal", Caller())
    clock.now += 40 * 86_400
    memory.remember("Anna moved to York", Caller(), actors=["Anna"])
    assert "(earlier)" not in told(memory, "Where do I live, in which flat?")


def test_the_day_that_a_memory_is_of_says_which_is_newer(memory: Memory) -> None:
    memory.remember("I now take 100 micrograms of thyroxine", Caller(), when=["2026-10-05"])
    memory.remember("I take 75 micrograms of thyroxine", Caller(), when=["2026-05-02"])
    found = memory.recall("How much thyroxine do I take?", Caller())
    assert [hit.earlier for hit in found.hits] == [False, True]
    assert "2026-05-02 (earlier): I take 75" in found.text
