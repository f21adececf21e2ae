"""Reads the audit, oldest first: records filtered, followed as it grows, joined to their calls."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from clawkit.errors import UNREADABLE_JSON, AuditError
from clawkit.guard.audit.file_format import LIVE, LogFile, lines, snapshot
from clawkit.guard.audit.record import AuditEntry

_decode = msgspec.json.Decoder(AuditEntry).decode
_FAILURE = re.compile(
    r"could not be sent: |the connection to https?://\S+ broke \("
    r"|https?://\S+ (?:cannot be reached|answered with the status |did not begin to answer"
    r"|refused the request \(|does not know this session)"
)
"""How the reason begins where a message was lost on its way, and nobody stopped it."""

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class Wanted(msgspec.Struct, frozen=True):
    """Which records to give; an empty field asks for nothing. Names are globs (`fs_*`)."""

    blocked: bool = False
    server: str = ""
    tool: str = ""
    """Of a record without a tool, the method is compared."""
    since: str = ""
    """A time as records have it; `parse_since` makes it."""
    kinds: frozenset[str] = frozenset()

    def matches(self, record: AuditEntry) -> bool:
        return (
            (not self.since or record["time"] >= self.since)
            and (not self.blocked or is_blocked(record))
            and (not self.kinds or record["kind"] in self.kinds)
            and (not self.server or _fits(record.get("server", ""), self.server))
            and (not self.tool or _fits(record.get("tool") or record.get("method", ""), self.tool))
        )


EVERYTHING = Wanted()


def is_blocked(record: AuditEntry) -> bool:
    return record.get("decision") in ("deny", "drop") and not is_failure(record)


def is_failure(record: AuditEntry) -> bool:
    """Whether a message was not stopped but lost, because its server was not there."""
    return record.get("decision") == "drop" and bool(_FAILURE.match(record.get("reason", "")))


def require_place(directory: Path) -> None:
    """Raise AuditError where no log can be: no directory at all is an empty log."""
    try:
        os.listdir(directory)  # noqa: PTH208 - nothing is done with the names
    except FileNotFoundError:
        return
    except OSError as error:
        raise AuditError(
            f"{directory} cannot be used as the log: {error.strerror}. "
            "The guard lets nothing pass until it is a directory of yours: move away what is there"
        ) from None


def _fits(name: str, pattern: str) -> bool:
    from fnmatch import fnmatchcase

    return fnmatchcase(name, pattern)


def parse_since(text: str, now: float | None = None) -> str:
    """`10m`, `2h`, `1d` ago, or an ISO time (local if it names no zone), as records have it."""
    from datetime import UTC, datetime, timedelta

    ago = re.fullmatch(r"(\d{1,9})([smhdw])", text.strip())
    try:
        if ago:
            current = datetime.fromtimestamp(time.time() if now is None else now, UTC)
            moment = current - timedelta(seconds=int(ago[1]) * _UNITS[ago[2]])
        else:
            moment = datetime.fromisoformat(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise AuditError(
            f"{text!r} is no time: write 30s, 10m, 2h, 1d, 1w, or an ISO time, 2026-01-31T09:00"
        ).of_usage() from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read(directory: Path, wanted: Wanted = EVERYTHING, *, after: int = 0) -> Iterator[AuditEntry]:
    """The records that are wanted, oldest first, beginning after the one numbered `after`."""
    with snapshot(directory) as log:
        for file in _from(log.files, wanted.since, after):
            for record in _records(file):
                if record["seq"] > after and wanted.matches(record):
                    yield record


def seq_before_last(
    directory: Path, count: int, matches: Callable[[AuditEntry], bool] = EVERYTHING.matches
) -> int:
    """After which record to `read`, to get the last `count` that match. Reads the newest first."""
    with snapshot(directory) as log:
        for file in reversed(log.files):
            found = (record["seq"] for record in _records(file) if matches(record))
            last = deque(found, maxlen=count)
            count -= len(last)
            if not count:
                return last[0] - 1
    return 0


def follow(
    directory: Path,
    wanted: Wanted = EVERYTHING,
    *,
    last: int = 0,
    counts: Callable[[AuditEntry], bool] | None = None,
    poll: float = 0.2,
) -> Iterator[AuditEntry]:
    """The last few records, then each new one as it is written, for ever.

    `counts` says which records are meant by the last few.
    """
    matches = counts or wanted.matches
    tail = AuditTail(
        directory, seq_before_last(directory, last, matches) if last else _end(directory)
    )
    while True:
        yield from filter(wanted.matches, tail.more())
        time.sleep(poll)


class AuditTail:
    """A place in the log that moves on with it, also into the next live file."""

    def __init__(self, directory: Path, after: int) -> None:
        self._directory = directory
        self._after = after
        self._inode = 0
        self._offset = 0

    def more(self) -> Iterator[AuditEntry]:
        """What was written since the last time. Raises AuditError where it cannot be read."""
        live_file = self._directory / LIVE
        try:
            with live_file.open("rb") as live:
                known = os.fstat(live.fileno()).st_ino == self._inode
                if known:
                    live.seek(self._offset)
                    yield from self._new(live)
            if not known:
                yield from self._from_all_files()
        except FileNotFoundError:  # there is no log yet, or a writer is about to begin a new file
            return
        except OSError as error:
            raise _unreadable(Path(error.filename or live_file), error) from error

    def _from_all_files(self) -> Iterator[AuditEntry]:
        with snapshot(self._directory) as log:
            for log_file in _from(log.files, "", self._after):
                with suppress(FileNotFoundError), log_file.open() as file:
                    self._inode = os.fstat(file.fileno()).st_ino
                    self._offset = 0
                    yield from self._new(file)

    def _new(self, file: BinaryIO) -> Iterator[AuditEntry]:
        for line in lines(file):
            if not line.endswith(b"\n"):
                return
            self._offset += len(line)
            record = _entry(line)
            if record is not None and record["seq"] > self._after:
                self._after = record["seq"]
                yield record


def _end(directory: Path) -> int:
    with snapshot(directory) as log:
        return log.end.seq if log.end else 0


def _from(files: tuple[LogFile, ...], since: str, after: int) -> tuple[LogFile, ...]:
    """Drops the files that end before `after`, by the first record of the next file."""
    start = 0
    for number, file in enumerate(files[1:], 1):
        first = next(_records(file), None)
        if first is not None and (first["seq"] <= after + 1 or first["time"] < since):
            start = number
    return files[start:]


def _records(log_file: LogFile) -> Iterator[AuditEntry]:
    """What can be read of a file; `verify` tells what cannot."""
    try:
        with log_file.open() as file:
            yield from filter(None, map(_entry, lines(file)))
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(log_file.path, error) from error


def _unreadable(file: Path, error: OSError) -> AuditError:
    return AuditError(
        f"{file} cannot be read: {error.strerror}. Make it a file that you may read; "
        "`claw log verify` says whether the log is whole then"
    )


def _entry(line: bytes) -> AuditEntry | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return _decode(line)
    except UNREADABLE_JSON:
        return None


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
    "allowed by another answer": "asked, allowed by another answer",
    "the policy was changed, and allows it": "asked, the policy was changed, and allows it",
    "a person said no": "asked, a person said no",
    "a script said no": "asked, a script said no",
    "the form was dismissed": "asked, the form was dismissed",
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
    return "source" in approval or approval.get("reason", "") in _ASKED


def approval_outcome(approval: AuditEntry) -> str:
    """How the question to a person ended."""
    reason = approval.get("reason", "")
    other = f"asked, {reason}" if was_asked(approval) else reason
    return _ASKED.get(reason, other)


def settled(call: AuditEntry, approval: AuditEntry) -> AuditEntry:
    """The call as it was decided in the end."""
    reasons = (call.get("reason", ""), approval_outcome(approval))
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
