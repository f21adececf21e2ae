"""A guard process with a victim behind it, the client's pipes, and its use of the system."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

from clawkit.guard.selftest.verdicts import Crashed, Hung

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


_STDERR_KEPT = 20_000
_STOP = 5.0


class GuardProcess:
    """Started on creation. Whatever it writes is kept, in order, for as long as it runs."""

    def __init__(
        self, command: list[str], cwd: Path, environment: dict[str, str], journal: Path
    ) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=environment,
            start_new_session=True,
        )
        self._journal = journal
        self.received: list[bytes] = []
        self._ended = False
        self._news = threading.Condition()
        self._stderr = b""
        self._outbox: SimpleQueue[tuple[bytes, threading.Event] | None] = SimpleQueue()
        self._broken = False
        self._threads = [
            threading.Thread(target=work, daemon=True)
            for work in (self._read, self._read_errors, self._write)
        ]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._news:
                self.received.append(line)
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._stderr = (self._stderr + line)[-_STDERR_KEPT:]

    def _write(self) -> None:
        assert self.process.stdin is not None
        while (item := self._outbox.get()) is not None:
            data, done = item
            try:
                self.process.stdin.write(data)
                self.process.stdin.flush()
            except (OSError, ValueError):
                self._broken = True
            done.set()
        try:
            self.process.stdin.close()
        except OSError:
            self._broken = True

    def write(self, data: bytes, patience: float) -> None:
        """Send bytes as they are. Raises Hung if the guard does not take them."""
        done = threading.Event()
        self._outbox.put((data, done))
        if not done.wait(patience):
            raise Hung(f"the guard did not take {len(data)} bytes within {patience:g} s")
        if self._broken:
            raise Crashed(self.last_words("the guard closed its input"))

    def close_input(self) -> None:
        self._outbox.put(None)

    def wait_for(
        self, wanted: Callable[[dict[str, Any]], bool], since: int, patience: float, what: str
    ) -> dict[str, Any]:
        """The first message after `since` that is wanted. Raises Crashed or Hung without one."""
        deadline = time.monotonic() + patience
        at = since
        while True:
            with self._news:
                while at >= len(self.received):
                    if self._ended:
                        raise Crashed(self.last_words(f"the guard ended without {what}"))
                    if not self._news.wait(max(0.0, deadline - time.monotonic())):
                        raise Hung(f"no {what} within {patience:g} s")
                line = self.received[at]
            at += 1
            message = parsed(line)
            if message is not None and wanted(message):
                return message

    def wait_for_end(self, patience: float) -> int:
        """The guard's exit status. Raises Hung while it runs on."""
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            raise Hung(f"the guard still runs after {patience:g} s") from None

    def journal(self) -> bytes:
        """All that has reached the victim."""
        return self._journal.read_bytes() if self._journal.exists() else b""

    def last_words(self, what: str) -> str:
        try:
            status = f", status {self.process.wait(1)}"
        except subprocess.TimeoutExpired:
            status = ""
        words = self._stderr.decode(errors="replace").strip().splitlines()[-1:]
        return f"{what}{status}" + (f": {words[0]}" if words else "")

    def stop(self) -> None:
        """End the guard, and with it what it started."""
        self._outbox.put(None)
        try:
            self.process.wait(_STOP if self._ended else 0.5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(_STOP)
        end_processes_with(str(self._journal))
        for thread in self._threads:
            thread.join(_STOP)
        for pipe in (self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


def parsed(line: bytes) -> dict[str, Any] | None:
    """The message in a line; None where there is none."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
