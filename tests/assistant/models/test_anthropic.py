from __future__ import annotations

import base64
from functools import partial
from typing import Any

import pytest

from clawkit.errors import ProviderDownError
from clawkit.models.messages import unreadable
from clawkit.models.protocol import Finished, Image, Text, ToolCall, ToolOutcome, ToolSpec, Usage
from clawkit.models.provider_errors import WrongAddressError
from tests.assistant.models import adapters
from tests.assistant.models.adapters import (
    ADD,
    KEY,
    adapter,
    asked,
    assistant,
    heard,
    outcomes,
    prompt,
    user,
)
from tests.assistant.providers.scripted import Call, Reply, Say, Status, scripted_anthropic

messages_sent = partial(adapters.messages_sent, "anthropic")
PNG = Image(b"\x89PNG....", "image/png", "cat.png")
CACHED = {"cache_control": {"type": "ephemeral"}}


async def test_text_streams_and_ends_with_usage_and_the_model_that_was_used() -> None:
    reply = Reply(Say("Hel", "lo"), input=100, output=5, cached=80, model="m-1-2026")
    text, calls, end, _ = await asked("anthropic", [reply])
    assert (text, calls) == ("Hello", [])
    assert end == Finished("end", Usage(100, 5, 80), "anthropic/m-1-2026")


async def test_the_request_has_key_version_system_and_limit() -> None:
    with scripted_anthropic([Say("ok")]) as server:
        async with adapter("anthropic", server.url, headers={"x-team": "blue"}) as model:
            await heard(model.stream(prompt(max_tokens=77)))
        request = server.last
    assert request.path == "/v1/messages"
    assert request.headers["x-api-key"] == KEY
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.headers["x-team"] == "blue"
    assert request.json["model"] == "m-1"
    assert request.json["max_tokens"] == 77
    assert request.json["stream"] is True
    assert request.json["system"] == [{"type": "text", "text": "Be kind.", **CACHED}]


async def test_an_address_may_end_in_v1_or_a_slash() -> None:
    for ending in ("/v1", "/v1/", "/"):
        with scripted_anthropic([Say("ok")]) as server:
            async with adapter("anthropic", server.url + ending) as model:
                assert (await heard(model.stream(prompt())))[0] == "ok"


async def test_tools_the_system_and_the_last_message_are_cached_and_nothing_else() -> None:
    tools = (ADD, ToolSpec("sub", "", {"type": "object"}))
    given = prompt(user("one"), assistant("two"), user("three"), tools=tools)
    *_, body = await asked("anthropic", [Say("ok")], given)
    assert str(body).count("cache_control") == 3
    assert "cache_control" in body["system"][-1]
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body["messages"][-1]["content"][-1]


async def test_calls_come_with_their_arguments_whole() -> None:
    step = [Say("Let me see."), Call("add", {"a": 1}, "t1"), Call("add", {"a": "ü\n"}, "t2")]
    text, calls, end, _ = await asked("anthropic", [step], prompt(tools=(ADD,)))
    assert text == "Let me see."
    assert calls == [ToolCall("t1", "add", {"a": 1}), ToolCall("t2", "add", {"a": "ü\n"})]
    assert end.reason == "tools"


async def test_a_call_without_arguments_has_none() -> None:
    _, calls, _, _ = await asked("anthropic", [Call("add", "")])
    assert calls[0].arguments == {}
    assert unreadable(calls[0]) is None


@pytest.mark.parametrize("broken", ['{"a": 1', "[1]", "yes", '{"a": }'])
async def test_broken_arguments_are_a_call_that_says_so(broken: str) -> None:
    _, calls, end, _ = await asked("anthropic", [Call("add", broken)])
    assert end.reason == "tools"
    assert "valid JSON" in (unreadable(calls[0]) or "")
    assert broken in str(calls[0].arguments)


async def test_a_call_cut_by_the_limit_of_the_answer_can_be_repaired_by_the_model() -> None:
    _, calls, end, _ = await asked("anthropic", [Reply(Call("add", '{"a"'), stop="max_tokens")])
    assert (end.reason, bool(unreadable(calls[0]))) == ("tools", True)


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("something_new", "end"),
    ],
)
async def test_reasons_for_the_end(stop: str, reason: str) -> None:
    _, _, end, _ = await asked("anthropic", [Reply(Say("x"), stop=stop)])
    assert end.reason == reason


async def test_calls_and_outcomes_go_back_with_pictures_and_failures() -> None:
    sent = await messages_sent(
        user("add"),
        assistant("I will.", ToolCall("t1", "add", {"a": 1}), ToolCall("t2", "add", {})),
        outcomes(
            ToolOutcome("t1", (Text("1"), PNG)), ToolOutcome("t2", (Text("no"),), is_error=True)
        ),
        tools=(ADD,),
    )
    assert sent[1]["content"] == [
        {"type": "text", "text": "I will."},
        {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
        {"type": "tool_use", "id": "t2", "name": "add", "input": {}},
    ]
    first, second = sent[2]["content"]
    data = base64.b64encode(PNG.data).decode()
    source = {"type": "base64", "media_type": "image/png", "data": data}
    assert first["content"] == [
        {"type": "text", "text": "1"},
        {"type": "image", "source": source},
    ]
    assert "is_error" not in first
    assert second["is_error"] is True


async def test_turns_alternate_and_outcomes_come_first() -> None:
    sent = await messages_sent(
        user("a"),
        user("b"),
        assistant("c"),
        assistant(ToolCall("t1", "add", {})),
        outcomes(ToolOutcome("t1", ())),
        user("d"),
    )
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]
    assert [b["text"] for b in sent[0]["content"]] == ["a", "b"]
    assert [b["type"] for b in sent[2]["content"]] == ["tool_result", "text"]


async def test_a_message_arrives_byte_for_byte() -> None:
    text = "  \ttabs\r\n and \u2028 odd \u200b ones 👩‍👩‍👧  "
    sent = await messages_sent(user(text))
    assert sent[0]["content"][0]["text"] == text


async def test_half_a_character_does_not_stop_the_request() -> None:
    sent = await messages_sent(user("name \udcff.txt"))
    assert sent[0]["content"][0]["text"] == "name ?.txt"


async def test_what_would_make_the_provider_refuse_is_tidied() -> None:
    sent = await messages_sent(
        outcomes(ToolOutcome("gone", (Text("found it"),))),
        assistant("", ToolCall("a.b:1", "add", {})),
        user("stop", "  "),
        assistant(),
        user(""),
    )
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]
    assert "found it" in str(sent[0])
    assert sent[1]["content"][0]["id"] == "a_b_1"
    result, *texts = sent[2]["content"]
    assert (result["tool_use_id"], result["is_error"]) == ("a_b_1", True)
    assert "interrupted" in result["content"][0]["text"]
    assert [t["text"] for t in texts] == ["stop", "(An empty message.)"]


async def test_a_history_that_begins_with_the_assistant_gets_a_beginning() -> None:
    sent = await messages_sent(assistant("b"), user("c"))
    assert [m["role"] for m in sent] == ["user", "assistant", "user"]


async def test_names_that_the_provider_does_not_take_are_translated_both_ways() -> None:
    odd, long, close = "mcp__files__read.text", "n" * 100, "mcp__files__read_text"
    tools = tuple(ToolSpec(name, "", {}) for name in (odd, long, close))

    def answer(request: Any) -> Any:
        return [Call(name) for name in request.tools]

    _, calls, _, body = await asked("anthropic", answer, prompt(tools=tools))
    assert [call.name for call in calls] == [odd, long, close]
    sent = [tool["name"] for tool in body["tools"]]
    assert len(set(sent)) == 3
    assert all(len(name) <= 64 and "." not in name for name in sent)
    assert body["tools"][0]["input_schema"] == {"type": "object"}


async def test_a_picture_that_no_model_sees_is_named() -> None:
    sent = await messages_sent(user("look", Image(b"<svg/>", "image/svg+xml", "plan.svg")))
    assert "plan.svg" in sent[0]["content"][1]["text"]


async def test_without_a_system_prompt_there_is_none() -> None:
    *_, body = await asked("anthropic", [Say("ok")], prompt(system=""))
    assert "system" not in body
    assert "tools" not in body


async def test_a_server_that_does_not_stream_is_heard_all_the_same() -> None:
    document = {
        "type": "message",
        "role": "assistant",
        "model": "m-2",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "Hi"},
            {"type": "tool_use", "id": "t1", "name": "add", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    text, calls, end, _ = await asked("anthropic", [Status(200, document)])
    assert (text, calls) == ("Hi", [ToolCall("t1", "add", {"a": 1})])
    assert end == Finished("tools", Usage(3, 2), "anthropic/m-2")


async def test_an_error_may_come_with_a_status_that_is_none() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "later"}}
    with pytest.raises(ProviderDownError, match="overloaded"):
        await asked("anthropic", [Status(200, error)])
    with pytest.raises(WrongAddressError, match="where a model's answer should be"):
        await asked("anthropic", [Status(200, {"hello": "world"})])
