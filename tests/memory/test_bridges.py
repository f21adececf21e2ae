"""Bridges by themselves: who is asked, who answers, and whose they are."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from clawkit.errors import BeingError, ToolExecutionError, ToolTimeoutError
from clawkit.memory.bridges import (
    MOST_ACTS,
    MOST_BRIDGES,
    MOST_FAULTS,
    SENSES_AT_ONCE,
    Bridge,
    Bridges,
)
from tests.processes import PATIENCE

ADA, BOB = 1, 2
LIGHT = {"name": "light_on", "kind": "act", "description": "Switch it on."}
WARMTH = {"name": "warmth", "kind": "sense"}


class Device:
    """The other end of a bridge."""

    def __init__(self, bridges: Bridges, being: int = ADA) -> None:
        self._bridges = bridges
        self._heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.bridge: Bridge = bridges.join(being, self._hear)

    async def _hear(self, text: str) -> None:
        self._heard.put_nowait(json.loads(text))

    async def says(self, type: str, **fields: Any) -> None:
        await self._bridges.hear(self.bridge, json.dumps({"type": type, **fields}))

    async def hears(self) -> dict[str, Any]:
        return await asyncio.wait_for(self._heard.get(), PATIENCE)

    async def registers(self, *capabilities: Any, name: str = "lamp") -> None:
        await self.says("register", name=name, capabilities=list(capabilities))
        assert await self.hears() == {"type": "registered"}

    async def answers(self, result: Any) -> dict[str, Any]:
        asked = await self.hears()
        await self.says("result", id=asked["id"], result=result)
        return asked


@pytest.fixture
def bridges() -> Bridges:
    return Bridges(lambda: 60.0)


async def test_an_act_is_asked_for_and_answered(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(LIGHT, WARMTH)
    acting = asyncio.create_task(bridges.act(ADA, "light_on", {"level": 3}))
    asked = await lamp.answers({"on": True})
    assert (asked["type"], asked["name"], asked["arguments"]) == ("act", "light_on", {"level": 3})
    assert await acting == {"on": True}


async def test_acts_are_answered_in_any_order_and_once(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(LIGHT)
    acts = [asyncio.create_task(bridges.act(ADA, "light_on", {"n": n})) for n in range(5)]
    asked = [await lamp.hears() for _ in range(5)]
    for each in reversed(asked):
        await lamp.says("result", id=each["id"], result=each["arguments"]["n"])
        await lamp.says("result", id=each["id"], result="again")
    assert await asyncio.gather(*acts) == [0, 1, 2, 3, 4]


async def test_a_failure_of_the_bridge_is_told(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(LIGHT)
    acting = asyncio.create_task(bridges.act(ADA, "light_on", {}))
    await lamp.says("error", id=(await lamp.hears())["id"], error="the bulb is broken")
    with pytest.raises(ToolExecutionError, match="lamp: the bulb is broken"):
        await acting


async def test_a_bridge_that_is_silent_is_not_waited_for() -> None:
    bridges = Bridges(act_seconds=0.05)
    lamp = Device(bridges)
    await lamp.registers(LIGHT)
    with pytest.raises(ToolTimeoutError, match=r"lamp did not answer within 0\.05 s"):
        await bridges.act(ADA, "light_on", {})
    late = await lamp.hears()
    await lamp.says("result", id=late["id"], result="too late")
    assert not lamp.bridge.unbearable


async def test_open_acts_fail_at_once_when_the_bridge_leaves(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(LIGHT)
    acting = asyncio.create_task(bridges.act(ADA, "light_on", {}))
    await lamp.hears()
    bridges.leave(lamp.bridge)
    with pytest.raises(ToolExecutionError, match="lamp went away"):
        await acting
    assert bridges.capabilities(ADA) == []
    assert bridges.connected == 0
    with pytest.raises(ToolExecutionError, match="there are: none"):
        await bridges.act(ADA, "light_on", {})


async def test_a_bridge_that_cannot_be_reached_fails_the_act(bridges: Bridges) -> None:
    async def send(_: str) -> None:
        raise ConnectionError

    bridge = bridges.join(ADA, send)
    bridge.capabilities = {}
    with pytest.raises(ToolExecutionError, match="went away"):
        await bridge.act("light_on", {})


async def test_the_newest_of_two_with_the_same_capability_is_asked(bridges: Bridges) -> None:
    old, new = Device(bridges), Device(bridges)
    await new.registers(LIGHT, name="new")
    await old.registers(LIGHT, name="old")
    await new.registers({**LIGHT, "description": "The newest."}, name="new")
    assert [one["description"] for one in bridges.capabilities(ADA)] == ["The newest."]
    for device in (new, old):
        acting = asyncio.create_task(bridges.act(ADA, "light_on", {}))
        await device.answers(True)
        assert await acting
        bridges.leave(device.bridge)


async def test_registering_again_replaces_what_was_offered(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(LIGHT)
    await lamp.registers(WARMTH)
    assert bridges.capabilities(ADA) == []
    with pytest.raises(ToolExecutionError, match="no bridge"):
        await bridges.act(ADA, "warmth", {})


async def test_the_bridges_of_one_being_are_nothing_to_another(bridges: Bridges) -> None:
    ada, bob = Device(bridges, ADA), Device(bridges, BOB)
    await ada.registers(LIGHT, WARMTH, name="ada")
    await ada.says("sense", name="warmth", value=21)
    await bob.registers({**LIGHT, "name": "dim"}, name="bob")
    assert [one["name"] for one in bridges.capabilities(BOB)] == ["dim"]
    assert bridges.senses(BOB) == []
    with pytest.raises(ToolExecutionError, match="there are: dim"):
        await bridges.act(BOB, "light_on", {})
    acting = asyncio.create_task(bridges.act(ADA, "light_on", {}))
    asked = await ada.hears()
    await bob.says("result", id=asked["id"], result="mine now")
    await ada.says("result", id=asked["id"], result="hers")
    assert await acting == "hers"


async def test_the_latest_value_of_a_sense_is_known_also_when_its_bridge_has_left(
    bridges: Bridges,
) -> None:
    lamp = Device(bridges)
    await lamp.registers(WARMTH)
    await lamp.says("sense", name="warmth", value=20)
    await lamp.says("sense", name="warmth", value={"celsius": 21}, at="2026-04-14T07:30:00Z")
    known = {
        "name": "warmth",
        "value": {"celsius": 21},
        "at": "2026-04-14T07:30:00.000+00:00",
        "bridge": "lamp",
    }
    assert bridges.senses(ADA) == [{**known, "connected": True}]
    bridges.leave(lamp.bridge)
    assert bridges.senses(ADA) == [{**known, "connected": False}]


async def test_a_sense_that_was_not_registered_is_refused(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.says("sense", name="warmth", value=1)
    assert "not registered" in (await lamp.hears())["error"]
    await lamp.registers(LIGHT)
    await lamp.says("sense", name="light_on", value=1)
    assert "not registered" in (await lamp.hears())["error"]
    assert bridges.senses(ADA) == []


async def test_senses_that_come_too_fast_are_dropped_and_that_is_said(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(WARMTH)
    for value in range(2 * SENSES_AT_ONCE):
        await lamp.says("sense", name="warmth", value=value)
    assert "senses a second" in (await lamp.hears())["error"]
    assert bridges.senses(ADA)[0]["value"] < 2 * SENSES_AT_ONCE - 1
    assert not lamp.bridge.unbearable


async def test_a_ping_is_answered(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.says("ping")
    assert await lamp.hears() == {"type": "pong"}
    await lamp.says("pong")
    assert lamp._heard.empty()


async def test_too_many_faults_are_too_many(bridges: Bridges) -> None:
    lamp = Device(bridges)
    for n in range(MOST_FAULTS):
        assert not lamp.bridge.unbearable, n
        await lamp.says("nonsense")
        assert (await lamp.hears())["type"] == "error"
    assert lamp.bridge.unbearable


async def test_a_being_has_a_limit_of_bridges_and_of_open_acts(bridges: Bridges) -> None:
    lamp = Device(bridges)
    await lamp.registers(LIGHT)
    acts = [asyncio.create_task(bridges.act(ADA, "light_on", {})) for _ in range(MOST_ACTS)]
    for _ in acts:
        await lamp.hears()
    with pytest.raises(ToolExecutionError, match="too much to do"):
        await bridges.act(ADA, "light_on", {})
    bridges.leave(lamp.bridge)
    await asyncio.gather(*acts, return_exceptions=True)
    for _ in range(MOST_BRIDGES):
        Device(bridges)
    with pytest.raises(BeingError, match="at most 20"):
        Device(bridges)
    Device(bridges, BOB)
