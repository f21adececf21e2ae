"""The log on disk: chained lines, file names, the head file, and a snapshot of all of it.

A line is ``{"seq":1,…,"prev":"<64 hex>","hash":"<64 hex>"}``. Its hash is the SHA-256 of its bytes
up to ``,"hash":``, and `prev` is the hash of the line before, 64 zeros at the very start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import msgspec

from clawkit.errors import AuditError
from clawkit.settings import is_there
from clawkit.system.locks import lock

GENESIS = b"0" * 64
LONGEST_LINE = 64 * 1024

_START = b'{"seq":'
_PREV = b',"prev":"'
_HASH = b',"hash":"'
_HASH_PART = len(_HASH) + 64 + len(b'"}\n')
_PREV_PART = len(_PREV) + 64 + len(b'"')
LONGEST_BODY = LONGEST_LINE - 256  # what the log puts around it is shorter than that


class Link(msgspec.Struct, frozen=True):
    """What a line says of its place in the chain."""

    seq: int
    prev: bytes
    hash: bytes


def seal(seq: int, body: bytes, prev: bytes) -> tuple[bytes, bytes]:
    """The line for a record's `body` (its JSON without the braces), and the line's hash."""
    text = b'{"seq":%d,%b,"prev":"%b"' % (seq, body, prev)
    digest = sha256(text).hexdigest().encode()
    return b'%b,"hash":"%b"}\n' % (text, digest), digest


def link_of(line: bytes) -> Link | None:
    """The place that a line claims, whether or not that is true; None if it is no such line."""
    hash_at = len(line) - _HASH_PART
    prev_at = hash_at - _PREV_PART
    seq = line[len(_START) : line.find(b",")]
    if (
        prev_at < len(_START)
        or not line.startswith(_START)
        or not line.endswith(b'"}\n')
        or not line.startswith(_HASH, hash_at)
        or not line.startswith(_PREV, prev_at)
        or len(seq) > 18
        or not seq.isdigit()
    ):
        return None
    return Link(int(seq), line[prev_at + len(_PREV) : hash_at - 1], line[hash_at + len(_HASH) : -3])


def true_hash(line: bytes) -> bytes:
    """What the hash of a line must be."""
    return sha256(line[:-_HASH_PART]).hexdigest().encode()


LIVE = "audit.jsonl"
HEAD = "head"
_BEFORE, _AFTER = "audit-", ".jsonl"


def rotated_name(first: int) -> str:
    """What a file is called when it is full: by the number of its first record."""
    return f"{_BEFORE}{first:012d}{_AFTER}"


def rotated_files(directory: Path) -> list[tuple[int, Path]]:
    """The files that are no longer written, oldest first, each with its first record's number."""
    found = ((_first_seq(path.name), path) for path in directory.iterdir())
    return sorted((first, path) for first, path in found if first)


def _first_seq(name: str) -> int:
    digits = name.removeprefix(_BEFORE).removesuffix(_AFTER)
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return int(digits) if is_number and name == rotated_name(int(digits)) else 0


_SIZE = 20 + 1 + 20 + 1 + 64 + 1


class End(msgspec.Struct, frozen=True):
    """Where the chain ends: the last record's number and hash, and the size of the live file."""

    seq: int
    size: int
    hash: bytes


def format_end(end: End) -> bytes:
    return b"%020d %020d %b\n" % (end.seq, end.size, end.hash)


def parse_end(head: bytes) -> End | None:
    """What the head file says, None where it says nothing that could be meant."""
    parts = head.split()
    if len(head) != _SIZE or len(parts) != 3 or len(parts[2]) != 64:
        return None
    seq, size, last = parts
    return End(int(seq), int(size), last) if seq.isdigit() and size.isdigit() else None


if sys.platform == "win32":

    def read_head(fd: int) -> bytes:
        os.lseek(fd, 0, os.SEEK_SET)
        return os.read(fd, _SIZE + 1)

    def write_head(fd: int, text: bytes) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        os.write(fd, text)

else:

    def read_head(fd: int) -> bytes:
        return os.pread(fd, _SIZE + 1, 0)

    def write_head(fd: int, text: bytes) -> None:
        os.pwrite(fd, text, 0)


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
