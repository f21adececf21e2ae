"""Reads the audit: every record, oldest first, filtered, or followed as it grows."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from clawkit.errors import AuditError
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
        """What was written since the last time."""
        try:
            with (self._directory / LIVE).open("rb") as live:
                known = os.fstat(live.fileno()).st_ino == self._inode
                if known:
                    live.seek(self._offset)
                    yield from self._new(live)
        except FileNotFoundError:  # there is no log yet, or a writer is about to begin a new file
            return
        if not known:
            yield from self._from_all_files()

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
    """Without the files that end too early, which the first record of the next one tells."""
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
        raise AuditError(f"{log_file.path} cannot be read: {error.strerror}") from error


def _entry(line: bytes) -> AuditEntry | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return _decode(line)
    except (msgspec.DecodeError, RecursionError):
        return None
