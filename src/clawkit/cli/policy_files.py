"""What `claw policy init` and `claw policy learn` write, without ever losing what was there."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import PolicyError

if TYPE_CHECKING:
    from clawkit.guard.policy.fixtures import Fixture


class Made(msgspec.Struct, frozen=True):
    """A policy file: whether it was written now, and where the one before it went."""

    path: Path
    written: bool
    backup: Path | None = None


def make_default(path: Path, *, force: bool) -> Made:
    """The default policy, unless there is one; with `force` that one is moved beside it."""
    from clawkit.guard.policy.defaults import write_default_policy

    backup = None
    try:
        if force and path.exists():
            backup = _free(path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}"))
            path.rename(backup)
        return Made(path, write_default_policy(path), backup)
    except (OSError, PolicyError) as error:
        if backup is not None and backup.exists() and not path.exists():
            backup.rename(path)
        if isinstance(error, PolicyError):
            raise
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from error


def write_new(path: Path, text: str) -> None:
    """A file that was not there before, for its owner only."""
    from clawkit.system import files

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_new(path, text.encode())
    except FileExistsError:
        raise PolicyError(str(path), 0, "exists already: choose another name") from None
    except OSError as error:
        raise PolicyError(str(path), 0, f"cannot be written: {error.strerror}") from None


def write_fixtures(directory: Path, fixtures: tuple[Fixture, ...]) -> None:
    """One file for each; those of an earlier run are the same files."""
    from clawkit.guard.policy.fixtures import fixture_json
    from clawkit.guard.policy.learn import fixture_name
    from clawkit.system.files import write_whole

    try:
        directory.mkdir(parents=True, exist_ok=True)
        for fixture in fixtures:
            place = directory / fixture_name(fixture)
            write_whole(place, fixture_json(fixture).encode())
    except OSError as error:
        raise PolicyError(str(directory), 0, f"cannot be written: {error.strerror}") from None


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
