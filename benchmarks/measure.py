"""Child processes under measurement: lines in and out, CPU time, memory, a bounded life."""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from benchmarks.report import MISSING

READ_SIZE = 1 << 20
START_TIMEOUT = 60.0


@dataclass(frozen=True)
class Command:
    """How to start a program."""

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """What a child had used up when it ended."""

    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Exchange:
    """The lines a child wrote in answer, and how long that took."""

    seconds: float
    output: bytes


class ChildFailed(Exception):
    """A child ended, or did not answer in time; carries the end of its stderr."""

    def __init__(self, reason: str, stderr: str) -> None:
        """Keep both parts for callers that show only one."""
        super().__init__(f"{reason}\n{stderr}" if stderr else reason)
        self.reason = reason
        self.stderr = stderr


@contextmanager
def running(command: Command) -> Iterator["Child"]:
    """Start a child; on leaving, exactly this process is killed."""
    # Its stderr goes to a file, so that it can never block on it.
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=_environment(command.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            bufsize=0,
        )
        child = Child(process, errors)
        try:
            yield child
        finally:
            child.end()
            child.close()


class Child:
    """One child process with pipes."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        """Make its pipes non-blocking: a child that stops reading must not stop us."""
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._errors = process, errors
        self._input, self._output = process.stdin, process.stdout
        self._usage: Usage | None = None
        os.set_blocking(self._input.fileno(), False)
        os.set_blocking(self._output.fileno(), False)

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def close(self) -> None:
        """Close our ends of the pipes."""
        self._input.close()
        self._output.close()

    def end(self) -> Usage:
        """Kill it now, so that its shutdown is not counted, and return what it had used."""
        if self._usage is None:
            os.kill(self.pid, signal.SIGKILL)
            _, status, used = os.wait4(self.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
            self._usage = Usage(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
        return self._usage

    def exchange(self, data: bytes, replies: int, timeout: float = START_TIMEOUT) -> Exchange:
        """Write `data` while reading, until `replies` lines have come back."""
        start = time.perf_counter()
        deadline = start + timeout
        unsent, chunks, lines = memoryview(data), list[bytes](), 0
        poller = select.poll()
        poller.register(self._output.fileno(), select.POLLIN)
        if unsent:
            poller.register(self._input.fileno(), select.POLLOUT)
        while unsent or lines < replies:
            for descriptor, _ in self._poll(poller, deadline, lines, replies):
                if descriptor == self._input.fileno():
                    unsent = self._send(unsent)
                    if not unsent:
                        poller.unregister(descriptor)
                else:
                    chunks.append(self._receive(lines, replies))
                    lines += chunks[-1].count(b"\n")
        return Exchange(time.perf_counter() - start, b"".join(chunks))

    def _poll(
        self, poller: select.poll, deadline: float, lines: int, replies: int
    ) -> list[tuple[int, int]]:
        left = deadline - time.perf_counter()
        events = poller.poll(left * 1000) if left > 0 else []
        if not events:
            raise self._failure(f"no answer in time; {lines} of {replies} replies came")
        return events

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._input.fileno(), unsent[:READ_SIZE]) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            raise self._failure("it closed its input") from None

    def _receive(self, lines: int, replies: int) -> bytes:
        data = os.read(self._output.fileno(), READ_SIZE)
        if not data:
            raise self._failure(f"it ended its output after {lines} of {replies} replies")
        return data

    def _failure(self, reason: str) -> ChildFailed:
        self._errors.seek(0)
        return ChildFailed(reason, self._errors.read()[-1500:].decode(errors="replace").strip())

    def resident_mb(self) -> float:
        """Resident memory now; missing where there is no /proc."""
        return self._status_mb("VmRSS")

    def peak_mb(self) -> float:
        """The most that was ever resident; missing where there is no /proc."""
        return self._status_mb("VmHWM")

    def cpu_seconds(self) -> float:
        """CPU time of all its threads so far; missing where the system has no such clock."""
        try:
            return time.clock_gettime(_cpu_clock_of(self.pid))
        except OSError:
            return MISSING

    def _status_mb(self, name: str) -> float:
        try:
            lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        except OSError:
            return MISSING
        return next((int(x.split()[1]) / 1024 for x in lines if x.startswith(name)), MISSING)


def _cpu_clock_of(pid: int) -> int:
    # What clock_getcpuclockid(3) computes on Linux, which Python does not offer for processes.
    return (~pid << 3) | 2


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    """Ours with the changes; compiled code is kept, as it is for every installed package."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **changes}
