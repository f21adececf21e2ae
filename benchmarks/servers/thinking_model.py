"""A model that thinks for a given time and then repeats what it was told, on OpenAI's wire.

`GET /last` is the body of the request before. Prints its base URL and serves until it is killed.
"""

import asyncio
import json
import sys
from typing import Any

import msgspec

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\ntransfer-encoding: chunked\r\n\r\n"
PIECES = 3


def chunk(data: bytes) -> bytes:
    """A part of the body of an answer."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(choices: list[dict[str, Any]], **more: Any) -> bytes:
    """One event of the stream."""
    body = {"id": "1", "object": "chat.completion.chunk", "model": "thinking", "choices": choices}
    return chunk(b"data: %b\n\n" % json.dumps({**body, **more}).encode())


def delta(**change: Any) -> bytes:
    """An event with more of the answer."""
    return event([{"index": 0, "delta": change, "finish_reason": None}])


def last_words(body: bytes) -> str:
    """What the last message says."""
    content = msgspec.json.decode(body)["messages"][-1]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


class Model:
    """The model, which remembers only the last request."""

    def __init__(self, seconds: float) -> None:
        """Think as long as that."""
        self._seconds = seconds
        self._last = b""

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request after the other on one connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                if head.startswith(b"get "):
                    writer.write(HEAD % b"application/json" + chunk(self._last) + chunk(b""))
                    continue
                length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                self._last = await reader.readexactly(length)
                await self._answer(last_words(self._last), writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, words: str, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD % b"text/event-stream" + delta(role="assistant", content=""))
        if self._seconds:
            await asyncio.sleep(self._seconds)
        size = -(-len(words) // PIECES)
        for start in range(0, len(words), size):
            writer.write(delta(content=words[start : start + size]))
        writer.write(event([{"index": 0, "delta": {}, "finish_reason": "stop"}]))
        usage = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
        writer.write(event([], usage=usage) + chunk(b"data: [DONE]\n\n") + chunk(b""))
        await writer.drain()


async def main(seconds: float) -> None:
    """Serve on a free port of this machine."""
    server = await asyncio.start_server(Model(seconds).converse, "127.0.0.1", 0, backlog=512)
    host, port = server.sockets[0].getsockname()
    print(f"http://{host}:{port}/v1", flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
