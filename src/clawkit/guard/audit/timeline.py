"""Joins each call of the audit with its approval and its answer, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from clawkit.guard.audit.reader import is_blocked, is_failure
from clawkit.guard.audit.record import AuditEntry

_MOST_WAITING = 1000
_ANSWERS = frozenset({"answer", "list"})
_TELLING = frozenset({"call", "drop", "approval", "pin", "recovery"})
_ASKED = {
    "": "asked, allowed",
    "once": "asked, allowed once",
    "session": "asked, allowed for this session",
    "tool": "asked, its tool allowed for this session",
    "always": "asked, allowed always",
    "folder": "asked, allowed always in its folder",
    "tool always": "asked, its tool allowed always",
    "a person said no": "asked, a person said no",
    "nobody answered in time": "asked, nobody answered in time",
    "the window was closed before anybody answered, and nobody is left to ask; "
    'open "claw approvals" in a terminal, or "claw console", and try again': (
        "asked, the window was closed before anybody answered"
    ),
    "withdrawn before anybody answered; not run": "asked, withdrawn before anybody answered",
}


class Row(msgspec.Struct):
    """One line of the view: what happened, and the answer to it where there is one."""

    record: AuditEntry
    answer: AuditEntry | None = None
    waiting: bool = False


def is_answer(record: AuditEntry) -> bool:
    """Whether this belongs to a call; what was blocked of it stands for itself as well."""
    return record["kind"] in _ANSWERS and "of" in record


def tells(record: AuditEntry) -> bool:
    """Whether a person wants to see this: a judged call, something blocked, something found."""
    if is_blocked(record):
        return True
    if is_answer(record) or record.get("decision") == "pass":
        return False
    return record["kind"] in _TELLING or bool(record.get("flags"))


def tells_anything(record: AuditEntry) -> bool:
    """The same for one who wants to see all: only plain answers stand at their calls."""
    return is_blocked(record) or not is_answer(record)


def name_of(record: AuditEntry) -> str:
    """What was called; a message that was dropped may have no name."""
    if name := record.get("tool") or record.get("method"):
        return name
    if record["kind"] != "drop":
        return ""
    if is_failure(record):
        return "(message)"
    return "(answer)" if record.get("reason", "").startswith("an answer") else "(unreadable)"


def was_asked(approval: AuditEntry) -> bool:
    """Whether a person saw the question; some are answered before, or can be put to nobody."""
    return approval.get("reason", "") in _ASKED


def said(approval: AuditEntry) -> str:
    """How the question to a person ended."""
    reason = approval.get("reason", "")
    return _ASKED.get(reason, reason)


def settled(call: AuditEntry, approval: AuditEntry) -> AuditEntry:
    """The call as it was decided in the end."""
    reasons = (call.get("reason", ""), said(approval))
    decision, reason = approval.get("decision", ""), "; ".join(filter(None, reasons))
    return {**call, "decision": decision, "reason": reason}


def rows(records: Iterable[AuditEntry], shown: Callable[[AuditEntry], bool]) -> Iterator[Row]:
    """The shown records in order, each held back until its answer is there or too far away."""
    held: deque[Row] = deque()
    calls: dict[str, Row] = {}
    for record in records:
        if not _joins(record, calls):
            row = Row(record, waiting=_may_change(record, shown))
            if row.waiting:
                calls[record.get("id", "")] = row
            if row.waiting or shown(record):
                held.append(row)
        while held and (not held[0].waiting or len(held) > _MOST_WAITING):
            done = held.popleft()
            if done.waiting:
                calls.pop(done.record.get("id", ""), None)
            if shown(done.record):
                yield done
    yield from (row for row in held if shown(row.record))


def _may_change(record: AuditEntry, shown: Callable[[AuditEntry], bool]) -> bool:
    """Whether more is to come: an answer, or a person's word, which may block it."""
    is_open = record["kind"] == "call" and not is_blocked(record)
    return is_open and (record.get("decision") == "prompt" or shown(record))


def _joins(record: AuditEntry, calls: dict[str, Row]) -> bool:
    """Put a record to the call that it is about; whether it is thereby told."""
    call = calls.get(record.get("of", ""))
    if call is None:
        return False
    if record["kind"] == "approval":
        call.record = settled(call.record, record)
    elif is_answer(record):
        call.answer = record
    if is_blocked(call.record) or call.answer is not None:
        call.waiting = False
        del calls[record.get("of", "")]
    return record["kind"] == "approval"


def as_they_come(
    records: Iterable[AuditEntry], shown: Callable[[AuditEntry], bool], *, after: int = 0
) -> Iterator[AuditEntry]:
    """The same for one who watches: calls at once, then a person's word, then the answer.

    Up to the record numbered `after`, they are only remembered.
    """
    calls: dict[str, AuditEntry] = {}
    for record in records:
        told, call = record, calls.get(record.get("of", ""))
        if call is not None and record["kind"] == "approval":
            told = calls[call.get("id", "")] = settled(call, record)
        elif record["kind"] == "call" and "id" in record:
            calls[record.get("id", "")] = record
            if len(calls) > _MOST_WAITING:
                del calls[next(iter(calls))]
        wanted = shown(told) or (is_answer(record) and call is not None and shown(call))
        if wanted and record["seq"] > after:
            yield told
