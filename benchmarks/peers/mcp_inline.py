"""The official SDK's low-level server in process: its own loop over memory streams.

Lines are decoded and encoded as its stdio door does; only the threads and pipes are left out.
"""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from benchmarks.inline import Answer
from benchmarks.messages import Era, check_opening, opening, ready
from benchmarks.peers.mcp_stdio import server


def decode(line: bytes) -> SessionMessage:
    """Decode as its stdio door does."""
    return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))


def encode(message: types.JSONRPCMessage) -> bytes:
    """Encode as its stdio door does."""
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


@asynccontextmanager
async def over_streams(served: Server[Any], era: Era) -> AsyncIterator[Answer]:
    """Run the server's loop on memory streams, and open it as a client of the era does."""
    async with (
        create_client_server_memory_streams() as ((replies, requests), (incoming, outgoing)),
        anyio.create_task_group() as tasks,
    ):
        options = served.create_initialization_options()
        tasks.start_soon(served.run, incoming, outgoing, options)

        async def answer(line: bytes) -> bytes:
            await requests.send(decode(line))
            reply = await replies.receive()
            assert isinstance(reply, SessionMessage), reply
            return encode(reply.message)

        check_opening(await answer(opening(era)))
        if notice := ready(era):
            await requests.send(decode(notice))
        yield answer
        tasks.cancel_scope.cancel()


def answering(era: Era) -> AbstractAsyncContextManager[Answer]:
    """Open the low-level server of this benchmark."""
    return over_streams(server, era)
