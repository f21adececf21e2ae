"""The temporary folder of one call: an inbox for what came, an outbox for what goes.

It is gone when the call is over, however that ended. A process that is killed cannot clean up, so
each folder has a lock that its process holds open: the system lets go of it, `sweep` sees that.
"""

from __future__ import annotations

import logging
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clawkit.errors import MediaError
from clawkit.system.locks import lock, try_lock

log = logging.getLogger("clawkit.assistant")

PREFIX = "clawkit-call-"
LOCK = "clawkit-call.lock"
_PARTS = frozenset({"inbox", "outbox", LOCK})
_ATTEMPTS = 5
_ORPHANED_AFTER = 3600.0
"""Seconds after which an empty folder is not just being made."""


class CallFolder:
    """`with CallFolder() as folder:`; leaving the block removes it, and awaits nothing.

    It is made when it is first asked for: most calls have nothing to put there.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._is_open = False
        self._path: Path | None = None
        self._lock = -1

    @property
    def is_made(self) -> bool:
        return self._path is not None

    @property
    def path(self) -> Path:
        """The folder itself, which only its owner can look into."""
        if not self._is_open:
            raise RuntimeError("the folder exists only within its `with` block")
        if self._path is None:
            self._make()
        assert self._path is not None
        return self._path

    @property
    def inbox(self) -> Path:
        """Holds the attachments, for tools to open."""
        return self.path / "inbox"

    @property
    def outbox(self) -> Path:
        """What is put here goes out with the answer."""
        return self.path / "outbox"

    def __enter__(self) -> CallFolder:
        self._is_open = True
        return self

    def __exit__(self, *_: object) -> None:
        self._is_open = False
        self._remove()

    def _make(self) -> None:
        root = self._root or Path(tempfile.gettempdir())
        try:
            self._path, self._lock = _make(root)
            (self._path / "inbox").mkdir(mode=0o700)
            (self._path / "outbox").mkdir(mode=0o700)
        except OSError as error:
            self._remove()
            problem = f"no temporary folder can be made there: {error.strerror or error}"
            raise MediaError(str(root), problem) from None

    def _remove(self) -> None:
        path, self._path = self._path, None
        if self._lock >= 0:
            if sys.platform != "win32":  # There an open file cannot be removed.
                _remove_tree(path)
            os.close(self._lock)
            self._lock = -1
        _remove_tree(path)


def sweep(root: Path | None = None) -> int:
    """Remove the folders whose processes have died; gives how many that were."""
    root = root or Path(tempfile.gettempdir())
    removed = 0
    with suppress(OSError):
        for folder in root.glob(f"{PREFIX}*"):
            removed += _sweep_one(folder)
    return removed


def _make(root: Path) -> tuple[Path, int]:
    for _ in range(_ATTEMPTS):
        path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
        try:
            fd = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError:  # the disk is full
            path.rmdir()
            raise
        lock(fd)
        if (path / LOCK).exists():
            return path, fd
        os.close(fd)  # A sweep came between the making and the locking.
    raise OSError("it is removed as soon as it is made")


def _sweep_one(folder: Path) -> bool:
    try:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or not _is_ours(found):
            return False
        fd = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        return _sweep_bare(folder)
    except OSError:
        return False
    try:
        if not try_lock(fd):  # its process is alive
            return False
        if not _has_only_parts(folder):
            return False
        if sys.platform != "win32":
            _remove_tree(folder)
    finally:
        os.close(fd)
    _remove_tree(folder)
    return not folder.exists()


def _sweep_bare(folder: Path) -> bool:
    """Removes a folder without a lock if it is empty and old: a newer one may be in the making."""
    with suppress(OSError):
        if time.time() - folder.lstat().st_mtime > _ORPHANED_AFTER:
            folder.rmdir()
            return True
    return False


def _has_only_parts(folder: Path) -> bool:
    """Whether there is nothing in a folder that a call has not made; a name alone proves little."""
    with suppress(OSError):  # another sweep was faster
        return all(each.name in _PARTS for each in folder.iterdir())
    return False


def _is_ours(found: os.stat_result) -> bool:
    return sys.platform == "win32" or found.st_uid == os.geteuid()


def _remove_tree(path: Path | None) -> None:
    """Remove a folder, what a tool has made read-only too, and what is written meanwhile."""
    if path is None:
        return
    for _ in range(_ATTEMPTS):
        if not path.exists():
            return
        # The lock goes last: a folder that we die in the middle of is one that a sweep finds.
        for part in (path / "inbox", path / "outbox", path):
            _remove_once(part)
    if path.exists():
        log.warning("%s could not be removed; the next sweep tries again", path)


def _remove_once(top: Path) -> None:
    def permit(_: Callable[..., Any], failed: str, __: object) -> None:
        # Nothing outside is touched, not even the directory that the folder is in.
        for each in (Path(failed).parent, Path(failed)):
            with suppress(OSError):
                if each.is_relative_to(top) and not each.is_symlink():
                    each.chmod(0o700)

    if sys.version_info >= (3, 12):
        shutil.rmtree(top, onexc=permit)
    else:
        shutil.rmtree(top, onerror=permit)
