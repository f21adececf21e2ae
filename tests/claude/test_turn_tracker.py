"""Answers belong to what was sent, and agents in the background are waited for."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from clawkit import SdkMcpServerImpl
from clawkit.claude.client import ClaudeClient, query
from clawkit.claude.messages import Message, ResultMessage, SystemMessage
from tests.assistant.providers.scripted import (
    Call,
    Request,
    Say,
    eventually,
    scripted_anthropic,
)
from tests.assistant.providers.steps import Pause, Step
from tests.claude.cli import environment, real_cli
from tests.claude.conversations import registry, talking
from tests.claude.fakes import fake_cli

TASK = {"subagent_type": "digger", "description": "dig", "prompt": "Dig."}


class Digging:
    """A model that has an agent dig in the background, and both wait until they may go on."""

    options: ClassVar[dict[str, Any]] = {
        "agents": {"digger": {"description": "Digs", "prompt": "You dig."}},
        "allowed_tools": ["Agent", "mcp__pit"],
    }

    def __init__(self, *, asks_first: bool = True) -> None:
        self.asks_first = asks_first
        self.is_telling = False
        self.may_dig, self.may_tell, self.tells = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.server = SdkMcpServerImpl("pit", "1.0.0")
        self.server.tool(name="dig", always_load=True)(self.dig)
        self.server.tool(name="tell", always_load=True)(self.tell)

    async def dig(self) -> str:
        await self.may_dig.wait()
        return "mud"

    async def tell(self) -> str:
        self.tells.set()
        await self.may_tell.wait()
        return "go on"

    def __call__(self, request: Request) -> Step:
        said = request.body.decode()
        if "You dig." in json.dumps(request.json["system"]):
            return Say("I dug deep.") if "mud" in said else Call("mcp__pit__dig")
        if "How are you?" in said:
            return Say("I am well.")
        if "go on" in said:
            return Say("It is dug.")
        if "I dug deep." in said:
            self.is_telling = True
            return Call("mcp__pit__tell") if self.asks_first else [Pause(0.3), Say("It is dug.")]
        if "agentid" in said:
            return Say("It has begun.")
        return Call("Agent", {**TASK, "run_in_background": True}, id="agentid")


def results(messages: list[Message]) -> list[str | None]:
    return [message.result for message in messages if isinstance(message, ResultMessage)]


@pytest.mark.usefixtures("each_cli")
@pytest.mark.parametrize("at_once", [True, False])
async def test_what_agents_in_the_background_do_is_heard_to_the_end(
    project: Path, at_once: bool
) -> None:
    model = Digging()
    model.may_tell.set()
    if at_once:
        model.may_dig.set()
    async with talking(project, model, model.server, **model.options) as talk:
        id = await talk.client.send("Have somebody dig.")
        messages = [message async for message in talk.client.receive_response()]
        last = messages[-1]
        assert isinstance(last, ResultMessage)
        assert last.answers == (id,)
        model.may_dig.set()
        messages += [message async for message in talk.client.receive_rest()]
        assert results(messages)[-1] == "It is dug."
        assert [message async for message in talk.client.receive_rest()] == []
    news = [message.subtype for message in messages if isinstance(message, SystemMessage)]
    assert "session_state_changed" not in news, "we asked for it, and nobody else did"


async def test_a_question_is_over_when_the_agents_in_the_background_are(project: Path) -> None:
    model, messages = Digging(), list[Message]()
    model.may_tell.set()
    with scripted_anthropic(model) as api:
        options = {**model.options, "cwd": project, "env": environment(api.url, project.parent)}
        asked = query(
            "Have somebody dig.", cli_path=real_cli(), registry=registry(model.server), **options
        )
        async for message in asked:
            messages.append(message)
            if isinstance(message, ResultMessage):
                model.may_dig.set()
    assert results(messages) == ["It has begun.", "It is dug."]


@pytest.mark.usefixtures("each_cli")
@pytest.mark.parametrize("taken_up", [True, False], ids=["taken up", "queued"])
async def test_the_answer_is_the_one_to_what_was_sent_and_not_that_of_another_turn(
    project: Path, taken_up: bool
) -> None:
    """The CLI has a turn by itself; what is sent meanwhile is taken up in it, or waits for it."""
    model = Digging(asks_first=taken_up)
    async with talking(project, model, model.server, **model.options) as talk:
        assert (await talk.say("Have somebody dig.")).result == "It has begun."
        model.may_dig.set()
        await eventually(lambda: model.tells.is_set() if taken_up else model.is_telling)
        asked = asyncio.create_task(talk.say("How are you?"))
        await asyncio.sleep(0)
        model.may_tell.set()
        assert (await asked).result == "I am well."
        earlier = results(talk.messages)[1:-1]
        assert earlier == ([] if taken_up else ["It is dug."])


@pytest.mark.process
async def test_prompts_that_are_answered_together_are_all_answered(tmp_path: Path) -> None:
    """As an older CLI does it, which names the last of them."""
    result = {"type": "result", "subtype": "success", "is_error": False, "session_id": "s"}
    script = f"""
initialize()
heard()
second = heard()
say({{**{result!r}, "user_message_uuid": "of somebody else"}})
say({{**{result!r}, "user_message_uuid": second["uuid"]}})
heard()
say({result!r})
say({{"type": "command_lifecycle", "command_uuid": heard()["uuid"], "state": "cancelled"}})
time.sleep(60)
"""
    async with ClaudeClient(cli_path=fake_cli(tmp_path, script)) as client:
        await client.send("One.")
        second = await client.send("Two.")
        heard = [message async for message in client.receive_response()]
        assert [m.answers for m in heard if isinstance(m, ResultMessage)][-1] == (second,)
        assert [message async for message in client.receive_response()] == []
        await client.send("Three.")
        heard = [message async for message in client.receive_response()]
        assert [m.answers for m in heard if isinstance(m, ResultMessage)] == [()]
        await client.send("Four, which an interrupt takes back.")
        assert [message async for message in client.receive_response()] == []
