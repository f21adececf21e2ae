"""Writes the audit: one line a record, in one chain, from many threads and processes at once.

`head` is both the lock and the note of where the chain ends, so no writer has to read the log. A
writer that dies between its line and its note leaves a file of another size than the note says,
and the next one mends that; where anything may have been lost, it writes that down for good.

Whoever cuts lines off the end leaves less than was noted: the chain then goes on from the note, so
that the gap stays and `verify` finds it. Without a note nobody can tell whether lines were cut off.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from clawkit.errors import AuditError
from clawkit.guard.audit.file_format import (
    GENESIS,
    HEAD,
    LIVE,
    LONGEST_LINE,
    End,
    Link,
    format_end,
    link_of,
    parse_end,
    read_head,
    rotated_files,
    rotated_name,
    seal,
    true_hash,
    write_head,
)
from clawkit.guard.audit.record import AuditRecord, body_of
from clawkit.guard.policy.call import is_invented
from clawkit.system.files import make_private
from clawkit.system.locks import lock_within, unlock

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
    """Counts what the conversations with one server say again and again.

    So nobody can push older records out of the log by saying much. Of one kind of event an hour
    keeps the first few records; then one record for each doubling stands for all that came since
    the last. The number of kinds is limited as well: beyond it reasons and flags are left out, and
    names that MCP does not have become one. A method of MCP keeps its name. Calls of the client and
    their answers, and what a person was asked to allow, are never counted so.
    """

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


_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
_CLOSED = -1
_PATIENCE = 5.0
"""How long others may hold the log: each of them is done within milliseconds."""
_UNREAD = b"unread"


class AuditLog:
    """The log in one directory. Every record is in the file when `write` returns."""

    def __init__(self, directory: Path, *, max_bytes: int = 64 << 20, keep: int = 16) -> None:
        self._directory = directory
        self._live_path = os.path.join(directory, LIVE)  # noqa: PTH118 - a str is quicker to stat
        self._max_bytes = max_bytes
        self._keep = max(1, keep)
        self._turn = threading.RLock()
        self._is_held = False
        self._head = _CLOSED
        self._live = _CLOSED
        self._inode = 0
        self._end = End(0, 0, b"")
        self._end_text = _UNREAD
        self._looked = 0
        self._second = 0
        self._second_text = b""

    def write(self, *records: AuditRecord) -> None:
        """Add records. Raises AuditError, and leaves no trace of them, if that cannot be done."""
        if not records:
            return
        bodies = [(body_of(record), bool(record.time)) for record in records]
        with self.held(), self._explaining():
            self._write(bodies)

    @contextmanager
    def held(self) -> Generator[None]:
        """Have the log alone for a block, in which it can be written to. Raises AuditError.

        What is done in the block is done before anybody else writes.
        """
        if not self._turn.acquire(timeout=_PATIENCE):
            raise AuditError(_explained(self._directory, TimeoutError("it is being written to")))
        try:
            if self._is_held:
                yield
            else:
                with self._explaining():
                    self._take_head()
                self._is_held = True
                try:
                    yield
                finally:
                    self._is_held = False
                    if self._head != _CLOSED:
                        unlock(self._head)
        finally:
            self._turn.release()

    @contextmanager
    def _explaining(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            self._close()
            raise AuditError(_explained(self._directory, error)) from error

    def close(self) -> None:
        with self._turn:
            self._close()

    def _write(self, bodies: list[tuple[bytes, bool]]) -> None:
        end = self._find_end()
        if end.size >= self._max_bytes:
            end = self._rotate(end)
        self._add(bodies, end)

    def _add(self, bodies: list[tuple[bytes, bool]], end: End) -> End:
        seq, digest, lines = end.seq, end.hash, b""
        for body, stamped in bodies:
            seq += 1
            time_part = b"" if stamped else b'"time":"%b",' % self._now()
            line, digest = seal(seq, time_part + body, digest)
            lines += line
        added = End(seq, end.size + len(lines), digest)
        self._append(lines, added, undo=end.size)
        return added

    def _take_head(self) -> None:
        """Lock the head file. Once a second, see that the files are still those in the directory.

        Not each time: after a stat, the next write has to renew the file's time, which costs more
        than all the rest.
        """
        while True:
            if self._head == _CLOSED:
                self._head = self._open_head()
            lock_within(self._head, _PATIENCE)
            second = int(time.time())
            if second == self._looked:
                return
            if os.fstat(self._head).st_nlink:
                self._end_text = _UNREAD
                self._looked = second
                return
            self._close()

    def _open_head(self) -> int:
        make_private(self._directory)
        if self._directory.stat().st_mode & 0o077:
            self._directory.chmod(0o700)
        return os.open(self._directory / HEAD, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)

    def _find_end(self) -> End:
        """Where the chain ends, with the live file open and as long as the head says."""
        text = read_head(self._head)
        known = self._end if text == self._end_text else self._look(text)
        if known is None or known.size != os.lseek(self._live, 0, os.SEEK_END):
            return self._recover(known)
        return known

    def _look(self, text: bytes) -> End | None:
        """What the head says after others have written: they may have begun a new live file."""
        if self._live == _CLOSED or not self._is_live():
            self._open_live()
        return parse_end(text)

    def _is_live(self) -> bool:
        try:
            return os.stat(self._live_path).st_ino == self._inode  # noqa: PTH116 - a str is quicker
        except FileNotFoundError:
            return False

    def _open_live(self) -> None:
        if self._live != _CLOSED:
            os.close(self._live)
            self._live = _CLOSED
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | _BINARY
        self._live = os.open(self._live_path, flags, 0o600)
        self._inode = os.fstat(self._live).st_ino

    def _recover(self, known: End | None) -> End:

        end, loss = recover(self._directory, self._live, known, self._end)
        if loss:  # noted only together with its record, so that no crash can lose that
            return self._add([(body_of(AuditRecord(kind="recovery", reason=loss)), False)], end)
        self._note(end)
        return end

    def _append(self, lines: bytes, end: End, *, undo: int) -> None:
        try:
            written = os.write(self._live, lines)
            while written < len(lines):  # a disk that is full says so only at the second attempt
                written += os.write(self._live, lines[written:])
            self._note(end)
        except OSError:
            os.ftruncate(self._live, undo)
            raise

    def _note(self, end: End) -> None:
        text = format_end(end)
        write_head(self._head, text)
        self._end = end
        self._end_text = text

    def _rotate(self, end: End) -> End:
        """Begin a new live file. Where the old one cannot be moved, go on with it."""
        target = self._directory / rotated_name(self._first_seq(end))
        if target.exists():
            return end
        os.close(self._live)
        self._live = _CLOSED
        with suppress(OSError):  # Windows moves no file that another process has open
            os.rename(self._live_path, target)  # noqa: PTH104 - the path is a str
        self._open_live()
        end = End(end.seq, os.lseek(self._live, 0, os.SEEK_END), end.hash)
        self._note(end)
        for _, path in rotated_files(self._directory)[: -self._keep]:
            with suppress(OSError):  # one that cannot be deleted now is deleted at the next turn
                path.unlink()
        return end

    def _first_seq(self, end: End) -> int:
        os.lseek(self._live, 0, os.SEEK_SET)
        digits = os.read(self._live, 32).partition(b'{"seq":')[2].partition(b",")[0]
        first = int(digits) if digits.isdigit() else end.seq
        return min(first, end.seq)  # a forged number must not name a file that is still to come

    def _now(self) -> bytes:
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second)).encode()
            self._second = second
        return b"%b.%03dZ" % (self._second_text, int((now - second) * 1000))

    def _close(self) -> None:
        for fd in (self._head, self._live):
            if fd != _CLOSED:
                os.close(fd)
        self._head = self._live = _CLOSED
        self._end_text = _UNREAD


def _explained(directory: Path, error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            advice = "make room on its disk"
        case errno.EACCES | errno.EPERM | errno.EROFS:
            advice = "make it writable for this user"
        case errno.ENOTDIR | errno.EEXIST:
            advice = "something that is no directory is in its way: move that"
        case None:
            advice = "end that program"
        case _:
            advice = "see that this user can write there"
    what = error.strerror or str(error)
    return f"the audit log in {directory} cannot be written ({what}), so nothing passes: {advice}"


def recover(directory: Path, live: int, known: End | None, seen: End) -> tuple[End, str]:
    """The end of the chain, and what may have been lost, if anything.

    `known` is what the head says, `seen` the last end that this writer has made. A partial last
    line of the live file is dropped.
    """
    size = os.fstat(live).st_size
    last, whole = _last_link(live, size)
    if whole < size:
        os.ftruncate(live, whole)
    last = last or _last_rotated(directory)
    if known is None and not last and not size and not seen.seq:
        return End(0, 0, GENESIS), ""
    loss = _loss(last.seq if last else 0, known, size - whole)
    known = known or (seen if seen.seq else End(0, 0, GENESIS))
    if last is not None and last.seq > known.seq:
        return End(last.seq, whole, last.hash), loss
    return End(known.seq, whole, known.hash), loss


def _loss(last: int, known: End | None, dropped: int) -> str:
    losses: list[str] = []
    if known is None:
        losses.append(
            f"the head file was missing or unreadable: nobody can tell what followed record {last}"
        )
    elif last < known.seq:
        losses.append(f"the log should have ended with record {known.seq}, not {last}")
    if dropped:
        losses.append(f"{dropped} bytes of an unfinished record were dropped")
    return "; ".join(losses)


def _last_rotated(directory: Path) -> Link | None:
    files = rotated_files(directory)
    if not files:
        return None
    with files[-1][1].open("rb") as file:
        return _last_link(file.fileno(), os.fstat(file.fileno()).st_size)[0]


def _last_link(fd: int, size: int) -> tuple[Link | None, int]:
    """The last whole line's place in the chain if it is a true one, and where that line ends."""
    whole = _last_line_end(fd, size)
    start = max(0, whole - LONGEST_LINE)
    line = _part(fd, start, whole)[:-1].rpartition(b"\n")[2] + b"\n"
    link = link_of(line)
    if link is None or link.hash != true_hash(line):
        return None, whole
    return link, whole


def _last_line_end(fd: int, size: int) -> int:
    while size:
        start = max(0, size - LONGEST_LINE)
        found = _part(fd, start, size).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return 0


def _part(fd: int, start: int, end: int) -> bytes:
    os.lseek(fd, start, os.SEEK_SET)
    return os.read(fd, end - start)
