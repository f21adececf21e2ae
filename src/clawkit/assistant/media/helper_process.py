"""Child processes that work on one attachment: they end with the call, and with us.

Run as a module, this is such a process around a command. Its standard input is a pipe that we hold
and never write to: that it ends is the one sign of our death that no way of dying can withhold.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from clawkit.system.processes import adopt_orphans, end_children

if TYPE_CHECKING:
    from asyncio.subprocess import Process

_PATIENCE = 1.0
_STEP = 0.005
_LONGEST_LINE = 64 * 1024 * 1024


class HelperProcess:
    """`async with Helper.start(...)`: a Python module of ours in a process of its own.

    The module sees its standard input end when it shall end too.
    """

    def __init__(self, process: Process, lifeline: int) -> None:
        self.process = process
        self._lifeline = lifeline

    @classmethod
    async def start(
        cls, module: str, *arguments: str, cwd: Path, errors: bool = False
    ) -> HelperProcess:
        import asyncio  # the module itself is run by processes that need none

        read_end, lifeline = os.pipe()
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                # Not the modules that lie where the process is started.
                "-P",
                "-m",
                module,
                *arguments,
                stdin=read_end,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if errors else subprocess.DEVNULL,
                cwd=cwd,
                limit=_LONGEST_LINE,
                start_new_session=True,
            )
        except BaseException:
            os.close(lifeline)
            raise
        finally:
            os.close(read_end)
        return cls(process, lifeline)

    async def __aenter__(self) -> HelperProcess:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.end()
        await self.process.wait()

    def end(self) -> None:
        """End it now. Blocks for the moment that takes, since a cancelled task cannot await."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1
        deadline = time.monotonic() + _PATIENCE
        while not self._has_ended() and time.monotonic() < deadline:
            time.sleep(_STEP)
        with suppress(ProcessLookupError):
            self._kill()

    def _kill(self) -> None:
        """Kills the process and the rest of its process group."""
        if self.process.returncode is None:
            if sys.platform == "win32":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)

    def _has_ended(self) -> bool:
        if self.process.returncode is not None or not hasattr(os, "waitid"):
            return True
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        try:
            return os.waitid(os.P_PID, self.process.pid, options) is not None
        except ChildProcessError:
            return True  # Somebody has asked for its status already.


def end_with_parent(end: Callable[[], None]) -> None:
    """Call `end` when the parent process closes our standard input."""

    def wait() -> None:
        with suppress(OSError):
            while os.read(0, 1):
                pass
        end()

    threading.Thread(target=wait, daemon=True).start()


def end_group() -> None:
    """Kill this process and everything it started."""
    end_children(0.0)
    if sys.platform != "win32":
        os.killpg(os.getpgid(0), signal.SIGKILL)
    os._exit(1)


def main(command: list[str]) -> None:
    """Run a command; its status is ours, and what it leaves running is ended."""
    adopt_orphans()
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
        sys.exit(127)
    end_with_parent(end_group)
    status = child.wait()
    end_children(0.0)
    os._exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main(sys.argv[1:])
