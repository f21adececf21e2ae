"""Clients of a remote MCP server: Streamable HTTP of both eras, and the old HTTP+SSE."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from clawkit.errors import InternalError, InvalidRequestError
from clawkit.guard.http.mirrored_headers import (
    METHOD,
    VERSION,
    Mirrors,
    headers_for,
    mirrors_of,
    modern_version,
)
from clawkit.guard.http.upstream import (
    ANSWER_SECONDS,
    BOTH,
    BROKEN,
    EVENT_STREAM,
    Response,
    UpstreamError,
    answer_in,
    events_of,
    kind_of,
    refusal,
    rpc_error,
    whole,
)
from clawkit.guard.strict_parser import has_too_many_values
from clawkit.text.sse import SseEvent
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId, as_object

if TYPE_CHECKING:
    from clawkit.guard.http.stdio_bridge import StdioBridge

READY = "notifications/initialized"
_READY_SECONDS = 2.0
_MOST = 1000

Post = Callable[[Message, bytes], Awaitable[None]]
Drop = Callable[[str, bytes], None]
Report = Callable[[Exception], None]


class UpstreamOutbox:
    """Sends notifications and answers in order, in one queue each, so that no answer waits for a
    slow notification."""

    def __init__(self, post: Post, drop: Drop, report: Report) -> None:
        self._notices = _SendQueue(self._post_notice, drop, report)
        self._answers = _SendQueue(post, drop, report)
        self._post = post
        self._ready = asyncio.Event()
        self._ready.set()

    def put(self, message: Message, line: bytes) -> None:
        """Queue a notification, or the answer to a question."""
        if message.get("method") == READY:
            self._ready.clear()
        queue = self._notices if "method" in message else self._answers
        queue.put(message, line)

    async def wait_until_ready(self, method: str) -> None:
        """Wait a moment for `notifications/initialized`: servers refuse requests before it."""
        if method == "ping":
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_READY_SECONDS):
                await self._ready.wait()

    async def flush(self) -> None:
        await self._notices.flush()
        await self._answers.flush()

    async def close(self) -> None:
        await self._notices.close()
        await self._answers.close()

    async def _post_notice(self, message: Message, line: bytes) -> None:
        try:
            await self._post(message, line)
        finally:
            if message["method"] == READY:
                self._ready.set()


class _SendQueue:
    def __init__(self, post: Post, drop: Drop, report: Report) -> None:
        self._post = post
        self._drop = drop
        self._report = report
        self._waiting: asyncio.Queue[tuple[Message, bytes]] = asyncio.Queue(_MOST)
        self._task: asyncio.Task[None] | None = None

    def put(self, message: Message, line: bytes) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())
        try:
            self._waiting.put_nowait((message, line))
        except asyncio.QueueFull:
            self._drop(f"{_MOST} messages wait for the server already", line)

    async def flush(self) -> None:
        await self._waiting.join()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        while True:
            message, line = await self._waiting.get()
            try:
                await self._post(message, line)
            except Exception as error:  # noqa: BLE001 - the next ones are still sent
                self._report(error)
                self._drop(f"could not be sent: {type(error).__name__}", line)
            finally:
                self._waiting.task_done()


_OPENING_SECONDS = 30.0


class SseClient:
    """The old HTTP+SSE: one stream to read, opened by the first message, one address to post to."""

    def __init__(self, bridge: StdioBridge) -> None:
        self._bridge = bridge
        self._upstream = bridge.upstream
        self._address = ""
        self._opened: asyncio.Future[str] | None = None
        self._answered = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._outbox = UpstreamOutbox(self._tell, bridge.dropped, bridge.report)

    async def send(self, line: bytes) -> None:
        """Send a message; a request is sent in the background."""
        message = jsonrpc.decode(line)
        request_id = jsonrpc.reply_id(message) if "method" in message else None
        problem = await self.open()
        if problem:
            await self._not_sent(line, request_id, problem)
            return
        if request_id is None:
            self._outbox.put(message, line)
            return
        task = self._start(self._request(message, line, request_id))
        if message["method"] == "initialize":
            await asyncio.wait((task,))

    async def open(self) -> str:
        """Open the stream, if it is not open yet; returns why that failed, if it did."""
        if self._address:
            return ""
        self._opened = asyncio.get_running_loop().create_future()
        self._start(self._read_stream(self._opened))
        try:
            async with asyncio.timeout(_OPENING_SECONDS):
                return await self._opened
        except TimeoutError:
            return f"{self._upstream.target.origin} names no address for messages"

    async def finish(self) -> None:
        while self._bridge.in_flight():
            self._answered.clear()
            await self._answered.wait()
        await self._outbox.flush()

    async def close(self) -> None:
        await self._outbox.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _read_stream(self, opened: asyncio.Future[str]) -> None:
        problem = ""
        try:
            async with self._upstream.ask("GET", {"accept": EVENT_STREAM}) as response:
                problem = await self._follow(response, opened)
        except UpstreamError as error:
            problem = error.reason
        except Exception as error:  # noqa: BLE001 - without this stream nothing is ever answered
            self._bridge.report(error)
            problem = BROKEN
        if not opened.done():
            opened.set_result(problem)
        else:
            await self._bridge.end_all(problem)

    async def _follow(self, response: Response, opened: asyncio.Future[str]) -> str:
        """Forward the events of the stream; returns why it ended."""
        if response.status_code != 200 or kind_of(response) != EVENT_STREAM:
            return refusal(response, self._upstream.target)
        async for event in events_of(response, self._bridge.limit):
            if event.kind == b"endpoint":
                problem = self._set_address(event)
                if problem:
                    return problem
                if not opened.done():
                    opened.set_result("")
            elif event.is_message:
                await self._bridge.receive_from_server(event.data)
                self._answered.set()
            elif event.data:
                self._bridge.dropped("an event that is no message", event.data)
        return "The server ended the stream"

    def _set_address(self, event: SseEvent) -> str:
        """Take the address for messages, once, and only one of the server itself."""
        address = self._upstream.target.at_home((event.data or b"").decode(errors="replace"))
        if address is None or self._address:
            return "The server names an address for messages that is not its own"
        self._address = address
        return ""

    async def _request(self, message: Message, line: bytes, request_id: RequestId) -> None:
        try:
            await self._outbox.wait_until_ready(message["method"])
            problem = await self._upstream.tell(
                BOTH, line, url=self._address, patience=ANSWER_SECONDS
            )
        except Exception as error:  # noqa: BLE001 - a client that gets no answer waits for ever
            self._bridge.report(error)
            problem = BROKEN
        if problem:
            await self._not_sent(line, request_id, problem)

    async def _tell(self, _: Message, line: bytes) -> None:
        problem = await self._upstream.tell(BOTH, line, url=self._address)
        if problem:
            await self._not_sent(line, None, problem)

    async def _not_sent(self, line: bytes, request_id: RequestId | None, problem: str) -> None:
        if request_id is None:
            self._bridge.dropped(problem, line)
        else:
            await self._bridge.fail(request_id, InternalError(problem))
            self._answered.set()


_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_ATTEMPTS = 3
_LASTED = 5.0
"""A stream that was open for so many seconds was not refused."""


class StreamResumption:
    """When and from where to resume the stream of a request, or (None) of a session's notices."""

    def __init__(self, request_id: RequestId | None) -> None:
        self.answered = False
        self.pause = _PAUSE
        self._request_id = request_id
        self._last: str | None = None
        self._attempts = 0
        self._began = time.monotonic()

    def note(self, event: SseEvent) -> None:
        self._attempts = 0
        if event.id is not None:
            self._last = event.id.decode()
        if event.retry is not None:
            self.pause = min(int(event.retry) / 1000, _LONGEST_PAUSE)

    def began(self) -> None:
        """Count an attempt; the count begins anew after a stream that lasted."""
        if time.monotonic() - self._began > _LASTED:
            self._attempts = 0
        self._began = time.monotonic()
        self._attempts += 1

    def refused(self) -> None:
        self._attempts = _ATTEMPTS

    def can_go_on(self) -> bool:
        """Whether to try again; a request can only resume after a known event."""
        known = self._request_id is None or self._last is not None
        return known and self._attempts < _ATTEMPTS

    def headers(self) -> dict[str, str]:
        return {} if self._last is None else {"last-event-id": self._last}


_SESSION = "mcp-session-id"
_NOT_SPOKEN = (400, 404, 405)
"""The statuses with which a server of the old HTTP+SSE transport answers a POST."""


class UpstreamRequest(NamedTuple):
    """A request that is not answered yet."""

    task: asyncio.Task[None]
    modern: bool
    listens: bool


class StreamableHttpClient:
    """Streamable HTTP: a session, its revision, and requests whose broken streams are resumed."""

    def __init__(self, bridge: StdioBridge) -> None:
        self._bridge = bridge
        self._upstream = bridge.upstream
        self._session: str | None = None
        self._version: str | None = None
        self._mirrors: dict[str, Mirrors] = {}
        self._running: dict[RequestId, UpstreamRequest] = {}
        self._outbox = UpstreamOutbox(self._tell, bridge.dropped, bridge.report)
        self._listening: asyncio.Task[None] | None = None

    async def send(self, line: bytes) -> None:
        """Send a message; a request is sent and answered in the background."""
        message = jsonrpc.decode(line)
        if message.get("method") == "notifications/cancelled" and self._hang_up(message):
            return
        if "method" not in message or "id" not in message:
            self._outbox.put(message, line)
            return
        request_id, method = message["id"], message["method"]
        task = asyncio.get_running_loop().create_task(self._request(message, line))
        listens = method == "subscriptions/listen"
        running = UpstreamRequest(task, modern_version(message) is not None, listens)
        self._running[request_id] = running
        task.add_done_callback(lambda _: self._ended(request_id, running))
        if method == "initialize":
            await asyncio.wait((task,))

    async def finish(self) -> None:
        """Wait for the answers to all requests."""
        waiting = [running.task for running in self._running.values() if not running.listens]
        if waiting:
            await asyncio.wait(waiting)
        await self._outbox.flush()

    async def close(self) -> None:
        await self._outbox.close()
        tasks = [running.task for running in self._running.values()]
        tasks += [] if self._listening is None else [self._listening]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            try:
                async with self._upstream.ask("DELETE", self._known({})):
                    pass
            except UpstreamError:
                return  # Servers end idle sessions by themselves.

    def _ended(self, request_id: RequestId, running: UpstreamRequest) -> None:
        if self._running.get(request_id) is running:
            del self._running[request_id]

    def _hang_up(self, notice: Message) -> bool:
        """In the modern era, cancel a request by closing its connection; whether that was done."""
        request_id = notice.get("params", {}).get("requestId")
        running = self._running.get(request_id) if jsonrpc.valid_id(request_id) else None
        if running is None or not running.modern:
            return False
        running.task.cancel()
        return True

    async def _tell(self, message: Message, line: bytes) -> None:
        headers = self._known(BOTH)
        if "method" in message and self._version is None:
            headers[METHOD] = message["method"]
        if problem := await self._upstream.tell(headers, line):
            self._bridge.dropped(problem, line)
        if message.get("method") == READY and self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def _request(self, message: Message, line: bytes) -> None:
        resumption = StreamResumption(message["id"])
        try:
            await self._outbox.wait_until_ready(message["method"])
            await self._ask(message, line, resumption)
        except InvalidRequestError as error:
            await self._bridge.fail(message["id"], error)
        except Exception as error:  # noqa: BLE001 - a client that gets no answer waits for ever
            self._bridge.report(error)
            if not resumption.answered:
                await self._bridge.fail(message["id"], InternalError(BROKEN))

    async def _ask(self, message: Message, line: bytes, resumption: StreamResumption) -> None:
        problem = ""
        try:
            async with self._upstream.ask("POST", self._headers(message), line) as response:
                problem = await self._take(message, line, response, resumption)
        except UpstreamError as error:
            problem = error.reason
        while not resumption.answered and resumption.can_go_on():
            await asyncio.sleep(resumption.pause)
            problem = await self._resume(resumption, message) or problem
        if not resumption.answered:
            await self._bridge.fail(message["id"], InternalError(problem))

    async def _take(
        self, message: Message, line: bytes, response: Response, resumption: StreamResumption
    ) -> str:
        """Forward the messages of a response; returns the error to send if none is the answer."""
        status, target = response.status_code, self._upstream.target
        if message["method"] == "initialize" and status < 300:
            given: str = response.headers.get(_SESSION, "")
            self._session = given if given and given.isascii() else None
        if response.is_success and kind_of(response) == EVENT_STREAM:
            await self._follow(response, resumption, message)
            return "The server ended the stream before the answer"
        body = await whole(response, self._bridge.limit)
        if message["method"] == "initialize" and _speaks_old(status, body):
            resumption.answered = await self._bridge.switch_transport(SseClient(self._bridge), line)
            return refusal(response, target)
        answer = answer_in(body, response, message["id"], target)
        await self._hear(answer, resumption, message)
        return "The server answered something else than this request"

    async def _follow(
        self, response: Response, resumption: StreamResumption, message: Message | None = None
    ) -> None:
        """Forward the events of a stream until the answer or the end."""
        async for event in events_of(response, self._bridge.limit):
            resumption.note(event)
            if event.is_message:
                await self._hear(event.data, resumption, message)
                if resumption.answered:
                    return
            elif event.data:
                self._bridge.dropped("an event that is no message", event.data)

    async def _hear(
        self, data: bytes | None, resumption: StreamResumption, request: Message | None
    ) -> None:
        if request is None:
            await self._bridge.receive_notification(data)
            return
        if data is not None:
            self._learn(request, data)  # before the client can act on it
        resumption.answered = await self._bridge.receive_from_server(data, request["id"])

    async def _resume(self, resumption: StreamResumption, message: Message | None = None) -> str:
        """Ask for the events after the last one received; returns the problem, if any."""
        headers = self._known({"accept": EVENT_STREAM}) | resumption.headers()
        resumption.began()
        try:
            async with self._upstream.ask("GET", headers) as response:
                if response.status_code != 200 or kind_of(response) != EVENT_STREAM:
                    resumption.refused()
                    return refusal(response, self._upstream.target)
                await self._follow(response, resumption, message)
        except UpstreamError as error:
            return error.reason
        return ""

    async def _listen(self) -> None:
        """Read the notices of a session of the handshake era, if the server has such a stream."""
        resumption = StreamResumption(None)
        try:
            while resumption.can_go_on():
                await self._resume(resumption)
                await asyncio.sleep(resumption.pause)
        except Exception as error:  # noqa: BLE001 - calls do not need this stream
            self._bridge.report(error)

    def _learn(self, request: Message, data: bytes) -> None:
        """Remember the revision and the mirrored arguments for later requests."""
        if request["method"] not in ("initialize", "tools/list") or has_too_many_values(data):
            return
        message, _ = jsonrpc.decode_or_error(data)
        if message is None or "result" not in message or message.get("id") != request["id"]:
            return
        result = as_object(message["result"]) or {}
        if request["method"] == "initialize":
            version = result.get("protocolVersion")
            self._version = version if isinstance(version, str) and version.isascii() else None
            return
        tools = result.get("tools")
        for tool in cast("list[object]", tools) if isinstance(tools, list) else ():
            about = as_object(tool) or {}
            self._mirrors[str(about.get("name"))] = mirrors_of(about.get("inputSchema"))

    def _headers(self, message: Message) -> dict[str, str]:
        if modern_version(message) is None:
            return dict(BOTH) if message["method"] == "initialize" else self._known(BOTH)
        name = str((as_object(message.get("params")) or {}).get("name"))
        called = message["method"] == "tools/call"
        return BOTH | headers_for(message, self._mirrors.get(name) if called else None)

    def _known(self, headers: dict[str, str]) -> dict[str, str]:
        """Add the headers of the session and its revision."""
        session = {} if self._session is None else {_SESSION: self._session}
        version = {} if self._version is None else {VERSION: self._version}
        return headers | session | version


def _speaks_old(status: int, body: bytes) -> bool:
    return status in _NOT_SPOKEN and rpc_error(body) is None
