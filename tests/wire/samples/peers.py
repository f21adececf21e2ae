"""Clients over HTTP, which tests write by hand where a real client would be too polite."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from tests.processes import PATIENCE, ROOT
from tests.wire.samples.messages import SAMPLES, Message, call, headers, modern, text

EVENTS = {"Accept": "text/event-stream, application/json"}


class Peer:
    """A client of one address; `fields` are headers, with `_` for `-`."""

    def __init__(self, address: str, **fields: str) -> None:
        self.address = address
        self.http = httpx2.Client(
            base_url=address.removesuffix("/mcp"), timeout=PATIENCE, trust_env=False, headers=fields
        )

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def post(self, message: Any, **fields: str) -> httpx2.Response:
        """Post a message of the handshake era."""
        return self.http.post("/mcp", json=message, headers=_named(fields))

    def post_modern(
        self, message: Message, capabilities: Message | None = None, **fields: str
    ) -> httpx2.Response:
        """Post it as the era of 2026 does, with the headers that go with it."""
        message = modern(message, capabilities)
        return self.http.post("/mcp", json=message, headers=headers(message) | _named(fields))

    def history(self, **fields: str) -> list[str]:
        """What the tools of the served file have noted so far."""
        return json.loads(text(self.post(call("history", "history"), **fields).json()))

    def connect(self) -> socket.socket:
        """A bare connection."""
        url = self.http.base_url
        assert url.port is not None
        return socket.create_connection((url.host, url.port), PATIENCE)


def _named(fields: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in fields.items()}


@contextmanager
def guarded(*options: str) -> Iterator[str]:
    """The address of `guarded.py`, served by itself."""
    command = (sys.executable, str(SAMPLES / "guarded.py"), *options)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, text=True)
    assert process.stderr is not None
    try:
        yield process.stderr.readline().partition(" is at ")[2].strip()
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stderr.close()
