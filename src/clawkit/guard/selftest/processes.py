"""What the system says about processes: who runs, and how much memory and time they have taken."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def processes_with(argument: str) -> list[int]:
    """The processes that were started with exactly this argument."""
    if not (_PROC / "self/cmdline").exists():
        listed = subprocess.run(
            ["ps", "-axo", "pid=,args="], capture_output=True, text=True, check=False
        ).stdout
        return [int(line.split()[0]) for line in listed.splitlines() if argument in line.split()]
    found: list[int] = []
    for entry in _PROC.iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and argument.encode() in (
                (entry / "cmdline").read_bytes().split(b"\0")
            ):
                found.append(int(entry.name))
    return found


def end_processes_with(argument: str) -> None:
    for process in processes_with(argument):
        with suppress(OSError):
            os.kill(process, signal.SIGTERM if sys.platform == "win32" else signal.SIGKILL)


def peak_memory(process: int) -> int | None:
    """The most bytes that a process ever held; None where the system does not say."""
    try:
        status = (_PROC / str(process) / "status").read_text()
    except OSError:
        return None
    peak = next((line for line in status.splitlines() if line.startswith("VmHWM:")), None)
    return int(peak.split()[1]) * 1024 if peak else None


def cpu_seconds(process: int) -> float | None:
    """How long a process has computed; None where the system does not say."""
    try:
        fields = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
