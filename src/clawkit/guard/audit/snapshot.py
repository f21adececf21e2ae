"""The whole log at one moment, while its writers go on."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from clawkit.errors import AuditError
from clawkit.guard.audit.chain import LONGEST_LINE
from clawkit.guard.audit.files import HEAD, LIVE, rotated_files
from clawkit.guard.audit.head import End, parse_end, read_head
from clawkit.settings import is_there
from clawkit.system.locks import lock


class LogFile(msgspec.Struct, frozen=True):
    """One file of the log, as it was when the snapshot was taken."""

    path: Path
    first: int
    """The number of its first record, as its name says; 0 for the live file."""
    size: int
    live: BinaryIO | None = None
    """The live file, which may be put aside while it is read."""

    def open(self) -> BinaryIO:
        """Raises FileNotFoundError for one that has been rotated out meanwhile."""
        if self.live is None:
            return self.path.open("rb")
        file = os.fdopen(os.dup(self.live.fileno()), "rb")
        file.seek(0)
        return file


class Snapshot(msgspec.Struct, frozen=True):
    """The whole log at one moment, oldest file first, and where its head says that it ends."""

    files: tuple[LogFile, ...]
    end: End | None


def lines(file: BinaryIO) -> Iterator[bytes]:
    """The rest of a file, line by line; what is longer than a line can be comes in pieces."""
    while line := file.readline(LONGEST_LINE):
        yield line


@contextmanager
def snapshot(directory: Path) -> Generator[Snapshot]:
    """See what there is while no writer is busy; no directory is an empty log."""
    with ExitStack() as stack:
        try:
            found = _look(directory, stack)
        except OSError as error:
            raise AuditError(
                f"the audit log in {directory} cannot be read: {error.strerror}. "
                "Run this as the user whose proxies write it."
            ) from error
        yield found


def _look(directory: Path, stack: ExitStack) -> Snapshot:
    if not is_there(directory) or not directory.is_dir():
        return Snapshot(files=(), end=None)
    end = None
    with ExitStack() as held:
        if is_there(head := directory / HEAD):
            file = held.enter_context(head.open("rb"))
            lock(file.fileno())  # closing the file unlocks it
            end = parse_end(read_head(file.fileno()))
        files = [
            LogFile(path, first, path.stat().st_size) for first, path in rotated_files(directory)
        ]
        if is_there(path := directory / LIVE):
            live = stack.enter_context(path.open("rb"))
            files.append(LogFile(path, 0, os.fstat(live.fileno()).st_size, live))
    return Snapshot(files=tuple(files), end=end)
