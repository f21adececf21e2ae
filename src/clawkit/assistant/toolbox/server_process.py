"""The process of a stdio server: lines in and out, stderr, and the end of its process group.

However this process goes, the server goes too: `stop` asks it and then makes it, the end of the
interpreter makes it, and if this process is killed, a shell that waits for that does.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import logging
import os
import re
import shutil
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from msgspec import Struct

from clawkit.system.processes import KILL, descendants, end_all
from clawkit.system.watchdog import Watchdog
from clawkit.wire.jsonrpc import one_line

log = logging.getLogger("clawkit.assistant.toolbox")

GRACE = 1.5
"""How long a server may take to end when its input has; then it is told to."""

_LAST_GRACE = 0.5
_DRAIN = 0.25
_REAPED = 5.0
LONGEST_LINE = 100_000_000
_KEPT_LINES = 8

# What a program needs to find its way. Everything else stays here: a person's shell is full of keys
# (for models, repositories, clouds), and a server is somebody else's code. One that needs a key is
# given it by name, as `env` in the config.
_PASSED_ON = re.compile(
    r"HOME|LOGNAME|PATH|SHELL|TERM|USER|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|TEMP|TMP|XDG_\w+|CLAW_HOME"
    r"|(?:HTTP|HTTPS|ALL|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS"
    r"|APPDATA|COMSPEC|HOMEDRIVE|HOMEPATH|LOCALAPPDATA|PATHEXT|PROCESSOR_ARCHITECTURE|PROGRAMDATA"
    r"|PROGRAMFILES|SYSTEMDRIVE|SYSTEMROOT|USERNAME|USERPROFILE|WINDIR"
)

_living: set[ServerProcess] = set()


class Command(Struct, frozen=True):
    """What to run, and where."""

    program: str
    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: str | None = None


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of the environment that every server gets."""
    return {n: value for n, value in environment.items() if _PASSED_ON.fullmatch(n.upper())}


class ServerProcess(asyncio.SubprocessProtocol):
    """One process. `take` gets each line of its stdout, `on_end` hears that there are no more."""

    def __init__(
        self,
        name: str,
        take: Callable[[bytes], None],
        on_end: Callable[[], None],
        show: Callable[[str], str],
    ) -> None:
        self.pid = 0
        self._name = name
        self._take = take
        self._on_end = on_end
        self._show = show
        self._out = bytearray()
        self._err = bytearray()
        self._seen = 0
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        self._exited = asyncio.Event()
        self._drained = asyncio.Event()
        self._open_pipes = {1, 2}
        self._has_ended = False
        self._is_unwanted = False
        """Whether nobody waited for it to start, which asyncio may finish nevertheless."""
        self._is_closing = False
        self.was_stopped = False
        """Whether it ended because it was told to."""
        self._watchdog = Watchdog(grace=1)

    @classmethod
    async def start(
        cls,
        name: str,
        command: Command,
        take: Callable[[bytes], None],
        on_end: Callable[[], None],
        show: Callable[[str], str],
    ) -> ServerProcess:
        """Run the command; raises OSError if that is not possible."""
        program = _find(command)
        child = cls(name, take, on_end, show)
        try:
            await asyncio.get_running_loop().subprocess_exec(
                lambda: child,
                program,
                *command.arguments,
                env=child._watchdog.marked(command.environment),
                cwd=command.folder,
                start_new_session=True,
            )
        except BaseException:
            child._is_unwanted = True
            if child.pid:
                child.kill()
            raise
        return child

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()
        if self._is_unwanted:
            _kill_all(self.pid)
            self._close()
            return
        self._input = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        self._watchdog.begin(self.pid, -self.pid)
        _living.add(self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._err += data
            *lines, rest = self._err.split(b"\n")
            self._err = rest[-10_000:]
            for line in lines:
                self._note(line)
            return
        self._out += data
        while (end := self._out.find(b"\n", self._seen)) >= 0:
            line = bytes(self._out[:end])
            del self._out[: end + 1]
            self._seen = 0
            if line.strip():
                self._take(line)
        self._seen = len(self._out)
        if self._seen > LONGEST_LINE:
            self._note(f"a line of stdout is longer than {LONGEST_LINE} bytes".encode())
            self.kill()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._open_pipes.discard(fd)
        if not self._open_pipes:
            self._drained.set()
        if fd == 1:
            self._end()
        elif fd == 2 and self._err:
            self._note(self._err)

    def process_exited(self) -> None:
        self._exited.set()
        if self._is_closing:
            self._transport.close()
        # What it wrote last may still be in the pipe, and a child of its own may hold that open.
        asyncio.get_running_loop().call_later(_DRAIN, self._end)

    @property
    def exit_code(self) -> int | None:
        return self._transport.get_returncode()

    @property
    def last_words(self) -> str:
        """The last lines of its stderr, on one."""
        return " | ".join(self._last)

    def is_alive(self) -> bool:
        """Whether it can be spoken to; asks the system, which knows before the event loop does."""
        if self._has_ended or self._exited.is_set():
            return False
        if not hasattr(os, "waitid"):
            return True
        with contextlib.suppress(ChildProcessError):
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.pid, options) is None
        return False

    def pause(self) -> None:
        """Let it wait with what it writes next."""
        self._output().pause_reading()

    def resume(self) -> None:
        if not self._has_ended:
            self._output().resume_reading()

    def _output(self) -> asyncio.ReadTransport:
        return cast("asyncio.ReadTransport", self._transport.get_pipe_transport(1))

    def write(self, line: bytes) -> None:
        self._input.write(one_line(line) + b"\n")

    async def stop(self) -> None:
        """End it, and whatever it has started."""
        try:
            started = descendants(self.pid)
            self.was_stopped = self.is_alive()
            self._input.close()
            if not await _happens(self._exited, GRACE):
                _signal_group(self.pid, signal.SIGTERM)
                await _happens(self._exited, _LAST_GRACE)
            await self._end_group()
            await _happens(self._drained, _DRAIN)
            left = [pid for pid in started if _exists(pid)]
            if left:
                await asyncio.to_thread(end_all, left, _LAST_GRACE)
        finally:
            self.kill()
        await self.gone()

    async def gone(self) -> None:
        """Wait until the event loop, too, knows that it has been killed."""
        await _happens(self._exited, _REAPED)
        await asyncio.sleep(0)  # The transport closes in the next turn of the loop.

    async def _end_group(self) -> None:
        """What a server leaves behind is told to end too, and has a moment to do so."""
        patience = _LAST_GRACE
        if _signal_group(self.pid, signal.SIGTERM):
            while patience > 0 and _signal_group(self.pid, 0):
                await asyncio.sleep(0.01)
                patience -= 0.01

    def kill(self) -> None:
        """End all of it at once."""
        _living.discard(self)
        _kill_all(self.pid)
        self._watchdog.stop()
        self._close()
        self._end()

    def _close(self) -> None:
        """Let go of it; of one that was killed just now, once the event loop knows of its end.

        To close the transport asks the system how the process ended, which it tells only once:
        the event loop, which waits for that, would complain that it has lost a child.
        """
        if self.exit_code is not None or sys.platform == "win32":
            self._transport.close()
            return
        self._is_closing = True
        for number in range(3):
            pipe = self._transport.get_pipe_transport(number)
            if pipe is not None:
                pipe.close()

    def _end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._on_end()

    def _note(self, line: bytes | bytearray) -> None:
        text = self._show(line.decode(errors="replace").rstrip())
        if text:
            self._last.append(text[:500])
            log.debug("%s: %s", self._name, text)


def _find(command: Command) -> str:
    """The program: with a path as it is, without one wherever the server's own PATH has it."""
    program = command.program
    if program.startswith("~"):
        return str(Path(program).expanduser())
    if "/" in program or os.sep in program:
        return program
    found = shutil.which(program, path=command.environment.get("PATH"))
    if found is None:
        raise FileNotFoundError(program)
    return found


def _signal_group(pid: int, number: int) -> bool:
    """Signal the process and what it started; whether there is anything left of them."""
    if sys.platform == "win32":
        return False  # Closing its transport ends the process.
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _kill_all(pid: int) -> None:
    """End the process and what it started, wherever that has gone."""
    started = descendants(pid)
    _signal_group(pid, KILL)
    for each in started:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(each, KILL)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def _happens(event: asyncio.Event, patience: float) -> bool:
    """Whether something happens in time."""
    try:
        async with asyncio.timeout(patience):
            await event.wait()
    except TimeoutError:
        return False
    return True


@atexit.register
def _end_the_living() -> None:
    """The interpreter ends, and somebody did not call `stop`."""
    for child in list(_living):
        _kill_all(child.pid)
