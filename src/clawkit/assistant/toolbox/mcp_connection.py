"""One connection to another MCP server, through the official client. Only this file knows `mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import os
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import CONNECTION_CLOSED, REQUEST_TIMEOUT, jsonrpc_message_adapter
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from clawkit import __version__
from clawkit.assistant.config import McpServer
from clawkit.assistant.redaction import redact
from clawkit.assistant.toolbox.server_process import LONGEST_LINE, Command, ServerProcess, inherited
from clawkit.assistant.toolbox.tool_source import (
    Ask,
    NotTakenError,
    OfferedTool,
    ServerWording,
    Tell,
    UnreachableError,
    as_answer,
    progress_text,
    wording_in_config,
)
from clawkit.errors import ClawError, ToolExecutionError, ToolTimeoutError
from clawkit.login.client.bearer import LoginAuth
from clawkit.login.client.discovery import login_advice
from clawkit.system.addresses import check_address
from clawkit.wire.input_requests import InputRequest

if TYPE_CHECKING:
    from contextvars import Context

    from mcp.client._transport import ReadStream, TransportStreams

    from clawkit.assistant.api_keys import Keys

log = logging.getLogger("clawkit.assistant.toolbox")

# The client reports every broken connection with a traceback, and without a handler Python shows
# that to the person. We say it in words; a log that somebody has asked for still gets it.
for _name in ("mcp", "client"):
    logging.getLogger(_name).addHandler(logging.NullHandler())

_MOST_PAGES = 100
_NO_LIMIT = 24 * 3600.0
_WRITE_GRACE = 5.0
_END_GRACE = 3.0
_CLOSE_GRACE = 5.0
_LONGEST_BACKLOG = 1_000_000
_CLOSED = "Connection closed"
"""What the client itself says; a server may use the same code for errors of its own."""


Answer = TypeVar("Answer", types.ElicitResult, types.CreateMessageResult)
_KEY_WANTED = (401, 403)
Attempt = tuple[str, str]
"""A transport, and the era to speak: `auto` asks the server."""


class _Call:
    """A call under way: who can answer questions about it, and the clock that runs meanwhile."""

    def __init__(self, ask: Ask | None, limit: asyncio.Timeout, seconds: float) -> None:
        self.ask = ask
        self.limit = limit
        self._seconds = seconds

    @contextlib.contextmanager
    def paused(self) -> Generator[None]:
        """Stops the timeout while a person or a model answers."""
        self.limit.reschedule(None)
        try:
            yield
        finally:
            if not self.limit.expired():
                self.limit.reschedule(asyncio.get_running_loop().time() + self._seconds)


def _refusal(text: str) -> types.ErrorData:
    return types.ErrorData(code=types.INVALID_REQUEST, message=text)


class McpConnection:
    """Runs in one task, because the client's cancel scopes must be left where they were entered."""

    def __init__(
        self,
        name: str,
        server: McpServer,
        keys: Keys,
        answers: frozenset[str] = frozenset(),
        *,
        environment: Mapping[str, str] | None = None,
        wording: ServerWording | None = None,
    ) -> None:
        """`environment` is what its process gets besides `env`; by default what every one does."""
        self._name = name
        self._server = server
        self._keys = keys
        self._answers = answers
        self._calls: list[_Call] = []
        """Those under way, the newest last."""
        self._environment = inherited(os.environ) if environment is None else environment
        self._wording = wording or wording_in_config(name)
        self._client: Client | None = None
        self._child: ServerProcess | None = None
        self._over = asyncio.Event()
        self._opened = asyncio.Event()
        self._failure = ""
        self._refusals: list[int] = []
        """Status codes from 400 on, as they came."""
        self._challenges: list[str] = []
        """What came with the last of them."""
        self._login: LoginAuth | None = None
        self._listing = asyncio.Lock()
        self._offers: list[OfferedTool] = []
        self._filter = ToolFilter()
        self._is_stale = True
        self._is_told = True
        """Whether the server says when its tools change; where it does not, they are asked for."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"mcp-{name}")

    async def open(self) -> None:
        """Wait until it is open; raises UnreachableError. Cancelling the wait does not close it."""
        await self._opened.wait()
        if self._client is None:
            raise UnreachableError(self._failure)

    def is_usable(self) -> bool:
        """Whether a call has a chance, or the connection is still being opened."""
        if self._over.is_set() or self._task.done():
            return False
        return self._child is None or not self._opened.is_set() or self._child.is_alive()

    async def close(self) -> None:
        """End it, and the server's process if it has one."""
        self._over.set()
        if not self._opened.is_set():
            self._task.cancel()
        try:
            _, left = await asyncio.wait({self._task}, timeout=_CLOSE_GRACE)
            if left:  # Behind an address, a server may be too busy to let us go.
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=_CLOSE_GRACE)
            if self._child is not None:
                await self._child.gone()
        except asyncio.CancelledError:
            self._task.cancel()
            if self._child is not None:
                self._child.kill()
            raise

    async def offers(self) -> tuple[list[OfferedTool], dict[str, str]]:
        """The server's tools, and why others of them are left out.

        Asks for them only when they may have changed.
        """
        async with self._listing:
            if self._is_stale or not self._is_told:
                self._is_stale = False  # Before they are asked for: they may change meanwhile.
                try:
                    async with asyncio.timeout(self._server.timeout):
                        self._filter.left_out.clear()
                        self._offers = await self._list(self._open_client())
                except (Exception, asyncio.CancelledError):
                    self._is_stale = True
                    raise
            return self._offers, dict(self._filter.left_out)

    async def _list(self, client: Client) -> list[OfferedTool]:
        if client.server_capabilities.tools is None:
            return []
        found: dict[str, OfferedTool] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await client.list_tools(cursor=cursor)
            for tool in await asyncio.to_thread(self._filter.sound, page.tools):
                found[tool.name] = OfferedTool(tool.name, tool.description or "", tool.input_schema)
            if page.next_cursor is None or page.next_cursor == cursor:
                break
            cursor = page.next_cursor
        # Servers may list in any order; the model's cache wants the same one every time.
        return [found[name] for name in sorted(found)]

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Tell, ask: Ask | None = None
    ) -> dict[str, Any]:
        """The result of a call. Cancelling it tells the server, which goes on living."""
        client, refused = self._open_client(), len(self._refusals)

        async def hear(progress: float, total: float | None, message: str | None) -> None:
            tell(progress_text(progress, total, message))

        call = _Call(ask, asyncio.timeout(self._server.timeout), self._server.timeout)
        self._calls.append(call)
        try:
            # The client's own clock starts when the request is written, which may never be, and
            # does not stop while a person thinks.
            async with call.limit:
                result = await client.call_tool(
                    tool, arguments, read_timeout_seconds=_NO_LIMIT, progress_callback=hear
                )
        except TimeoutError:
            raise ToolTimeoutError(self._too_long(tool)) from None
        except MCPError as error:
            await self._notice_end(error)
            raise self._explain(error, tool, len(self._refusals) > refused) from None
        except (RuntimeError, ValueError) as error:
            raise ToolExecutionError(f"{self._name} broke its promise: {error}") from None
        finally:
            self._calls.remove(call)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def _elicit(
        self,
        context: object,  # noqa: ARG002 - the client gives it
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        return await self._ask_client("elicitation/create", params, types.ElicitResult)

    async def _sample(
        self,
        context: object,  # noqa: ARG002 - the client gives it
        params: types.CreateMessageRequestParams,
    ) -> types.CreateMessageResult | types.ErrorData:
        return await self._ask_client("sampling/createMessage", params, types.CreateMessageResult)

    async def _ask_client(
        self,
        method: str,
        params: types.ElicitRequestParams | types.CreateMessageRequestParams,
        kind: type[Answer],
    ) -> Answer | types.ErrorData:
        """Ask the client. Nothing says which call a question belongs to: the newest is taken.

        All calls are of one client, so it is the same person, or the same model, that is asked.
        """
        asking = next((call for call in reversed(self._calls) if call.ask is not None), None)
        if asking is None or asking.ask is None:
            return _refusal("there is nobody to ask: no call of a client is under way")
        plain = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        plain.pop("_meta", None)
        try:
            with asking.paused():
                capability = method.partition("/")[0]
                answer = await asking.ask(InputRequest(method, capability, plain, as_answer))
                return kind.model_validate(answer)
        except ClawError as error:
            return _refusal(redact(str(error), self._keys))

    def _open_client(self) -> Client:
        if self._client is None:
            raise UnreachableError(self._failure or "the connection is closed")
        return self._client

    def _too_long(self, tool: str) -> str:
        return f"{tool} took longer than {self._server.timeout:g} s; {self._wording.timeout}"

    async def _notice_end(self, error: MCPError) -> None:
        """If the server has ended, wait until it is known how."""
        if error.code == CONNECTION_CLOSED and (error.message == _CLOSED or not self.is_usable()):
            self._over.set()
            await asyncio.wait({self._task}, timeout=_END_GRACE)

    def _explain(self, error: MCPError, tool: str, was_refused: bool) -> ToolExecutionError:
        if error.code == REQUEST_TIMEOUT and "timed out" in error.message:
            return ToolTimeoutError(self._too_long(tool))
        if error.code == CONNECTION_CLOSED and not self.is_usable():
            how = end_of(self._child) or (f": {self._failure}" if self._failure else "")
            return UnreachableError(
                f"the connection to {self._name} ended during the call{how}. "
                f"Whether {tool} did its work is not known. The next call connects again"
            )
        text = redact(error.message, self._keys)
        if was_refused and self._refusals[-1] in _KEY_WANTED:
            text = f"{text} ({self._refusals[-1]}): {self._login_advice()}"
        if was_refused and self._era(self._open_client()) != "modern":
            return NotTakenError(f"{self._name} refused the call: {text}")
        return ToolExecutionError(text)

    @staticmethod
    def _era(client: Client) -> str:
        return "modern" if client.protocol_version in MODERN_PROTOCOL_VERSIONS else "handshake"

    async def _run(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                async with asyncio.timeout(self._server.timeout):
                    client = await self._connect(stack)
                    await self._follow_changes(client, stack)
                self._client = client
                self._filter.version = client.protocol_version
                self._refusals.clear()
                self._opened.set()
                await self._over.wait()
        except TimeoutError:
            self._fail(f"did not answer within {self._server.timeout:g} s")
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - becomes words
            reason = explain(error, self._server, self._child, self._refusals)
            wants_key = bool(self._refusals) and self._refusals[-1] in _KEY_WANTED
            self._fail(f"{reason}; {self._login_advice()}" if wants_key else reason)
        finally:
            if not self._opened.is_set():
                self._fail("was closed while it started")
            self._client = None
            self._over.set()

    def _login_advice(self) -> str:
        """What to do where the server wants a login or a key."""
        key = f"give it a key: {self._wording.key}"
        if self._login is None:
            return key
        advice = self._login.problem or login_advice(
            self._wording.login, self._address(), self._refusals[-1], self._challenges
        )
        return f"{advice}, or {key}" if advice else key

    def _fail(self, reason: str) -> None:
        """Note why there is no connection; only the first reason counts."""
        if self._failure:
            return
        self._failure = redact(f"{self._wording.subject}{reason}", self._keys)
        log.debug("%s", self._failure)
        self._opened.set()

    async def _connect(self, stack: AsyncExitStack) -> Client:
        """The first attempt that succeeds; if none does, the first one's failure tells most."""
        first: BaseException | None = None
        for attempt in attempts(self._server):
            try:
                return await stack.enter_async_context(self._client_for(attempt))
            except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001 - raised in the end
                log.debug("%s over %s, %s: %r", self._name, *attempt, error)
                first = first or error
                if not is_worth_another(error, self._refusals):
                    raise first from None
        assert first is not None
        raise first

    def _client_for(self, attempt: Attempt) -> Client:
        kind, mode = attempt
        ways = {"stdio": self._over_stdio, "http": self._over_http, "sse": self._over_sse}
        return Client(
            self._filtered(ways[kind]()),
            mode=mode,
            read_timeout_seconds=self._server.timeout,
            message_handler=self._on_message,
            elicitation_callback=self._elicit if "elicitation" in self._answers else None,
            sampling_callback=self._sample if "sampling" in self._answers else None,
            client_info=types.Implementation(name="clawkit", version=__version__),
            cache=None,
        )

    @asynccontextmanager
    async def _filtered(
        self, transport: AbstractAsyncContextManager[TransportStreams]
    ) -> AsyncGenerator[TransportStreams]:
        async with transport as (read, write):
            yield _FilteredStream(read, self._filter, self._ended), write

    def _ended(self) -> None:
        """The stream ended. While the connection is being opened, another transport is tried."""
        if self._opened.is_set():
            self._over.set()

    async def _on_message(self, message: Any) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._is_stale = True

    async def _follow_changes(self, client: Client, stack: AsyncExitStack) -> None:
        """Subscribe to changes of the tools, which the stateless revision wants."""
        tools = client.server_capabilities.tools
        if self._era(client) != "modern" or tools is None or not tools.list_changed:
            return
        try:
            changes = await stack.enter_async_context(client.listen(tools_list_changed=True))
        except (MCPError, RuntimeError, TimeoutError) as error:
            log.debug("%s: does not tell changes: %s", self._name, error)
            self._is_told = False
            return

        async def follow() -> None:
            try:
                async for _ in changes:
                    self._is_stale = True
            except RuntimeError as error:
                log.debug("%s: %s", self._name, error)
            self._is_told = False

        following = asyncio.get_running_loop().create_task(follow())
        stack.callback(following.cancel)

    @asynccontextmanager
    async def _over_stdio(self) -> AsyncGenerator[TransportStreams]:
        send, receive = anyio.create_memory_object_stream[tuple[SessionMessage, int]](math.inf)
        backlog = Backlog()

        def take(line: bytes) -> None:
            try:
                message = jsonrpc_message_adapter.validate_json(
                    line.removeprefix(BOM_UTF8), by_name=False
                )
            except ValueError:
                log.debug("%s: a line of stdout that is no message", self._name)
                return
            with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                send.send_nowait((SessionMessage(message), len(line)))
                backlog.grow(len(line))

        def end() -> None:
            send.close()
            self._ended()

        def show(text: str) -> str:
            return redact(text, self._keys)

        with send, receive:
            child = await ServerProcess.start(self._name, self._command(), take, end, show)
            self._child = child
            backlog.source = child
            try:
                yield _MeasuredStream(receive, backlog), _ProcessWriter(child)
            finally:
                await child.stop()

    def _command(self) -> Command:
        wanted = self._server
        given = {name: self._keys.expand(value) for name, value in wanted.env.items()}
        folder = str(Path(wanted.cwd).expanduser()) if wanted.cwd else None
        return Command(wanted.command, wanted.args, {**self._environment, **given}, folder)

    @asynccontextmanager
    async def _over_http(self) -> AsyncGenerator[TransportStreams]:
        async with (
            self._http_client(self._headers()) as http,
            streamable_http_client(
                self._address(), http_client=http, max_sse_event_size=LONGEST_LINE
            ) as both,
        ):
            yield both

    def _over_sse(self) -> AbstractAsyncContextManager[TransportStreams]:
        return sse_client(self._address(), self._headers(), httpx_client_factory=self._http_client)

    def _address(self) -> str:
        address = self._keys.expand(self._server.url)
        has_key = bool(self._server.headers) or address != self._server.url
        return check_address("url", address, secret=has_key, query=True)

    def _headers(self) -> dict[str, str]:
        return {name: self._keys.expand(value) for name, value in self._server.headers.items()}

    def _http_client(self, headers: dict[str, str] | None = None, *_: Any, **__: Any) -> Any:
        client = create_mcp_http_client(headers, auth=self._login_for(headers or {}))
        patience = self._server.timeout + _WRITE_GRACE
        # Streams of events may be silent for as long as they like.
        client.timeout = (min(patience, 30.0), None, patience, patience)
        client.event_hooks = {"response": [self._look_at]}
        return client

    def _login_for(self, headers: Mapping[str, str]) -> LoginAuth | None:
        """What `claw login` keeps for this server, for which a header of the config stands in."""
        if any(name.lower() == "authorization" for name in headers):
            return None
        self._login = LoginAuth(
            self._address(), self._keys.hide, lambda: self._refusals.remove(HTTPStatus.UNAUTHORIZED)
        )
        return self._login

    async def _look_at(self, response: Any) -> None:
        """The client turns what a server refuses into one and the same error; this keeps why."""
        if response.status_code >= 400 and response.request.method != "DELETE":
            is_notice_stream = response.request.method == "GET" and self._opened.is_set()
            if not is_notice_stream:
                self._refusals.append(response.status_code)
                self._challenges = response.headers.get_list("www-authenticate")


class _ProcessWriter(ObjectSendStream[SessionMessage]):
    """The stream that the client writes to: the stdin of the process."""

    def __init__(self, child: ServerProcess) -> None:
        self._child = child

    async def send(self, item: SessionMessage) -> None:
        if not self._child.is_alive():
            raise anyio.ClosedResourceError
        self._child.write(item.message.model_dump_json(by_alias=True, exclude_unset=True).encode())

    async def aclose(self) -> None:
        """Does nothing: the process is ended by its starter."""


class Backlog:
    """Counts unread bytes of a process, and pauses reading above a limit."""

    def __init__(self) -> None:
        self.source: ServerProcess | None = None
        self._bytes = 0

    def grow(self, count: int) -> None:
        before, self._bytes = self._bytes, self._bytes + count
        if self.source is not None and before <= _LONGEST_BACKLOG < self._bytes:
            self.source.pause()

    def shrink(self, count: int) -> None:
        before, self._bytes = self._bytes, self._bytes - count
        if self.source is not None and self._bytes <= _LONGEST_BACKLOG < before:
            self.source.resume()


class _MeasuredStream(ObjectReceiveStream[SessionMessage | Exception]):
    """The messages of a process; reading them lets a paused process go on."""

    def __init__(
        self, stream: MemoryObjectReceiveStream[tuple[SessionMessage, int]], backlog: Backlog
    ) -> None:
        self._stream = stream
        self._backlog = backlog

    async def receive(self) -> SessionMessage | Exception:
        message, size = await self._stream.receive()
        self._backlog.shrink(size)
        return message

    async def aclose(self) -> None:
        await self._stream.aclose()


class ToolFilter:
    """Leaves out tools that break the protocol or have no valid schema, and says why.

    The official client refuses a whole list for one such tool, as providers refuse a prompt.
    """

    def __init__(self) -> None:
        self.version = LATEST_HANDSHAKE_VERSION
        self.left_out: dict[str, str] = {}

    def filter_list(self, message: SessionMessage) -> None:
        """Remove invalid tools from a `tools/list` result."""
        answer = message.message
        if not isinstance(answer, types.JSONRPCResponse):
            return
        listed: Any = answer.result.get("tools")
        if not isinstance(listed, list):
            return
        rest = answer.result
        kept = [tool for tool in cast("list[Any]", listed) if self._is_tool(tool, rest)]
        answer.result["tools"] = kept

    def sound(self, tools: list[types.Tool]) -> list[types.Tool]:
        """The tools with a valid JSON Schema; the check takes a while."""
        return [tool for tool in tools if self._has_schema(tool)]

    def _is_tool(self, tool: Any, result: dict[str, Any]) -> bool:
        try:
            types.Tool.model_validate(tool, by_name=False)
            validate_server_result("tools/list", self.version, {**result, "tools": [tool]})
        except ValueError as error:
            title, *lines = str(error).splitlines()
            reason = ": ".join(line.strip() for line in lines[:2]).partition(" [")[0]
            return self._leave_out(tool, reason.removeprefix("tools.0.") or title)
        return True

    def _has_schema(self, tool: types.Tool) -> bool:
        from jsonschema import SchemaError
        from jsonschema.validators import Draft202012Validator, validator_for

        try:
            schema = tool.input_schema
            validator_for(schema, default=Draft202012Validator).check_schema(schema)
        except SchemaError as error:
            where = "".join(f".{step}" for step in error.path)
            return self._leave_out({"name": tool.name}, f"inputSchema{where}: {error.message}")
        return True

    def _leave_out(self, tool: Any, reason: str) -> bool:
        name: Any = cast(dict[str, Any], tool).get("name") if isinstance(tool, dict) else None
        self.left_out[str(name)[:100]] = reason[:300]
        return False


class _FilteredStream(ObjectReceiveStream[SessionMessage | Exception]):
    """A stream without invalid tools in `tools/list` results, and with a callback at its end."""

    def __init__(
        self,
        stream: ReadStream[SessionMessage | Exception],
        filter: ToolFilter,
        on_end: Callable[[], None],
    ) -> None:
        self._stream = stream
        self._filter = filter
        self._on_end = on_end

    @property
    def last_context(self) -> Context | None:
        """The context of whoever sent the last item, which the client looks for."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._stream.receive()
        except anyio.EndOfStream:
            self._on_end()
            raise
        if isinstance(item, SessionMessage):
            self._filter.filter_list(item)
        return item

    async def aclose(self) -> None:
        await self._stream.aclose()


def explain(
    error: BaseException, server: McpServer, child: ServerProcess | None, refusals: Sequence[int]
) -> str:
    """Why a connection could not be opened."""
    reasons = list(leaf_errors(error))
    for reason in reasons:
        if isinstance(reason, OSError) and server.command and child is None:
            return _not_started(reason, server)
        if isinstance(reason, ClawError):
            return str(reason)
    if child is not None and not child.was_stopped:
        ended = "ended at once" if child.exit_code is not None else "closed its output"
        return f"`{_shown(server)}` {ended}{end_of(child)}"
    if refusals:
        return _refused(server, refusals[-1])
    kinds = {type(reason).__name__ for reason in reasons}
    text = next((str(reason) for reason in reasons if str(reason)), "no reason given")
    if "ConnectError" in kinds:
        return f"{server.url} cannot be reached ({text}); is it running, and is `url` right?"
    if kinds & {"ConnectTimeout", "ReadTimeout", "PoolTimeout"}:
        return f"{server.url} did not answer in time"
    return f"{_shown(server)}: {text}"


def end_of(child: ServerProcess | None) -> str:
    """How a process ended, as the end of a sentence."""
    if child is None:
        return ""
    code = "" if child.exit_code is None else f" (exit code {child.exit_code})"
    return f"{code}: {child.last_words}" if child.last_words else code


def _not_started(error: OSError, server: McpServer) -> str:
    if server.cwd and not Path(server.cwd).expanduser().is_dir():
        return f"`cwd = {server.cwd!r}`: there is no such folder"
    if error.errno in (None, errno.ENOENT):
        return (
            f"command not found: {server.command!r}; install it, or write its full path "
            "as `command`"
        )
    return f"{server.command!r} cannot be run: {error.strerror or error}"


def _refused(server: McpServer, status: int) -> str:
    known = {int(code): code.phrase for code in HTTPStatus}
    answer = f"{server.url} answered {status} {known.get(status, '')}".rstrip()
    if status == HTTPStatus.NOT_FOUND:
        return f"{answer}; is `url` right?"
    return answer


def _shown(server: McpServer) -> str:
    return server.command or server.url


def leaf_errors(error: BaseException) -> Iterator[BaseException]:
    """The errors in a group, however deep."""
    if isinstance(error, BaseExceptionGroup):
        for inner in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from leaf_errors(inner)
    else:
        yield error


def attempts(server: McpServer) -> list[Attempt]:
    """What to try, the likeliest first."""
    if server.command:
        # Some older servers end when the first thing they hear is not `initialize`.
        return [("stdio", "auto"), ("stdio", "legacy")]
    if server.transport == "sse":
        return [("sse", "legacy")]
    if server.transport == "http":
        return [("http", "auto")]
    both: list[Attempt] = [("http", "auto"), ("sse", "legacy")]
    return both[::-1] if server.url.partition("?")[0].rstrip("/").endswith("/sse") else both


def is_worth_another(error: BaseException, refusals: Sequence[int]) -> bool:
    """Whether the same server may be reached in another way; `refusals` are HTTP's status codes."""
    reasons = list(leaf_errors(error))
    if any(isinstance(reason, OSError | ClawError) for reason in reasons):
        return False
    if refusals:
        return refusals[-1] < 500 and refusals[-1] not in _KEY_WANTED
    return all(type(reason).__name__ == "MCPError" for reason in reasons)
