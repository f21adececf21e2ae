"""The Streamable HTTP endpoint of both eras as an ASGI app, with optional sessions."""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.routing import Route

from clawkit.errors import AccessError, InvalidRequestError, ProtocolError
from clawkit.wire import jsonrpc
from clawkit.wire.http.page import PageEndpoint, PageMaker
from clawkit.wire.http.request_checks import (
    ANY_ORIGIN,
    LOOPBACK,
    Headers,
    Origins,
    check_modern,
    is_modern,
    legacy_version,
    read_headers,
)
from clawkit.wire.http.response import (
    HeaderList,
    NoticeStream,
    PostResponse,
    Receive,
    SendAsgi,
    respond,
)
from clawkit.wire.jsonrpc import Message
from clawkit.wire.revisions import APP_TYPE, APPS
from clawkit.wire.session import Principal, Session, shows_apps
from clawkit.wire.subscriptions import Hub

if TYPE_CHECKING:
    from clawkit.wire.server import ServerCore

_log = logging.getLogger("clawkit.wire")

IDLE_SECONDS = 3600.0
RECHECK_SECONDS = 30.0
MAX_SESSIONS = 10_000
_MAX_NOTICES = 100
_SHOWS_APPS = "shows-apps"
"""The session id of stateless legacy clients that show pages of MCP Apps: it carries this one
capability from `initialize` to later requests."""


class HttpSession(Session):
    """A session that queues notices until the client opens its GET stream."""

    def __init__(self, principal: Principal | None) -> None:
        super().__init__(self.post, id=secrets.token_urlsafe(24), principal=principal)
        self.used = time.monotonic()
        self.stream: NoticeStream | None = None
        self._queued: deque[Message] = deque(maxlen=_MAX_NOTICES)

    def post(self, message: Message) -> None:
        if self.stream is not None and not self.stream.closed:
            self.stream.tell(message)
        else:
            self._queued.append(message)

    def attach(self) -> NoticeStream | None:
        """A new GET stream; None while another one is open."""
        if self.stream is not None and not self.stream.closed:
            return None
        self.stream = NoticeStream()
        while self._queued:
            self.stream.tell(self._queued.popleft())
        return self.stream


class HttpSessions:
    """The open sessions; one that is idle for an hour ends."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._open: dict[str, HttpSession] = {}

    def create(self, principal: Principal | None) -> HttpSession:
        self._end_idle()
        session = HttpSession(principal)
        self._open[str(session.id)] = session
        return session

    def find(self, session_id: str, principal: Principal | None) -> HttpSession | None:
        session = self._open.get(session_id)
        if session is None or _owner(session.principal) != _owner(principal):
            return None
        session.used = time.monotonic()
        return session

    def end(self, session: HttpSession) -> None:
        self._open.pop(str(session.id), None)
        self._hub.leave(session)
        session.close()
        if session.stream is not None:
            session.stream.close()

    def _end_idle(self) -> None:
        limit = time.monotonic() - IDLE_SECONDS
        idle = [s for s in self._open.values() if s.used < limit and not s.running]
        if len(self._open) - len(idle) >= MAX_SESSIONS:
            idle.append(min(self._open.values(), key=lambda s: s.used))
        for session in idle:
            self.end(session)


def _owner(principal: Principal | None) -> str | None:
    return None if principal is None else principal.id


Authenticate = Callable[
    [HttpRequest, Message | None], Awaitable[Principal | None] | Principal | None
]
"""Says who is calling, or raises AccessError; the message is None for GET and DELETE."""

Admit = Callable[[HttpRequest], Awaitable[None]]
"""Lets a request in before its body is read, or raises AccessError."""

_CORS: Any = {
    "allow_methods": ["GET", "POST", "DELETE"],
    "allow_headers": ["*"],
    "expose_headers": ["mcp-session-id", "retry-after", "www-authenticate", "x-request-id"],
}
MAX_BODY = 16 * 1024 * 1024


class HttpRefusal(Exception):
    """Ends a request with a status and an error body."""

    def __init__(self, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = list(headers)


def as_refusal(error: HttpRefusal | AccessError) -> HttpRefusal:
    """How somebody who may not call is answered."""
    if isinstance(error, HttpRefusal):
        return error
    challenge = error.challenge.encode("latin-1", "replace")
    headers = [(b"www-authenticate", challenge)] if challenge else []
    return HttpRefusal(error.status, str(error), *headers)


def allowed_headers(scope: Any, origins: Origins) -> dict[str, str]:
    """The headers of a request; raises HttpRefusal if they name another host or origin."""
    headers = read_headers(scope["headers"])
    reason = origins.refuse(headers)
    if reason is not None:
        raise HttpRefusal(403, reason)
    return headers


App = Starlette


class HttpAppOptions(TypedDict, total=False):
    """The keyword arguments of `http_app`."""

    path: str
    sessions: bool
    hosts: Collection[str] | None
    origins: Collection[str]
    max_body: int
    authenticate: Authenticate | None
    admit: Admit | None
    page: PageMaker | None
    routes: Sequence[Route]


class HttpLogin(NamedTuple):
    """A login: who may call, who is calling, and its own routes."""

    admit: Admit
    authenticate: Authenticate
    routes: Sequence[Route]


def http_app(
    server: ServerCore,
    *,
    path: str = "/mcp",
    sessions: bool = False,
    hosts: Collection[str] | None = LOOPBACK,
    origins: Collection[str] = (),
    max_body: int = MAX_BODY,
    authenticate: Authenticate | None = None,
    admit: Admit | None = None,
    page: PageMaker | None = None,
    routes: Sequence[Route] = (),
) -> Starlette:
    """An ASGI app that serves `server` at `path`, statelessly unless `sessions` is true.

    `hosts` are the host names it may be reached by, None for any; `origins` are further web pages
    that may call it. `authenticate` says who is calling, by default the server's own hook, and
    `admit` can say no before a body is read; with it, web pages from everywhere may call. `page`
    makes what a person's browser is shown at `/`; `routes` are what else there is.
    """
    allowed = Origins(hosts, origins if admit is None else (ANY_ORIGIN,))
    endpoint = Endpoint(server, allowed, sessions, max_body, authenticate, admit)
    door = endpoint if admit is None else open_to_pages(endpoint)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        server.hub.close()

    every = [Route(path, door), *routes]
    if page is not None and path != "/":
        every.append(Route("/", PageEndpoint(page, allowed, endpoint.admits)))
    app = Starlette(routes=every, lifespan=lifespan)
    allow_origins(app, origins)
    return app


def allow_origins(app: Starlette, origins: Collection[str]) -> None:
    """Let web pages from elsewhere read the answers of an app."""
    if origins:
        from starlette.middleware.cors import CORSMiddleware

        app.add_middleware(CORSMiddleware, allow_origins=list(origins), **_CORS)


def open_to_pages(endpoint: Any) -> Any:
    """Allow every origin to call an endpoint. Only for endpoints that require a token.

    Browsers do not send tokens by themselves, as they do with cookies, so a page can do no more
    than any program could.
    """
    from starlette.middleware.cors import CORSMiddleware

    return CORSMiddleware(endpoint, allow_origins=[ANY_ORIGIN], **_CORS)


class Endpoint:
    """The MCP endpoint: handles POST, GET and DELETE."""

    def __init__(
        self,
        server: ServerCore,
        origins: Origins,
        sessions: bool,
        max_body: int,
        authenticate: Authenticate | None,
        admit: Admit | None = None,
        recheck_every: float | None = None,
    ) -> None:
        self._server = server
        self._origins = origins
        self._sessions = HttpSessions(server.hub) if sessions else None
        self._max_body = max_body
        self._authenticate = authenticate
        self._admit = admit
        self._recheck_every = recheck_every

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        message: Message | None = None
        try:
            headers = allowed_headers(scope, self._origins)
            if self._admit is not None:
                await self._admit(HttpRequest(scope, receive))
            if scope["method"] == "POST":
                message, problem = jsonrpc.decode_or_error(await self._read(headers, receive))
                if message is None:
                    await respond(send, 400, jsonrpc.encode(problem or {}))
                else:
                    await self._post(scope, headers, message, receive, send)
            elif scope["method"] == "GET":
                await self._get(scope, headers, receive, send)
            elif scope["method"] == "DELETE":
                await self._delete(scope, headers, send)
            else:
                raise HttpRefusal(405, "Method not allowed", (b"allow", b"GET, POST, DELETE"))
        except (HttpRefusal, AccessError) as error:
            await self._refuse(send, message, as_refusal(error))
        except asyncio.CancelledError:
            await self._refuse(send, message, HttpRefusal(503, "The server is shutting down"))
        except ProtocolError as error:
            body = jsonrpc.encode(jsonrpc.failure(jsonrpc.reply_id(message), error))
            await respond(send, 404 if error.code == -32601 else 400, body)

    async def _refuse(self, send: SendAsgi, message: Message | None, refusal: HttpRefusal) -> None:
        error = jsonrpc.failure(jsonrpc.reply_id(message), InvalidRequestError(refusal.message))
        await respond(send, refusal.status, jsonrpc.encode(error), refusal.headers)

    async def _read(self, headers: Headers, receive: Receive) -> bytes:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpRefusal(415, "Content-Type must be application/json")
        return await read_body(headers, receive, self._max_body)

    async def _post(
        self, scope: Any, headers: Headers, message: Message, receive: Receive, send: SendAsgi
    ) -> None:
        principal = await self._who(scope, receive, message)
        params: dict[str, Any] = message.get("params") or {}
        meta = jsonrpc.as_object(params.get("_meta")) or {}
        modern = is_modern(headers, meta)
        streams = _accepts(headers, "text/event-stream")
        plain = _accepts(headers, "application/json")
        if not streams and not plain:
            raise HttpRefusal(406, "Accept must allow application/json or text/event-stream")
        session = self._session(headers, message, principal, modern)
        if "id" not in message or "method" not in message:
            self._server.begin(message, session)
            await respond(send, 202)
            return
        if modern:
            check_modern(headers, message, meta, self._server)
        if self._admit is not None or message["method"] == "subscriptions/listen":
            receive = self._while_admitted(scope, receive)
        extra: HeaderList = []
        if message["method"] == "initialize" and (session_id := self._new_id(session, message)):
            extra.append((b"mcp-session-id", session_id.encode()))

        def on_disconnect() -> None:
            # In a legacy session, a lost connection does not cancel the request.
            if modern or session.id is None:
                session.cancel(message["id"])

        response = PostResponse(
            receive,
            send,
            extra,
            streams=streams,
            plain=plain,
            modern=modern,
            on_disconnect=on_disconnect,
        )
        send_message = response.put if streams else None
        reply = self._server.begin(message, session, send_message, principal)
        if isinstance(reply, Coroutine):
            await response.wait_for(reply, message["id"])
        elif reply is not None:
            await response.finish(reply)

    def _session(
        self, headers: Headers, message: Message, principal: Principal | None, modern: bool
    ) -> Session:
        """The client's session; only the handshake era has stored ones, and only if enabled."""
        if modern or self._sessions is None:
            session = Session(version=legacy_version(headers), principal=principal, notices=True)
            if headers.get("mcp-session-id") == _SHOWS_APPS:
                session.capabilities = {"extensions": {APPS: {"mimeTypes": [APP_TYPE]}}}
            return session
        if message.get("method") == "initialize" and "mcp-session-id" not in headers:
            return self._sessions.create(principal)
        return self._lasting(headers, principal)

    def _new_id(self, session: Session, message: Message) -> str | None:
        """The session id to return from `initialize`, if any."""
        if session.id is not None or not self._server.apps:
            return session.id
        params = jsonrpc.as_object(message.get("params")) or {}
        capabilities = jsonrpc.as_object(params.get("capabilities")) or {}
        return _SHOWS_APPS if shows_apps(capabilities) else None

    def _lasting(self, headers: Headers, principal: Principal | None) -> HttpSession:
        session_id = headers.get("mcp-session-id")
        if session_id is None or self._sessions is None:
            raise HttpRefusal(400, "Mcp-Session-Id is missing; send initialize first")
        session = self._sessions.find(session_id, principal)
        if session is None:
            raise HttpRefusal(404, "No such session; send initialize again")
        return session

    async def _get(self, scope: Any, headers: Headers, receive: Receive, send: SendAsgi) -> None:
        """Serve the notice stream of the handshake era."""
        principal = await self._who(scope, receive, None)
        receive = self._while_admitted(scope, receive)
        if is_modern(headers, {}) or not _accepts(headers, "text/event-stream"):
            raise HttpRefusal(405, "Use POST", (b"allow", b"POST"))
        if self._sessions is not None:
            stream = self._lasting(headers, principal).attach()
            if stream is None:
                raise HttpRefusal(409, "This session has a stream already")
            await stream.write(receive, send)
            return
        stream, listener = NoticeStream(), Session()
        self._server.hub.join(listener, stream.tell, self._server.features(), stream.close)
        try:
            await stream.write(receive, send)
        finally:
            self._server.hub.leave(listener)

    def _while_admitted(self, scope: Any, receive: Receive) -> Receive:
        """Receives what comes after the body: that the caller left, or has to."""
        return while_admitted(
            receive, lambda: self.admits(scope, _nothing), every=self._recheck_every
        )

    async def _delete(self, scope: Any, headers: Headers, send: SendAsgi) -> None:
        principal = await self._who(scope, _nothing, None)
        if is_modern(headers, {}):
            raise HttpRefusal(405, "Use POST", (b"allow", b"POST"))
        if self._sessions is not None:
            self._sessions.end(self._lasting(headers, principal))
        await respond(send, 204)

    async def admits(self, scope: Any, receive: Receive) -> bool:
        """Whether this caller may use the endpoint."""
        try:
            await self._who(scope, receive, None)
        except AccessError:
            return False
        return True

    async def _who(self, scope: Any, receive: Receive, message: Message | None) -> Principal | None:
        authenticate = self._authenticate or self._server.authenticate
        if authenticate is None:
            return None
        found = authenticate(HttpRequest(scope, receive), message)
        return await found if isawaitable(found) else found


def while_admitted(
    receive: Receive, admits: Callable[[], Awaitable[bool]], *, every: float | None = None
) -> Receive:
    """A `receive` that also reports a disconnect as soon as `admits` says no."""
    seconds = every or RECHECK_SECONDS

    async def received() -> Any:
        event = asyncio.ensure_future(receive())
        try:
            while not (await asyncio.wait((event,), timeout=seconds))[0]:
                try:
                    if not await admits():
                        return {"type": "http.disconnect"}
                except HttpRefusal:
                    continue  # unknown for now: ask again
                except Exception:  # noqa: BLE001 - whatever it is, the next look counts
                    _log.exception("a caller cannot be checked")
            return event.result()
        finally:
            event.cancel()

    return received


async def read_body(headers: Headers, receive: Receive, most: int) -> bytes:
    """Read a request's body; raises HttpRefusal if it has more than `most` bytes."""
    declared = headers.get("content-length", "0")
    if len(declared) > 18 or not declared.isdigit() or int(declared) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise HttpRefusal(400, "The request ended early")
        part = event.get("body", b"")
        size += len(part)
        if size > most:
            raise _too_large(most)
        parts.append(part)
        if not event.get("more_body"):
            return b"".join(parts) if len(parts) > 1 else parts[0]


def _too_large(most: int) -> HttpRefusal:
    return HttpRefusal(413, f"A message may have at most {most} bytes")


async def _nothing() -> dict[str, Any]:
    return {"type": "http.disconnect"}


def _accepts(headers: Headers, kind: str) -> bool:
    accepted = headers.get("accept", "*/*").lower()
    if kind in accepted or "*/*" in accepted:
        return True
    return kind.partition("/")[0] + "/*" in accepted
