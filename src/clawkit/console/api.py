"""The console's JSON API: parameters in, a value out, errors as one shape, values watched live.

The functions behind a route are plain and may block: each call runs in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from clawkit.errors import UNREADABLE_JSON, ClawError
from clawkit.wire.http.endpoint import HttpRefusal, read_body
from clawkit.wire.http.request_checks import read_headers
from clawkit.wire.http.response import EVENT_HEADERS

MAX_BODY = 4 * 1024 * 1024
MOST_ROWS = 200
"""What a page shows of a list at once."""
_TICK = 0.4
_STILL_HERE = 2.0
"""How often a page hears from the console at least: one that is stopped says nothing."""
ENDS = b'data: {"topic":"ends"}\n\n'
"""The last that a page hears: it need not wait for a console that comes back."""
# Many more than asyncio's own, which calls that wait for a database server would soon all hold; and
# unlike those, they are not waited for before what they wait for is closed.
_THREADS = ThreadPoolExecutor(64, thread_name_prefix="console")

P = TypeVar("P", bound=Struct)
T = TypeVar("T")
Look = Callable[[], object]
"""Gives the value that a topic has now; it is asked again and again."""


class NoParameters(Struct, frozen=True):
    """The parameters of a request that takes none."""


class ConsolePage(Struct, frozen=True):
    """What a page's module gives: its routes, and values that are watched as they change."""

    routes: tuple[Route, ...]
    topics: Mapping[str, Look] = {}


class ApiError(ClawError):
    """A request that cannot be answered; becomes a JSON error with this status."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


def stamp_of(*files: Path) -> str:
    """Another text whenever one of these files is another one."""
    return " ".join(map(_stamp, files))


def _stamp(file: Path) -> str:
    try:
        status = file.stat()
    except OSError:
        return ""
    return f"{status.st_mtime_ns} {status.st_size} {status.st_ino}"


def get(path: str, parameters: type[P], answer: Callable[[P], object]) -> Route:
    """A route that reads: `parameters` are those of the address, as text or numbers."""

    async def handle(request: Request) -> Response:
        given = {**request.query_params, **request.path_params}
        return await _answered(_converted(given, parameters), answer)

    return Route(path, guarded(handle), methods=["GET"])


def post(path: str, body: type[P], act: Callable[[P], object]) -> Route:
    """A route that changes something: `body` is the JSON that it takes."""

    async def handle(request: Request) -> Response:
        return await _answered(await read_json(request, body), act)

    return Route(path, guarded(handle), methods=["POST"])


async def read_json(request: Request, type: type[P], most: int = MAX_BODY) -> P:
    """A request's body. Raises ApiError where it is not what the route takes."""
    raw = await read_body(read_headers(request.scope["headers"]), request.receive, most)
    try:
        return msgspec.json.decode(raw or b"{}", type=type)
    except UNREADABLE_JSON as error:
        raise ApiError(f"The request cannot be read: {error}") from None


def json_response(value: object, status: int = 200) -> Response:
    body = msgspec.json.encode(value)
    return Response(body, status, media_type="application/json")


def watched(path: str, topics: Mapping[str, Look], stopping: asyncio.Event) -> Route:
    """A stream of events: each topic's value, first as it is, then whenever it is another one."""

    async def handle(_: Request) -> Response:
        headers = {name.decode(): value.decode() for name, value in EVENT_HEADERS}
        return StreamingResponse(_changes(topics, stopping), headers=headers)

    return Route(path, handle, methods=["GET"])


async def _changes(topics: Mapping[str, Look], stopping: asyncio.Event) -> AsyncGenerator[bytes]:
    """Each topic is looked at on its own: one that takes long keeps no other back."""
    changed: asyncio.Queue[bytes | None] = asyncio.Queue()
    watching = [asyncio.create_task(_watch(name, look, changed)) for name, look in topics.items()]
    watching.append(asyncio.create_task(_tell_end(stopping, changed)))
    try:
        while True:
            try:
                value = await asyncio.wait_for(changed.get(), _STILL_HERE)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if value is None:
                yield ENDS
                return
            yield b"data: " + value + b"\n\n"
    finally:
        for one in watching:
            one.cancel()


async def _watch(topic: str, look: Look, changed: asyncio.Queue[bytes | None]) -> None:
    last = b""
    while True:
        value = await _in_thread(_looked, topic, look)
        if value != last:
            last = value
            changed.put_nowait(value)
        await asyncio.sleep(_TICK)


async def _tell_end(stopping: asyncio.Event, changed: asyncio.Queue[bytes | None]) -> None:
    await stopping.wait()
    changed.put_nowait(None)


def _looked(topic: str, look: Look) -> bytes:
    try:
        value = look()
    except ClawError as error:
        value = {"error": str(error)}
    return msgspec.json.encode({"topic": topic, "value": value})


def _converted(given: dict[str, Any], type: type[P]) -> P:
    try:
        return msgspec.convert(given, type, strict=False)
    except msgspec.ValidationError as error:
        raise ApiError(f"The request cannot be read: {error}") from None


async def _in_thread(act: Callable[..., T], *arguments: object) -> T:
    return await asyncio.get_running_loop().run_in_executor(_THREADS, act, *arguments)


async def _answered(parameters: P, answer: Callable[[P], object]) -> Response:
    value = await _in_thread(answer, parameters)
    return value if isinstance(value, Response) else json_response(value)


def guarded(
    handle: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """The same handler, with what it raises on purpose as a JSON error."""

    async def handled(request: Request) -> Response:
        try:
            return await handle(request)
        except ApiError as error:
            return json_response({"error": str(error)}, error.status)
        except HttpRefusal as refusal:
            return json_response({"error": refusal.message}, refusal.status)
        except ClawError as error:
            return json_response({"error": str(error)}, 400)
        except asyncio.CancelledError:  # what takes long is not waited for when the console ends
            return json_response({"error": "The console was stopped"}, 503)
        except (OverflowError, RecursionError) as error:
            return json_response({"error": f"The request has too large a value: {error}"}, 400)

    return handled
