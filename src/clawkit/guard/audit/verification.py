"""Verifies the hash chain: that nothing in the audit was changed, removed, added or moved."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

import msgspec

from clawkit.guard.audit.file_format import (
    GENESIS,
    HEAD,
    End,
    Link,
    LogFile,
    Snapshot,
    lines,
    link_of,
    snapshot,
    true_hash,
)
from clawkit.guard.audit.record import AuditEntry

_RECOVERY = b'"kind":"recovery"'


class ChainProblem(msgspec.Struct, frozen=True):
    """The first place where the chain does not hold; `line` is 0 where the whole file is meant."""

    file: str
    line: int
    reason: str


class Recovery(msgspec.Struct, frozen=True):
    """Where a writer had to find the end of the chain again, and what may be lost before it."""

    seq: int
    time: str
    reason: str


class Verdict(msgspec.Struct, frozen=True):
    """What was checked, up to the problem if there is one."""

    ok: bool
    records: int
    files: int
    first_seq: int
    """More than 1 when the oldest files have been rotated out."""
    last_seq: int
    problem: ChainProblem | None = None
    recoveries: tuple[Recovery, ...] = ()
    """Of a log that is whole, too: what was lost there can never be known."""


def verify(directory: Path) -> Verdict:
    """Follow the chain through all files, and see that it ends where the head says."""
    with snapshot(directory) as log:
        walk = _Walk(log.end)
        problem = walk.along(log.files) or walk.ending(log, directory)
        return Verdict(
            ok=problem is None,
            records=walk.records,
            files=len(log.files),
            first_seq=walk.first,
            last_seq=walk.last.seq,
            problem=problem,
            recoveries=tuple(walk.recoveries),
        )


class _Walk:
    """Goes along the chain, and knows the last link that held."""

    def __init__(self, end: End | None) -> None:
        self._end = end
        self._begin()

    def _begin(self) -> None:
        self.records = 0
        self.first = 0
        self.last: Link = Link(0, b"", GENESIS)
        self.recoveries: list[Recovery] = []
        self._met_end = False

    def along(self, files: tuple[LogFile, ...]) -> ChainProblem | None:
        for log_file in files:
            try:
                file = log_file.open()
            except FileNotFoundError:
                if files[0].path.exists():
                    return ChainProblem(str(log_file.path), 0, "it was removed just now")
                self._begin()  # rotated out just now, with all before it
                continue
            with file:
                problem = self._through(log_file, file)
            if problem is not None:
                return problem
        return None

    def _through(self, log_file: LogFile, file: BinaryIO) -> ChainProblem | None:
        if not self.records and log_file.first > 1:  # what came before is no longer kept
            self.last = Link(log_file.first - 1, b"", b"")
        last, left = self.last, log_file.size
        for number, line in enumerate(lines(file), 1):
            if left <= 0:  # written since
                break
            left -= len(line)
            link = link_of(line)
            if link is None:
                if not log_file.first and left <= 0 and not line.endswith(b"\n"):
                    break  # of a writer that was killed; the head knows what is missing
                return ChainProblem(
                    str(log_file.path), number, "it is no record, or only part of one"
                )
            if (
                link.hash != true_hash(line)
                or link.seq != last.seq + 1
                or (link.prev != last.hash and last.hash)
            ):
                return ChainProblem(str(log_file.path), number, _what_is_wrong(line, link, last))
            self.first = self.first or link.seq
            self.records += 1
            self.last = last = link
            if self._end is not None and link.seq == self._end.seq:
                self._met_end = link.hash == self._end.hash
            if _RECOVERY in line:
                self.recoveries += _recovery(line)
        return None

    def ending(self, log: Snapshot, directory: Path) -> ChainProblem | None:
        """Whether the chain ends where it should: a killed writer may leave a few records more."""
        end, last = log.end, self.last
        if end is None:
            if not self.records:
                return None
            reason = "it is missing or unreadable, so nobody can tell if the log's end was cut off"
        elif end.seq > last.seq:
            reason = (
                f"the log should end with record {end.seq} but ends with record {last.seq}: "
                f"{end.seq - last.seq} cut off"
            )
        elif self._met_end or end.seq == last.seq == 0:
            return None
        else:
            reason = f"the log should end with another record {end.seq} than it has"
        return ChainProblem(str(directory / HEAD), 0, reason)


def _recovery(line: bytes) -> list[Recovery]:
    record = msgspec.json.decode(line, type=AuditEntry)
    if record["kind"] != "recovery":  # its words stand in another record
        return []
    return [Recovery(record["seq"], record["time"], record.get("reason", ""))]


def _what_is_wrong(line: bytes, link: Link, last: Link) -> str:
    if link.hash != true_hash(line):
        return f"record {link.seq} was changed: its hash does not fit its content"
    if link.seq > last.seq + 1:
        missing = (
            f"record {link.seq - 1} is"
            if link.seq == last.seq + 2
            else f"records {last.seq + 1} to {link.seq - 1} are"
        )
        return f"{missing} missing before record {link.seq}"
    if link.seq <= last.seq:
        return f"record {link.seq} stands after record {last.seq}: moved or copied"
    return (
        f"record {link.seq} does not follow the record {last.seq} that is there: one was replaced"
    )
