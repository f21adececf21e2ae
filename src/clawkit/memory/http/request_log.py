"""The trace of each request, and what is written from it: the JSON log and Prometheus metrics.

The log has one object a line. No line holds a token, a key, an argument or anything remembered: a
request is its id, its known method and tool, its status and time, and the ids of token and Being;
an error is its type and the places it came through. A thread of its own writes, so that a terminal
or pipe that nobody reads never stops the server; what does not fit into the queue is dropped and
counted.

In metrics, names of tools and methods are the known ones, so no caller can make new series. Beings
are named only where that is asked for.
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
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clawkit.errors import InternalError, StoreError
from clawkit.memory.job_worker import EMBED, PATROL
from clawkit.memory.records import iso
from clawkit.memory.store import beings, jobs
from clawkit.memory.tokens import Access
from clawkit.memory.tools import ACT, DEFINITIONS
from clawkit.system.rate_limiter import TokenBuckets
from clawkit.wire import jsonrpc
from clawkit.wire.http.response import Asgi, Receive, SendAsgi, respond
from clawkit.wire.jsonrpc import Message
from clawkit.wire.methods import ROUTES

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.wire.http.endpoint import Endpoint

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_PREFIX = "clawkit_being_"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

Labels = tuple[tuple[str, str], ...]


class Histogram:
    """How many seconds requests took, cumulated when it is written."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str, labels: Labels) -> Iterable[str]:
        total = 0
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self._counts, strict=True):
            total += count
            yield _line(f"{name}_bucket", (*labels, ("le", bound)), total)
        yield _line(f"{name}_sum", labels, round(self._sum, 6))
        yield _line(f"{name}_count", labels, total)


class Metrics:
    """Everything counted since this process began."""

    def __init__(self, *, per_being: bool = False) -> None:
        self._per_being = per_being
        self._requests: Counter[Labels] = Counter()
        self._seconds: dict[str, Histogram] = {}
        self._limited: Counter[Labels] = Counter()
        self.bridges_opened = 0

    def count(self, *, tool: str, method: str, status: int, seconds: float, being: str) -> None:
        """One request that is over."""
        labels = {"tool": tool, "method": method, "status": str(status)}
        if self._per_being:
            labels["being"] = being
        self._requests[tuple(labels.items())] += 1
        if tool:
            self._seconds.setdefault(tool, Histogram()).add(seconds)
        if status == 429:
            self._limited[()] += 1

    def text(self, gauges: Mapping[str, tuple[str, Mapping[Labels, float]]]) -> str:
        """All of it in Prometheus' words; `gauges` say what there is at this moment."""
        found = [
            *_family("requests_total", "counter", "Requests by tool and status."),
            *_lines("requests_total", self._requests),
            *_family("rate_limited_total", "counter", "Requests refused as too many."),
            *_lines("rate_limited_total", self._limited or {(): 0}),
            *_family("bridges_opened_total", "counter", "Connections of bridges."),
            *_lines("bridges_opened_total", {(): self.bridges_opened}),
            *_family("request_seconds", "histogram", "How long tool calls took."),
        ]
        for tool, histogram in sorted(self._seconds.items()):
            found += histogram.lines(f"{_PREFIX}request_seconds", (("tool", tool),))
        for name, (explanation, values) in gauges.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            found += [*_family(name, kind, explanation), *_lines(name, values)]
        return "\n".join(found) + "\n"


def _family(name: str, kind: str, explanation: str) -> tuple[str, str]:
    return f"# HELP {_PREFIX}{name} {explanation}", f"# TYPE {_PREFIX}{name} {kind}"


def _lines(name: str, values: Mapping[Labels, float]) -> list[str]:
    return [_line(_PREFIX + name, labels, value) for labels, value in sorted(values.items())]


def _line(name: str, labels: Labels, value: float) -> str:
    inner = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
    return f"{name}{{{inner}}} {value}" if inner else f"{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


Gauges = dict[str, tuple[str, Mapping[Labels, float]]]
_JOB_GAUGES = (
    ("jobs", "jobs", "Background jobs that wait or run."),
    ("jobs_failed", "failed", "Background jobs whose last try failed."),
    (
        "jobs_longest_wait_seconds",
        "longest_wait",
        "How long the job has waited that waits the longest.",
    ),
)


def store_gauges(store: BeingStore, per_being: bool = False) -> Gauges:
    """Beings, the jobs that wait, run or have failed, and how those before them ended."""
    now = store.clock()
    with store.database.registry() as connection:
        ((number,),) = connection.rows("SELECT count(*) FROM beings")
        names = {one.n: one.id for one in beings.every(connection)} if per_being else {}
        waiting = jobs.by_kind(connection, now)
        ended = jobs.runs(connection)
    none = {kind: jobs.WaitingJobs(kind) for kind in (PATROL, EMBED)}
    every = (none | {one.kind: one for one in waiting}).values()
    return {
        "beings": ("Beings in the store.", {(): number}),
        **{
            name: (explanation, {(("kind", one.kind),): getattr(one, field) for one in every})
            for name, field, explanation in _JOB_GAUGES
        },
        **_ended(ended, names),
    }


def _ended(found: list[jobs.Run], names: Mapping[int, str]) -> Gauges:
    """How often jobs ended in each way, and when and after how long the last of them did.

    By Being, where `names` has them.
    """
    times: dict[Labels, float] = defaultdict(float)
    last: dict[Labels, jobs.Run] = {}
    for run in found:
        labels: Labels = (("kind", run.kind), ("outcome", run.outcome))
        if run.being in names:
            labels = (*labels, ("being", names[run.being]))
        times[labels] += run.times
        if labels not in last or last[labels].at < run.at:
            last[labels] = run
    return {
        "job_runs_total": ("Jobs that have ended, by outcome.", times),
        "job_last_run_timestamp_seconds": (
            "When the last job of this outcome ended.",
            {labels: run.at for labels, run in last.items()},
        ),
        "job_last_run_seconds": (
            "How long the last job of this outcome took.",
            {labels: round(run.seconds, 3) for labels, run in last.items()},
        ),
    }


Write = Callable[[bytes], int]
LineOf = Callable[[dict[str, Any]], str]

_STDERR = 2
_QUEUED = 10_000
# A fault that comes back ten thousand times a second must not fill the disk.
_ALIKE_A_SECOND, _ALIKE_AT_ONCE = 1.0, 100


def _to_stderr(data: bytes) -> int:
    return os.write(_STDERR, data)


class Log:
    """Lines on their way out."""

    def __init__(self, write: Write = _to_stderr, written: LineOf | None = None) -> None:
        """`written` makes a line of the fields, JSON without it."""
        self._write = write
        self._written = written or json_line
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
            self._lines.put_nowait(f"{self._written(timed(shown))}\n".encode())
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
        self._rates = TokenBuckets(_ALIKE_A_SECOND, _ALIKE_AT_ONCE)

    def emit(self, record: logging.LogRecord) -> None:
        if self._rates.take((record.name, str(record.msg)[:200])):
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


def json_line(fields: dict[str, Any]) -> str:
    """For programs; fields that begin with `_` are for a person's eyes only."""
    kept = {name: value for name, value in fields.items() if not name.startswith("_")}
    return msgspec.json.encode(kept).decode()


def timed(fields: dict[str, Any]) -> dict[str, Any]:
    return {"time": iso(time.time()), **fields}


_log = logging.getLogger("clawkit.memory")

KEY = "clawkit.exchange"
"""Where it stands in the ASGI scope."""

_TOOLS = frozenset({*DEFINITIONS, ACT})
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
        self.until_end = ExitStack()
        """What lasts until the request is over."""
        self._began = time.perf_counter()

    def asks(self, message: Message) -> str:
        """Note what is asked; gives the name of the tool that is called, if one is."""
        method = message.get("method")
        if not isinstance(method, str):
            return ""
        self.method = method if method in ROUTES else _OTHER
        if method.startswith("notifications/"):
            self.method = "notification"
        if method != "tools/call":
            return ""
        params: dict[str, Any] = message.get("params") or {}
        name = params.get("name")
        self.tool = name if isinstance(name, str) and name in _TOOLS else _OTHER
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
                "_being": self.access.being.name if self.access is not None else "",
                "_person": self.access.caller.person if self.access is not None else "",
            }
        )


class TracedEndpoint:
    """An endpoint of which each request is traced, and answered even where it fails."""

    def __init__(self, endpoint: Endpoint, record: TraceOutputs) -> None:
        self._endpoint = endpoint
        self._record = record

    async def __call__(self, scope: Any, receive: Receive, send: SendAsgi) -> None:
        trace = scope[KEY] = RequestTrace(scope)
        send = trace.watching(send)
        try:
            with trace.until_end:
                await self._endpoint(scope, receive, send)
        except Exception:  # noqa: BLE001 - every request gets an answer
            _log.exception("a request failed")
            if not trace.status:
                error = jsonrpc.failure(None, InternalError("Internal error"))
                await respond(send, 500, jsonrpc.encode(error))
        finally:
            trace.end(self._record)


def _request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """The caller's own id for the request where it is sane, else a new one."""
    given = next((value for name, value in headers if name == b"x-request-id"), b"")
    text = given.decode("latin-1").strip()
    return text if _SANE_ID.fullmatch(text) else secrets.token_hex(8)
