"""Files: read, replaced whole (written beside, then renamed), kept private to their owner."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from clawkit.errors import UNREADABLE_JSON, HostError


def make_private(directory: Path) -> None:
    """Make a folder, and what is missing above it, for its owner only; others stay as they are."""
    if directory.is_dir():
        return
    make_private(directory.parent)
    with suppress(FileExistsError):  # another process was quicker; a file there shows below
        directory.mkdir(mode=0o700)
    if not directory.is_dir():
        raise NotADirectoryError(20, os.strerror(20), str(directory))


def keep_private(file: Path, *companions: Path) -> None:
    """Take a file's rights, and those of its companions, from everyone but its owner."""
    with suppress(OSError):  # another's file: nothing of ours to repair
        _give(file.stat().st_mode & 0o700, file, *companions)


def keep_alike(file: Path, *companions: Path) -> None:
    """Give the companions of a file its rights.

    SQLite copies them when it makes the companions, so that those of a file that was read-only for
    a while stay read-only.
    """
    with suppress(OSError):
        _give(file.stat().st_mode & 0o777, *companions)


def _give(mode: int, *files: Path) -> None:
    for one in files:
        with suppress(FileNotFoundError):
            if one.stat().st_mode & 0o777 != mode:
                one.chmod(mode)


_ROOM = 128 * 1024


class FileSnapshot(msgspec.Struct, frozen=True):
    """A file as it was read."""

    path: Path
    data: bytes

    @property
    def text(self) -> str:
        try:
            return self.data.decode()
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            reason = "is not UTF-8 here. The file was left as it is"
            raise HostError(f"{self.path}:{line}: {reason}") from None


Records = TypeVar("Records")


def read_records(path: Path, kind: type[Records], advice: str) -> Records | tuple[()]:
    """What we wrote down ourselves; nothing where there is no file."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise HostError(f"{path}: cannot be read: {error.strerror}") from None
    except UNREADABLE_JSON as error:
        raise HostError(f"{path}: is damaged ({error}). {advice}") from None


def json_files(directory: Path) -> list[Path]:
    """The JSON files of a folder of ours, by name; raises OSError if we may not look.

    A glob finds nothing there since Python 3.13.
    """
    try:
        return sorted(path for path in directory.iterdir() if path.suffix == ".json")
    except FileNotFoundError:
        return []


class FileChangedError(Exception):
    """Somebody else wrote the file between our reading and our writing."""


def read_source(path: Path) -> FileSnapshot:
    try:
        return FileSnapshot(path, path.read_bytes())
    except OSError as error:
        raise HostError(f"{path}: cannot be read: {error.strerror}") from None


def is_readable(path: str) -> bool:
    try:
        read_source(Path(path))
    except HostError:
        return False
    return True


def is_open_to_others(path: Path) -> bool:
    """Whether others than its owner have rights to a file, as far as this system has such."""
    return os.name != "nt" and bool(path.stat().st_mode & 0o077)


def replace_source(source: FileSnapshot, text: str, *, private: bool = False) -> None:
    """Puts `text` in the file's place, in its mode; through a symlink, in the target's place.

    With `private` it is for its owner only from now on.
    """
    target = source.path.resolve()
    try:
        status = target.stat()
        if not status.st_mode & stat.S_IWUSR or not os.access(target, os.W_OK):
            raise HostError(
                f"{source.path}: is read-only: make it writable (chmod u+w) and try again"
            )
        mode = stat.S_IMODE(status.st_mode) & (0o700 if private else 0o7777)
        beside = write_beside(target, text.encode(), mode)
        try:
            _keep_owner(beside, status)
            if target.read_bytes() != source.data:
                raise FileChangedError
            beside.replace(target)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise HostError(f"{source.path}: cannot be written: {error.strerror}") from None


def make_source(path: Path, text: str, mode: int) -> None:
    """A file that was not there, and its directory; raises Changed if somebody else made it."""
    try:
        path.parent.mkdir(exist_ok=True)
        write_new(path, text.encode(), mode)
    except FileExistsError:
        raise FileChangedError from None
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror}") from None


def remove_source(source: FileSnapshot) -> None:
    """Takes the file away, as long as it is as it was read."""
    try:
        if source.path.read_bytes() != source.data:
            raise FileChangedError
        source.path.unlink()
    except OSError as error:
        raise HostError(f"{source.path}: cannot be removed: {error.strerror}") from None


def write_whole(path: Path, data: bytes, mode: int = 0o600) -> None:
    """A file of our own: every reader sees the old one or the new one."""
    beside = write_beside(path, data, mode)
    try:
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_new(path: Path, data: bytes, mode: int = 0o600) -> None:
    """A file that was not there, whole or not at all; raises FileExistsError where one is."""
    beside = write_beside(path, data, mode)
    try:
        os.link(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_problem(directory: Path) -> str:
    """Why nothing can be written to a directory that is there; found out by doing it."""
    try:
        if directory.is_dir():
            write_beside(directory / "room", bytes(_ROOM), 0o600).unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def write_beside(path: Path, data: bytes, mode: int) -> Path:
    """The data in a new file next to `path`, on the disk."""
    suffix = hashlib.sha256(os.urandom(16)).hexdigest()[:12]
    beside = path.with_name(f".{path.name}.{suffix}.tmp")
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(mode)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
    return beside


def _keep_owner(path: Path, status: os.stat_result) -> None:
    """Gives a replaced file back to its owner, when root edits it."""
    if hasattr(os, "chown") and path.stat().st_uid != status.st_uid:
        os.chown(path, status.st_uid, status.st_gid)
