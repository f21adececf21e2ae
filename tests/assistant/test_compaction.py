from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.assistant.compaction import cut_down, fit, shorten
from clawkit.errors import ContextTooLongError
from clawkit.models.protocol import (
    IMAGE_TOKENS,
    Image,
    Message,
    Text,
    ToolCall,
    ToolOutcome,
    message_tokens,
    messages_tokens,
)
from tests.assistant.offline_corpus import assistant, user


def step(number: int, size: int) -> list[Message]:
    """A turn in which a tool gives `size` characters."""
    outcome = ToolOutcome(f"c{number}", (Text(f"head{number} " + "x" * size + f" tail{number}"),))
    return [
        user(f"question {number}"),
        assistant(ToolCall(f"c{number}", "look", {"page": number})),
        Message("tool", (outcome,)),
        assistant(f"answer {number}"),
    ]


def picture(number: int) -> list[Message]:
    image = Image(b"data", "image/png", f"picture{number}.png")
    return [Message("user", (Text(f"look {number}"), image)), assistant(f"seen {number}")]


def text_of(message: Message) -> str:
    outcome = message.parts[0]
    assert isinstance(outcome, ToolOutcome)
    return "".join(part.text for part in outcome.parts if isinstance(part, Text))


def is_paired(messages: tuple[Message, ...]) -> bool:
    """Every call has its outcome, and every outcome its call."""
    parts = [part for message in messages for part in message.parts]
    calls = [part.id for part in parts if isinstance(part, ToolCall)]
    outcomes = [part.call_id for part in parts if isinstance(part, ToolOutcome)]
    return calls == outcomes


def test_what_fits_is_left_alone() -> None:
    messages = [*step(1, 100), *picture(2), user("and now?")]
    fitted = fit(messages, 100_000)
    assert fitted.messages == tuple(messages)
    assert fitted.trimmed == 0
    assert fitted.needs_summary_of == ()


def test_old_results_are_cut_first_and_say_how_much_is_gone() -> None:
    messages = [*step(1, 40_000), *step(2, 100), *step(3, 100), user("and now?")]
    fitted = fit(messages, 3000)
    cut = text_of(fitted.messages[2])
    assert cut.startswith("head1 ")
    assert cut.endswith(" tail1")
    assert "of 40,012 characters left out" in cut
    assert fitted.trimmed == 1
    assert fitted.needs_summary_of == ()
    assert fitted.messages[3:] == tuple(messages[3:])


def test_the_largest_old_result_is_cut_before_the_others() -> None:
    messages = [*step(1, 8_000), *step(2, 40_000), *step(3, 10), *step(4, 10), user("and now?")]
    fitted = fit(messages, 4000)
    assert fitted.messages[2] == messages[2]
    assert len(text_of(fitted.messages[6])) < 3000
    assert fitted.trimmed == 1


def test_results_of_the_last_two_turns_are_not_cut_while_turns_can_be_left_out() -> None:
    talk = [message for n in range(40) for message in (user("why? " * 50), assistant("so. " * 90))]
    messages = [*talk, *step(1, 3000), user("and now?")]
    fitted = fit(messages, 3000)
    assert fitted.trimmed == 0
    assert messages[len(talk) + 2] in fitted.messages
    assert len(fitted.needs_summary_of) + len(fitted.messages) == len(messages)


def test_old_pictures_become_their_names_before_turns_are_left_out() -> None:
    messages = [*picture(1), *picture(2), *picture(3), user("and now?")]
    fitted = fit(messages, 2 * IMAGE_TOKENS + 200)
    assert Text("[image picture1.png, shown earlier]") in fitted.messages[0].parts
    assert fitted.messages[2:] == tuple(messages[2:])
    assert fitted.trimmed == 1
    assert fitted.needs_summary_of == ()


def test_the_pictures_of_the_last_message_are_never_replaced() -> None:
    messages = [*picture(1), *picture(2)[:1]]
    fitted = fit(messages, IMAGE_TOKENS + 200)
    assert fitted.messages[-1] == messages[-1]


def test_the_oldest_turns_are_given_back_as_they_were() -> None:
    messages = [*step(1, 40_000), *step(2, 10), user("and now?" * 60)]
    fitted = fit(messages, 200)
    assert fitted.needs_summary_of == tuple(messages[: len(fitted.needs_summary_of)])
    assert fitted.messages[0].role == "user"
    assert fitted.messages[-1] == messages[-1]


def test_one_giant_result_does_not_push_the_conversation_out() -> None:
    talk = [message for n in range(10) for message in (user(f"hm {n}"), assistant("so. " * 50))]
    messages = [*talk, *step(1, 400_000)[:3]]
    fitted = fit(messages, 8000)
    assert fitted.needs_summary_of == ()
    assert fitted.trimmed == 1
    assert messages_tokens(fitted.messages) <= 8000


def test_a_long_turn_of_many_results_still_fits() -> None:
    turn = [message for n in range(25) for message in step(n, 30_000)[1:3]]
    messages = [*step(99, 100), user("do it all"), *turn]
    fitted = fit(messages, 4000)
    assert messages_tokens(fitted.messages) <= 4000
    assert is_paired(fitted.messages)
    assert fitted.messages[0] == user("do it all")


def written(number: int, size: int) -> list[Message]:
    """A call that gives a tool `size` characters, and its outcome."""
    arguments = {"path": "t.csv", "rows": [{"text": "head" + "x" * size + "tail"}], "n": 1}
    return [
        assistant(ToolCall(f"c{number}", "write", arguments)),
        Message("tool", (ToolOutcome(f"c{number}", (Text("written"),)),)),
    ]


def test_what_a_tool_was_given_is_cut_once_it_is_done_and_says_how_much_is_gone() -> None:
    messages = [user("make a table"), *written(1, 12_000)]
    fitted = fit(messages, 1500)
    call = fitted.messages[1].parts[0]
    assert isinstance(call, ToolCall)
    text = call.arguments["rows"][0]["text"]
    assert text.startswith("headx")
    assert text.endswith("xtail")
    assert "of 12,008 characters left out" in text
    assert (call.arguments["path"], call.arguments["n"]) == ("t.csv", 1)
    assert fitted.trimmed == 1
    assert fitted.messages[2] == messages[2]


def test_a_call_that_is_not_done_is_never_cut() -> None:
    messages = [user("make a table"), written(1, 12_000)[0]]
    with pytest.raises(ContextTooLongError):
        fit(messages, 1500)


def test_a_message_is_cut_down_with_all_its_parts() -> None:
    pictures = tuple(picture(n)[0].parts[1] for n in range(20))
    message = Message("user", (Text("head " + "x" * 90_000 + " tail"), *pictures))
    cut = cut_down(message, 2000)
    assert message_tokens(cut) <= 4000
    assert [type(part) for part in cut.parts] == [Text] * 21
    assert cut.parts[1] == Text("[image picture0.png, shown earlier]")
    calls = Message("assistant", tuple(written(n, 9000)[0].parts[0] for n in range(5)))
    assert message_tokens(cut_down(calls, 2000)) <= 4000


def test_a_message_that_is_too_long_by_itself_says_what_to_do() -> None:
    with pytest.raises(
        ContextTooLongError, match=r"tokens, and 1,000 fit: send less text"
    ) as raised:
        fit([*step(1, 10), user("word " * 10_000)], 1000)
    assert "larger context" in str(raised.value)
    assert raised.value.final


def test_an_outcome_whose_call_is_out_of_sight_is_left_out() -> None:
    messages = [*step(1, 10)[2:], user("and now?")]
    fitted = fit(messages, 10_000)
    assert fitted.needs_summary_of == (messages[0],)
    assert fitted.messages == tuple(messages[1:])


turns = st.lists(
    st.one_of(
        st.builds(step, st.integers(0, 99), st.integers(0, 9000)),
        st.builds(picture, st.integers(0, 99)),
        st.builds(lambda size: [user("w " * size), assistant("a " * size)], st.integers(0, 900)),
    ),
    max_size=8,
)


@given(turns, st.integers(100, 12_000))
def test_whatever_it_is_it_fits_in_order_in_pairs_with_the_last_message_whole(
    turns: list[list[Message]], budget: int
) -> None:
    messages = [*(message for turn in turns for message in turn), user("and now?")]
    fitted = fit(messages, budget)
    assert messages_tokens(fitted.messages) <= budget
    assert fitted.messages[-1] == messages[-1]
    assert is_paired(fitted.messages)
    left = len(fitted.needs_summary_of)
    assert fitted.needs_summary_of == tuple(messages[:left])
    assert [m.role for m in fitted.messages] == [m.role for m in messages[left:]]
    assert (fitted.trimmed == 0) == (fitted.messages == tuple(messages[left:]))


@given(st.text(max_size=500), st.integers(0, 200))
def test_shortening_never_makes_longer_and_keeps_both_ends(text: str, keep: int) -> None:
    short = shorten(text, keep)
    assert len(short) <= len(text)
    if short != text:
        assert short.startswith(text[: keep * 2 // 3])
        assert f"of {len(text):,} characters" in short
