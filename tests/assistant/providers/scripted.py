"""Providers by script: they speak the real wires over a real socket, and remember what they heard.

    with scripted_anthropic([Say("hi"), Call("add", {"a": 1})]) as server:
        ... base_url = server.url ...
        server.requests[0].json["messages"]

`steps.py` has all that a script can say. A request for which the script has nothing left gets a
400 that says so. The server runs in a thread of its own, so other processes can ask it too.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from tests.assistant.providers.steps import (
    Call,
    Cut,
    Fault,
    Hang,
    Pause,
    Raw,
    Reply,
    Request,
    Say,
    Script,
    Status,
    as_answer,
)
from tests.assistant.providers.wires import AnthropicWire, Control, OpenAiWire, Wire
from tests.processes import PATIENCE

__all__ = [
    "Call",
    "Cut",
    "Fault",
    "Hang",
    "Pause",
    "Raw",
    "Reply",
    "Request",
    "Say",
    "ScriptedServer",
    "Status",
    "eventually",
    "scripted_anthropic",
    "scripted_openai",
]
_GLANCE = 0.005


class _Left(Exception):
    """The client went away."""


class _Broken(Exception):
    """The script breaks the connection."""


class ScriptedServer:
    """One provider. `requests` is what it heard, `left` how many answers were not waited for."""

    def __init__(
        self,
        wire: Wire,
        script: Script,
        *,
        models: Sequence[str] = (),
        on_request: _Heard | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self.left = 0
        self.connections = 0
        self.open = 0
        """How many answers are under way."""
        self.origin = ""
        self._wire = wire
        self._models = models
        self._answers = script if callable(script) else iter(script)
        self._on_request = on_request
        self._lock = threading.Lock()
        self._stop: Callable[[], object] = lambda: None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    @property
    def url(self) -> str:
        """What a config has as `base_url`."""
        return self.origin + self._wire.path

    @property
    def last(self) -> Request:
        return self.requests[-1]

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def stop(self) -> None:
        """Refuse connections from now on and break those that are open."""
        self._stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._converse(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        server = await asyncio.start_server(connected, "127.0.0.1", 0, backlog=512)
        self.origin = "http://{}:{}".format(*server.sockets[0].getsockname())
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.is_closed() or loop.call_soon_threadsafe(stopping.set)
        self._ready.set()
        await stopping.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await server.wait_closed()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                await self._answer(request, reader, writer)
        except (_Left, OSError):
            self.left += 1
        except (_Broken, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with self._lock:
            self.requests.append(request)
            if self._on_request is not None:
                self._on_request(request)
            answer = self._next(request)
        self.open += 1
        try:
            if isinstance(answer, Status):
                await _send_whole(writer, answer, self._wire)
            else:
                await self._stream(request, answer, reader, writer)
        finally:
            self.open -= 1

    def _next(self, request: Request) -> Reply | Status:
        if self._models and (request.method, request.path) == ("GET", f"{self._wire.path}/models"):
            listed = [{"id": name, "object": "model", "created": 1} for name in self._models]
            return Status(200, body={"object": "list", "data": listed})
        if request.path.partition("?")[0] != self._wire.endpoint or request.method != "POST":
            said = f"nothing at {request.method} {request.path}"
            return Status(404, body=said, headers={"content-type": "text/plain"})
        if callable(self._answers):
            return as_answer(self._answers(request))
        for step in self._answers:
            return as_answer(step)
        return Status(400, message=f"the script has no answer to request {len(self.requests)}")

    async def _stream(
        self,
        request: Request,
        reply: Reply,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        headers = {"content-type": "text/event-stream; charset=utf-8", **reply.headers}
        writer.write(_head(200, {**headers, "transfer-encoding": "chunked"}))
        for item in self._wire.stream(request, reply):
            if isinstance(item, Control):
                await self._control(item, reader, writer)
                continue
            size = reply.split or len(item)
            for start in range(0, len(item), size):
                piece = item[start : start + size]
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                await writer.drain()
                await self._glance(reader, writer)
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _control(
        self, item: Control, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if isinstance(item, Cut):
            await writer.drain()
            raise _Broken
        end = time.monotonic() + (item.seconds if isinstance(item, Pause) else float("inf"))
        while time.monotonic() < end:
            await self._glance(reader, writer)
            await asyncio.sleep(_GLANCE)

    async def _glance(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0)
        if reader.at_eof() or reader.exception() is not None or writer.is_closing():
            raise _Left


_Heard = Callable[[Request], None]


@contextmanager
def scripted_anthropic(script: Script) -> Generator[ScriptedServer]:
    """A server of the Anthropic Messages API."""
    with _running(ScriptedServer(AnthropicWire(), script)) as server:
        yield server


@contextmanager
def scripted_openai(script: Script, models: Sequence[str] = ()) -> Generator[ScriptedServer]:
    """A server of OpenAI's chat completions, and of its list of models if it has some."""
    with _running(ScriptedServer(OpenAiWire(), script, models=models)) as server:
        yield server


@contextmanager
def _running(server: ScriptedServer) -> Generator[ScriptedServer]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


async def eventually(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait, in a coroutine, for what the server's thread brings about."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"it did not happen within {patience} s"
        await asyncio.sleep(_GLANCE)


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise
    except ConnectionError:
        return None
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, path, _ = first.split(" ")
    pairs = [line.partition(":") for line in lines]
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


async def _send_whole(writer: asyncio.StreamWriter, status: Status, wire: Wire) -> None:
    body = wire.error(status) if status.body is None else status.body
    kind = "application/json"
    if isinstance(body, str):
        kind = "text/html" if body.lstrip().startswith("<") else "text/plain"
        body = body.encode()
    data = body if isinstance(body, bytes) else msgspec.json.encode(body)
    headers = {"content-type": kind, **status.headers, "content-length": str(len(data))}
    writer.write(_head(status.code, headers) + data)
    await writer.drain()


def _head(code: int, headers: dict[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {code} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()
