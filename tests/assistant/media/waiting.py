"""Waiting for what another process does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psutil

from tests.processes import PATIENCE


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not done():  # noqa: ASYNC110 - what is waited for is not ours to set an event
            await asyncio.sleep(0.01)


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
