"""Counts what repeats itself, so that nobody can push older records out of the log by saying much.

Of one kind of event an hour keeps the first few records; then one record for each doubling stands
for all that came since the last. The number of kinds is limited as well: beyond it reasons and
flags are left out, and names that MCP does not have become one. A method of MCP keeps its name.
Calls of the client and their answers, and what a person was asked to allow, are never counted so.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import msgspec
from msgspec.structs import replace

from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.policy.call import is_invented

FIRST = 8
FIRST_REQUESTS = 32
"""A server's own requests say more than its notifications."""
FIRST_QUESTIONS = 256
"""Questions that reached the client, and their answers, are what a person or a model was told."""
MOST_KINDS = 32
HOUR = 3600.0
OTHERS = "(others)"

_QUESTIONS = ("elicitation/create", "sampling/createMessage")
_Kind = tuple[str, str, str, str, str, tuple[str, ...]]


class _Tally(msgspec.Struct):
    """One kind of event: how often it came this hour, and what is not in the log yet."""

    record: AuditRecord
    seen: int = 0
    waiting: int = 0
    size: int = 0

    def add(self, record: AuditRecord) -> Iterator[AuditRecord]:
        self.seen += 1
        if self.seen <= _first(record):
            yield record
            return
        self.record = record
        self.waiting += 1
        self.size += record.size
        if not self.seen & (self.seen - 1):
            yield from self.rest()

    def rest(self) -> Iterator[AuditRecord]:
        if self.waiting == 1:
            yield self.record
        elif self.waiting:
            yield replace(self.record, count=self.waiting, size=self.size, digest="")
        self.waiting = self.size = 0


class Repeats:
    """What the conversations with one server have said again and again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turn = threading.Lock()
        self._began = clock()
        self._tallies: dict[_Kind, _Tally] = {}

    def take(self, record: AuditRecord) -> list[AuditRecord]:
        """The records to write when this one comes: itself, none, or one for many."""
        if not _may_repeat(record):
            return [record]
        with self._turn:
            ended = self._end() if self._clock() - self._began > HOUR else []
            kind = _kind(record)
            if kind not in self._tallies and len(self._tallies) >= MOST_KINDS:
                record = _without_details(record)
                kind = _kind(record)
            tally = self._tallies.setdefault(kind, _Tally(record))
            return [*ended, *tally.add(record)]

    def drain(self) -> list[AuditRecord]:
        """All that was counted and not written yet."""
        with self._turn:
            return self._end()

    def _end(self) -> list[AuditRecord]:
        rest = [record for tally in self._tallies.values() for record in tally.rest()]
        self._tallies.clear()
        self._began = self._clock()
        return rest


def _may_repeat(record: AuditRecord) -> bool:
    if record.kind in ("notice", "drop"):
        return True
    if record.side == "server" and record.kind == "call":
        return record.decision != "prompt"
    return record.side == "client" and record.kind in ("answer", "list")


def _first(record: AuditRecord) -> int:
    if record.method in _QUESTIONS and record.decision in ("pass", "allow"):
        return FIRST_QUESTIONS
    return FIRST_REQUESTS if record.kind == "call" else FIRST


def _without_details(record: AuditRecord) -> AuditRecord:
    """What is left of a record when there are too many kinds: whatever MCP has a name for."""
    if is_invented(record.method) and record.method:
        record = replace(record, method=OTHERS, tool="")
    return replace(record, reason="", flags=())


def _kind(record: AuditRecord) -> _Kind:
    return (
        record.kind,
        record.side,
        record.method,
        record.decision,
        record.reason,
        record.flags,
    )
