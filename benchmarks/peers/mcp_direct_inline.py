"""The official SDK's low-level server in process, by its direct dispatcher: modern era only.

No streams and no check of the envelope: less than any of its doors does. It is here to show the
least that its kernel costs.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import mcp_types as types
from mcp.server.runner import modern_on_request
from mcp.shared.direct_dispatcher import create_direct_dispatcher_pair

from benchmarks.inline import Answer
from benchmarks.messages import Era
from benchmarks.peers.mcp_inline import decode, encode
from benchmarks.peers.mcp_stdio import server


async def no_notices(_context: object, _method: str, _params: object) -> None:
    """Ignore notifications."""


@asynccontextmanager
async def answering(era: Era) -> AsyncIterator[Answer]:
    """Call the server's request handler straight, one exchange at a time."""
    assert era == "modern", "the direct dispatcher knows no handshake"
    near, far = create_direct_dispatcher_pair()
    async with server.lifespan(server) as state, anyio.create_task_group() as tasks:
        handle = modern_on_request(server, state)
        await tasks.start(far.run, handle, no_notices)
        await tasks.start(near.run, handle, no_notices)

        async def answer(line: bytes) -> bytes:
            asked = decode(line).message
            assert isinstance(asked, types.JSONRPCRequest), asked
            result = await near.send_raw_request(asked.method, asked.params)
            return encode(types.JSONRPCResponse(jsonrpc="2.0", id=asked.id, result=result))

        yield answer
        tasks.cancel_scope.cancel()
