"""Moves a store that cannot be used out of the way. Nothing is deleted, nothing is salvaged."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from clawkit.assistant.sessions.database import companions
from clawkit.assistant.sessions.failures import explained_os
from clawkit.errors import StoreError

# Where SQLite locks a file that is open as a database, on every system that has `fcntl`.
_LOCKED_AT = 0x40000002
_LOCKED_BYTES = 510


def set_aside(file: Path) -> Path:
    """Move a damaged store and its journal beside itself; gives its new name.

    Raises StoreError while another process has it open: that one would, when it closes, delete
    the journal of whatever file has taken its place.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    target, number = file.with_name(f"{file.name}.damaged-{stamp}"), 1
    while target.exists():
        number += 1
        target = file.with_name(f"{file.name}.damaged-{stamp}-{number}")
    # The journal first: beside a new file, it would be taken for that one's and emptied.
    pairs = zip((*companions(file), file), (*companions(target), target), strict=True)
    try:
        with _alone(file):
            for old, new in pairs:
                if old == file or old.exists():
                    old.rename(new)
    except BlockingIOError:
        raise StoreError(
            f"{file}: a running program has the store of sessions open: end the MCP clients and "
            "chats that use it, then set it aside"
        ) from None
    except OSError as error:
        raise explained_os(file, error) from error
    return target


if sys.platform == "win32":

    @contextmanager
    def _alone(file: Path) -> Generator[None]:
        """Windows moves no file that anyone has open."""
        if not file.exists():
            raise FileNotFoundError(2, os.strerror(2), str(file))
        yield

else:
    import fcntl

    @contextmanager
    def _alone(file: Path) -> Generator[None]:
        """Hold the lock that every process with an open database shares."""
        fd = os.open(file, os.O_RDWR)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCKED_BYTES, _LOCKED_AT)
            yield
        finally:
            os.close(fd)
