"""A server behind a bearer hook; run as a program it serves HTTP and says where on stderr."""

from __future__ import annotations

import asyncio
import itertools
import socket
import sys
from typing import Any

import uvicorn
from starlette.requests import Request

from clawkit import Context, SdkMcpServerImpl
from clawkit.errors import AccessError
from clawkit.wire.http.endpoint import http_app
from clawkit.wire.session import Principal

server = SdkMcpServerImpl("guarded", "1.0.0")
_requests = itertools.count()


@server.tool
async def who(context: Context) -> str:
    assert context.principal is not None
    return f"{context.principal.id} may {' '.join(sorted(context.principal.scopes))}"


@server.tool(task="required")
async def long_work(seconds: float, context: Context) -> str:
    await asyncio.sleep(seconds)
    assert context.principal is not None
    return f"the secret of {context.principal.id}"


async def authenticate(request: Request, message: dict[str, Any] | None) -> Principal:
    """The token is the name of the caller; each request has other claims, as with fresh tokens."""
    scheme, _, name = request.headers.get("authorization", "").partition(" ")
    if scheme != "Bearer" or name not in ("alice", "bob", "guest"):
        raise AccessError("Say who you are", challenge='Bearer realm="guarded"')
    if name == "guest" and message is not None and message.get("method") == "tools/call":
        challenge = 'Bearer error="insufficient_scope", scope="call"'
        raise AccessError("Guests may only look", status=403, challenge=challenge)
    return Principal(name, frozenset({"look", "call"}), {"request": next(_requests)})


if __name__ == "__main__":
    listening = socket.create_server(("127.0.0.1", 0))
    options: dict[str, Any] = {"sessions": "--sessions" in sys.argv}
    if "--open" in sys.argv:
        options |= {"hosts": None, "origins": ("https://friend.example",), "max_body": 1000}
    else:
        options["authenticate"] = authenticate
    app = http_app(server, **options)
    print(f"guarded is at http://127.0.0.1:{listening.getsockname()[1]}/mcp", file=sys.stderr)  # noqa: T201
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
