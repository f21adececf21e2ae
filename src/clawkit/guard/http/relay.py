"""What a server says on its way to one client: judged, and written where the client listens."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from clawkit.errors import InternalError
from clawkit.guard.conversation import Conversation
from clawkit.guard.http.agreement import METHOD, NAME, PARAMETER
from clawkit.guard.http.heads import head_of
from clawkit.guard.http.judging import is_readable, judged
from clawkit.guard.http.reply import Reply, onward
from clawkit.guard.http.upstream import EVENT_STREAM, JSON, NOTICE_SECONDS, Upstream, UpstreamError
from clawkit.guard.prompts import Passage
from clawkit.text.sse import Event, encode, message_event
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import RequestId

_OF_ONE_REQUEST = ("last-event-id", METHOD, NAME)

Then = Callable[[Passage], None]
Questions = dict[str, Then]
"""The ids of questions that a client is to answer, and who waits for what that leads to."""


class Relay:
    """The way from a server to a client, for as long as one stream or one request lasts."""

    def __init__(
        self,
        upstream: Upstream,
        conversation: Conversation,
        reply: Reply,
        headers: Mapping[str, str],
        questions: Questions,
        depth: int,
    ) -> None:
        self.conversation = conversation
        self.reply = reply
        self.address: str | None = None
        """Where the server takes messages, if not where it is asked."""
        self._upstream = upstream
        self._headers = headers
        self._questions = questions
        self._depth = depth
        self._expected: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._running: set[asyncio.Task[None]] = set()

    async def pass_event(self, event: Event, *, awaited: bool) -> Passage:
        """Write an event of the server to the client, as far as it may see it.

        `awaited` says whether it may have been meant as the answer to a request.
        """
        passage = Passage()
        if event.is_message and not awaited and not is_readable(event.data, self._depth):
            self.conversation.journal.dropped("server", "", "no message", event.data)
        elif event.is_message:
            passage = await self.hear(event.data)
        elif event.data:
            reason = "an event that is no message"
            self.conversation.journal.dropped("server", "", reason, event.data)
        if passage.to_client is not None or event.id or event.retry or event.comments:
            await self.reply.event(encode(event, passage.to_client or b""))
        return passage

    async def hear(self, line: bytes | None) -> Passage:
        """What a message of the server leads to; what goes back to it is sent already."""
        passage = await judged(self.conversation, "server", line, self.later)
        if passage.to_server is not None:
            self.start(passage)
        elif passage.to_client is not None and line is not None:
            self._expect_if_ours(passage.to_client, line)
        return passage

    async def fail(self, request_id: RequestId, reason: str) -> bytes:
        """The error for a request that the server will not answer any more."""
        line = jsonrpc.encode(jsonrpc.failure(request_id, InternalError(reason)))
        passage = await judged(self.conversation, "server", line)
        return passage.to_client or line

    def expect(self, question: bytes, then: Then) -> None:
        """The answer to a question of ours comes with another request."""
        token = str(head_of(question).id)
        self._questions[token] = then
        self._expected.append(token)

    def _expect_if_ours(self, said: bytes, line: bytes) -> None:
        """A person may have to be asked before the server's own question goes on."""
        head = head_of(said)
        if head.method is not None and head.id != head_of(line).id:
            self.expect(said, self.start)

    def later(self, passage: Passage) -> None:
        """Take what became ready in another thread."""
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(self.start, passage)

    def close(self) -> None:
        for token in self._expected:
            self._questions.pop(token, None)

    def start(self, passage: Passage) -> None:
        """Bring a passage where it belongs, while others go on."""
        task = self._loop.create_task(self._deliver(passage))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _deliver(self, passage: Passage) -> None:
        if passage.to_client is not None and self.reply.streaming:
            await self.reply.event(message_event(passage.to_client))
        if passage.to_server is not None:
            await self.post(passage.to_server)

    async def post(self, line: bytes) -> None:
        """Send the server what nobody waits for an answer to."""
        kept = {
            name: value
            for name, value in onward(self._headers).items()
            if name not in _OF_ONE_REQUEST and not name.startswith(PARAMETER)
        }
        kept["accept"] = f"{JSON}, {EVENT_STREAM}"
        try:
            async with self._upstream.ask(
                "POST", kept, line, url=self.address, patience=NOTICE_SECONDS
            ):
                pass
        except UpstreamError as error:
            reason = f"could not be sent: {error}"
            self.conversation.journal.dropped("client", "", reason, line)
