"""The server of Beings on a real socket, in a thread of the test; and what tests ask of it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from clawkit.memory import tokens
from clawkit.memory.being_store import BeingStore
from clawkit.memory.http.app import BeingApp, uvicorn_for
from clawkit.memory.http.authentication import RequestLimits
from clawkit.memory.http.logins import GateMaker
from clawkit.memory.http.request_log import Log
from clawkit.memory.records import Being, Scope
from clawkit.wire.http.uvicorn_server import listen
from tests.processes import PATIENCE
from tests.served import running

MANY = httpx2.Limits(max_connections=200)
MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
WRITES: dict[str, dict[str, Any]] = {
    "update_memory": {"target": "knowledge", "action": "append", "content": "stolen"},
    "update_notes": {"notes": ["stolen"]},
    "merge_nodes": {"node_ids": "a,b", "summary": "stolen"},
    "update_relation": {
        "entity_name": "Eve",
        "relation_type": "person",
        "content": "stolen",
        "action": "upsert",
    },
    "trigger_patrol": {"messages": []},
    "act": {"name": "light_on"},
}
"""Every tool that changes something, with arguments that would."""


class Served:
    """A running server, its Being, and ways to talk to it."""

    def __init__(self, store: BeingStore, app: BeingApp, port: int, lines: list[bytes]) -> None:
        self.store = store
        self.app = app
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.being = next(iter(store.every()), None) or store.create("Ada")
        self.http = httpx2.Client(base_url=self.url, timeout=PATIENCE, limits=MANY, verify=False)
        self._lines = lines

    def token(self, being: Being | None = None, scope: Scope = "full", **more: Any) -> str:
        return tokens.issue(self.store, being or self.being, scope=scope, **more)[0]

    @property
    def path(self) -> str:
        return f"/mcp/{self.being.id}"

    def ask(
        self, token: str, method: str, params: dict[str, Any] | None = None, **more: Any
    ) -> httpx2.Response:
        """One message of the handshake era."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        headers = {"authorization": f"Bearer {token}", **more.pop("headers", {})}
        return self.http.post(more.pop("path", self.path), json=message, headers=headers, **more)

    def call(
        self, token: str, tool: str, arguments: dict[str, Any] | None = None, **more: Any
    ) -> httpx2.Response:
        return self.ask(token, "tools/call", {"name": tool, "arguments": arguments or {}}, **more)

    def log(self, count: int) -> list[dict[str, Any]]:
        """The lines of the log, once there are so many: another thread writes them."""
        deadline = time.monotonic() + PATIENCE
        while len(lines := self.raw_log.splitlines()) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        return [json.loads(line) for line in lines]

    @property
    def raw_log(self) -> str:
        return b"".join(self._lines).decode()


@contextmanager
def served(
    store: BeingStore,
    limits: RequestLimits | None = None,
    logins: Callable[[int], GateMaker] | None = None,
    **options: Any,
) -> Iterator[Served]:
    """Serve the Beings of a store until the test is over; `logins` are told the port."""
    lines: list[bytes] = []
    log = Log(lambda data: lines.append(data) or len(data))
    listening = listen("127.0.0.1", 0)
    if logins is not None:
        options["logins"] = logins(listening.getsockname()[1])
    app = BeingApp(store, limits=limits, log=log, **options)
    found = Served(store, app, listening.getsockname()[1], lines)
    try:
        with running(uvicorn_for(app, log), listening), found.http:
            yield found
    finally:
        log.close()
        store.close()


def text_of(response: httpx2.Response) -> str:
    """What a tool answered."""
    (block,) = response.json()["result"]["content"]
    return block["text"]


def modern(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """A message of the modern era and the headers it needs."""
    meta = {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}}
    message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {**params, "_meta": meta}}
    headers = {"mcp-protocol-version": MODERN, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    return message, headers
