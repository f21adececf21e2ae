"""Waiting for what another process does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psutil

from tests.processes import PATIENCE

LONGER = (1, 4, 16, 64)
"""Limits to try, in seconds: on a busy machine even a start takes a while."""


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():  # noqa: ASYNC110 - what is waited for is not ours to set an event
            await asyncio.sleep(0.01)


def has_ended(process: psutil.Process | int) -> bool:
    try:
        found = psutil.Process(process) if isinstance(process, int) else process
        return found.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
