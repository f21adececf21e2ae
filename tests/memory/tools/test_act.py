from __future__ import annotations

import json
from typing import Any

import pytest

from clawkit.errors import AccessError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.bridges import Bridges
from clawkit.memory.mcp_server import BeingServer
from clawkit.memory.records import Being
from tests.memory.tools.being_client import READER, BeingClient

REGISTER = (
    '{"type":"register","name":"lamp","capabilities":['
    '{"name":"light_on","kind":"act","description":"Switches the light on"},'
    '{"name":"temperature","kind":"sense"}]}'
)


class Lamp:
    """A bridge that answers every act with what it was asked."""

    def __init__(self, bridges: Bridges, being: Being) -> None:
        self._bridges = bridges
        self.asked: list[dict[str, Any]] = []
        self.told: list[dict[str, Any]] = []
        self.bridge = bridges.join(being.n, self.take)

    async def take(self, text: str) -> None:
        frame = json.loads(text)
        self.told.append(frame)
        if frame["type"] == "act":
            self.asked.append(frame)
            result = {"type": "result", "id": frame["id"], "result": frame["arguments"]}
            await self._bridges.hear(self.bridge, json.dumps(result))

    async def say(self, text: str) -> None:
        await self._bridges.hear(self.bridge, text)


@pytest.fixture
def bridges() -> Bridges:
    return Bridges()


@pytest.fixture
def clients(store: BeingStore, being: Being, bridges: Bridges) -> tuple[BeingClient, BeingClient]:
    server = BeingServer(
        store, capabilities=bridges.capabilities, senses=bridges.senses, act=bridges.act
    )
    stranger = store.create("Stranger")
    return BeingClient(server, being), BeingClient(server, stranger)


async def names(client: BeingClient) -> list[Any]:
    return [tool["name"] for tool in (await client.ask("tools/list"))["result"]["tools"]]


async def test_act_is_listed_only_while_a_bridge_of_this_being_can_act(
    clients: tuple[BeingClient, BeingClient], bridges: Bridges, being: Being
) -> None:
    client, stranger = clients
    assert "act" not in await names(client)
    lamp = Lamp(bridges, being)
    await lamp.say(REGISTER)
    assert "act" in await names(client)
    assert "act" not in await names(stranger)
    (act,) = [t for t in (await client.ask("tools/list"))["result"]["tools"] if t["name"] == "act"]
    assert "- light_on: Switches the light on" in act["description"]
    assert act["inputSchema"]["properties"]["name"]["enum"] == ["light_on"]
    bridges.leave(lamp.bridge)
    assert "act" not in await names(client)


async def test_act_has_the_bridge_do_it(
    clients: tuple[BeingClient, BeingClient], bridges: Bridges, being: Being
) -> None:
    client, stranger = clients
    await Lamp(bridges, being).say(REGISTER)
    assert await client.json("act", name="light_on", arguments={"warm": True}) == {"warm": True}
    assert "light_off" in await client.error("act", name="light_off")
    reply = await stranger.ask("tools/call", name="act", arguments={"name": "light_on"})
    assert "Unknown tool" in reply["error"]["message"]


async def test_a_read_only_token_may_not_act(
    clients: tuple[BeingClient, BeingClient], bridges: Bridges, being: Being
) -> None:
    await Lamp(bridges, being).say(REGISTER)
    reader = BeingClient(clients[0].server, being, READER)
    with pytest.raises(AccessError, match="read-only"):
        await reader.call("act", name="light_on")


async def test_the_context_shows_what_bridges_can_do_and_what_they_sensed(
    clients: tuple[BeingClient, BeingClient], bridges: Bridges, being: Being
) -> None:
    lamp = Lamp(bridges, being)
    await lamp.say(REGISTER)
    await lamp.say('{"type":"sense","name":"temperature","value":21.5}')
    context = await clients[0].json("get_context")
    assert context["capability_tools"] == [
        {"name": "light_on", "description": "Switches the light on"}
    ]
    assert "temperature: 21.5" in context["snapshot"]


DIMMER = {
    "name": "dim",
    "kind": "act",
    "input_schema": {
        "type": "object",
        "properties": {"level": {"type": "integer", "minimum": 0, "maximum": 100}},
        "required": ["level"],
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize(
    ("arguments", "place", "problem"),
    [
        ({}, "arguments.level", "is missing"),
        ({"level": "high"}, "arguments.level", "must be an integer, not a string"),
        ({"level": 101}, "arguments.level", "must be at most 100"),
        ({"level": 5, "colour": "red"}, "arguments.colour", "is unknown"),
    ],
)
async def test_arguments_that_the_bridge_did_not_declare_never_reach_it(
    clients: tuple[BeingClient, BeingClient],
    bridges: Bridges,
    being: Being,
    arguments: dict[str, Any],
    place: str,
    problem: str,
) -> None:
    lamp = Lamp(bridges, being)
    await lamp.say(json.dumps({"type": "register", "name": "lamp", "capabilities": [DIMMER]}))
    text = await clients[0].error("act", name="dim", arguments=arguments)
    assert place in text
    assert problem in text
    assert lamp.asked == []
    assert await clients[0].json("act", name="dim", arguments={"level": 5}) == {"level": 5}


async def test_act_refuses_an_argument_that_it_does_not_have(
    clients: tuple[BeingClient, BeingClient], bridges: Bridges, being: Being
) -> None:
    await Lamp(bridges, being).say(REGISTER)
    assert "this tool takes name, arguments" in await clients[0].error(
        "act", name="light_on", level=3
    )


async def test_a_bridge_with_a_bad_schema_is_not_registered_and_told_why(
    clients: tuple[BeingClient, BeingClient], bridges: Bridges, being: Being
) -> None:
    lamp = Lamp(bridges, being)
    bad = {**DIMMER, "input_schema": {"type": "object", "properties": {"level": {"type": "int"}}}}
    await lamp.say(json.dumps({"type": "register", "name": "lamp", "capabilities": [bad]}))
    (told,) = lamp.told
    assert told["type"] == "error"
    assert "input_schema of dim" in told["error"]
    assert ".properties.level.type must be one of null, boolean" in told["error"]
    assert "act" not in await names(clients[0])
