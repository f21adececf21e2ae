"""The record of what `claw install` added to clients' files, so that exactly that can go again."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.adding import Piece
from clawkit.settings import settings
from clawkit.system.files import read_records, write_whole


class Installed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One added entry: the pieces it consists of, and the hash of the file that has just them.

    `depth` of its keys were there before; `made` is what had to be made for it, the file itself
    or its directory, too.
    """

    client: str
    file: str
    keys: tuple[str, ...]
    pieces: tuple[Piece, ...]
    depth: int
    sha256: str
    time: str
    made: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, tuple[str, ...]]:
        return self.file, self.keys


def installed_file() -> Path:
    return settings().data / "installed.json"


def records() -> tuple[Installed, ...]:
    advice = "Move it away: entries can be removed without it"
    return read_records(installed_file(), tuple[Installed, ...], advice)


def remember(new: Installed) -> None:
    """In place of an older record of the same entry."""
    _write((*(one for one in records() if one.place != new.place), new))


def forget(old: Installed) -> None:
    kept = tuple(one for one in records() if one.place != old.place)
    if len(kept) < len(records()):
        _write(kept)


def _write(new: Iterable[Installed]) -> None:
    path = installed_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_whole(path, msgspec.json.format(msgspec.json.encode(tuple(new)), indent=1))
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror}") from None
