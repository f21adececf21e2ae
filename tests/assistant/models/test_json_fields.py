"""Providers that count, number or nest in a way that no provider should."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawkit.errors import ModelError, ProviderDownError
from clawkit.models.json_fields import DEEPEST, decoded
from clawkit.models.messages import unreadable
from clawkit.models.protocol import Text, ToolCall, ToolOutcome, Usage
from tests.assistant.models.adapters import ADD, asked, assistant, outcomes, prompt, user
from tests.assistant.providers.scripted import Call, Raw, Reply, Say, Status

both = pytest.mark.parametrize("wire", ["anthropic", "openai"])


def event(value: Any) -> Raw:
    return Raw(f"data: {json.dumps(value)}\n\n".encode())


@both
async def test_counts_that_cannot_be_are_none(wire: str) -> None:
    *_, giant, _ = await asked(wire, [Reply(Say("hi"), input=10**30)])
    assert giant.usage == Usage(0, 7)
    *_, negative, _ = await asked(wire, [Reply(Say("hi"), input=-50, output=True)])
    assert negative.usage == Usage()


@both
async def test_a_reason_for_calls_without_calls_is_an_ordinary_end(wire: str) -> None:
    said = {"anthropic": "tool_use", "openai": "tool_calls"}[wire]
    _, _, end, _ = await asked(wire, [Reply(Say("hi"), stop=said)])
    assert end.reason == "end"


@both
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
async def test_an_event_nested_too_deep_is_a_provider_that_failed(
    wire: str, opening: bytes
) -> None:
    with pytest.raises(ProviderDownError, match="not JSON to be read"):
        await asked(wire, [[Raw(b"data: " + opening * 100_000 + b"\n\n")]])
    closing = b"]" if opening == b"[" else b"}"
    whole = opening * (DEEPEST + 1) + b"1" + closing * (DEEPEST + 1)
    with pytest.raises(ProviderDownError, match="more than 100 levels"):
        await asked(wire, [[Raw(b'data: {"type": ' + whole + b"}\n\n")]])


@both
async def test_an_error_nested_too_deep_is_an_error_all_the_same(wire: str) -> None:
    headers = {"content-type": "application/json"}
    with pytest.raises(ModelError, match="400"):
        await asked(wire, [Status(400, body=b"[" * 60_000, headers=headers)])


@both
async def test_arguments_nested_too_deep_can_be_repaired_by_the_model(wire: str) -> None:
    deep = '{"a":' * 900 + "1" + "}" * 900
    _, calls, end, _ = await asked(wire, [Call("add", deep)])
    assert end.reason == "tools"
    assert unreadable(calls[0]) is not None


def test_what_is_wide_is_not_deep() -> None:
    wide = b"[" + b",".join([b'{"a":[]}'] * 1000) + b"]"
    assert len(decoded(wide)) == 1000
    assert decoded(b"[" * DEEPEST + b"]" * DEEPEST)
    with pytest.raises(ValueError, match="levels"):
        decoded(b"[" * (DEEPEST + 1) + b"1" + b"]" * (DEEPEST + 1))


async def test_blocks_may_be_numbered_by_anything() -> None:
    def block(index: Any, id: str) -> list[Raw]:
        start = {"type": "tool_use", "id": id, "name": "add"}
        delta = {"type": "input_json_delta", "partial_json": f'{{"id": "{id}"}}'}
        return [
            event({"type": "content_block_start", "index": index, "content_block": start}),
            event({"type": "content_block_delta", "index": index, "delta": delta}),
        ]

    _, calls, _, _ = await asked("anthropic", [Reply(*block({"a": 1}, "x"), *block([1], "y"))])
    assert [(call.id, call.arguments) for call in calls] == [("x", {"id": "x"}), ("y", {"id": "y"})]


async def test_fields_of_the_wrong_kind_count_for_nothing() -> None:
    call = {"index": {}, "id": {"a": 1}, "function": {"name": 5, "arguments": [1]}}
    delta = {"content": ["a", {"text": 7}, {"text": "b"}], "tool_calls": [call]}
    odd = {"choices": [{"delta": delta, "finish_reason": {"x": 1}}], "usage": [1], "model": {}}
    text, calls, end, _ = await asked("openai", [Reply(event(odd))])
    assert text == "b"
    assert calls[0].name == ""
    assert unreadable(calls[0]) is not None
    assert end.reason == "tools"


@both
async def test_no_two_calls_go_back_under_the_same_id(wire: str) -> None:
    def calls(*numbers: int) -> list[ToolCall]:
        return [ToolCall("z", "add", {"a": number}) for number in numbers]

    def results(*numbers: int) -> list[ToolOutcome]:
        return [ToolOutcome("z", (Text(f"result {number}"),)) for number in numbers]

    given = prompt(
        user("add"),
        assistant(*calls(1, 2)),
        outcomes(*results(1, 2)),
        assistant(*calls(3)),
        outcomes(*results(3)),
        assistant(*calls(4)),
        user("stop"),
        tools=(ADD,),
    )
    *_, body = await asked(wire, [Say("ok")], given)
    called, answered = (_anthropic if wire == "anthropic" else _openai)(body["messages"])
    assert len(called) == 4
    assert list(answered) == list(called)
    for id, words in answered.items():
        number = called[id]
        assert words == (f"result {number}" if number < 4 else words)
    assert next(iter(called)) == "z"


def _anthropic(messages: list[Any]) -> tuple[dict[str, int], dict[str, str]]:
    blocks = [block for message in messages for block in message["content"]]
    called = {b["id"]: b["input"]["a"] for b in blocks if b["type"] == "tool_use"}
    results = [b for b in blocks if b["type"] == "tool_result"]
    return called, {b["tool_use_id"]: b["content"][0]["text"] for b in results}


def _openai(messages: list[Any]) -> tuple[dict[str, int], dict[str, str]]:
    calls = [call for message in messages for call in message.get("tool_calls", ())]
    called = {call["id"]: json.loads(call["function"]["arguments"])["a"] for call in calls}
    results = [message for message in messages if message["role"] == "tool"]
    return called, {message["tool_call_id"]: message["content"] for message in results}
