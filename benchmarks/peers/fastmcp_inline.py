"""fastmcp in process, the same way as the official SDK, which it is built on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from benchmarks.inline import Answer
from benchmarks.messages import Era
from benchmarks.peers.fastmcp_stdio import server
from benchmarks.peers.mcp_inline import over_streams


@asynccontextmanager
async def answering(era: Era) -> AsyncIterator[Answer]:
    """Enter its lifespan, as its stdio door does, and run the low-level server inside it."""
    # Its low-level server has no public name.
    async with server._lifespan_manager(), over_streams(server._mcp_server, era) as answer:
        yield answer
