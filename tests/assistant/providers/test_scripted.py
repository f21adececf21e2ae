"""The scripted providers themselves, also as processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.errors import ProviderDownError, RefusedRequestError
from tests.assistant.models.adapters import WIRES, adapter, heard, prompt, user
from tests.assistant.providers.scripted import Request, Say, eventually
from tests.assistant.providers.serve import provider_process

pytestmark = pytest.mark.parametrize("wire", ["anthropic", "openai"])


def shout(request: Request) -> Say:
    return Say(request.last_text.upper())


async def test_each_request_takes_the_next_step_and_then_there_is_none(wire: str) -> None:
    with WIRES[wire]([Say("one"), Say("two")]) as server:
        async with adapter(wire, server.url) as model:
            assert (await heard(model.stream(prompt(user("a")))))[0] == "one"
            assert (await heard(model.stream(prompt(user("b")))))[0] == "two"
            with pytest.raises(RefusedRequestError, match="no answer to request 3"):
                await heard(model.stream(prompt()))
        assert [request.last_text for request in server.requests] == ["a", "b", "Hello"]


async def test_a_process_answers_by_a_script_in_json(wire: str, tmp_path: Path) -> None:
    script = [
        {"say": ["Hel", "lo"]},
        [{"say": "Look:"}, {"call": {"name": "add", "arguments": {"a": 1}}}],
        {"reply": [{"say": "x"}], "input": 3, "stop": "length"},
        {"status": {"code": 500, "message": "as planned"}},
    ]
    with provider_process(wire, tmp_path, script) as server:
        async with adapter(wire, server.url) as model:
            assert (await heard(model.stream(prompt())))[0] == "Hello"
            text, calls, _ = await heard(model.stream(prompt()))
            assert (text, calls[0].arguments) == ("Look:", {"a": 1})
            assert (await heard(model.stream(prompt())))[2].usage.input == 3
            with pytest.raises(ProviderDownError, match="as planned"):
                await heard(model.stream(prompt()))
        assert len(server.requests) == 4
        assert server.requests[0]["body"]["model"] == "m-1"


async def test_a_process_answers_by_a_function_or_as_an_echo(wire: str, tmp_path: Path) -> None:
    function = ("--function", f"{shout.__module__}:shout")
    for options, said in ((("--echo",), "Hello"), (function, "HELLO")):
        with provider_process(wire, tmp_path, None, *options) as server:
            async with adapter(wire, server.url) as model:
                assert (await heard(model.stream(prompt())))[0] == said


async def test_a_process_can_be_killed_in_mid_answer(wire: str, tmp_path: Path) -> None:
    with provider_process(wire, tmp_path, [[{"say": "a"}, {"hang": {}}]]) as server:
        async with adapter(wire, server.url) as model:
            events = model.stream(prompt())
            await anext(events)
            await eventually(lambda: server.requests)
            server.process.kill()
            with pytest.raises(ProviderDownError, match="broke off"):
                await anext(events)
