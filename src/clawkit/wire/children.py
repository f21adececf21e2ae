"""The processes that this process started and that would outlive it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path


def end_children(patience: float = 0.15) -> None:
    """Ask every direct child to end, then make it. Where the system has no list, do nothing."""
    for stop in (signal.SIGTERM, signal.SIGKILL):
        children = _children()
        if not children:
            return
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, stop)
        _wait(children, patience)


def _children() -> list[int]:
    found: list[int] = []
    for listing in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in listing.read_text().split()]
    return found


def _wait(children: list[int], patience: float) -> None:
    deadline = time.monotonic() + patience
    while children and time.monotonic() < deadline:
        children = [pid for pid in children if not _reaped(pid)]
        if children:
            time.sleep(0.01)


def _reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
