"""The head file: a note of fixed width that says where the chain ends."""

from __future__ import annotations

import os
import sys

import msgspec

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
