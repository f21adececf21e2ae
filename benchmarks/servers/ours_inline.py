"""Ours, in process: one line in, one line out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.inline import Answer
from benchmarks.messages import Era
from benchmarks.servers.ours_stdio import server


@asynccontextmanager
async def answering(era: Era) -> AsyncIterator[Answer]:
    """Yield the server's own line-to-line call; it needs no opening in either era."""
    del era

    async def answer(line: bytes) -> bytes:
        reply = await server.handle_line(line)
        assert reply is not None, "a request was not answered"
        return reply

    yield answer
