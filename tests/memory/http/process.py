"""`claw being serve` as a real process, with a Being and its tokens."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from clawkit.memory import tokens
from tests.memory.http.being_store import store_at
from tests.processes import PATIENCE, ROOT


class BeingProcess:
    """A server that runs, and what a client has to know of it."""

    def __init__(self, folder: Path, *options: str) -> None:
        store = store_at(folder)
        being = store.create("Ada")
        self.id = being.id
        self.full, _ = tokens.issue(store, being)
        self.reader, _ = tokens.issue(store, being, scope="read-only")
        self.oauth, _ = tokens.issue(store, being, oauth=True)
        store.close()
        store = f"sqlite:{folder / 'beings.db'}"
        command = ("-m", "clawkit", "being", "serve", "--port", "0", "--store", store, *options)
        self.process = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        self.url = self._address()

    @property
    def mcp(self) -> str:
        """The address with the Being in it."""
        return f"{self.url}/{self.id}"

    @property
    def stderr(self) -> IO[str]:
        assert self.process.stderr is not None
        return self.process.stderr

    def _address(self) -> str:
        return json.loads(self.stderr.readline())["url"]

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.wait(PATIENCE)
            self.stderr.close()


@contextmanager
def being_process(folder: Path, *options: str, read_log: bool = True) -> Iterator[BeingProcess]:
    """Serve a new Being in a folder until the test is over."""
    found = BeingProcess(folder, *options)
    reading = threading.Thread(target=found.stderr.read, daemon=True)
    if read_log:
        reading.start()
    try:
        yield found
    finally:
        found.process.terminate()
        if read_log:
            found.process.wait(PATIENCE)
            reading.join(PATIENCE)
        found.end()
