"""The CLI as a child: lines in, lines out, the end of its stderr kept, always reaped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from clawkit.errors import CliEndedError, CliGarbageError, CliNotFoundError
from clawkit.wire.children import descendants, end_all

_CHUNK = 256 * 1024
_KEPT_LINES = 20
_LONGEST_KEPT = 500
_GOODBYE = 5.0
_TERMINATE = 2.0


class CliProcess:
    """A running CLI."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        on_stderr: Callable[[str], None] | None,
        max_line: int,
    ) -> None:
        self._process = process
        self._max_line = max_line
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
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env=dict(environment),
                # Ctrl-C in a terminal is for the host, which decides what becomes of the CLI.
                start_new_session=os.name == "posix",
            )
        except OSError as error:
            raise CliNotFoundError(f"{command[0]} cannot be started: {error.strerror}") from None
        return cls(process, on_stderr, max_line)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The last lines it wrote there."""
        return "\n".join(self._last_lines)

    async def write(self, data: bytes) -> None:
        """Send one line; raises CliEndedError when nobody reads it."""
        stdin = self._process.stdin
        if stdin is None or stdin.is_closing():
            raise await self.ended()
        try:
            stdin.write(data + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError):
            raise await self.ended() from None

    async def lines(self) -> AsyncIterator[bytes]:
        """What it writes, a line at a time, until it ends."""
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
        if size:
            yield b"".join(pending)

    async def ended(self) -> CliEndedError:
        """The error that says how it ended."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TERMINATE):
                await self._process.wait()
                await asyncio.shield(self._errors)
        code = self._process.returncode
        return CliEndedError(f"the Claude CLI ended {_how(code)}", self.stderr, code)

    async def stop(self) -> int | None:
        """Let it finish, then ask it to end, then end it, with everything it started."""
        stdin = self._process.stdin
        if stdin is not None:
            stdin.close()
        left = descendants(self._process.pid)
        for seconds, stop in ((_GOODBYE, signal.SIGTERM), (_TERMINATE, signal.SIGKILL)):
            if await self._gone_within(seconds):
                break
            left = descendants(self._process.pid) or left
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(stop)
        await self._process.wait()
        if left:
            await asyncio.to_thread(end_all, left, 0.2)
        self._errors.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._errors
        # Else a child of the CLI that holds its pipes would keep them open here.
        cast("asyncio.BaseTransport", getattr(self._process, "_transport")).close()  # noqa: B009 - it has no public name
        return self._process.returncode

    async def _gone_within(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    async def _read_stderr(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        pending = b""
        while chunk := await stderr.read(_CHUNK):
            *whole, pending = (pending + chunk).split(b"\n")
            for line in whole:
                self._keep(line)
            pending = pending[-_CHUNK:]
        if pending:
            self._keep(pending)

    def _keep(self, line: bytes) -> None:
        text = line.decode(errors="replace").rstrip()
        self._last_lines.append(text[:_LONGEST_KEPT])
        if self._on_stderr is not None:
            self._on_stderr(text)


def _how(code: int | None) -> str:
    if code is None:
        return "its output, but still runs"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"by {signal.Signals(-code).name}"
    return f"with status {code}"
