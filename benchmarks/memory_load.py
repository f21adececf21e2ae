"""Many clients of memory at once (`python -m benchmarks.memory_load`), in a process of its own.

stdin has one JSON object: the ports, a door for each client, how many calls each makes. Clients
recall, note and search, each on its own connection, one call after the other. stdout has what they
saw, with the ids of every scene that a server has said it noted.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from typing import Any

from benchmarks.http_client import LENGTH
from benchmarks.memory_serving import text_of
from benchmarks.memory_texts import memories, questions
from benchmarks.messages import WrongReply

KINDS = ("recall", "update_notes", "search_memory")
_SHARES = (0.5, 0.3, 0.2)
_FIRST = 200_000
_PATIENCE = 120.0


class Tally:
    """What all clients together saw."""

    def __init__(self) -> None:
        """Nothing yet."""
        self.seconds: dict[str, list[float]] = {kind: [] for kind in KINDS}
        self.noted: dict[str, list[str]] = {}
        self.wrong = 0
        self.sample = ""

    def fail(self, what: str) -> None:
        """Count something that went wrong; the first is kept to show."""
        self.wrong += 1
        self.sample = self.sample or what


class Caller:
    """One client: its connection, its Being, its own texts."""

    def __init__(self, number: int, port: int, door: dict[str, str], tally: Tally) -> None:
        """Every client has its own order of calls."""
        self._random = random.Random(number)
        self._port = port
        self._door = door
        self._tally = tally

    async def run(self, calls: int, asked: list[str], noted: list[dict[str, Any]]) -> None:
        """One call after the other."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError as error:
            self._tally.fail(f"no connection: {error}")
            return
        for kind in self._random.choices(KINDS, _SHARES, k=calls):
            start = time.perf_counter()
            try:
                writer.write(self._request(kind, asked, noted))
                status, body = await asyncio.wait_for(_answer(reader), _PATIENCE)
                self._keep(kind, text_of(status, body))
            except (OSError, EOFError, TimeoutError, WrongReply) as error:
                self._tally.fail(f"{kind}: {type(error).__name__}: {error}")
                return
            self._tally.seconds[kind].append(time.perf_counter() - start)
        writer.close()

    def _request(self, kind: str, asked: list[str], noted: list[dict[str, Any]]) -> bytes:
        arguments = {
            "recall": lambda: {"user_message": self._random.choice(asked)},
            "search_memory": lambda: {"query": self._random.choice(asked)},
            "update_notes": lambda: {"scenes": [noted.pop()]},
        }[kind]()
        params = {"name": kind, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        body = json.dumps(message).encode()
        head = (
            f"POST /mcp/{self._door['being']} HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
            f"Authorization: Bearer {self._door['token']}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def _keep(self, kind: str, text: str) -> None:
        if kind == "update_notes":
            ids = json.loads(text)["scene_ids"]
            self._tally.noted.setdefault(self._door["being"], []).extend(ids)


async def _answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and the body of one response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = LENGTH.search(head)
    if length is None:
        raise WrongReply(head.decode(errors="replace"))
    return int(head.split(b" ", 2)[1]), await reader.readexactly(int(length[1]))


async def load(order: dict[str, Any]) -> dict[str, Any]:
    """All clients at once; the servers take them in turn."""
    tally, calls, doors = Tally(), order["calls"], order["doors"]
    asked = questions(300, order["memories"])
    every = list(memories(_FIRST + len(doors) * calls))[_FIRST:]
    runs: list[Any] = []
    for number, door in enumerate(doors):
        own = [
            {"action": each.text, "actors": list(each.actors), "when": [each.day]}
            for each in every[number * calls : (number + 1) * calls]
        ]
        port = order["ports"][number % len(order["ports"])]
        runs.append(Caller(number, port, door, tally).run(calls, asked, own))
    start = time.perf_counter()
    await asyncio.gather(*runs)
    spent = time.perf_counter() - start
    return {**vars(tally), "spent": spent}


def main() -> None:
    """Print what was seen as one line of JSON."""
    print(json.dumps(asyncio.run(load(json.load(sys.stdin)))))


if __name__ == "__main__":
    main()
