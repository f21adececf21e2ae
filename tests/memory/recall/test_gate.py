"""What is told and what is not: of a few memories as of many, in both stores."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.recollection import NOTHING
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from tests.memory.http.being_store import Clock

ENGLISH = (
    "My wife Sara is allergic to nuts.",
    "I work at the harbour office in Bergen.",
    "Our dog is called Pixel and he is four.",
    "The car goes to the garage on 3 December.",
    "I owe Tom 40 euros for the concert.",
)
GERMAN = (
    "Meine Frau Sara ist gegen Nüsse allergisch.",
    "Ich arbeite im Hafenamt in Bergen.",
    "Unser Hund heißt Pixel und ist vier.",
    "Das Auto kommt am 3. Dezember in die Werkstatt.",
    "Ich schulde Tom 40 Euro für das Konzert.",
)
MORE = (
    "The boiler is serviced every October by a man from Voss.",
    "Tom plays the trombone in a brass band.",
    "Sara swims on Wednesday mornings.",
    "The neighbours are called Dahl and have twins.",
    "I prefer rye bread.",
    "The lighthouse tour was cold and lovely.",
    "My bicycle has a new chain.",
    "Dinner with the Dahls was fun.",
    "We painted the fence green.",
    "The library book is due in two weeks.",
    "Pixel was sick on the rug.",
    "We watched a film about penguins.",
    "My shoulder hurts when I row.",
    "The ferry was late again.",
    "Sara's mother sends us cheese.",
)


@pytest.fixture
def memory(address: str, clock: Clock) -> Iterator[Memory]:
    store = BeingStore(open_store(address), clock=clock)
    yield store.open(store.create("mind"))
    store.close()


def told(memory: Memory, question: str) -> str:
    return memory.recall(question, Caller()).text


@pytest.mark.parametrize("texts", [ENGLISH, GERMAN, (*ENGLISH, *MORE)], ids=["en", "de", "twenty"])
def test_a_few_memories_of_other_things_are_not_told(
    memory: Memory, texts: tuple[str, ...]
) -> None:
    for text in texts:
        memory.remember(text, Caller())
    asked = (
        *("umbrella", "Regenschirm", "Fotosynthese"),
        *("What is my blood type?", "Wer ist mein Vermieter?"),
    )
    assert [one for one in asked if told(memory, one) != NOTHING] == []


@pytest.mark.parametrize("texts", [ENGLISH, GERMAN, (*ENGLISH, *MORE)], ids=["en", "de", "twenty"])
def test_among_a_few_memories_the_one_that_answers_is_told(
    memory: Memory, texts: tuple[str, ...]
) -> None:
    for text in texts:
        memory.remember(text, Caller())
    asked = (
        "What must Sara not eat?",
        "Where do I work?",
        "What is our dog called?",
        "Wann muss das Auto in die Werkstatt?",
        "How much do I owe Tom?",
    )
    for question, answer in zip(asked, texts, strict=False):
        assert answer[:12] in told(memory, question), question


def test_a_sum_is_neither_answered_with_memories_nor_told_as_one(memory: Memory) -> None:
    said = ["2+2", "claw memry list", "I have 2 cats and 2 dogs."]
    memory.patrol(Caller(), [ConversationMessage("user", text) for text in said])
    assert told(memory, "2+2") == NOTHING
    block = told(memory, "How many cats do I have?")
    assert "2 cats" in block
    assert "·" not in block
    assert " / " not in block


def test_whose_words_they_are_is_said_wherever_memories_are_listed(memory: Memory) -> None:
    memory.remember("I take the bus at seven", Caller(person="Ben Whitaker"))
    memory.remember("I take the train at six", Caller(person="Anna Ruiz"))
    hits = memory.search("Who takes the bus?").hits
    assert any(", Ben Whitaker — I take the bus" in hit.node.text for hit in hits)
    assert any(", Anna Ruiz — I take the train" in hit.node.text for hit in hits)


def test_whether_it_is_told_does_not_depend_on_how_exactly_it_is_weighed(memory: Memory) -> None:
    memory.patrol(Caller(), [ConversationMessage("user", text) for text in (*ENGLISH, *MORE)])
    for question in (
        "Where does Sara swim?",
        "What is my dog called?",
        "Wann kommt das Auto in die Werkstatt?",
        "Which instrument does Tom play?",
        "What colour is the fence?",
        "What is my blood type?",
        "umbrella",
        "Who repairs the roof?",
    ):
        quick, exact = memory.search(question), memory.search(question, explain=True)
        assert quick.relevant == exact.relevant, question
        assert quick.confidence <= exact.confidence + 1e-6, question


@pytest.mark.parametrize("texts", [ENGLISH, (*ENGLISH, *MORE)], ids=["five", "twenty"])
def test_small_talk_and_sums_bring_nothing_to_mind(memory: Memory, texts: tuple[str, ...]) -> None:
    said = [*texts, "ok, thanks", "good morning!", "Danke, passt."]
    memory.patrol(Caller(), [ConversationMessage("user", text) for text in said])
    messages = (
        *("ok", "yes please", "hello!", "good morning", "thanks, that's great", "lol"),
        *("sounds good, go ahead", "passt", "danke dir", "klingt gut, mach", "ja bitte"),
        *("what about the other one?", "What's 17% of 340?", "was ist 17% von 340?"),
    )
    assert [one for one in messages if told(memory, one) != NOTHING] == []


def test_few_words_are_enough_to_ask(memory: Memory) -> None:
    said = [*ENGLISH, "The spare key is with Mrs Dahl."]
    memory.patrol(Caller(), [ConversationMessage("user", text) for text in said])
    assert "Mrs Dahl" in told(memory, "spare key")


@pytest.mark.parametrize(
    ("first", "then", "question", "now"),
    [
        (
            "We're flying to Lisbon on 12 December with TAP.",
            "Sorry, wrong: the flight is on 14 December, not the 12th.",
            "When do we fly to Lisbon?",
            "14 December",
        ),
        (
            "I'm saving 200 a month for the holiday.",
            "Made it 150 a month for the holiday pot, petrol is killing me.",
            "How much do I save each month for the holiday?",
            "150",
        ),
    ],
)
def test_what_corrects_the_best_is_told_beside_it_however_far_behind(
    memory: Memory, first: str, then: str, question: str, now: str
) -> None:
    said = [first, *ENGLISH, then]
    memory.patrol(Caller(), [ConversationMessage("user", text) for text in said])
    assert now in told(memory, question)


def test_the_first_memory_does_not_come_to_mind_at_everything(memory: Memory) -> None:
    memory.remember("The spare key of the greenhouse hangs behind the fern.", Caller())
    for text in (
        "Write me a poem about the sea",
        "Which port does nginx use by default?",
        "please refactor this function",
        "Who won the cup?",
    ):
        assert memory.recall(text, Caller()).text == NOTHING
    assert "fern" in memory.recall("Where is the spare key?", Caller()).text
