"""Pairs each call of the audit with its answer, for those who read it call by call."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator

import msgspec

from clawkit.guard.audit.entry import Entry
from clawkit.guard.audit.reading import is_blocked

_MOST_WAITING = 1000
_ANSWERS = frozenset({"answer", "list"})
_TELLING = frozenset({"call", "drop", "approval", "pin"})


class Row(msgspec.Struct):
    """One line of the view: what happened, and the answer to it where there is one."""

    record: Entry
    answer: Entry | None = None
    waiting: bool = False


def is_answer(record: Entry) -> bool:
    """Whether this belongs to a call; what was blocked of it stands for itself as well."""
    return record["kind"] in _ANSWERS and "of" in record


def tells(record: Entry) -> bool:
    """Whether a person wants to see this: a judged call, something blocked, something found."""
    if is_blocked(record):
        return True
    if is_answer(record) or record.get("decision") == "pass":
        return False
    return record["kind"] in _TELLING or bool(record.get("flags"))


def tells_anything(record: Entry) -> bool:
    """The same for one who wants to see all: only plain answers stand at their calls."""
    return is_blocked(record) or not is_answer(record)


def rows(records: Iterable[Entry], shown: Callable[[Entry], bool]) -> Iterator[Row]:
    """The shown records in order, each held back until its answer is there or too far away."""
    held: deque[Row] = deque()
    calls: dict[str, Row] = {}
    for record in records:
        call = calls.pop(record.get("of", ""), None) if is_answer(record) else None
        if call is not None:
            call.answer = record
            call.waiting = False
        if shown(record):
            row = Row(record, waiting=record["kind"] == "call" and not is_blocked(record))
            held.append(row)
            if row.waiting:
                calls[record.get("id", "")] = row
        while held and (not held[0].waiting or len(held) > _MOST_WAITING):
            done = held.popleft()
            if done.waiting:
                calls.pop(done.record.get("id", ""), None)
            yield done
    yield from held
