from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from clawkit.errors import ProviderDownError, RefusedRequestError
from clawkit.models.messages import unreadable
from clawkit.models.protocol import Finished, Image, Text, ToolCall, ToolOutcome, ToolSpec, Usage
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
from tests.assistant.providers.scripted import Call, Raw, Reply, Request, Say, Status
from tests.assistant.providers.scripted import scripted_openai as scripted

messages_sent = partial(adapters.messages_sent, "openai")
PNG = Image(b"\x89PNG....", "image/png", "cat.png")
DATA_URL = "data:image/png;base64,iVBORy4uLi4="


async def test_text_streams_and_ends_with_usage_and_the_model_that_was_used() -> None:
    reply = Reply(Say("Hel", "lo"), input=100, output=5, cached=80, model="m-1-2026")
    text, calls, end, _ = await asked("openai", [reply])
    assert (text, calls) == ("Hello", [])
    assert end == Finished("end", Usage(100, 5, 80), "openai/m-1-2026")


async def test_the_request_has_key_system_limit_and_asks_for_usage() -> None:
    with scripted([Say("ok")]) as server:
        async with adapter("openai", server.url) as model:
            await heard(model.stream(prompt(max_tokens=77, tools=(ADD,))))
        request = server.last
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    body = request.json
    assert body["max_tokens"] == 77
    assert body["stream_options"] == {"include_usage": True}
    assert body["messages"] == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hello"},
    ]
    assert body["tools"][0]["function"]["name"] == "add"
    assert body["tools"][0]["function"]["parameters"]["properties"] == {"a": {"type": "integer"}}


async def test_without_a_key_none_is_sent() -> None:
    with scripted([Say("ok")]) as server:
        async with adapter("openai", server.url, key="") as model:
            await heard(model.stream(prompt()))
        assert "authorization" not in server.last.headers


async def test_calls_come_with_their_arguments_whole() -> None:
    step = [Say("Let me see."), Call("add", {"a": 1}, "t1"), Call("add", {"a": "ü\n"}, "t2")]
    text, calls, end, _ = await asked("openai", [step], prompt(tools=(ADD,)))
    assert text == "Let me see."
    assert calls == [ToolCall("t1", "add", {"a": 1}), ToolCall("t2", "add", {"a": "ü\n"})]
    assert end.reason == "tools"


def chunk(delta: dict[str, Any], reason: str | None = None) -> Raw:
    value = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return Raw(f"data: {json.dumps(value)}\n\n".encode())


async def test_calls_without_numbers_or_ids_are_told_apart() -> None:
    one = {"function": {"name": "add", "arguments": '{"a": 1}'}, "index": 0, "id": "x"}
    other = {"function": {"name": "sub", "arguments": {"b": 2}}, "index": 0, "id": "y"}
    bare = {"function": {"name": "mul", "arguments": "{}"}, "index": 1}
    step = Reply(chunk({"tool_calls": [one]}), chunk({"tool_calls": [other, bare]}))
    _, calls, end, _ = await asked("openai", [step])
    assert [(c.name, c.arguments) for c in calls] == [
        ("add", {"a": 1}),
        ("sub", {"b": 2}),
        ("mul", {}),
    ]
    assert len({c.id for c in calls}) == 3
    assert calls[2].id
    assert end.reason == "tools"  # although the server says `stop`


async def test_broken_arguments_are_a_call_that_says_so() -> None:
    _, calls, end, _ = await asked("openai", [Reply(Call("add", '{"a": '), stop="length")])
    assert end.reason == "tools"
    assert unreadable(calls[0]) is not None


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("content_filter", "refusal"),
        ("tool_calls", "end"),
        ("eos", "end"),
    ],
)
async def test_reasons_for_the_end(stop: str, reason: str) -> None:
    _, _, end, _ = await asked("openai", [Reply(Say("x"), stop=stop)])
    assert end.reason == reason


async def test_thoughts_are_not_the_answer_and_a_refusal_is() -> None:
    parts = (
        chunk({"reasoning_content": "hm"}),
        chunk({"content": None, "refusal": "I won't."}),
        chunk({"content": [{"type": "text", "text": " Sorry."}]}),
    )
    text, _, end, _ = await asked("openai", [Reply(*parts)])
    assert (text, end.reason) == ("I won't. Sorry.", "refusal")


async def test_a_refusal_may_be_a_part_of_the_content_and_come_in_one_document() -> None:
    message = {"content": [{"type": "refusal", "refusal": "No."}]}
    document = {"choices": [{"message": message, "finish_reason": "stop"}]}
    text, _, end, _ = await asked("openai", [Status(200, document)])
    assert (text, end.reason) == ("No.", "refusal")


async def test_pictures_are_data_urls() -> None:
    sent = await messages_sent(user("look", PNG))
    assert sent[1]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": DATA_URL}},
    ]


async def test_outcomes_are_words_and_their_pictures_follow_as_a_message() -> None:
    sent = await messages_sent(
        user("add"),
        assistant("I will.", ToolCall("t1", "add", {"a": 1}), ToolCall("t2", "add", {})),
        outcomes(
            ToolOutcome("t1", (Text("1"), PNG)), ToolOutcome("t2", (Text("no"),), is_error=True)
        ),
        user("and?"),
        system="",
    )
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[1]["content"] == "I will."
    function = {"name": "add", "arguments": '{"a": 1}'}
    assert sent[1]["tool_calls"][0] == {"id": "t1", "type": "function", "function": function}
    assert sent[2]["tool_call_id"] == "t1"
    assert sent[2]["content"].startswith("1\n")
    assert "cat.png" in sent[2]["content"]
    assert sent[3]["content"] == "Error: no"
    assert [part["type"] for part in sent[4]["content"]] == ["image_url", "text"]


async def test_turns_alternate_and_an_interrupted_call_has_an_outcome() -> None:
    sent = await messages_sent(
        user("a"),
        user("b"),
        assistant("c"),
        assistant(ToolCall("t1", "add", {})),
        user("d"),
        system="",
    )
    assert [m["role"] for m in sent] == ["user", "assistant", "tool", "user"]
    assert sent[0]["content"] == "a\n\nb"
    assert sent[1]["content"] == "c"
    assert sent[2]["content"].startswith("Error: ")


async def test_a_server_without_stream_options_is_asked_without_them_and_only_once_with() -> None:
    def answer(request: Request) -> Any:
        if "stream_options" in request.json:
            return Status(400, message="Unrecognized request argument: stream_options")
        return Say("ok")

    with scripted(answer) as server:
        async with adapter("openai", server.url) as model:
            for _ in range(2):
                text, _, end = await heard(model.stream(prompt()))
                assert (text, end.usage) == ("ok", Usage())
        assert len(server.requests) == 3


async def test_the_limit_of_the_answer_has_the_name_that_the_server_wants() -> None:
    def answer(request: Request) -> Any:
        if "max_tokens" in request.json:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return Status(400, message=said)
        return Say("ok")

    *_, body = await asked("openai", answer)
    assert body["max_completion_tokens"] == 4096


async def test_a_server_that_wants_both_names_by_turns_is_not_asked_forever() -> None:
    def answer(request: Request) -> Any:
        given, other = "max_tokens", "max_completion_tokens"
        if other in request.json:
            given, other = other, given
        return Status(400, message=f"'{given}' is not supported, use '{other}'")

    with pytest.raises(RefusedRequestError):
        await asked("openai", answer)


async def test_an_answer_may_be_half_of_what_fits_once_that_is_known() -> None:
    """As vLLM refuses it: nothing is wrong with the conversation, the answer may be too long."""

    def answer(request: Request) -> Any:
        if request.json["max_tokens"] > 2048:
            said = "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's "
            return Status(400, message=said + "maximum context length is 4096 tokens")
        return Say("ok")

    *_, body = await asked("openai", answer)
    assert body["max_tokens"] == 2048


async def test_a_model_that_takes_no_tools_is_asked_without() -> None:
    def answer(request: Request) -> Any:
        if "tools" in request.json:
            return Status(400, message="registry.example/m-1 does not support tools")
        return Say("ok")

    text, *_ = await asked("openai", answer, prompt(tools=(ADD,)))
    assert text == "ok"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (500, "image input is not supported - hint: you may need to provide the mmproj"),
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "m-1 is not a multimodal model"),
        (404, "No endpoints found that support image input"),
        (422, "unknown variant `image_url`, expected `text`"),
        (400, "Model does not support images. Please use a model that does."),
    ],
)
async def test_a_model_that_cannot_see_gets_the_names_of_pictures(code: int, said: str) -> None:
    def answer(request: Request) -> Any:
        if b"image_url" in request.body:
            return Status(code, message=said)
        return Say("ok")

    text, _, _, body = await asked("openai", answer, prompt(user("look", PNG)))
    assert text == "ok"
    assert "cat.png" in body["messages"][1]["content"]


async def test_a_server_that_does_not_stream_is_heard_all_the_same() -> None:
    function = {"name": "add", "arguments": '{"a": 1}'}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [{"function": function}]}
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    document = {"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": usage}
    text, calls, end, _ = await asked("openai", [Status(200, document)])
    assert (text, calls[0].arguments, end.usage) == ("Hi", {"a": 1}, Usage(3, 2))


async def test_a_stream_may_end_without_done_once_the_reason_is_known() -> None:
    text, _, end, _ = await asked("openai", [Reply(Say("Hi"), chunk({}, "length"), ends=False)])
    assert (text, end.reason) == ("Hi", "length")


async def test_a_last_event_without_its_empty_line_counts() -> None:
    last = Raw(b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}')
    text, _, end, _ = await asked("openai", [Reply(Say("Hi"), last, ends=False)])
    assert (text, end.reason) == ("Hi", "end")


async def test_an_error_may_stand_in_a_choice() -> None:
    error = {"error": {"code": 502, "message": "upstream is gone"}, "finish_reason": "error"}
    step = Raw(b"data: " + json.dumps({"choices": [error]}).encode() + b"\n\n")
    with pytest.raises(ProviderDownError, match="upstream is gone"):
        await asked("openai", [step])


async def test_a_path_is_not_told_as_the_model() -> None:
    _, _, end, _ = await asked("openai", [Reply(Say("x"), model="/home/me/models/a.gguf")])
    assert end.model == "openai/a.gguf"


async def test_names_are_translated_also_in_earlier_calls() -> None:
    tools = (ToolSpec("a.b", "", {}),)
    sent = await messages_sent(
        user("x"),
        assistant(ToolCall("1", "a.b", {}), ToolCall("2", "gone/tool", {})),
        outcomes(ToolOutcome("1", ()), ToolOutcome("2", ())),
        tools=tools,
    )
    for call in sent[2]["tool_calls"]:
        assert call["function"]["name"].replace("_", "").isalnum()
