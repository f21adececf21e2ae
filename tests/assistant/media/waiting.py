"""Waiting for what another process does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import psutil


async def until(done: Callable[[], bool]) -> None:
    for _ in range(2000):
        if done():
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("it did not happen")


def has_ended(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
