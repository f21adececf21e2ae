"""The CLI as a child: lines in, lines out, the end of its stderr kept, always reaped."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import secrets
import signal
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from clawkit.claude.messages import read_line
from clawkit.errors import (
    ClawError,
    CliEndedError,
    CliError,
    CliGarbageError,
    CliNotFoundError,
    SettingsError,
)
from clawkit.system.processes import KILL, descendants, end_all, send_signal
from clawkit.wire.jsonrpc import one_line

log = logging.getLogger("clawkit.claude")

_CHUNK = 256 * 1024
_KEPT_LINES = 20
_LONGEST_KEPT = 500
_GOODBYE = 5.0
_MOMENT = 2.0
_KILLED = 10.0
"""The system ends it at once; a busy event loop may hear of it later."""
_PATIENCE = 0.2
_GLANCE = 0.01
_MARK = "CLAW_CLI_RUN"
_NOT_THERE = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP, errno.EISDIR)


class CliProcess:
    def __init__(
        self,
        process: asyncio.subprocess.Process,
        mark: str,
        on_stderr: Callable[[str], None] | None,
        max_line: int,
    ) -> None:
        self._process = process
        self._mark = f"{_MARK}={mark}"
        self._max_line = max_line
        self._cut_off = False
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._on_stderr = on_stderr
        self._errors = asyncio.get_running_loop().create_task(self._read_stderr())

    @classmethod
    async def start(
        cls,
        command: Sequence[str],
        *,
        cwd: Path | str | None,
        environment: Mapping[str, str],
        on_stderr: Callable[[str], None] | None = None,
        max_line: int,
    ) -> CliProcess:
        if cwd is not None and not Path(cwd).is_dir():  # noqa: ASYNC240 - once, and local
            raise CliNotFoundError(f"cwd is {cwd}, which is no directory")
        mark = secrets.token_hex(8)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env={**environment, _MARK: mark},
                # Ctrl-C in a terminal is for the host, which decides what becomes of the CLI.
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise _not_started(command, error) from None
        return cls(process, mark, on_stderr, max_line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The last lines it wrote there."""
        return "\n".join(self._last_lines)

    async def write(self, data: bytes) -> None:
        """Send a message in one line; raises CliEndedError when nobody reads it."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise await self.ended()
        try:
            stdin.write(one_line(data) + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            raise await self.ended() from None

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes, a line at a time, until it ends; a line that it did not end is none."""
        stdout = self._process.stdout
        assert stdout is not None
        pending: list[bytes] = []
        size = 0
        while chunk := await stdout.read(_CHUNK):
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                pending.append(line)
                yield b"".join(pending)
                pending, size = [], 0
            if rest:
                pending.append(rest)
                size += len(rest)
                if size > self._max_line:
                    raise CliGarbageError(f"a line has more than {self._max_line} bytes")
        rest = b"".join(pending)
        self._cut_off = not _is_whole(rest)
        if rest and not self._cut_off:
            yield rest

    async def ended(self) -> CliEndedError:
        """The error that says how it ended."""
        await self._gone_within(_MOMENT)
        await asyncio.wait([self._errors], timeout=_PATIENCE)
        code = self._process.returncode
        where = ", in the middle of a message" if self._cut_off else ""
        return CliEndedError(f"the Claude CLI ended {_how(code)}{where}", self.stderr, code)

    async def stop(self) -> None:
        """Ask it to end, then end it, with everything it started."""
        left = descendants(self._process.pid)
        try:
            # Its stdin stays open meanwhile: it has a last hook to call, and hears the answer.
            if self._process.returncode is None:
                send_signal(self._process.pid, signal.SIGTERM)
            await self._gone_within(_GOODBYE)
        except asyncio.CancelledError:  # by a loop that ends, which will not hear of the end
            self._end(left)
            self._close().wait(_KILLED)
            raise
        self._end(left)
        await self._gone_within(_KILLED)
        self._close()
        self._errors.cancel()
        await asyncio.wait([self._errors])

    def _end(self, left: list[int]) -> None:
        """Kill it if need be, with what it left."""
        ours = self._process.pid  # somebody waits for this one
        if self._process.returncode is None:
            send_signal(ours, KILL)
        end_all([pid for pid in (*left, *marked(self._mark)) if pid != ours], _PATIENCE)

    def _close(self) -> subprocess.Popen[bytes]:
        """Let go of pipes that its children may hold, when it is gone or the loop is about to be.

        This asks the system how the process ended, which it tells only once.
        """
        transport = cast("asyncio.SubprocessTransport", getattr(self._process, "_transport"))  # noqa: B009 - it has no public name
        transport.close()
        return transport.get_extra_info("subprocess")

    async def _gone_within(self, seconds: float) -> None:
        """Wait for its end, but not, as `Process.wait` may, for that of whoever holds its pipes."""
        for _ in range(round(seconds / _GLANCE)):
            if self._process.returncode is not None:
                return
            await asyncio.sleep(_GLANCE)

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        pending = b""
        while chunk := await stderr.read(_CHUNK):
            *whole, pending = (pending + chunk).split(b"\n")
            for line in whole:
                self.keep(line)
            pending = pending[-_CHUNK:]
        if pending:
            self.keep(pending)

    def keep(self, line: bytes) -> None:
        """Take a line that is no message as one of its stderr."""
        text = line.decode(errors="replace").rstrip()
        self._last_lines.append(text[:_LONGEST_KEPT])
        if self._on_stderr is not None:
            try:
                self._on_stderr(text)
            except Exception:
                log.exception("the stderr callback failed")  # and the CLI goes on writing


def _is_whole(line: bytes) -> bool:
    try:
        read_line(line)
    except CliGarbageError:
        return False
    return True


def _not_started(command: Sequence[str], error: OSError) -> ClawError:
    if error.errno == errno.E2BIG:
        longest = max(command, key=len)
        name = longest.partition("=")[0]
        return SettingsError(
            f"{name} has {len(longest.encode())} bytes, more than a command line can have: shorten "
            "what it says"
        )
    said = f"{command[0]} cannot be started: {error.strerror}"
    return CliNotFoundError(said) if error.errno in _NOT_THERE else CliError(said)


def marked(mark: str) -> list[int]:
    """The processes with this in their environment: also those that have lost their parents.

    Where the system does not show it, none.
    """
    found: list[int] = []
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if mark.encode() in file.read_bytes().split(b"\0"):
                found.append(int(file.parent.name))
    return found


def _how(code: int | None) -> str:
    if code is None:
        return "its output, but still runs"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"by {signal.Signals(-code).name}"
    return f"with status {code}"
