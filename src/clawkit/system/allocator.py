"""Tells the C allocator to keep freed memory for the next message."""

from __future__ import annotations

import contextlib
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as <malloc.h> of glibc numbers them
_KEPT = 4 * 1024 * 1024
_LARGE = 1024 * 1024


def keep_freed_memory() -> None:
    """Keep a few megabytes instead of giving them back, where the system lets us choose.

    A line of 64 KB is freed and the next one takes its place. By default both cost a visit to the
    kernel for every page, which takes longer than reading the line.
    """
    if sys.platform != "linux":
        return
    import ctypes

    with contextlib.suppress(AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _LARGE)
