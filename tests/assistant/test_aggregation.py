from __future__ import annotations

from typing import Any

import pytest

from clawkit.assistant.callbacks import AssistantReply, combine
from clawkit.assistant.media.outbound import Outgoing
from clawkit.assistant.order import LONGEST_TOOL_TEXT, CollectedReply
from clawkit.assistant.toolbox.tool_source import CallResult
from clawkit.models.protocol import Text, ToolCall, ToolOutcome, Usage

CALL = ToolCall("1", "mcp__garden__water", {})


def outcome(text: str, *, is_error: bool = False) -> CallResult:
    return CallResult(ToolOutcome("1", (Text(text),), is_error), text, (), 0.1)


def collected(*texts: str, final: str = "Done.", **options: Any) -> dict[str, Any]:
    parts = CollectedReply()
    for text in texts:
        parts.block(text)
    reply = AssistantReply(final, "offline", "key", **options)
    return parts.result(reply, with_media=True, structured=False)


@pytest.mark.parametrize(
    ("parts", "whole"),
    [
        (["Looking.", "Found it."], "Looking.\n\nFound it."),
        (["Found it.", "Found it."], "Found it."),
        (["Found  it.", "\nFound it. "], "Found it."),
        (["see a", "see a and b", "done"], "see a and b\n\ndone"),
        (["42", "The answer is 42."], "The answer is 42."),
        (["The answer is 42.", "42"], "The answer is 42.\n\n42"),
        (
            ["A page: the capital is Paris. And so on.", "Paris"],
            "A page: the capital is Paris. And so on.\n\nParis",
        ),
        (["4", "The answer is 42."], "4\n\nThe answer is 42."),
        (["", "  ", "Here."], "Here."),
        (["a", "b", "a"], "b\n\na"),
        (["a", "b", "a", ""], "a\n\nb"),
        (["line one\nline two", "see:\nline one\nline two"], "see:\nline one\nline two"),
    ],
)
def test_each_thing_is_said_once_and_the_answer_ends_it(parts: list[str], whole: str) -> None:
    *said, answer = parts
    assert combine(said, answer) == whole


def test_blocks_tool_results_and_the_answer_are_one_text() -> None:
    parts = CollectedReply()
    parts.block("Let me look.")
    parts.tool_ended(CALL, outcome("soil: 12 %"))
    result = parts.result(AssistantReply("It is dry.", "m", "k"), with_media=True, structured=False)
    assert result == {
        "content": [{"type": "text", "text": "Let me look.\n\nsoil: 12 %\n\nIt is dry."}],
        "isError": False,
    }


def test_tool_results_can_be_left_out_and_failed_ones_always_are() -> None:
    parts = CollectedReply(show_tools=False)
    parts.tool_ended(CALL, outcome("soil: 12 %"))
    failing = CollectedReply()
    failing.tool_ended(CALL, outcome("no such bed", is_error=True))
    for one in (parts, failing):
        result = one.result(AssistantReply("Dry.", "m", "k"), with_media=True, structured=False)
        assert result["content"] == [{"type": "text", "text": "Dry."}]


def test_a_long_tool_result_is_cut_and_says_so() -> None:
    parts = CollectedReply()
    parts.tool_ended(CALL, outcome("x" * (LONGEST_TOOL_TEXT + 7)))
    text = parts.result(AssistantReply("Dry.", "m", "k"), with_media=True, structured=False)[
        "content"
    ][0]
    assert "[7 more characters of mcp__garden__water left out]" in text["text"]


def test_media_follow_the_text_and_what_is_left_out_is_said() -> None:
    picture = Outgoing("plot.png", "image/png", b"\x89PNG")
    result = collected(media=(picture,), omissions=("big.bin was left out: too big",))
    assert [block["type"] for block in result["content"]] == ["text", "image"]
    assert result["content"][0]["text"] == "Done.\n\n[big.bin was left out: too big]"


def test_a_text_only_tool_says_which_media_it_leaves_out() -> None:
    reply = AssistantReply("Done.", "m", "k", (Outgoing("plot.png", "image/png", b"\x89PNG"),))
    result = CollectedReply().result(reply, with_media=False, structured=False)
    assert [block["type"] for block in result["content"]] == ["text"]
    assert "plot.png left out" in result["content"][0]["text"]


def test_an_answer_that_could_not_be_kept_is_given_with_the_error() -> None:
    result = collected(problem="this answer is not in the session: disk full")
    assert result["isError"] is True
    assert result["content"][0]["text"].startswith("Done.")
    assert "Error: this answer is not in the session: disk full" in result["content"][0]["text"]


def test_structured_content_is_given_only_where_it_is_wanted() -> None:
    reply = AssistantReply("Done.", "anthropic/x", "key", usage=Usage(3, 4, 1), reason="length")
    plain = CollectedReply().result(reply, with_media=True, structured=False)
    assert "structuredContent" not in plain
    structured = CollectedReply().result(reply, with_media=True, structured=True)
    assert structured["structuredContent"] == {
        "sessionKey": "key",
        "model": "anthropic/x",
        "usage": {"input": 3, "output": 4, "cached": 1},
        "stopReason": "length",
    }
