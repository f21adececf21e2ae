"""A real language model behind llama.cpp's own server: first its wire, then our adapter on it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, ModelChoice, Provider
from clawkit.assistant.model_choice import choose, open_model
from clawkit.errors import ContextTooLongError, NoSuchModelError, ProviderDownError
from clawkit.models.protocol import (
    Called,
    Event,
    Finished,
    Message,
    Model,
    Prompt,
    Text,
    TextDelta,
    ToolOutcome,
    ToolSpec,
)
from clawkit.models.retries import answer
from clawkit.settings import read_settings
from tests.assistant.llama import CONTEXT, Llama, llama_server
from tests.assistant.providers.scripted import eventually
from tests.processes import PATIENCE, ROOT

ANSWERED_WITHIN = 60.0
SYSTEM = "You are a helpful assistant."
QUESTION = "What is the capital of France?"
WEATHER: dict[str, Any] = {
    "name": "weather",
    "description": "The weather in a town",
    "parameters": {
        "type": "object",
        "properties": {"town": {"type": "string"}},
        "required": ["town"],
    },
}
# Even a model this small can copy, and what it copies is a call.
CALL = '<tool_call>\n{"name": "weather", "arguments": {"town": "Paris"}}\n</tool_call>'
CALL_IT = f"Copy this text exactly:\n\n{CALL}\n\nThe copy:"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Llama]:
    with llama_server(tmp_path_factory.mktemp("llama")) as server:
        yield server


def complete(llama: Llama, text: str, **options: Any) -> dict[str, Any]:
    body = {"model": "smollm2", "messages": messages(text), **options}
    return httpx2.post(f"{llama.url}/chat/completions", json=body, timeout=ANSWERED_WITHIN).json()


def messages(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]


def test_the_model_answers_and_says_how_many_tokens_that_took(llama: Llama) -> None:
    answer = complete(llama, QUESTION, max_tokens=40)

    assert "Paris" in answer["choices"][0]["message"]["content"]
    assert answer["usage"]["prompt_tokens"] > 5
    assert answer["usage"]["completion_tokens"] > 1


def test_the_model_says_the_same_again(llama: Llama) -> None:
    first, second = (complete(llama, QUESTION, max_tokens=40) for _ in range(2))

    assert first["choices"][0]["message"] == second["choices"][0]["message"]


def test_the_answer_comes_in_pieces_and_usage_at_the_end(llama: Llama) -> None:
    body = {
        "messages": messages(QUESTION),
        "max_tokens": 40,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    url = f"{llama.url}/chat/completions"
    with httpx2.stream("POST", url, json=body, timeout=ANSWERED_WITHIN) as response:
        lines = [line.removeprefix("data: ") for line in response.iter_lines() if line]

    assert lines.pop() == "[DONE]"
    *pieces, last = map(json.loads, lines)
    assert sum(bool(piece["choices"][0]["delta"].get("content")) for piece in pieces) > 1
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] > 1


def test_the_model_calls_a_tool(llama: Llama) -> None:
    answer = complete(
        llama, CALL_IT, max_tokens=80, tools=[{"type": "function", "function": WEATHER}]
    )

    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"]) == {"town": "Paris"}


def test_the_server_goes_when_who_started_it_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\n"
        "from tests.assistant.llama import llama_server\n"
        "with llama_server(Path(sys.argv[1])): print('up', flush=True); time.sleep(600)"
    )
    command = (sys.executable, "-c", script, str(tmp_path))
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"up\n"
        (server,) = psutil.Process(starter.pid).children()
        os.kill(starter.pid, signal.SIGKILL)
    server.wait(PATIENCE)


# From here on, our adapter asks.

TOOL = ToolSpec(WEATHER["name"], WEATHER["description"], WEATHER["parameters"])


def opened(url: str, home: Path) -> Model:
    config = Config(
        model=ModelChoice(use="llamacpp/smollm2"),
        providers={"llamacpp": Provider(base_url=url)},
        places=read_settings({"CLAW_HOME": str(home)}),
    )
    keys = Keys(config, {})
    (chosen,) = choose(config, keys)
    return open_model(chosen, config, keys)


@pytest.fixture
async def model(llama: Llama, tmp_path: Path) -> AsyncIterator[Model]:
    found = opened(llama.url, tmp_path)
    yield found
    await found.close()


def asking(*said: Message | str, max_tokens: int = 60, tools: tuple[ToolSpec, ...] = ()) -> Prompt:
    turns = tuple(Message("user", (Text(m),)) if isinstance(m, str) else m for m in said)
    return Prompt(SYSTEM, turns, tools, max_tokens)


async def events_of(model: Model, prompt: Prompt) -> tuple[list[Event], Finished]:
    # Again where need be: llama.cpp promises to keep a connection, and closes it after the answer.
    asked = answer((model,), prompt, retries=2, notice=lambda _: None)
    *events, last = [event async for event in asked]
    assert isinstance(last, Finished)
    return events, last


def text_of(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_an_answer_streams_through_the_adapter(model: Model) -> None:
    events, finished = await events_of(model, asking(QUESTION))

    assert len(events) > 1
    assert "Paris" in text_of(events)
    assert finished.reason == "end"
    assert finished.model == "llamacpp/smollm2"
    assert finished.usage.input > 10
    assert finished.usage.output > 1


async def test_an_answer_that_is_too_long_for_its_limit_says_so(model: Model) -> None:
    _, finished = await events_of(model, asking("Tell me a story.", max_tokens=5))

    assert finished.reason == "length"
    assert finished.usage.output == 5


async def test_the_model_calls_a_tool_and_reads_what_came_of_it(model: Model) -> None:
    events, finished = await events_of(model, asking(CALL_IT, tools=(TOOL,)))

    (call,) = (event.call for event in events if isinstance(event, Called))
    assert (call.name, call.arguments) == ("weather", {"town": "Paris"})
    assert finished.reason == "tools"

    outcome = ToolOutcome(call.id, (Text("It is 17 degrees and raining in Paris."),))
    question = Message("user", (Text("What is the weather in Paris?"),))
    said, done = Message("assistant", (call,)), Message("tool", (outcome,))
    events, finished = await events_of(model, asking(question, said, done, tools=(TOOL,)))

    assert "17" in text_of(events)
    assert finished.reason == "end"


async def test_cancelling_in_mid_answer_stops_the_model(model: Model, llama: Llama) -> None:
    before, longest = llama.tokens_written(), 1000
    begun = asyncio.Event()

    async def listen() -> None:
        async for _ in model.stream(asking("Tell me a long story.", max_tokens=longest)):
            begun.set()

    task = asyncio.create_task(listen())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    await eventually(lambda: not llama.is_busy())
    assert llama.tokens_written() - before < longest // 2
    events, _ = await events_of(model, asking(QUESTION))
    assert "Paris" in text_of(events)


async def test_a_conversation_that_does_not_fit_is_told_from_other_errors(model: Model) -> None:
    with pytest.raises(ContextTooLongError, match=f"context size .{CONTEXT} tokens"):
        await events_of(model, asking("hello world " * CONTEXT))

    assert model.context == CONTEXT


async def test_a_wrong_path_is_not_taken_for_a_missing_model(llama: Llama, tmp_path: Path) -> None:
    model = opened(f"{llama.address}/v2", tmp_path)
    with pytest.raises(ProviderDownError, match="/v2") as caught:
        await events_of(model, asking(QUESTION))
    await model.close()

    assert not isinstance(caught.value, NoSuchModelError)
    assert "base_url" in str(caught.value)
