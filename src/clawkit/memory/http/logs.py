"""The server's log: one JSON object a line, for requests and for what else is worth a line.

No line holds a token, a key, an argument or anything remembered: a request is its id, its known
method and tool, its status and time, and the ids of token and Being; an error is its type and the
places it came through. A thread of its own writes, so that a terminal or pipe that nobody reads
never stops the server; what does not fit into the queue is dropped and counted.
"""

from __future__ import annotations

import logging
import os
import queue
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import msgspec

from clawkit.errors import StoreError
from clawkit.memory.pace import Paces

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
        self._paces = Paces(_ALIKE_A_SECOND, _ALIKE_AT_ONCE)

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
