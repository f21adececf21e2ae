"""The console's ASGI app and its server on loopback."""

from __future__ import annotations

import asyncio
import secrets
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clawkit.console.access import OPEN_PATH, PROOF_PATH, AccessCheck, ConsoleAccess
from clawkit.console.api import (
    ApiError,
    ConsolePage,
    get,
    guarded,
    json_response,
    read_json,
    watched,
)
from clawkit.console.pages import (
    activity,
    approvals,
    connect,
    health,
    memory,
    policy,
    sessions,
)
from clawkit.errors import LoadError
from clawkit.system.peers import OwnUsersSocket, can_tell_users
from clawkit.version import __version__
from clawkit.wire.http.uvicorn_server import HttpLimits, UvicornServer, listening

HOST = "127.0.0.1"
PORTS = range(12_000, 32_768)
"""Below those that systems give to programs, and without any that browsers refuse."""
_TRIES = 16

PAGES: tuple[Callable[[ExitStack], ConsolePage], ...] = (
    approvals.page,
    activity.page,
    policy.page,
    memory.page,
    sessions.page,
    connect.page,
    health.page,
)
"""What makes each page; what a page opens is closed with the stack."""

_STATIC = Path(__file__).parent / "static"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_LIMITS = HttpLimits(connections=200)
_MOST_TO_OPEN = 4096
"""The size of a body that anybody on this machine can send: of what is held until it is whole."""
_SHUTDOWN_SECONDS = 3


class LinkUse(Struct, frozen=True):
    """What a browser brings to be let in."""

    link: str


class ProofRequest(Struct, frozen=True):
    """What a page wants the proof for: another text each time."""

    text: Annotated[str, Meta(max_length=64)]


class Proof(Struct, frozen=True):
    """That it is the same console."""

    proof: str


def console_app(access: ConsoleAccess, until_end: ExitStack, stopping: asyncio.Event) -> Starlette:
    """The app; `stopping` ends its streams."""
    pages = [make(until_end) for make in PAGES]
    topics = {name: look for page in pages for name, look in page.topics.items()}
    routes = [
        *(_file(path) for path in sorted(_STATIC.rglob("*")) if path.suffix in _TYPES),
        *_session_routes(access),
        watched("/api/watch", topics, stopping),
        *(route for page in pages for route in page.routes),
    ]
    return Starlette(routes=routes, middleware=[Middleware(AccessCheck, access=access)])


def serve(
    port: int | None = None,
    *,
    on_ready: Callable[[int, ConsoleAccess], None],
    another_link: str,
) -> None:
    """Serve the console on loopback until interrupted.

    Without a port it is one drawn by chance. `on_ready` gets the port, and makes links;
    `another_link` is what a page says of how to get one.
    """
    access, stopping = ConsoleAccess(another_link=another_link), asyncio.Event()
    with ExitStack() as until_end:
        sockets = console_sockets(port, until_end)
        bound = sockets[0].getsockname()[1]
        running = UvicornServer(
            console_app(access, until_end, stopping),
            limits=_LIMITS,
            on_stop=stopping.set,
            on_ready=lambda: on_ready(bound, access),
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        running.run(sockets=sockets)


def console_sockets(port: int | None, until_end: ExitStack) -> list[socket.socket]:
    """Where it listens until the end: at the port, or at one that nobody could wait at."""
    bound = _bound(port, until_end)
    if not can_tell_users():
        return bound
    return [until_end.enter_context(OwnUsersSocket(fileno=one.detach())) for one in bound]


def _bound(port: int | None, until_end: ExitStack) -> list[socket.socket]:
    if port is not None:
        return until_end.enter_context(listening(HOST, port))
    for _ in range(_TRIES):
        with suppress(LoadError):
            return until_end.enter_context(listening(HOST, secrets.choice(PORTS)))
    return until_end.enter_context(listening(HOST, 0))


def link_host(access: ConsoleAccess) -> str:
    """The machine as links have it: Safari asks a name server for names below `localhost`."""
    return HOST if sys.platform == "darwin" else access.host


def _file(path: Path) -> Route:
    """A file of the page, read once; the page itself is at `/`."""
    body, kind = path.read_bytes(), _TYPES[path.suffix]
    name = path.relative_to(_STATIC).as_posix()

    async def handle(_: Request) -> Response:
        return Response(body, media_type=kind)

    return Route("/" if name == "index.html" else f"/{name}", handle, methods=["GET"])


def _session_routes(access: ConsoleAccess) -> list[Route]:
    async def open_link(request: Request) -> Response:
        session = access.exchange((await read_json(request, LinkUse, _MOST_TO_OPEN)).link)
        if session is None:
            raise ApiError(f"This link was used already, or is too old: {access.another_link}", 403)
        known = {"token": session.token, "secret": access.secret.hex()}
        response = json_response({**known, "version": __version__})
        response.headers["set-cookie"] = access.cookie_header(session)
        return response

    async def session(_: Request) -> Response:
        return json_response({"version": __version__})

    return [
        Route(OPEN_PATH, guarded(open_link), methods=["POST"]),
        get(PROOF_PATH, ProofRequest, lambda asked: Proof(access.proof(asked.text))),
        Route("/api/session", guarded(session), methods=["GET"]),
    ]
