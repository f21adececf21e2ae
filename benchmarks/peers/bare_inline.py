"""The floor, in process: decode, add, encode."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.inline import Answer
from benchmarks.messages import Era
from benchmarks.peers.bare_stdio import reply_to


@asynccontextmanager
async def answering(era: Era) -> AsyncIterator[Answer]:
    """Yield the bare loop's reply as a coroutine function."""
    del era

    async def answer(line: bytes) -> bytes:
        return reply_to(line).encode()

    yield answer
