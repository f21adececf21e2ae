"""Writes answers to the audit log after they were passed on, many at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple

from clawkit.errors import AuditError
from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.inspection import Inspected, injections_in
from clawkit.guard.journal import Flight, Journal
from clawkit.guard.passages import Side

_MOST_BYTES = 256 * 1024


class Answered(NamedTuple):
    """An answer that the log does not have yet."""

    side: Side
    flight: Flight
    inspected: Inspected
    line: bytes
    latency: float
    at: float
    look: bool
    """Whether to look for phrases that give orders to the model."""


class DeferredAudit:
    """A call is logged before it happens, its answer a moment after it has been passed on."""

    def __init__(self, journal: Journal, *, defers: bool) -> None:
        self._journal = journal
        self._defers = defers
        self._answers: deque[Answered] = deque()
        self._bytes = 0
        self._turn = threading.Lock()

    def __bool__(self) -> bool:
        return bool(self._answers)

    @property
    def is_much(self) -> bool:
        """Whether it should not wait for a quiet moment."""
        return self._bytes > _MOST_BYTES

    def add(
        self, side: Side, flight: Flight, inspected: Inspected, line: bytes, *, look: bool = False
    ) -> None:
        latency = time.monotonic() - flight.started
        self._answers.append(Answered(side, flight, inspected, line, latency, time.time(), look))
        self._bytes += len(line)
        # The calls that follow a list of tools refer to its record.
        if not self._defers or flight.call.method == "tools/list":
            self.write_down()

    def write_down(self) -> None:
        """Log them all; if that cannot be done, they stay. Raises AuditError."""
        with self._turn:
            answers = [self._answers.popleft() for _ in range(len(self._answers))]
            self._bytes = 0
            try:
                if answers:
                    self._journal.write([self._record(answered) for answered in answers])
            except AuditError:
                self._answers.extendleft(reversed(answers))
                raise

    def _record(self, answered: Answered) -> AuditRecord:
        side, flight, inspected, line, latency, at, look = answered
        flags = inspected.flags
        if look and not any(flag.startswith("injection:") for flag in flags):
            flags = (*flags, *injections_in(inspected.message, line))
        found = (side, flight, line, flags)
        return self._journal.answer(*found, latency=latency, at=at, refusal=inspected.refusal)
