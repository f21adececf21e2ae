"""Limits of the connections of an HTTP server: how many, how large a head, how long to arrive.

A connection waits for its client while it is idle and while a request has not arrived whole. Of
those, the one that has waited longest is closed when there are too many connections, so that
clients who send nothing cannot keep others out.
"""

from __future__ import annotations

import asyncio
import logging
import math
from contextlib import suppress
from http import HTTPStatus
from typing import Any, cast

import msgspec
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from clawkit.errors import InvalidRequestError, SettingsError
from clawkit.wire import jsonrpc

_SPARE_FILES = 256

_log = logging.getLogger("clawkit.http")


class HttpLimits(msgspec.Struct, frozen=True):
    """What an HTTP server takes from its clients.

    It has at most `connections` at a time, and never more than half of the files that the process
    may open. The head of a request may have `head` bytes and take `head_seconds` to arrive, its
    body `body_seconds`.
    """

    connections: int = 1000
    head: int = 64 * 1024
    head_seconds: float = 20.0
    body_seconds: float = 60.0

    def __post_init__(self) -> None:
        if self.connections < 1 or self.head < 1:
            raise SettingsError(f"{self}: connections and head must be at least 1")
        if self.head_seconds <= 0 or self.body_seconds <= 0:
            raise SettingsError(f"{self}: head_seconds and body_seconds must be more than 0")


def within_file_limit(limits: HttpLimits) -> HttpLimits:
    """Raise this process's limit of open files as far as needed and allowed; fit the rest to it."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * limits.connections + _SPARE_FILES
        if soft != resource.RLIM_INFINITY and soft < wanted:
            soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        if soft != resource.RLIM_INFINITY:
            most = max(1, min(limits.connections, soft // 2))
            return msgspec.structs.replace(limits, connections=most)
    return limits


class Connections(ServerState):
    """All connections of one server."""

    def __init__(self, limits: HttpLimits) -> None:
        super().__init__()
        self.limits = limits
        self.waiting: dict[Connection, None] = {}
        """Those that wait for their client, the one that has waited longest first."""
        self._said = -math.inf

    def make_room(self, count: int, why: str, now: float) -> None:
        """Close those that have waited longest, and say so once a minute."""
        for connection in list(self.waiting)[:count]:
            connection.abort()
        if now - self._said > 60:
            self._said = now
            _log.warning("%s: connections that wait for their client are closed", why)

    def close_late(self, now: float) -> None:
        for connection in list(self.waiting):
            connection.close_if_late(now)


class Connection(HttpToolsProtocol):
    """uvicorn's HTTP connection, with limits."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._all = cast(Connections, self.server_state)
        self._limits = self._all.limits
        self._deadline = math.inf
        self._idle = False
        self._in_body = False
        self._head = 0
        self._unparsed = 0

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        most = self._limits.connections
        if len(self.connections) > most:
            self._all.make_room(1, f"there are more than {most} connections", self.loop.time())
        self._expect(self._limits.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._idle:
            self._expect(self._limits.head_seconds)
        self._unparsed += len(data)
        super().data_received(data)
        # A header, a trailer or the size of a chunk is seen only when it is whole.
        if self._deadline < math.inf and self._unparsed > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, self._too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = self._unparsed = 0
        if self._deadline == math.inf:
            self._expect(self._limits.head_seconds)

    def on_url(self, url: bytes) -> None:
        self._grow(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._grow(len(name) + len(value))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_body = True
        self._expect(self._limits.body_seconds)

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._arrived()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        arriving = self._deadline < math.inf
        if self.cycle.response_complete and not arriving and not self.transport.is_closing():
            self._idle = True
            self._all.waiting[self] = None

    def handle_websocket_upgrade(self) -> None:
        self._arrived()
        super().handle_websocket_upgrade()

    def send_400_response(self, msg: str) -> None:
        if self._head > self._limits.head:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, self._too_large())
        else:
            super().send_400_response(msg)

    def close_if_late(self, now: float) -> None:
        """Give up a request that takes too long to arrive."""
        if now < self._deadline:
            return
        if not self._in_body:
            self.transport.close()
        elif self.flow.read_paused:  # it is us who do not read
            self._expect(self._limits.body_seconds)
        else:
            seconds = self._limits.body_seconds
            why = f"The request took longer than {seconds:g} s to arrive"
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, why)

    def abort(self) -> None:
        self._arrived()
        self.transport.abort()

    def _expect(self, seconds: float) -> None:
        self._idle = False
        self._deadline = self.loop.time() + seconds
        self._all.waiting[self] = None

    def _arrived(self) -> None:
        self._idle = self._in_body = False
        self._deadline = math.inf
        self._all.waiting.pop(self, None)

    def _grow(self, size: int) -> None:
        self._head += size
        if self._head > self._limits.head:
            raise ValueError("the head is too long")

    def _too_large(self) -> str:
        return f"The head of a request may have at most {self._limits.head} bytes"

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        """End the connection, with an answer where none has begun."""
        if self.transport.is_closing():
            return
        if self._may_answer():
            body = jsonrpc.encode(jsonrpc.failure(None, InvalidRequestError(why)))
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def _may_answer(self) -> bool:
        """Whether an answer of ours would be the one that the client waits for."""
        latest = cast("RequestResponseCycle | None", self.cycle)
        if self._in_body and latest is not None:
            return not latest.response_started and not self.pipeline
        return latest is None or latest.response_complete
