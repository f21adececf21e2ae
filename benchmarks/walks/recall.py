"""The way of one recall over HTTP.

A Being is served in a process of its own, which is watched. The official client connects and asks
once, so that everything is loaded; what counts is the way of the second question.
"""

import asyncio
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.walks import lines_since, mark, watch

TOLD = (
    "My sister Julia moved to Lisbon in May.",
    "The boiler was repaired on Tuesday.",
    "I am allergic to walnuts.",
    "Our dog Bruno is afraid of thunder.",
)
QUESTION = "Where does my sister live?"


def serve(address: str, out: str) -> None:
    """Serve the store at an address, and be watched."""
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.http.app import serve as serve_beings
    from clawkit.store import open_store

    watch(Path(out))
    serve_beings(BeingStore(open_store(address)), on_ready=lambda url: print(url, flush=True))


async def ask(url: str, token: str, out: Path) -> list[str]:
    """The way of the second question."""
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await client.call_tool("recall", {"user_message": QUESTION})
        await asyncio.sleep(2)
        begin = mark(out)
        answer = await client.call_tool("recall", {"user_message": QUESTION})
        assert "Lisbon" in str(answer.content), answer
        await asyncio.sleep(0.2)
        return lines_since(out, begin)


def walk() -> list[str]:
    """A client asks a Being that was told four things."""
    from clawkit.memory import tokens
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.tokens import Caller
    from clawkit.store import open_store

    with tempfile.TemporaryDirectory() as folder:
        address, out = f"sqlite:{folder}/beings.db", Path(folder, "walk")
        store = BeingStore(open_store(address))
        being = store.create("walk")
        token, _ = tokens.issue(store, being)
        for text in TOLD:
            store.open(being).remember(text, Caller())
        store.close()
        command = [sys.executable, "-m", "benchmarks.walks.recall", address, str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            time.sleep(3)  # what it loads while nobody waits
            lines = asyncio.run(ask(f"{url}/{being.id}", token, out))
            server.send_signal(signal.SIGTERM)
    return lines


if __name__ == "__main__":
    serve(*sys.argv[1:3])
