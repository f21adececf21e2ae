"""A server that promises to keep a connection, and closes it when the next request comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from clawkit.errors import ProviderDownError
from tests.assistant.models.adapters import adapter, heard, prompt

BODY = (
    b'data: {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: keep-alive\r\n"


class Forgetful:
    """Answers so many requests on each connection; the next one it reads, and hangs up."""

    def __init__(self, answers: int) -> None:
        self.requests = 0
        self.url = ""
        self._answers = answers

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(self._answers):
            if not await self._hear(reader):
                break
            writer.write(HEAD + f"content-length: {len(BODY)}\r\n\r\n".encode() + BODY)
        else:
            await self._hear(reader)
        writer.close()
        await writer.wait_closed()

    async def _hear(self, reader: asyncio.StreamReader) -> bool:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            return False
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        await reader.readexactly(length)
        self.requests += 1
        return True


@asynccontextmanager
async def forgetful(answers: int) -> AsyncGenerator[Forgetful]:
    found = Forgetful(answers)
    server = await asyncio.start_server(found.serve, "127.0.0.1", 0)
    found.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield found


async def test_a_request_on_a_kept_connection_that_is_closed_is_sent_once_more() -> None:
    async with forgetful(1) as server, adapter("openai", server.url) as model:
        for _ in range(3):
            assert (await heard(model.stream(prompt())))[0] == "hi"
        assert server.requests == 5


async def test_a_request_on_a_new_connection_that_is_closed_is_not() -> None:
    async with forgetful(0) as server, adapter("openai", server.url) as model:
        with pytest.raises(ProviderDownError, match="broke off"):
            await heard(model.stream(prompt()))
        assert server.requests == 1
