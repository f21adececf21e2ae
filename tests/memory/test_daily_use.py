"""What people who live with a Being notice first: told by meaning, on either store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.memory import Memory
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.recollection import NOTHING
from clawkit.memory.tokens import Caller
from clawkit.store.database import Database
from tests.memory.http.being_store import Clock

DAY = 86_400.0
MIRIAM = Caller(token="t1", person="Miriam Brandt")
JONAS = Caller(token="t2", person="Jonas Brandt")


@pytest.fixture
def memory(database: Database, clock: Clock) -> Iterator[Memory]:
    store = BeingStore(database, clock=clock)
    yield store.open(store.create("family"))
    store.close()


def tell(memory: Memory, caller: Caller, *texts: str) -> None:
    memory.patrol(caller, [ConversationMessage("user", text, memory.now) for text in texts])


def test_a_question_asked_before_is_no_answer_to_it(memory: Memory) -> None:
    tell(memory, MIRIAM, "My husband Jonas works as a joiner.", "Who is my husband?")
    told = memory.recall("Who is my husband?", MIRIAM)
    assert "joiner" in told.text
    assert [hit.node.scene.action for hit in told.hits] == ["My husband Jonas works as a joiner."]


@pytest.mark.parametrize(
    "asked",
    ["who is my husband", "wer ist mein Mann", "Forget my husband", "is my husband a joiner"],
)
def test_a_question_needs_no_mark_to_be_one(memory: Memory, asked: str) -> None:
    tell(memory, MIRIAM, "My husband Jonas works as a joiner.", asked)
    told = memory.recall("Who is my husband?", MIRIAM)
    assert [hit.node.scene.action for hit in told.hits] == ["My husband Jonas works as a joiner."]


def test_a_statement_that_begins_like_a_question_is_told(memory: Memory) -> None:
    tell(memory, MIRIAM, "When I was six, we lived in Leipzig.", "What I like most is rhubarb.")
    assert "Leipzig" in memory.recall("Where did we live when I was six?", MIRIAM).text
    assert "rhubarb" in memory.recall("What do I like most?", MIRIAM).text


def test_who_is_somebody_tells_what_they_said_and_what_is_said_of_them(memory: Memory) -> None:
    tell(memory, JONAS, "I am allergic to penicillin.", "I play the cello on Thursdays.")
    tell(memory, MIRIAM, "Jonas sold the motorbike.", "The heating costs went up.")
    for question in ("Who is Jonas?", "Tell me about Jonas Brandt", "Was weißt du über Jonas?"):
        told = memory.recall(question, MIRIAM).text
        assert all(word in told for word in ("penicillin", "cello", "motorbike")), question
    assert memory.recall("Who is Franzi?", MIRIAM).text == NOTHING


def test_what_another_person_said_is_no_context_of_mine(memory: Memory, clock: Clock) -> None:
    tell(memory, JONAS, "I dropped my phone last week, do not tell anybody.")
    clock.now += 60
    tell(memory, MIRIAM, "I put 2,500 euros into the savings account.")
    told = memory.recall("How much is in the savings account?", MIRIAM).text
    assert "2,500" in told
    assert "phone" not in told


def test_a_sentence_that_is_remembered_has_the_days_it_names(memory: Memory) -> None:
    node = memory.remember("The dentist is tomorrow at 9", MIRIAM)
    assert node.scene.action == "The dentist is tomorrow (2027-01-16) at 9"
    assert node.scene.when == ("2027-01-15", "2027-01-16")
    dated = memory.remember("Bought the bike yesterday", MIRIAM, when=["2026-05-01"])
    assert dated.scene.action == "Bought the bike yesterday (2026-04-30)"
    assert dated.scene.when == ("2026-05-01", "2026-04-30")
    several = memory.remember("Ran 5 km yesterday", MIRIAM, when=["2026-05-01", "2026-05-08"])
    assert several.scene.action == "Ran 5 km yesterday"


def test_what_a_memory_is_replaced_by_has_the_days_it_names(memory: Memory) -> None:
    old = memory.remember("The dentist is tomorrow at 9", MIRIAM)
    new = memory.restate(old, "The dentist is on Monday, 18 January", MIRIAM)
    assert new.scene.action == "The dentist is on Monday, 18 January (2027-01-18)"
    assert new.scene.when == ("2027-01-15", "2027-01-18")


def test_ahead_is_what_names_a_day_to_come(memory: Memory) -> None:
    tell(memory, MIRIAM, "I hate coriander.", "The dentist is on Tuesday.", "When is the dentist?")
    ahead = memory.context()["snapshot"].partition("### Ahead")[2]
    assert "The dentist is on Tuesday" in ahead
    assert "coriander" not in ahead
    assert "When is the dentist" not in memory.context()["snapshot"]


def test_ahead_has_days_of_the_month_that_are_named_by_their_number(memory: Memory) -> None:
    tell(memory, MIRIAM, "kirsten reist am 18. abends an", "die bücher sind zurück bis 20.2.")
    tell(memory, MIRIAM, "mi hermana llega el 24", "the yoga class is on Tuesday evenings")
    ahead = memory.context()["snapshot"].partition("### Ahead")[2]
    assert "am 18. (2027-01-18) abends an" in ahead
    assert "bis 20.2. (2027-02-20)" in ahead
    assert "el 24 (2027-01-24)" in ahead
    assert "yoga" not in ahead


@pytest.mark.parametrize("asked", ["What happened yesterday?", "Was war gestern?"])
def test_a_day_of_which_nothing_was_told_brings_nothing_else(
    memory: Memory, clock: Clock, asked: str
) -> None:
    tell(memory, Caller(), "The boiler was serviced by Mr Ortiz.", "Anna moved to Porto.")
    clock.now += 5 * 86_400
    assert memory.recall(asked, Caller()).text == NOTHING


def test_of_five_memories_only_those_on_the_matter_are_told(memory: Memory) -> None:
    tell(
        memory,
        Caller(),
        "My sister Julia lives in Porto.",
        "The boiler is serviced by Mr Ortiz every March.",
        "I take 75 micrograms of thyroxine in the morning.",
        "My car is a blue Skoda.",
        "The spare key hangs behind the fern.",
    )
    told = memory.recall("Who services the boiler?", Caller())
    assert [hit.node.scene.action[:10] for hit in (*told.hits, *told.beside)] == ["The boiler"]


OF_MILA = (
    "I live in Haarlem with my daughter Mila and my son Bram",
    "Mila has swimming lessons on Wednesday at 16:00", "Mila has a fever since this morning, 38.6",
    "so no swimming today obviously", "Mila terug naar school vandaag, geen koorts meer",
    "Lotte's birthday party is Saturday 24 October at the Jumpsquare, Mila is invited",
    "party was great, Mila ate too much cake lol", "Bram goes to daycare on Monday and Tuesday",
)  # fmt: skip
LATER_OF_MILA = (
    "I live in Haarlem with my daughter Mila and my son Bram",
    "swimming moved to Friday 15:30 starting next week",
    "Mila got her zwemdiploma A date: 28 november!", "halloween, Mila was a bat and Bram a pumpkin",
    "made an appointment at the optician for Mila, wednesday 11 november 14:00",
    "talk with juf Karin went well, Mila reads at level E4", "Mila needs glasses, -1.25 both eyes",
    "Jasmijn picks up Mila on thursday, I have a late meeting", "Mila loved Artis",
    "actually Joris picks up Mila on Thursday, Jasmijn has an exam",
    "todo this week: pay swimming club 85 euro, return library books",
    "Bram has a playdate with Noah on Thursday after daycare", "Bram no longer goes swimming",
)  # fmt: skip


def test_what_moved_comes_before_what_it_changed_though_it_does_not_say_whose_it_is(
    memory: Memory, clock: Clock
) -> None:
    for texts in (OF_MILA, LATER_OF_MILA):
        for text in texts:
            tell(memory, Caller(), text)
        clock.now += 9 * DAY
    found = memory.recall("what day is Mila's swimming?", Caller())
    assert found.hits[0].node.scene.action.startswith("swimming moved to Friday")
    assert "Wednesday at 16:00" in found.text
