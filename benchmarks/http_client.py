"""Loads an HTTP server over keep-alive connections (`python -m benchmarks.http_client`).

Bytes in, bytes out on plain sockets: an HTTP library would be slower than the servers it measures.
"""

import argparse
import asyncio
import json
import re
import time
from dataclasses import asdict, dataclass

from benchmarks.messages import LEGACY_VERSION, MODERN_VERSION, Era, call

LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RIGHT_ANSWER = re.compile(rb'"text": ?"5"')
LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass
class Tally:
    """What all connections together saw."""

    replies: int = 0
    wrong: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    sample: str = ""


def post(era: Era, port: int) -> bytes:
    """One `tools/call` as an HTTP request."""
    body = call(era, 1, "add", a=2, b=3).rstrip()
    headers = [
        "POST /mcp HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {LEGACY_VERSION if era == 'legacy' else MODERN_VERSION}",
        *(["Mcp-Method: tools/call", "Mcp-Name: add"] if era == "modern" else []),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(headers).encode() + b"\r\n\r\n" + body


def is_complete(response: bytes) -> bool:
    """Whether a whole response has arrived; there is never more than one in flight."""
    end = response.find(b"\r\n\r\n")
    if end < 0:
        return False
    length = LENGTH.search(response, 0, end)
    if length is None:
        return response.endswith(LAST_CHUNK)
    return len(response) >= end + 4 + int(length[1])


class Caller(asyncio.Protocol):
    """One connection: asks, waits for the answer, asks again, until the time is up."""

    def __init__(self, request: bytes, deadline: float, tally: Tally) -> None:
        """Share the tally with the other connections."""
        self.request = request
        self.deadline = deadline
        self.tally = tally
        self.received = b""
        self.closed = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask first."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        """Count a whole answer and ask again."""
        self.received += data
        if not is_complete(self.received):
            return
        self.count(self.received)
        self.received = b""
        if time.perf_counter() < self.deadline:
            self.transport.write(self.request)
        else:
            self.transport.close()

    def count(self, response: bytes) -> None:
        """Count a right answer as such; keep the first wrong one to show."""
        right = response.startswith(b"HTTP/1.1 200") and RIGHT_ANSWER.search(response)
        self.tally.replies += 1
        self.tally.wrong += not right
        if not self.tally.sample or (not right and self.tally.wrong == 1):
            self.tally.sample = response.decode(errors="replace")

    def connection_lost(self, exc: Exception | None) -> None:
        """A connection that the server closed early is a wrong answer."""
        self.tally.wrong += exc is not None or time.perf_counter() < self.deadline
        self.closed.set_result(None)


async def load(port: int, era: Era, connections: int, seconds: float) -> Tally:
    """Keep every connection busy for the given time."""
    loop, tally, request = asyncio.get_running_loop(), Tally(), post(era, port)
    start, cpu = time.perf_counter(), time.process_time()
    callers = [Caller(request, start + seconds, tally) for _ in range(connections)]
    for caller in callers:
        await loop.create_connection(lambda caller=caller: caller, "127.0.0.1", port)
    await asyncio.gather(*(caller.closed for caller in callers))
    tally.seconds, tally.cpu_seconds = time.perf_counter() - start, time.process_time() - cpu
    return tally


def main() -> None:
    """Print the tally as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("era")
    parser.add_argument("connections", type=int)
    parser.add_argument("seconds", type=float)
    options = parser.parse_args()
    tally = asyncio.run(load(options.port, options.era, options.connections, options.seconds))
    print(json.dumps(asdict(tally)))


if __name__ == "__main__":
    main()
