"""Child processes that work on one attachment: they end with the call, and with us."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from pathlib import Path
from types import TracebackType

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
                stdout=PIPE,
                stderr=PIPE if errors else DEVNULL,
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

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
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
        """It is the first of a group of its own, so all that is left of that goes with it."""
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
