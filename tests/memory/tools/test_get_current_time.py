from __future__ import annotations

import pytest

from tests.memory.http.being_store import Clock
from tests.memory.tools.being_client import BeingClient


async def test_the_time_in_tokyo_has_the_japanese_weekday(
    client: BeingClient, clock: Clock
) -> None:
    clock.now = 1_776_151_800.0
    assert await client.json("get_current_time", timezone="Asia/Tokyo") == {
        "datetime": "2026/04/14(火) 16:30:00",
        "iso": "2026-04-14T07:30:00.000Z",
        "timezone": "Asia/Tokyo",
    }


async def test_the_default_is_utc(client: BeingClient, clock: Clock) -> None:
    clock.now = 1_776_151_800.25
    assert await client.json("get_current_time") == {
        "datetime": "2026/04/14(火) 07:30:00",
        "iso": "2026-04-14T07:30:00.250Z",
        "timezone": "UTC",
    }


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "../etc/passwd", "America", "/etc/passwd", "a\0b"]
)
async def test_an_unknown_timezone_is_a_clear_error(client: BeingClient, zone: str) -> None:
    text = await client.error("get_current_time", timezone=zone)
    assert "timezone" in text
    assert "IANA" in text
