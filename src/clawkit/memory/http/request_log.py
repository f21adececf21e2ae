"""The JSON log, one object a line, and the trace of each request that it is written from.

No line holds a token, a key, an argument or anything remembered: a request is its id, its known
method and tool, its status and time, and the ids of token and Being; an error is its type and the
places it came through. A thread of its own writes, so that a terminal or pipe that nobody reads
never stops the server; what does not fit into the queue is dropped and counted.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import secrets
import threading
import time
import traceback
from collections.abc import Callable, Container
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from clawkit.errors import StoreError
from clawkit.memory.caller import Access
from clawkit.memory.http.metrics import Metrics
from clawkit.memory.rate_limiter import TokenBuckets
from clawkit.wire.http.response import Asgi, SendAsgi
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.methods import ROUTES

Write = Callable[[bytes], int]

_STDERR = 2
_QUEUED = 10_000
# A fault that comes back ten thousand times a second must not fill the disk.
_ALIKE_A_SECOND, _ALIKE_AT_ONCE = 1.0, 100


def _to_stderr(data: bytes) -> int:
    return os.write(_STDERR, data)


class Log:
    """Lines on their way out."""

    def __init__(self, write: Write = _to_stderr) -> None:
        self._write = write
        self._lines: queue.Queue[bytes | None] = queue.Queue(_QUEUED)
        self._dropped = 0
        # Not sys.stderr: a thread that hangs in its lock would break the end of the process.
        self._thread = threading.Thread(target=self._run, name="being-log", daemon=True)
        self._thread.start()

    def line(self, fields: dict[str, Any]) -> None:
        """Write one object; None and empty texts are left out."""
        shown = {name: value for name, value in fields.items() if value not in (None, "")}
        if self._dropped:
            shown["dropped_lines"] = self._dropped
        try:
            self._lines.put_nowait(msgspec.json.encode({"time": _now(), **shown}) + b"\n")
            self._dropped = 0
        except queue.Full:
            self.drop()

    def drop(self) -> None:
        """Leave a line out; the next one says how many were."""
        self._dropped += 1

    def close(self, patience: float = 1.0) -> None:
        """Write what is queued, if somebody reads it; closing twice is closing once."""
        try:
            self._lines.put(None, timeout=patience)
        except queue.Full:
            return
        self._thread.join(patience)

    def _run(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                while line:
                    line = line[self._write(line) :]
            except OSError:  # whoever read it is gone, and there is nowhere to say so
                return


class LogHandler(logging.Handler):
    """What modules log, as lines of the same kind."""

    def __init__(self, log: Log) -> None:
        super().__init__(logging.INFO)
        self._log = log
        self._paces = TokenBuckets(_ALIKE_A_SECOND, _ALIKE_AT_ONCE)

    def emit(self, record: logging.LogRecord) -> None:
        if self._paces.take((record.name, str(record.msg)[:200])):
            self._log.drop()
            return
        fields = {"level": record.levelname.lower(), "from": record.name}
        self._log.line({**fields, "message": record.getMessage(), **_problem(record)})


def _problem(record: logging.LogRecord) -> dict[str, Any]:
    """The type of an error and its way, without its text, which may repeat what was said."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return {}
    way = [f"{f.filename}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
    shown = f"{type(error).__name__}: {error}" if isinstance(error, StoreError) else ""
    return {"error": shown or type(error).__name__, "way": way[-20:]}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


KEY = "clawkit.exchange"
"""Where it stands in the ASGI scope."""

_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")
_OTHER = "other"
_LEFT = 499
"""The status of a request whose caller left before there was an answer, as proxies have it."""


class TraceOutputs(NamedTuple):
    """Where requests are written down when they are over."""

    metrics: Metrics
    log: Log | None


class RequestTrace:
    """What is known of a request; the log and the figures are written from this."""

    def __init__(self, scope: Any) -> None:
        self.id = _request_id(scope["headers"])
        self.verb: str = scope.get("method", "WEBSOCKET")
        self.method = ""
        self.tool = ""
        self.access: Access | None = None
        self.status = 0
        self._began = time.perf_counter()

    def asks(self, message: Message | None, tools: Container[str]) -> str:
        """Note what is asked; gives the name of the tool that is called, if one is."""
        method = (message or {}).get("method")
        if not isinstance(method, str):
            return ""
        self.method = method if method in ROUTES else _OTHER
        if method.startswith("notifications/"):
            self.method = "notification"
        if method != "tools/call":
            return ""
        name = (as_object((message or {}).get("params")) or {}).get("name")
        self.tool = name if isinstance(name, str) and name in tools else _OTHER
        return name if isinstance(name, str) else ""

    def watching(self, send: SendAsgi) -> SendAsgi:
        """Sends a response that carries the id of its request, and notes its status."""
        header = (b"x-request-id", self.id.encode())

        async def watched(event: Asgi) -> None:
            if event["type"] == "http.response.start":
                self.status = event["status"]
                event["headers"] = [*event["headers"], header]
            await send(event)

        return watched

    def end(self, record: TraceOutputs) -> None:
        """Write it down: never what was said, only that something was."""
        seconds = time.perf_counter() - self._began
        self.status = self.status or _LEFT
        being = self.access.being.id if self.access is not None else ""
        record.metrics.count(
            tool=self.tool, method=self.verb, status=self.status, seconds=seconds, being=being
        )
        if record.log is None:
            return
        record.log.line(
            {
                "request": self.id,
                "http": self.verb,
                "method": self.method,
                "tool": self.tool,
                "status": self.status,
                "ms": round(seconds * 1000, 2),
                "token": self.access.caller.token if self.access is not None else "",
                "being": being,
            }
        )


def _request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """The caller's own id for the request where it is sane, else a new one."""
    given = next((value for name, value in headers if name == b"x-request-id"), b"")
    text = given.decode("latin-1").strip()
    return text if _SANE_ID.fullmatch(text) else secrets.token_hex(8)
