"""The pipes that the guard stands between."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from clawkit.guard.stdio import widen
from clawkit.wire.line_io import BUFFER_BYTES


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def room_of(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_GETPIPE_SZ)


def test_a_pipe_takes_most_messages_as_a_whole_and_is_never_made_narrower() -> None:
    file = os.open(os.devnull, os.O_WRONLY)
    with pipe() as usual, pipe() as wide:
        fcntl.fcntl(wide[0], fcntl.F_SETPIPE_SZ, 2 * BUFFER_BYTES)
        widen(file, usual[1], wide[0])
        assert room_of(usual[0]) == BUFFER_BYTES
        assert room_of(wide[0]) == 2 * BUFFER_BYTES
    os.close(file)
