"""Real server processes for tests: started, spoken to line by line, and always ended."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parent.parent
PATIENCE = 300
"""Seconds until a test gives up. However busy the machine is, only what hangs takes that long."""
_others: set[psutil.Process] = set()


def overlook_others() -> None:
    """What runs before a test was started by another: a database server for all, for one."""
    _others.clear()
    _others.update(psutil.Process().children(recursive=True))


def started() -> list[psutil.Process]:
    """What this process has started since."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if child not in _others]


class StdioServer:
    """A child that speaks one JSON message a line."""

    def __init__(self, *command: str, env: dict[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
        )
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._errors: list[bytes] = []
        self._readers = [
            threading.Thread(target=read, daemon=True) for read in (self._pump, self._pump_errors)
        ]
        for reader in self._readers:
            reader.start()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _pump_errors(self) -> None:
        assert self.process.stderr is not None
        self._errors.extend(self.process.stderr)

    @property
    def stderr(self) -> str:
        return b"".join(self._errors).decode(errors="replace")

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def receive(self, patience: float = PATIENCE) -> dict[str, Any]:
        """The next message; every line of stdout must be one."""
        return json.loads(self.receive_line(patience))

    def receive_line(self, patience: float = PATIENCE) -> bytes:
        """The next line of stdout, as it was."""
        line = self._lines.get(timeout=patience)
        if not line:
            raise EOFError(f"the server ended: {self.stderr}")
        return line

    def silent(self, seconds: float) -> bool:
        """Whether nothing arrives for this long."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return True
        self._lines.put(line)
        return False

    def ask(self, message: dict[str, Any], patience: float = PATIENCE) -> dict[str, Any]:
        """Send a request and return its reply, passing over notifications."""
        self.send(message)
        while (found := self.receive(patience)).get("id") != message["id"]:
            pass
        return found

    def call(self, method: str, params: dict[str, Any] | None = None, id: Any = 1) -> Any:
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
        if params is not None:
            message["params"] = params
        return self.ask(message)

    def close_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def stop(self) -> None:
        if self.process.poll() is None:
            # What it started would keep our pipes open.
            started = psutil.Process(self.process.pid).children(recursive=True)
            self.process.kill()
            for child in started:
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        self.process.wait(PATIENCE)
        for reader in self._readers:  # A pipe that is closed while it is read from is a ValueError.
            reader.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                pipe.close()


@contextmanager
def stdio_server(*command: str, env: dict[str, str] | None = None) -> Iterator[StdioServer]:
    server = StdioServer(*command, env=env)
    try:
        yield server
    finally:
        server.stop()


def serving(file: str | Path) -> tuple[str, ...]:
    """The command that serves a Python file over stdio."""
    return (sys.executable, "-m", "clawkit", "serve", str(file))


def on_a_full_disk(*command: str, room: int = 0) -> tuple[str, ...]:
    """The command in a process that can write no more than `room` bytes to any file."""
    limit = (
        "import os, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))\n"
        "os.execv(sys.argv[2], sys.argv[2:])\n"
    )
    return (sys.executable, "-c", limit, str(room), *command)


def guarding(*command: str) -> tuple[str, ...]:
    """The command that puts a guard which allows everything in front of a server."""
    policy = str(ROOT / "tests" / "samples" / "allow_all.toml")
    return (sys.executable, "-m", "clawkit", "proxy", "--policy", policy, "--", *command)


@contextmanager
def address_of(process: subprocess.Popen[str]) -> Iterator[str]:
    """Where a server says that it is, on stderr; it ends with the block."""
    assert process.stderr is not None
    line = process.stderr.readline()
    drain = threading.Thread(target=process.stderr.read, daemon=True)
    drain.start()
    try:
        assert " is at http://" in line, line
        yield line.split(" is at ")[1].strip()
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
            drain.join()
            process.stderr.close()


@contextmanager
def http_server(file: str | Path, *options: str) -> Iterator[str]:
    """Serve a Python file over HTTP on a free port; gives its address."""
    command = (sys.executable, "-m", "clawkit", "serve", str(file), "--http", "0", *options)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, text=True)
    with address_of(process) as address:
        yield address


def heard_late(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until this is set, threads that wait for the end of a child do not ask how it ended."""
    asks, hears = os.waitpid, threading.Event()

    def waitpid(pid: int, options: int) -> tuple[int, int]:
        if threading.current_thread() is not threading.main_thread():
            hears.wait(PATIENCE)
        return asks(pid, options)

    monkeypatch.setattr(os, "waitpid", waitpid)
    return hears
