"""`claw proxy --url`: stdio for the client, HTTP for the server, and the guard between them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
import traceback
from pathlib import Path

from clawkit.errors import AuditError, ProtocolError
from clawkit.guard.conversation import GuardConversation
from clawkit.guard.http.transports import SseClient, StreamableHttpClient
from clawkit.guard.http.upstream import Target, Upstream, open_guarded
from clawkit.guard.journal import host_id
from clawkit.guard.judge import Judge
from clawkit.guard.passages import Passage, answers, failure
from clawkit.guard.strict_parser import is_readable
from clawkit.system.processes import close_to_others
from clawkit.wire.calls import Workers
from clawkit.wire.jsonrpc import RequestId
from clawkit.wire.line_io import LineReader, claim_stdio, write_all

_GRACE = 5.0
_FAREWELL = 1.0
_BACKLOG = 100


def run_remote(url: str, entry: str = "", name: str = "", policy: Path | None = None) -> int:
    """Serve stdin and stdout until one of the two sides ends."""
    close_to_others()
    fds = claim_stdio()
    target, judge = open_guarded(url, entry, name, policy)
    problem = judge.policy.current().problem
    if problem:
        sys.stderr.write(f"claw proxy: {problem}\n")
        sys.stderr.flush()
    return asyncio.run(_run(judge, target, fds))


async def _run(judge: Judge, target: Target, fds: tuple[int, int]) -> int:
    return await StdioBridge(judge, target, fds).run()


class StdioBridge:
    """One run: a client on two descriptors, a remote server, and the guard's conversation."""

    def __init__(self, judge: Judge, target: Target, fds: tuple[int, int]) -> None:
        self.limit = judge.policy.current().limits.message
        self.upstream = Upstream(target)
        self._judge = judge
        self._source, self._sink = fds
        self._conversation = GuardConversation(
            judge, host_id(), self._pass_on, caught_up=self._is_caught_up
        )
        self._lines = LineReader(self._source, self.limit)
        self._is_busy = True
        self._transport: StreamableHttpClient | SseClient = (
            SseClient(self) if target.transport == "sse" else StreamableHttpClient(self)
        )
        self._passages: asyncio.Queue[Passage | None] = asyncio.Queue()
        self._room = threading.Semaphore(_BACKLOG)
        self._over = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self._status = 0
        self._grace = _GRACE
        self._writer = Workers(1)

    async def run(self) -> int:
        """Run until the client or the server has ended; returns the exit status."""
        for number in (signal.SIGTERM, signal.SIGINT):
            with contextlib.suppress(NotImplementedError):
                self._loop.add_signal_handler(number, self._stop, 128 + number)
        with contextlib.suppress(AuditError):
            # A log that cannot be written denies the calls; the server may still say so.
            self._conversation.journal.started(self.upstream.target.origin)
        threading.Thread(target=self._read, daemon=True).start()
        work = asyncio.ensure_future(self._work())
        try:
            await self._over.wait()
            await asyncio.wait((work,), timeout=self._grace)
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        await self._shut_down()
        return self._status

    async def receive_from_server(
        self, line: bytes | None, request_id: RequestId | None = None
    ) -> bool:
        """Handle a message of the server; whether it is the answer to this request."""
        passage = await self._conversation.receive_async("server", line)
        await self._deliver(passage)
        return request_id is not None and answers(passage, request_id)

    async def receive_notification(self, line: bytes | None) -> None:
        """Handle a message from a stream that carries no answers."""
        if is_readable(line, self._judge.policy.current().limits.depth):
            await self.receive_from_server(line)
        else:
            self.dropped("no message", line)

    async def fail(self, request_id: RequestId, error: ProtocolError) -> None:
        """Answer a request with an error, because the server will not."""
        await self.receive_from_server(failure(request_id, error))

    def report(self, error: Exception) -> None:
        """Print where something unexpected failed, without values."""
        where = "".join(traceback.format_tb(error.__traceback__))
        sys.stderr.write(f"claw proxy: unexpected {type(error).__name__}\n{where}")
        sys.stderr.flush()

    def dropped(self, reason: str, data: bytes | None) -> None:
        with contextlib.suppress(AuditError):  # It does not pass either way.
            self._conversation.journal.dropped("server", "", reason, data)

    def in_flight(self) -> int:
        return self._conversation.in_flight()

    async def end_all(self, reason: str) -> None:
        """The server is gone: answer all open requests with this error, and stop."""
        for line in self._conversation.end(reason):
            await self._write(line)
        self._stop(1)

    def _stop(self, status: int) -> None:
        """Stop without the grace period."""
        self._status, self._grace = status, 0.0
        self._over.set()

    async def switch_transport(self, transport: SseClient, line: bytes) -> bool:
        """Switch to another transport and send this line by it, if the server supports it."""
        if await transport.open():
            return False
        self._transport = transport
        await transport.send(line)
        return True

    def _read(self) -> None:
        """The reader thread: judges the client's lines in order."""
        try:
            while (batch := self._next()) is not None:
                self._decide(batch)
            self._decide(self._lines.rest())
        finally:
            self._hand_over(None)

    def _next(self) -> list[bytes | None] | None:
        self._is_busy = False
        self._lines.is_ready(None)
        self._is_busy = True
        return self._lines.read()

    def _is_caught_up(self) -> bool:
        """Whether all that the client has said was received; for other threads than the reader."""
        return not (self._lines.is_ready(0) or self._is_busy)

    def _decide(self, batch: list[bytes | None]) -> None:
        for line in batch:
            if line is None or line.strip():
                self._pass_on(self._conversation.receive("client", line))

    def _pass_on(self, passage: Passage) -> None:
        """Queue a passage from another thread; blocks while there are too many."""
        if passage.to_client is not None or passage.to_server is not None:
            self._room.acquire()
            self._hand_over(passage)

    def _hand_over(self, passage: Passage | None) -> None:
        with contextlib.suppress(RuntimeError):  # The loop may be closed by now.
            self._loop.call_soon_threadsafe(self._passages.put_nowait, passage)
            if passage is None:
                self._loop.call_soon_threadsafe(self._over.set)

    async def _work(self) -> None:
        try:
            while (passage := await self._passages.get()) is not None:
                self._room.release()
                await self._deliver(passage)
            await self._transport.finish()
        except Exception as error:  # noqa: BLE001 - nobody would take the client's messages any more
            self.report(error)
            self._stop(1)

    async def _deliver(self, passage: Passage) -> None:
        if passage.to_server is not None:
            await self._transport.send(passage.to_server)
        if passage.to_client is not None:
            await self._write(passage.to_client)

    async def _write(self, line: bytes) -> None:
        data = line + b"\n"
        try:
            await self._writer.start(write_all, {"fd": self._sink, "data": data}).outcome
        except OSError:  # Nobody reads any more.
            self._stop(0)

    async def _shut_down(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                for line in self._conversation.end("The guard is ending"):
                    await self._write(line)
                await self._transport.close()
                await self.upstream.close()
        with contextlib.suppress(AuditError):
            self._conversation.journal.ended(f"status {self._status}")
        with contextlib.suppress(OSError):
            os.close(self._sink)
