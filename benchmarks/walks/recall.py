"""The way of one recall over HTTP: `python -m benchmarks.walks.recall [--list]`.

A Being is served in a process of its own, whose profile hook writes down each call of the package's
functions. The official client connects and asks once, so that everything is loaded; what is counted
is the way of the second question.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, TextIO

import clawkit

ROOT = f"{Path(clawkit.__file__).parent}{os.sep}"
TOLD = (
    "My sister Julia moved to Lisbon in May.",
    "The boiler was repaired on Tuesday.",
    "I am allergic to walnuts.",
    "Our dog Bruno is afraid of thunder.",
)
QUESTION = "Where does my sister live?"


def serve(address: str, out: str) -> None:
    """Serve the store at an address, and write down each call of a function of the package."""
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.http.app import serve as serve_beings
    from clawkit.store import open_store

    with Path(out).open("w", encoding="utf-8") as log:
        seen = _watcher(log)
        threading.setprofile(seen)
        sys.setprofile(seen)
        serve_beings(BeingStore(open_store(address)), on_ready=lambda url: print(url, flush=True))


def _watcher(log: TextIO) -> Any:
    lock, last = threading.Lock(), [""]

    def seen(frame: Any, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or threading.current_thread().name == "being-worker":
            return  # the worker looks for jobs now and then, whoever asks what
        if file.startswith(ROOT):
            with lock:
                name = frame.f_code.co_qualname
                log.write(f"\n{file[len(ROOT) :]} | {name}" if file != last[0] else f", {name}")
                last[0] = file
                log.flush()

    return seen


async def ask(url: str, token: str, out: Path) -> str:
    """The lines that the second question adds to the log."""
    import httpx2
    from mcp.client.client import Client
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        await client.call_tool("recall", {"user_message": QUESTION})
        await asyncio.sleep(2)
        before = len(_read(out))
        answer = await client.call_tool("recall", {"user_message": QUESTION})
        assert "Lisbon" in str(answer.content), answer
        await asyncio.sleep(0.2)
        return _read(out)[before:].partition("\n")[2]


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def main() -> None:
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
        command = [sys.executable, "-m", "benchmarks.walks.recall", "--serve", address, str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            time.sleep(3)  # what it loads while nobody waits
            lines = asyncio.run(ask(f"{url}/{being.id}", token, out)).strip().splitlines()
            server.send_signal(signal.SIGTERM)
    files = {line.split(" | ")[0] for line in lines}
    if "--list" in sys.argv:
        print("\n".join(lines))
    print(f"one recall over HTTP: {len(files)} files, {len(lines)} jumps between them")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(*sys.argv[2:4])
    else:
        main()
