"""The reverse proxy as an ASGI app: what comes in is checked, and finds its conversation."""

from __future__ import annotations

import contextlib
from typing import Any

from clawkit.errors import AuditError, ClawError, InternalError, InvalidRequestError, ProtocolError
from clawkit.guard.conversation import Conversation, Flights
from clawkit.guard.http.agreement import check_agreement
from clawkit.guard.http.exchange import Exchange
from clawkit.guard.http.incoming import Incoming
from clawkit.guard.http.judging import judged
from clawkit.guard.http.listening import MESSAGES, Lines, Listening
from clawkit.guard.http.refusals import refusal
from clawkit.guard.http.relay import Questions, Relay
from clawkit.guard.http.reply import Attendance, Reply, onward, passed_back
from clawkit.guard.http.sessions import Session, Sessions
from clawkit.guard.http.upstream import NOTICE_SECONDS, Response, Upstream, UpstreamError
from clawkit.guard.prompts import Passage
from clawkit.guard.strict import parse
from clawkit.guard.warden import Warden
from clawkit.wire import jsonrpc
from clawkit.wire.http.answer import Receive, SendAsgi
from clawkit.wire.http.endpoint import Refusal
from clawkit.wire.http.rules import Origins, read_headers
from clawkit.wire.jsonrpc import Message

OUR_PATH = "/mcp"


class Gate:
    """Everything that clients reach through one reverse proxy."""

    def __init__(self, warden: Warden, upstream: Upstream, origins: Origins) -> None:
        self._warden = warden
        self._upstream = upstream
        self._origins = origins
        self._paths = (OUR_PATH, upstream.target.path)
        self._sessions = Sessions(lambda: self._conversation("http"))
        self._questions: Questions = {}
        self._exchanges: set[Exchange] = set()
        self._lines: Lines = {}
        self._attendance = Attendance()

    def close(self) -> None:
        """End what would go on for as long as a client wants it."""
        self._attendance.close()
        with contextlib.suppress(AuditError):
            self._warden.log_counts()

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        reply = Reply(send)
        try:
            headers = read_headers(scope["headers"])
            reason = self._origins.refuse(headers)
            if reason is not None:
                raise Refusal(403, reason)
            peer = (scope.get("client") or ("",))[0]
            await self._serve(scope, Incoming(headers, f"http {peer}", receive, reply))
        except Refusal as refused:
            body = _error(InvalidRequestError(refused.message))
            await reply.whole(refused.status, body, refused.headers)
        except ProtocolError as error:
            await reply.whole(400, _error(error))
        except ClawError as error:
            await reply.whole(500, _error(InternalError(f"Nothing may pass: {error}")))

    async def _serve(self, scope: Any, incoming: Incoming) -> None:
        method, path = scope["method"], scope["path"]
        if path.startswith(MESSAGES) and method == "POST":
            await self._post_to_line(path.removeprefix(MESSAGES), incoming)
        elif path not in self._paths:
            raise Refusal(404, f"There is nothing here: the server is at {OUR_PATH}")
        elif method == "POST":
            await self._post(incoming)
        elif method == "GET":
            await self._listen(incoming)
        elif method == "DELETE":
            await self._delete(incoming)
        else:
            raise Refusal(405, "Method not allowed", (b"allow", b"GET, POST, DELETE"))

    async def _read(self, incoming: Incoming) -> tuple[bytes, Message | None]:
        """The body, and the message that it is; None if it is none."""
        limits = self._warden.policy.current().limits
        body = await incoming.body(limits.message)
        try:
            message = parse(body, limits.depth)
        except ProtocolError:
            return body, None
        # An error may be about nothing in particular; whatever else has an id has a usable one.
        usable = message.get("id") is None or jsonrpc.valid_id(message["id"])
        return body, message if usable else None

    async def _post(self, incoming: Incoming) -> None:
        body, message = await self._read(incoming)
        if message is None:
            passage = await judged(self._conversation(incoming.peer), "client", body)
            await incoming.reply.whole(400, passage.to_client or b"")
            return
        asked: Flights = {}
        session = self._session(incoming, message, asked)
        with session.in_use() as conversation:
            self._check(incoming, message, conversation, body)
            if "method" in message and "id" in message:
                await self._request(incoming, session, message, body, asked)
            else:
                await self._notice(incoming, conversation, message, body)

    def _check(
        self, incoming: Incoming, message: Message, conversation: Conversation, body: bytes
    ) -> None:
        try:
            check_agreement(incoming.headers, message, self._warden.pins)
        except ProtocolError as error:
            conversation.journal.dropped("client", "", error.message, body)
            raise Mismatch(message, error) from None

    async def _request(
        self,
        incoming: Incoming,
        session: Session,
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
        exchange = Exchange(
            self._upstream,
            relay,
            incoming,
            message,
            asked=asked,
            limit=self._warden.policy.current().limits.message,
            on_response=learn,
        )
        self._exchanges.add(exchange)
        stayed = False
        try:
            passage = await judged(session.conversation, "client", body, exchange.settle)
            stayed = await self._attendance.attend(exchange.run(passage), incoming.receive)
        finally:
            self._exchanges.discard(exchange)
            relay.close()
            if not stayed:
                exchange.abandon()
                await incoming.reply.give_up()

    async def _notice(
        self, incoming: Incoming, conversation: Conversation, message: Message, body: bytes
    ) -> None:
        """A notice, or the answer to a question: the server's, or one of ours."""
        then = self._questions.pop(str(message.get("id")), None) if "id" in message else None
        passage = await judged(conversation, "client", body)
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
            listening = Listening(
                self._upstream,
                self._relay(incoming, conversation),
                incoming,
                self._lines,
                limit=self._warden.policy.current().limits.message,
                on_refusal=lambda status: self._forget_if_unknown(incoming, status),
            )
            try:
                await self._attendance.attend(listening.run(), incoming.receive)
            finally:
                listening.close()
                await incoming.reply.give_up()

    async def _post_to_line(self, token: str, incoming: Incoming) -> None:
        line = self._lines.get(token)
        if line is None:
            raise Refusal(404, "The stream that this address belongs to has ended")
        body, message = await self._read(incoming)
        if message is not None:
            self._check(incoming, message, line.conversation, body)
        await line.post(incoming, body)

    async def _delete(self, incoming: Incoming) -> None:
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
        """Say what the server said, without its words."""
        self._forget_if_unknown(incoming, response.status_code)
        if response.status_code < 300:
            await incoming.reply.whole(good)
            return
        body = _error(InternalError(refusal(response, self._upstream.target)))
        await incoming.reply.whole(response.status_code, body, passed_back(response))

    def _session(self, incoming: Incoming, message: Message, asked: Flights) -> Session:
        """The conversation this belongs to; for most of what has no session, one of its own."""
        if incoming.session_id is not None:
            return self._sessions.find(incoming.session_id)
        if message and "method" not in message:
            for exchange in self._exchanges:
                if message.get("id") in exchange.asked:
                    return Session(exchange.conversation)
        return Session(self._conversation(incoming.peer, asked))

    def _conversation(self, host: str, asked: Flights | None = None) -> Conversation:
        return Conversation(self._warden, host, lambda _: None, asked=asked)

    def _relay(self, incoming: Incoming, conversation: Conversation) -> Relay:
        return Relay(
            self._upstream,
            conversation,
            incoming.reply,
            incoming.headers,
            self._questions,
            self._warden.policy.current().limits.depth,
        )

    def _forget_if_unknown(self, incoming: Incoming, status: int) -> None:
        if status == 404 and incoming.session_id is not None:
            self._sessions.end(incoming.session_id)


class Mismatch(ProtocolError):
    """A header says something else than the body; the error is for the id of the message."""

    def __init__(self, message: Message, error: ProtocolError) -> None:
        super().__init__(error.message)
        self.code = error.code
        self.request_id = jsonrpc.reply_id(message)


def _error(error: ProtocolError) -> bytes:
    request_id = error.request_id if isinstance(error, Mismatch) else None
    return jsonrpc.encode(jsonrpc.failure(request_id, error))
