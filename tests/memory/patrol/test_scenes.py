"""Everything that people say is kept, in pieces, and annotated by rules."""

from __future__ import annotations

import re

import pytest

from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.store import messages
from clawkit.memory.tokens import Caller
from tests.memory.patrol.minds import DAY, NOW, TODAY, Mind


def _without_days(action: str) -> str:
    """The words as they were said, without the days that were written behind them."""
    return re.sub(r" \(\d{4}-\d{2}-\d{2}\)", "", action)


def _learned(mind: Mind, text: str) -> list[str]:
    mind.patrol(ConversationMessage("user", text))
    return [node.scene.action for node in mind.nodes()]


@pytest.mark.parametrize(
    "said",
    [
        "I live in Lisbon with two cats.",
        "it goes up to 100 micrograms",
        "My wife Sara is allergic to nuts.",
        "the boiler man comes later now",
        "Remember that the gate code is 4711.",
        "Dr. Smith told me to avoid salt.",
        "Where do I find my keys?",
        "Can you write to Piotr that the viewing is at nine?",
        "ok",
        "Am Freitag kommt der Klempner, er heißt Wolf.",
        "Ab jetzt nehme ich die Tabletten abends.",
        "mi hermana vive en Cádiz desde marzo",
        "Ma fille est allergique aux arachides",
        "Mia madre ha cambiato medico.",
        "o meu chefe agora é a Rita",
        "mijn dochter heet Fenna",
        "Моя сестра живёт в Казани.",
        "Annem Ankara'da.",
        "我对花生过敏。",
        "제 동생은 부산에 살아요.",
        "毎朝6時に起きています。",
        "納豆が苦手です。",
    ],
)
def test_whatever_a_person_says_is_kept_in_any_language(mind: Mind, said: str) -> None:
    assert list(map(_without_days, _learned(mind, said))) == [said]


@pytest.mark.parametrize(
    "no_words_of_theirs",
    [
        "```\nmy_list = [1]\nI = 2\n```",
        "> I moved to Rome, she wrote.",
        "<memory-recall>\nI like green tea / I was glad\n</memory-recall>",
        "<memory-recall>I like green tea, and the block is not closed",
        "",
        "   \n\n ",
    ],
)
def test_code_quotes_and_what_recall_told_are_no_words_of_theirs(
    mind: Mind, no_words_of_theirs: str
) -> None:
    assert _learned(mind, no_words_of_theirs) == []


def test_only_what_the_user_says_is_a_fact_of_the_user(mind: Mind) -> None:
    mind.patrol(
        ConversationMessage("assistant", "I live in a data center."),
        ConversationMessage("system", "My name is Claw."),
        ConversationMessage("tool", "I have 3 results."),
    )
    assert mind.nodes() == []


def test_a_sentence_that_goes_on_stays_with_the_one_before(mind: Mind) -> None:
    long = "My sister Anna has a dog that she found by the river in the very cold winter last year"
    text = f"{long}, {'on and on, ' * 12}and kept. He is called Rex. {'We walk a lot. ' * 15}"
    first, *_ = _learned(mind, text)
    assert first.endswith("and kept. He is called Rex.")
    assert mind.nodes()[0].scene.actors == ("user", "Anna")


@pytest.mark.parametrize(
    ("text", "actors"),
    [
        ("My sister Anne-Marie lives in Ghent.", ("user", "Anne-Marie")),
        ("My IBAN is NL91 ABNA 0417 1643 00.", ("user",)),
        ("My flight is LH4711 to Oslo.", ("user",)),
        ("My dentist is called Dr. Weber.", ("user", "Weber")),
        ("Mein Arzt heißt Dr. Weber.", ("user", "Weber")),
    ],
)
def test_who_is_introduced_takes_part_and_no_number_does(
    mind: Mind, text: str, actors: tuple[str, ...]
) -> None:
    _learned(mind, text)
    assert mind.nodes()[0].scene.actors == actors


def test_a_piece_knows_what_was_said_before_it(mind: Mind) -> None:
    mind.patrol(ConversationMessage("user", "Dr Shah rang about the thyroid."), conversation="c")
    mind.patrol(ConversationMessage("user", "It goes up to 100."), conversation="c", now=NOW + 60)
    mind.patrol(ConversationMessage("user", "Never mind."), conversation="c", now=NOW + DAY)
    contexts = [node.scene.context for node in mind.nodes()]
    assert contexts == ["", "Dr Shah rang about the thyroid.", ""]


def test_a_date_ends_no_sentence(mind: Mind) -> None:
    said = "Am 11. November um 8.30 Uhr kommt Hr. Wolf wegen z.B. der Heizung."
    assert list(map(_without_days, _learned(mind, said))) == [said]


def test_the_day_is_the_one_that_is_named_or_the_one_of_the_message(mind: Mind) -> None:
    mind.patrol(
        ConversationMessage("user", "I flew to Oslo yesterday. I love fjords.", at=NOW - 10 * DAY),
        ConversationMessage("user", "明日は母の誕生日です。"),
    )
    assert [node.scene.when for node in mind.nodes()] == [
        ("2026-09-11", "2026-09-10"),
        ("2026-09-21", "2026-09-22"),
    ]


def test_provenance_says_who_said_it_and_where(mind: Mind) -> None:
    mind.patrol(
        ConversationMessage("user", "I love fjords.", speaker="Ben"),
        caller=Caller(token="t-9", conversation="talk-7"),
    )
    (node,) = mind.nodes()
    assert (node.source.speaker, node.source.token, node.source.conversation) == (
        "Ben",
        "t-9",
        "talk-7",
    )
    assert node.scene.actors == ("Ben",)


def test_what_changes_a_life_weighs_more_than_the_weather_of_a_mood(mind: Mind) -> None:
    texts = ["I'm allergic to nuts.", "We decided to move.", "I love tea.", "I had soup at noon."]
    mind.patrol(*(ConversationMessage("user", text) for text in texts))
    assert [node.scene.importance for node in mind.nodes()] == [0.8, 0.7, 0.6, 0.5]


def test_the_same_history_twice_is_stored_and_looked_at_once(mind: Mind) -> None:
    said = [
        ConversationMessage("user", "I love fjords."),
        ConversationMessage("assistant", "Nice."),
        ConversationMessage("user", "ok"),
    ]
    first = mind.patrol(*said)
    again = mind.patrol(*said, ConversationMessage("user", "I hate rain."), now=NOW + DAY)
    assert (first.scenes_created, again.scenes_created) == (2, 1)
    assert [node.scene.action for node in mind.nodes()] == ["I love fjords.", "ok", "I hate rain."]
    with mind.database.read(mind.being) as unit:
        kept = messages.search(unit, limit=50)
    assert [one.text for one in reversed(kept)] == ["I love fjords.", "Nice.", "ok", "I hate rain."]


def test_the_last_part_of_a_history_continues_it(mind: Mind) -> None:
    said = [ConversationMessage("user", f"I own {n} boats.") for n in range(5)]
    mind.patrol(*said[:4])
    assert mind.patrol(*said[2:]).scenes_created == 1


def test_messages_before_the_marker_are_kept_but_not_looked_at(mind: Mind) -> None:
    said = [
        ConversationMessage("user", "I love fjords."),
        ConversationMessage("user", "I hate rain."),
    ]
    marker = mind.patrol(said[0], dry_run=True).marker_id
    assert mind.nodes() == []
    outcome = mind.patrol(*said, marker=marker)
    assert [node.scene.action for node in mind.nodes()] == ["I hate rain."]
    assert outcome.marker_id != marker
    with mind.database.read(mind.being) as unit:
        assert len(messages.search(unit, limit=50)) == 2


def test_a_marker_is_always_given(mind: Mind) -> None:
    first = mind.patrol().marker_id
    assert first
    assert mind.patrol().marker_id == first
    marker = mind.patrol(ConversationMessage("user", "hello")).marker_id
    assert mind.patrol().marker_id == marker


def test_a_phrase_said_again_is_no_news(mind: Mind) -> None:
    mind.patrol(ConversationMessage("user", "ok, thanks!"), conversation="a")
    mind.patrol(ConversationMessage("user", "Ok thanks"), conversation="b", now=NOW + 5 * DAY)
    (node,) = mind.nodes()
    assert node.reactivation_count == 1


def test_what_is_so_again_is_news(mind: Mind) -> None:
    for day, dose in enumerate((100, 75, 100)):
        said = ConversationMessage("user", f"I take {dose} micrograms in the morning.")
        mind.patrol(said, conversation=f"{day}", now=NOW + day * DAY)
    days = [(node.scene.action.split()[2], node.scene.when) for node in mind.nodes()]
    assert days == [("100", (TODAY,)), ("75", ("2026-09-22",)), ("100", ("2026-09-23",))]


def test_an_event_on_another_day_is_another_event(mind: Mind) -> None:
    for day in range(2):
        said = ConversationMessage("user", "I ran ten miles today.")
        mind.patrol(said, conversation=f"{day}", now=NOW + day * DAY)
    assert [node.scene.when for node in mind.nodes()] == [(TODAY,), ("2026-09-22",)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["<memory-recall ", "```\n", "> I ", "<  ", "I (2026-", "。", "a."]
)
def test_a_megabyte_of_anything_is_read_to_its_end(mind: Mind, part: str) -> None:
    text = part * (1_000_000 // len(part))
    assert (
        mind.patrol(
            ConversationMessage("user", text), ConversationMessage("user", "I love fjords.")
        ).scenes_created
        >= 1
    )


def test_a_long_message_is_kept_whole(mind: Mind) -> None:
    many = "".join(f"I own boat number {n}.\n" for n in range(500))
    mind.patrol(
        ConversationMessage("user", many), ConversationMessage("user", "I " + "x" * 1_000_000)
    )
    kept = " ".join(node.scene.action for node in mind.nodes())
    assert all(f"boat number {n}." in kept for n in range(500))
    assert max(len(node.scene.action) for node in mind.nodes()) <= 1_000
