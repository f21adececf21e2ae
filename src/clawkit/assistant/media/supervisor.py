"""Runs as a process of its own around a command, and ends all of it when its parent ends.

Its standard input is a pipe that we hold and never write to. That it ends is the one sign of our
death that no way of dying can withhold.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

from clawkit.system.processes import adopt_orphans, end_children


def end_with_parent(end: Callable[[], None]) -> None:
    """Call `end` when the process that started this one lets go of our standard input."""

    def wait() -> None:
        with suppress(OSError):
            while os.read(0, 1):
                pass
        end()

    threading.Thread(target=wait, daemon=True).start()


def end_group() -> None:
    """End everything that was started from here, and this process."""
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
