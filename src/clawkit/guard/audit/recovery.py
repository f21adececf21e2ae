"""Finds where the chain ends when the head file and the live file disagree, and says what is lost.

A writer that was killed leaves a line without a note of it, or part of a line. Whoever cuts lines
off the end leaves less than was noted: the chain then goes on from the note, so that the gap stays
and `verify` finds it. Without a note nobody can tell whether lines were cut off: the log says so.
"""

from __future__ import annotations

import os
from pathlib import Path

from clawkit.guard.audit.file_format import (
    GENESIS,
    LONGEST_LINE,
    End,
    Link,
    link_of,
    rotated_files,
    true_hash,
)


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
