"""Where Clawkit keeps its files, and what the environment says; read once."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from clawkit.errors import SettingsError

_SHORTEST_SECRET = 16
_NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})


class Settings(msgspec.Struct, frozen=True):
    """The directories, and what else the environment says: secret, store, embedder, model."""

    config: Path
    data: Path
    policy: Path
    secret: bytes | None = None
    store: str = ""
    embedder: str = ""
    model: str = ""

    @property
    def logins(self) -> Path:
        """Where logins to servers of others are kept."""
        return self.data / "logins"

    @property
    def policy_file(self) -> Path:
        """The policy, where the guard's document has it."""
        return self.policy / "policy.toml"


@cache
def settings() -> Settings:
    return read_settings(os.environ)


def read_settings(environment: Mapping[str, str]) -> Settings:
    """`CLAW_HOME` moves everything; else the XDG variables, or what the system calls usual."""
    secret = environment.get("CLAW_SECRET")
    if secret is not None and len(secret) < _SHORTEST_SECRET:
        raise SettingsError(f"CLAW_SECRET must have at least {_SHORTEST_SECRET} characters")
    config, data = _places(environment)
    return Settings(
        config=config / "claw",
        data=data / "claw",
        policy=config / "clawai",
        secret=None if secret is None else secret.encode(),
        store=environment.get("CLAW_STORE", ""),
        embedder=environment.get("CLAW_EMBEDDER", ""),
        model=environment.get("CLAW_MODEL", ""),
    )


def seconds_in(environment: Mapping[str, str], name: str, usual: float) -> float:
    """The seconds that a variable names; the usual ones where it is not set."""
    value = environment.get(name, "")
    try:
        return max(0.0, float(value)) if value else usual
    except ValueError:
        raise SettingsError(f"{name} is a number of seconds, and {value!r} is none") from None


def is_there(path: Path) -> bool:
    """Whether a file of ours exists; raises OSError if we may not look.

    `Path.exists` says False to that since Python 3.14, and a file out of reach is not a new one.
    """
    try:
        path.stat()
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    return True


def _places(environment: Mapping[str, str]) -> tuple[Path, Path]:
    home = environment.get("CLAW_HOME")
    if home:
        return Path(home) / "config", Path(home) / "data"
    if sys.platform == "win32":
        import platformdirs

        return Path(platformdirs.user_config_dir(roaming=True)), Path(platformdirs.user_data_dir())
    user = Path(environment.get("HOME") or Path.home())
    return (
        Path(environment.get("XDG_CONFIG_HOME") or user / ".config"),
        Path(environment.get("XDG_DATA_HOME") or user / ".local" / "share"),
    )
