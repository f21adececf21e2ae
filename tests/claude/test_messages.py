"""What the CLI says, typed; and what is new to us, as it came."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit.claude.messages import (
    AssistantMessage,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownMessage,
    UserMessage,
    parse_message,
)


def test_an_answer_has_typed_blocks_and_keeps_those_that_are_new() -> None:
    strange = {"type": "hologram", "beams": 3}
    blocks: list[Any] = [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "text", "text": "Let me see.", "citations": None},
        {"type": "tool_use", "id": "t", "name": "add", "input": {"a": 1}, "caller": {}},
        strange,
    ]
    data = {"type": "assistant", "message": {"content": blocks, "model": "m"}, "session_id": "s"}
    message = parse_message(data)
    assert isinstance(message, AssistantMessage)
    assert message.content == (
        ThinkingBlock("Hm.", "s"),
        TextBlock("Let me see."),
        ToolUseBlock("t", "add", {"a": 1}),
        UnknownBlock(strange),
    )
    assert (message.text, message.model, message.session_id) == ("Let me see.", "m", "s")
    assert message.data is data


def test_what_a_user_said_is_a_text_or_results() -> None:
    said = parse_message({"type": "user", "message": {"content": "Hello"}, "uuid": "u"})
    assert isinstance(said, UserMessage)
    assert (said.text, said.uuid) == ("Hello", "u")
    block = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "3"}]}
    result = parse_message({"type": "user", "message": {"content": [block]}})
    assert isinstance(result, UserMessage)
    assert result.content == (ToolResultBlock("t", [{"type": "text", "text": "3"}]),)


def test_a_piece_of_a_stream_has_its_words() -> None:
    delta = {"type": "text_delta", "text": "Hel"}
    event = {"type": "content_block_delta", "index": 0, "delta": delta}
    piece = parse_message({"type": "stream_event", "event": event, "session_id": "s"})
    assert isinstance(piece, StreamEvent)
    assert piece.text == "Hel"
    stop = parse_message({"type": "stream_event", "event": {"type": "message_stop"}})
    assert isinstance(stop, StreamEvent)
    assert stop.text == ""


def test_news_of_the_cli_itself() -> None:
    data = {"type": "system", "subtype": "init", "tools": []}
    assert parse_message(data) == SystemMessage("init", data)


@pytest.mark.parametrize(
    "data",
    [
        {"type": "tomorrow", "x": 1},
        {},
        {"type": 7},
        {"type": ["user"]},
        {"type": "user"},
        {"type": "user", "message": None},
        {"type": "user", "message": {"content": 7}},
        {"type": "assistant", "message": "text"},
        {"type": "assistant", "message": {"content": None}},
        {"type": "assistant", "message": ["content"]},
        {"type": "system"},
        {"type": "stream_event", "event": []},
    ],
)
def test_a_message_of_a_new_shape_passes_through_as_it_came(data: dict[str, Any]) -> None:
    message = parse_message(data)
    assert isinstance(message, UnknownMessage)
    assert message.data is data


WHOLE: dict[str, Any] = {
    "subtype": "success",
    "is_error": True,
    "session_id": "s",
    "num_turns": 2,
    "result": "Yes.",
    "total_cost_usd": 1,
    "usage": {"output_tokens": 3},
    "errors": ["e"],
}


@pytest.mark.parametrize(
    "odd",
    [
        *({"usage": None}, {"num_turns": "two"}, {"errors": {}}, {"session_id": None}),
        *({"result": 7}, {"total_cost_usd": "dear"}, {"origin": 1}, {"user_message_uuids": 3}),
    ],
)
def test_one_odd_field_of_a_result_spoils_no_other(odd: dict[str, Any]) -> None:
    data = {"type": "result", **WHOLE, **odd}
    message = parse_message(data)
    assert isinstance(message, ResultMessage)
    assert message.data is data
    for name in WHOLE.keys() - odd.keys():
        assert getattr(message, name) == WHOLE[name]
    for name in odd.keys() & WHOLE.keys():
        assert getattr(message, name) in (None, {}, 0, [], "")


@pytest.mark.parametrize("field", ["subtype", "is_error"])
def test_a_result_without_its_first_fields_still_ends_the_turn(field: str) -> None:
    data = {name: value for name, value in WHOLE.items() if name != field}
    message = parse_message({"type": "result", **data})
    assert isinstance(message, ResultMessage)
    assert message.result == "Yes."


def test_a_piece_of_a_stream_keeps_its_words_beside_an_odd_field() -> None:
    event = {"delta": {"type": "text_delta", "text": "Hel"}}
    piece = parse_message({"type": "stream_event", "event": event, "session_id": 7})
    assert isinstance(piece, StreamEvent)
    assert (piece.text, piece.session_id) == ("Hel", "")
