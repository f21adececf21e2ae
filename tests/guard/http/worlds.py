"""What stands on either side of a guard over HTTP: a server by script, and the guard's process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from clawkit.wire.http.uvicorn_server import UvicornServer, listen
from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN
from tests.claw import CLAW
from tests.guard.guarded_server import ALLOW_ALL, CLIENT
from tests.processes import ROOT, address_of
from tests.served import running

_METHODS = ["GET", "POST", "DELETE"]
Handler = Callable[[Request, Any], Awaitable[Response]]


class Heard:
    """One request that reached the server."""

    def __init__(self, request: Request, body: bytes) -> None:
        self.method = request.method
        self.path = request.url.path
        self.query = request.url.query
        self.headers = dict(request.headers)
        self.body = body

    @property
    def message(self) -> Any:
        return json.loads(self.body)


class Script:
    """A server that does what a test says, and remembers what it heard."""

    def __init__(self, handler: Handler) -> None:
        self.handler = handler
        self.heard: list[Heard] = []
        self.left = 0
        """How many streams ended because the other side went away."""
        self._serving = ExitStack()
        self.origin = self.address = ""

    async def _answer(self, request: Request) -> Response:
        body = await request.body()
        heard = Heard(request, body)
        self.heard.append(heard)
        is_form = "form" in request.headers.get("content-type", "")
        return await self.handler(request, json.loads(body) if body and not is_form else None)

    def messages(self, method: str | None = None) -> list[Any]:
        """The messages that were posted, or those of one method."""
        found = [heard.message for heard in self.heard if heard.method == "POST"]
        return [m for m in found if method is None or m.get("method") == method]

    def stream(self, *events: bytes, ends: bool = True, **headers: str) -> Response:
        """A stream of these events; one that does not end goes on with comments."""

        async def body() -> AsyncGenerator[bytes]:
            try:
                for event in events:
                    yield event
                while not ends:
                    await asyncio.sleep(0.02)
                    yield b": still here\n\n"
            except asyncio.CancelledError:
                self.left += 1
                raise

        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return StreamingResponse(body(), media_type="text/event-stream", headers=fields)

    def __enter__(self) -> Script:
        app = Starlette(routes=[Route("/{path:path}", self._answer, methods=_METHODS)])
        self.origin = self._serving.enter_context(served(app))
        self.address = f"{self.origin}/mcp"
        return self

    def stop(self) -> None:
        self._serving.close()

    def __exit__(self, *_: object) -> None:
        self.stop()


def event(message: Any, **fields: str) -> bytes:
    lines = [f"{name}: {value}" for name, value in fields.items()]
    return "\n".join([*lines, f"data: {json.dumps(message)}", "", ""]).encode()


def result(message: Any, value: Any = None, **headers: str) -> Response:
    """The answer to a request, as one document."""
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": {} if value is None else value}
    fields = {name.replace("_", "-"): text for name, text in headers.items()}
    return JSONResponse(reply, headers=fields)


async def obliging(request: Request, message: Any) -> Response:
    """Answers every request with what it was asked."""
    if request.method != "POST":
        return Response(status_code=405, headers={"allow": "POST"})
    if "method" not in message or "id" not in message:
        return Response(status_code=202)
    return result(message, {"asked": message["method"]})


def call(tool: str, request_id: Any = 1, *, modern: bool = False, **arguments: Any) -> Any:
    params: dict[str, Any] = {"name": tool, "arguments": arguments}
    if modern:
        params["_meta"] = {META_VERSION: MODERN, META_CAPABILITIES: {}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def initialize(**capabilities: Any) -> Any:
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": capabilities,
        "clientInfo": CLIENT,
    }
    return {"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}


def notice(method: str, **params: Any) -> Any:
    return {"jsonrpc": "2.0", "method": method, "params": params}


async def with_session(request: Request, message: Any) -> Response:
    """A server of the handshake era."""
    if request.method == "DELETE":
        return Response(status_code=204)
    if request.method == "POST" and message.get("method") == "initialize":
        return result(message, {"protocolVersion": "2025-06-18"}, mcp_session_id="s-1")
    return await obliging(request, message)


@contextmanager
def served(app: Any, origin: str = "") -> Generator[str]:
    """An ASGI app on a free port, or at an origin that is known before; gives its origin."""
    listening = listen("127.0.0.1", int(origin.rpartition(":")[2] or 0))
    server = UvicornServer(
        app, on_stop=lambda: None, log_level="critical", timeout_graceful_shutdown=1
    )
    with running(server, listening):
        yield "http://{}:{}".format(*listening.getsockname())


@contextmanager
def reverse_proxy(
    url: str, folder: Path, policy: str = ALLOW_ALL, *options: str, **env: str
) -> Generator[str]:
    """`claw proxy --listen` in front of an address; gives its own."""
    with proxy_process(url, folder, policy, *options, **env) as (process, address):
        yield address
        assert process.poll() is None, "the proxy ended"


@contextmanager
def proxy_process(
    url: str, folder: Path, policy: str = ALLOW_ALL, *options: str, **env: str
) -> Generator[tuple[subprocess.Popen[str], str]]:
    file = folder / "policy.toml"
    file.write_text(policy)
    command = (*CLAW, "proxy", "--listen", "0", "--url", url, "--policy", str(file), *options)
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, cwd=ROOT, text=True, env={**os.environ, **env}
    )
    with address_of(process) as address:
        yield process, address


def remote_command(url: str, folder: Path, policy: str = ALLOW_ALL, *options: str) -> list[str]:
    """`claw proxy --url` as a client starts it."""
    file = folder / "policy.toml"
    file.write_text(policy)
    return [*CLAW, "proxy", "--url", url, "--policy", str(file), *options]
