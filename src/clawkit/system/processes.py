"""This process and its children: adopted, signalled and ended; freed memory kept for reuse."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # as <malloc.h> of glibc numbers them
_KEPT = 4 * 1024 * 1024
_LARGE = 1024 * 1024


def program() -> str:
    """The name that this process was started by; a module run by Python is `claw`."""
    name = Path(sys.argv[0]).stem.lower()
    return "claw" if name == "__main__" else name


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


_SET_DUMPABLE = 4
_SET_CHILD_SUBREAPER = 36
KILL = signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL
"""The signal that no process survives."""


def close_to_others() -> None:
    """Let no other process open our pipes and memory under /proc, where there is such a thing.

    A program that we start is open again. Whoever has the rights of a debugger, as root has, is
    not kept out.
    """
    _prctl(_SET_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, where the system knows such a thing."""
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def end_children(patience: float = 0.15) -> None:
    """Ask every descendant to end, then make it. Where the system has no list, do nothing."""
    end_all(descendants(os.getpid()), patience)


def send_signal(pid: int, number: int) -> None:
    """Signal a process that may be gone, and leave it to others to ask how it ended.

    `Popen.send_signal` and asyncio's ask first, which the system tells only once: whoever waits
    for the child would be told that there is none.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def end_all(pids: list[int], patience: float) -> None:
    """Ask these to end; those that are still there after `patience` seconds are ended."""
    for stop in (signal.SIGTERM, signal.SIGKILL):
        for pid in pids:
            send_signal(pid, stop)
        pids = _left_after(patience, pids)


def descendants(pid: int) -> list[int]:
    """The processes that a process and its children have started."""
    found: list[int] = []
    with contextlib.suppress(OSError):  # a process may end while we look
        for listing in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                for child in listing.read_text().split():
                    found += [int(child), *descendants(int(child))]
    return found


def _left_after(patience: float, pids: list[int]) -> list[int]:
    deadline = time.monotonic() + patience
    while (pids := [pid for pid in pids if not _ended(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return pids


def _ended(pid: int) -> bool:
    """Whether a process is gone; a child of ours is reaped, a grandchild somebody else will."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    return not Path(f"/proc/{pid}").exists()
