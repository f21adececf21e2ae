"""`claw proxy --listen`: the guard as a reverse proxy (ASGI) in front of a remote server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import isawaitable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.routing import Mount

from clawkit.errors import (
    AccessError,
    AuditError,
    ClawError,
    InternalError,
    InvalidRequestError,
    ProtocolError,
)
from clawkit.guard.conversation import Flights, GuardConversation
from clawkit.guard.http.callers import Callers, ClientLogins, check_reach, own_user
from clawkit.guard.http.client_request import (
    ClientPlace,
    ConnectedWork,
    HttpReply,
    Incoming,
    onward,
)
from clawkit.guard.http.mirrored_headers import check_agreement
from clawkit.guard.http.relay import (
    MESSAGES,
    EventStream,
    ForwardedRequest,
    Questions,
    Relay,
    SseChannels,
)
from clawkit.guard.http.upstream import (
    NOTICE_SECONDS,
    Guarded,
    Response,
    Upstream,
    UpstreamError,
    refusal,
)
from clawkit.guard.passages import Passage, failure
from clawkit.guard.strict_parser import parse
from clawkit.system.addresses import is_loopback_host
from clawkit.wire import jsonrpc
from clawkit.wire.http.endpoint import HttpRefusal, allowed_headers, as_refusal, while_admitted
from clawkit.wire.http.page import ServerPage, origin_of, wants_page
from clawkit.wire.http.request_checks import LOOPBACK, Origins
from clawkit.wire.http.response import Receive, SendAsgi
from clawkit.wire.http.uvicorn_server import HttpLimits, UvicornServer, listening
from clawkit.wire.jsonrpc import Message

IDLE_SECONDS = 3600.0
MOST_SESSIONS = 5000
_TURNS, _TURN_SECONDS = 20, 0.05
"""After so many turns of the loop all is handled that clients had sent before; the seconds are
for them all, because whoever waits may have what the loop waits for.
"""


class ProxySession:
    """One conversation, and how many requests use it."""

    def __init__(self, conversation: GuardConversation, owner: str = "") -> None:
        self.conversation = conversation
        self.owner = owner
        self.used = time.monotonic()
        self.busy = 0
        self._over = False

    @contextmanager
    def in_use(self) -> Generator[GuardConversation]:
        self.busy += 1
        try:
            yield self.conversation
        finally:
            self.busy -= 1
            self.used = time.monotonic()
            self._end_if_over()

    def end(self) -> None:
        """End it as soon as the requests in progress are answered."""
        self._over = True
        self._end_if_over()

    def _end_if_over(self) -> None:
        if self._over and not self.busy:
            self.conversation.end("The session ended")


class ProxySessions:
    """The sessions by the server's ids; the oldest idle one makes room for a new one."""

    def __init__(
        self, open_conversation: Callable[[], GuardConversation], most: int = MOST_SESSIONS
    ) -> None:
        self._open_conversation = open_conversation
        self._most = most
        self._known: dict[str, ProxySession] = {}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, session_id: str, owner: str = "") -> ProxySession:
        """The session of this id; a new one if it is unknown, since only the server knows them all.

        Where people log in, it must have been begun by the same person.
        """
        session = self._known.get(session_id)
        if owner and (session is None or session.owner != owner):
            raise HttpRefusal(404, "No such session; send initialize again")
        return session or self.keep(session_id, ProxySession(self._open_conversation()))

    def keep(self, session_id: str, session: ProxySession) -> ProxySession:
        self._make_room()
        self._known[session_id] = session
        return session

    def end(self, session_id: str) -> None:
        session = self._known.pop(session_id, None)
        if session is not None:
            session.end()

    def _make_room(self) -> None:
        limit = time.monotonic() - IDLE_SECONDS
        idle = {key: s for key, s in self._known.items() if not s.busy}
        gone = [key for key, s in idle.items() if s.used < limit]
        if len(self._known) - len(gone) >= self._most and idle:
            gone.append(min(idle, key=lambda key: idle[key].used))
        for key in gone:
            self.end(key)


OUR_PATH = "/mcp"
_ABOUT = """It stands behind a guard: a policy decides about every call, and each is logged.

`claw log` shows what passed, `claw policy show` the policy."""


class ReverseProxyApp:
    def __init__(
        self, guarded: Guarded, origins: Origins, callers: Callers, logins: ClientLogins
    ) -> None:
        self._judge = guarded.judge
        self._upstream = Upstream(guarded.target)
        self._origins = origins
        self._callers = callers
        self._logins = logins
        self._paths = (OUR_PATH, guarded.target.path)
        self._sessions = ProxySessions(lambda: self._conversation("http"))
        self._questions: Questions = {}
        self._forwarded: set[ForwardedRequest] = set()
        self._channels: SseChannels = {}
        self._connected_work = ConnectedWork()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def serve(
        self, sockets: list[socket.socket], limits: HttpLimits | None, announce: Callable[[], None]
    ) -> None:
        """Serve on these sockets until the process is told to end."""
        self._loop = asyncio.get_running_loop()
        routes = self._callers.login.routes
        server = UvicornServer(
            Starlette(routes=[*routes, Mount("/", self)]) if routes else self,
            limits=limits,
            on_stop=self.close,
            on_ready=announce,
            http=self._callers.connection,
            lifespan="off",
            proxy_headers=False,
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        try:
            await server.serve(sockets=sockets)
        finally:
            await self._upstream.close()

    def close(self) -> None:
        """End all streams, and write the counts of repeated events."""
        self._connected_work.close()
        with contextlib.suppress(AuditError):
            self._judge.log_counts()

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        reply = HttpReply(send)
        try:
            headers = allowed_headers(scope, self._origins)
            request = HttpRequest(scope, receive)
            if not self._is_open(scope, headers):
                await self._callers.login.admit(request)
            if self._logins.serves(scope["path"]):
                await self._logins.serve(scope, receive, send)
                return
            peer = (scope.get("client") or ("",))[0]
            theirs = self._callers.theirs(headers)
            refused = partial(self._logins.refused, scope["path"], headers)
            incoming = Incoming(theirs, f"http {peer}", receive, reply, request, refused)
            await self._serve(scope, incoming)
        except (HttpRefusal, AccessError) as error:
            refusal = as_refusal(error)
            body = _error(InvalidRequestError(refusal.message))
            await reply.whole(refusal.status, body, refusal.headers)
        except ProtocolError as error:
            await reply.whole(400, _error(error))
        except ClawError as error:
            await reply.whole(500, _error(InternalError(f"Nothing may pass: {error}")))

    def _is_open(self, scope: Any, headers: dict[str, str]) -> bool:
        """Whether the path is public: a login's, or the page for browsers."""
        if self._callers.kind == "user":
            return False
        return self._logins.serves(scope["path"]) or self._is_page(scope, headers)

    def _is_page(self, scope: Any, headers: dict[str, str]) -> bool:
        path = scope["path"]
        return path == "/" and path not in self._paths and wants_page(scope["method"], headers)

    async def _identified(self, incoming: Incoming, message: Message | None) -> Incoming:
        """The request with its caller; raises AccessError if they may not send it."""
        found = self._callers.login.authenticate(incoming.request, message)
        principal = await found if isawaitable(found) else found
        if principal is None or self._callers.kind != "login":
            return incoming
        peer = f"{incoming.peer} {principal.id}"
        return incoming._replace(peer=peer, owner=principal.id)

    def _while_admitted(self, incoming: Incoming) -> Receive:
        """A `receive` that reports a disconnect once the client's login is over."""

        async def admits() -> bool:
            try:
                await self._identified(incoming, None)
            except AccessError:
                return False
            return True

        return while_admitted(incoming.receive, admits)

    async def _serve(self, scope: Any, incoming: Incoming) -> None:
        method, path = scope["method"], scope["path"]
        if path.startswith(MESSAGES) and method == "POST":
            await self._post_to_line(path.removeprefix(MESSAGES), incoming)
        elif self._is_page(scope, incoming.headers):
            await incoming.reply.page(self._page(origin_of(scope, incoming.headers)), method)
        elif path not in self._paths:
            raise HttpRefusal(404, f"There is nothing here: the server is at {OUR_PATH}")
        elif method == "POST":
            await self._post(incoming)
        elif method == "GET":
            await self._listen(await self._identified(incoming, None))
        elif method == "DELETE":
            await self._delete(await self._identified(incoming, None))
        else:
            raise HttpRefusal(405, "Method not allowed", (b"allow", b"GET, POST, DELETE"))

    def _page(self, origin: str) -> ServerPage:
        """The page for browsers; without the tools, which only the server knows."""
        from clawkit.hosts.paste import pastes_for_url

        name = self._judge.server
        url = f"{origin}{OUR_PATH}"
        note = "Made with Clawkit."
        pastes = pastes_for_url(name, url, "YOUR_TOKEN" if self._callers.kind == "token" else "")
        return ServerPage(name, f"at {url}", _ABOUT, pastes=pastes, note=note)

    async def _read(self, incoming: Incoming) -> tuple[bytes, Message | None]:
        """The body, and its message; None if it is invalid."""
        limits = self._judge.policy.current().limits
        body = await incoming.body(limits.message)
        try:
            message = parse(body, limits.depth, exact=True)
        except ProtocolError:
            return body, None
        # An error may have the id null; every other id must be valid.
        usable = message.get("id") is None or jsonrpc.valid_id(message["id"])
        return body, message if usable else None

    async def _post(self, incoming: Incoming) -> None:
        body, message = await self._read(incoming)
        if message is None:
            passage = await self._conversation(incoming.peer).receive_async("client", body)
            await incoming.reply.whole(400, passage.to_client or b"")
            return
        incoming = await self._identified(incoming, message)
        asked: Flights = {}
        session = self._session(incoming, message, asked)
        with session.in_use() as conversation:
            self._check(incoming, message, conversation, body)
            if "method" in message and "id" in message:
                await self._request(incoming, session, message, body, asked)
            else:
                await self._notice(incoming, conversation, message, body)

    def _check(
        self, incoming: Incoming, message: Message, conversation: GuardConversation, body: bytes
    ) -> None:
        try:
            check_agreement(incoming.headers, message, self._judge.pins)
        except ProtocolError as error:
            conversation.journal.dropped("client", "", error.message, body)
            raise Mismatch(message, error) from None

    async def _request(
        self,
        incoming: Incoming,
        session: ProxySession,
        message: Message,
        body: bytes,
        asked: Flights,
    ) -> None:
        def learn(response: Response) -> None:
            given: str = response.headers.get("mcp-session-id", "")
            if message["method"] == "initialize" and given and response.is_success:
                self._sessions.keep(given, session)
            self._forget_if_unknown(incoming, response.status_code)

        relay = self._relay(incoming, session.conversation)
        forwarded = ForwardedRequest(
            self._upstream,
            relay,
            incoming,
            message,
            asked=asked,
            limit=self._judge.policy.current().limits.message,
            on_response=learn,
        )
        self._forwarded.add(forwarded)
        stayed = False
        try:
            passage = await session.conversation.receive_async("client", body, forwarded.settle)
            lasting = message["method"] == "subscriptions/listen"
            receive = self._while_admitted(incoming) if lasting else incoming.receive
            stayed = await self._connected_work.run(forwarded.run(passage), receive)
        finally:
            self._forwarded.discard(forwarded)
            relay.close()
            if not stayed:
                forwarded.abandon()
                await incoming.reply.give_up()

    async def _notice(
        self, incoming: Incoming, conversation: GuardConversation, message: Message, body: bytes
    ) -> None:
        """Handle a notification, or the answer to a question of the server or of the guard."""
        then = self._questions.pop(str(message.get("id")), None) if "id" in message else None
        passage = await conversation.receive_async("client", body)
        if then is not None:
            then(passage)
            passage = Passage()
        if passage.to_server is None:
            await incoming.reply.whole(202)
            return
        try:
            async with self._upstream.ask(
                "POST", onward(incoming.headers), passage.to_server, patience=NOTICE_SECONDS
            ) as response:
                await self._acknowledge(incoming, response)
        except UpstreamError as error:
            await incoming.reply.whole(error.status, _error(InternalError(error.reason)))

    async def _listen(self, incoming: Incoming) -> None:
        session = self._session(incoming, {}, {})
        with session.in_use() as conversation:
            listening = EventStream(
                self._upstream,
                self._relay(incoming, conversation),
                incoming,
                self._channels,
                limit=self._judge.policy.current().limits.message,
                on_refusal=lambda status: self._forget_if_unknown(incoming, status),
            )
            try:
                await self._connected_work.run(listening.run(), self._while_admitted(incoming))
            finally:
                listening.close()
                await incoming.reply.give_up()

    async def _post_to_line(self, token: str, incoming: Incoming) -> None:
        channel = self._channels.get(token)
        if channel is None:
            raise HttpRefusal(404, "The stream that this address belongs to has ended")
        body, message = await self._read(incoming)
        await self._identified(incoming, message)
        if message is not None:
            self._check(incoming, message, channel.conversation, body)
        await channel.post(incoming, body)

    async def _delete(self, incoming: Incoming) -> None:
        if incoming.owner and incoming.session_id is not None:
            self._sessions.find(incoming.session_id, incoming.owner)
        try:
            async with self._upstream.ask(
                "DELETE", onward(incoming.headers), patience=NOTICE_SECONDS
            ) as response:
                if response.status_code < 300 and incoming.session_id is not None:
                    self._sessions.end(incoming.session_id)
                await self._acknowledge(incoming, response, response.status_code)
        except UpstreamError as error:
            await incoming.reply.whole(error.status, _error(InternalError(error.reason)))

    async def _acknowledge(self, incoming: Incoming, response: Response, good: int = 202) -> None:
        """Pass on the server's status, without its text."""
        self._forget_if_unknown(incoming, response.status_code)
        if response.status_code < 300:
            await incoming.reply.whole(good)
            return
        headers = await incoming.refused(response)
        body = _error(InternalError(refusal(response, self._upstream.target)))
        await incoming.reply.whole(response.status_code, body, headers)

    def _session(self, incoming: Incoming, message: Message, asked: Flights) -> ProxySession:
        """The session of a request; without a session id, usually one of its own."""
        if incoming.session_id is not None:
            return self._sessions.find(incoming.session_id, incoming.owner)
        if message and "method" not in message:
            for forwarded in self._forwarded:
                if message.get("id") in forwarded.asked and forwarded.owner == incoming.owner:
                    return ProxySession(forwarded.conversation, incoming.owner)
        return ProxySession(self._conversation(incoming.peer, asked), incoming.owner)

    def _conversation(self, host: str, asked: Flights | None = None) -> GuardConversation:
        return GuardConversation(
            self._judge, host, lambda _: None, asked=asked, caught_up=self._is_caught_up
        )

    def _is_caught_up(self) -> bool:
        """Whether all was taken in that clients have sent; for other threads than the loop's."""
        if self._loop is None:
            return True
        turned = asyncio.run_coroutine_threadsafe(_turn(_TURNS), self._loop)
        try:
            turned.result(_TURN_SECONDS)
        except TimeoutError:
            turned.cancel()
            return False
        return True

    def _relay(self, incoming: Incoming, conversation: GuardConversation) -> Relay:
        return Relay(
            self._upstream,
            conversation,
            incoming.reply,
            incoming.headers,
            self._questions,
            self._judge.policy.current().limits.depth,
        )

    def _forget_if_unknown(self, incoming: Incoming, status: int) -> None:
        if status == 404 and incoming.session_id is not None:
            self._sessions.end(incoming.session_id)


async def _turn(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


class Mismatch(ProtocolError):
    """A header says something else than the body; the error is for the id of the message."""

    def __init__(self, message: Message, error: ProtocolError) -> None:
        super().__init__(error.message)
        self.code = error.code
        self.request_id = jsonrpc.reply_id(message)


def _error(error: ProtocolError) -> bytes:
    return failure(error.request_id if isinstance(error, Mismatch) else None, error)


_SHUTDOWN_SECONDS = 1

CallersMaker = Callable[[str, int, Origins], Callers]
"""Makes who may call, once it is known where that is."""


def _say(text: str) -> None:
    sys.stderr.write(f"claw proxy: {text}\n")
    sys.stderr.flush()


def serve_reverse_proxy(
    guarded: Guarded,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    callers: CallersMaker | None = None,
    public_url: str = "",
    hosts: Sequence[str] = (),
    limits: HttpLimits | None = None,
    hint: str = "",
) -> int:
    """Serve until interrupted, to programs of this user, unless `callers` says to whom.

    `hosts` are further names that it may be reached by, and `hint` is said once it can be.
    """
    with listening(host, port) as sockets:
        address = sockets[0].getsockname()
        if callers is None:
            check_reach(address[0])
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        known = (*LOOPBACK, shown, *hosts) if hosts or is_loopback_host(address[0]) else None
        origins = Origins(known, ())
        let_in = own_user(_say) if callers is None else callers(address[0], address[1], origins)
        problem = guarded.judge.policy.current().problem
        if problem:
            _say(problem)

        def announce() -> None:
            where = f"http://{shown}:{address[1]}{OUR_PATH}"
            _say(f"{guarded.judge.server} ({guarded.target.origin}) is at {where}")
            if hint:
                _say(hint)

        place = ClientPlace(public_url, address[0], address[1])
        logins = ClientLogins(guarded.target, let_in, place, (OUR_PATH, guarded.target.path))
        app = ReverseProxyApp(guarded, origins, let_in, logins)
        try:
            asyncio.run(app.serve(sockets, limits, announce))
        except KeyboardInterrupt:
            return 130
        return 0
