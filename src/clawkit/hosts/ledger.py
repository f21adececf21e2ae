"""The ledger: what was wrapped, how it was written before, and where remote servers really are.

The proxy reads it before its first reply, so nothing heavy is imported here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from clawkit.errors import HostError
from clawkit.settings import settings
from clawkit.system.files import make_private, read_records, write_whole
from clawkit.system.locks import lock

TEMPLATE = re.compile(
    r"\$\{[^}]*\}|\{(?:env|file):[^}]*\}|\$[A-Za-z_][A-Za-z0-9_]*|%[A-Za-z_][A-Za-z0-9_]*%"
)
"""What clients fill in before they start a server."""

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class RemoteRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a remote server is reached. `${NAME}` is filled in from the proxy's environment in the
    headers that `expand` names, and in the address if `expand_url` says so."""

    url: str
    transport: Literal["http", "sse"]
    headers: dict[str, str] = {}
    expand: tuple[str, ...] = ()
    expand_url: bool = False


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One wrapped entry: `original` and `wrapped` are the entry's text before and after."""

    id: str
    client: str
    file: str
    keys: tuple[str, ...]
    server: str
    original: str
    wrapped: str
    sha256: str
    time: str
    argv: tuple[str, ...] = ()
    remote: RemoteRecord | None = None
    variables: tuple[str, ...] | None = None
    """The names of the entry's environment; None where they are not known."""

    @property
    def place(self) -> tuple[str, tuple[str, ...]]:
        return self.file, self.keys


class RemoteTarget(msgspec.Struct, frozen=True):
    """Where the proxy connects to, with the headers it sends there and nowhere else."""

    name: str
    url: str
    headers: dict[str, str]
    transport: Literal["http", "sse"]


def ledger_file() -> Path:
    return settings().data / "guard" / "ledger.json"


def backups_directory() -> Path:
    return settings().data / "guard" / "backups"


def items() -> tuple[Item, ...]:
    """Everything that is wrapped, as far as we know."""
    advice = (
        "Move it away to start a new one; "
        "local servers can be unwrapped without it, remote ones need their entry written again"
    )
    return read_records(ledger_file(), tuple[Item, ...], advice)


class WrappedCommand(msgspec.Struct, frozen=True):
    """What is known of a command that was wrapped: its names, and its entries' variables."""

    servers: tuple[str, ...] = ()
    variables: tuple[str, ...] | None = None


def wrapped_command(argv: Sequence[str]) -> WrappedCommand:
    """The names under which this very command was wrapped, and the variables that it was given.

    An entry whose variables are not known may be the one that it was started by: then none are.
    """
    known = [item for item in items() if item.argv]
    command = tuple(argv)
    exact = [item for item in known if item.argv == command]
    alike = exact or [item for item in known if _fits(item.argv, command)]
    given = [item.variables for item in alike if item.variables is not None]
    return WrappedCommand(
        tuple(dict.fromkeys(item.server for item in alike)),
        tuple(dict.fromkeys(sum(given, ()))) if alike and len(given) == len(alike) else None,
    )


def remote(entry_id: str, environment: Mapping[str, str] | None = None) -> RemoteTarget:
    """Where a wrapped remote entry leads, with its variables filled in."""
    found = next((item for item in items() if item.id == entry_id and item.remote), None)
    if found is None or found.remote is None:
        raise HostError(
            f"{ledger_file()}: has no remote server `{entry_id}`: write its entry in the client's "
            "file again and wrap it anew"
        )
    record, values = found.remote, os.environ if environment is None else environment
    headers = {
        name: _filled(value, values, found.server) if name in record.expand else value
        for name, value in record.headers.items()
    }
    url = _filled(record.url, values, found.server) if record.expand_url else record.url
    return RemoteTarget(found.server, url, headers, record.transport)


class Ledger:
    """The ledger while its lock is held."""

    def __init__(self) -> None:
        self.items = items()

    def add(self, new: Iterable[Item]) -> None:
        """Adds records, replacing those of the same place; a remote server's only by its own id."""
        added = {item.place: item for item in new}
        ids = {item.id for item in added.values()}
        kept = (
            item
            for item in self.items
            if item.id not in ids and (item.remote is not None or item.place not in added)
        )
        self._write((*kept, *added.values()))

    def remove(self, old: Iterable[Item]) -> None:
        gone = {item.id for item in old}
        if gone:
            self._write(tuple(item for item in self.items if item.id not in gone))

    def _write(self, new: tuple[Item, ...]) -> None:
        write_records(ledger_file(), new)
        self.items = new


def write_records(path: Path, records: Sequence[msgspec.Struct]) -> None:
    """A file of records, for its owner only and there when it is whole."""
    try:
        make_private(path.parent)
        write_whole(path, msgspec.json.format(msgspec.json.encode(records), indent=1))
    except OSError as error:
        raise HostError(f"{path}: cannot be written: {error.strerror}") from None


@contextmanager
def locked() -> Generator[Ledger]:
    """The ledger, and nobody else changing it or a client's file at the same time."""
    with alone():
        yield Ledger()


@contextmanager
def alone() -> Generator[None]:
    """No other process of ours changes a client's file meanwhile."""
    directory = ledger_file().parent
    try:
        private_directory(directory)
        handle = os.open(directory / "ledger.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise HostError(f"{directory}: cannot be used: {error.strerror}") from None
    try:
        lock(handle)
        yield
    finally:
        os.close(handle)


def private_directory(directory: Path) -> None:
    make_private(directory)
    if directory.stat().st_mode & 0o077:
        directory.chmod(0o700)


def _fits(wrapped: Sequence[str], command: Sequence[str]) -> bool:
    """Whether a client may have made this command by filling in templates of the wrapped one."""
    return len(wrapped) == len(command) and all(map(_part_fits, wrapped, command))


def _part_fits(wrapped: str, part: str) -> bool:
    if wrapped == part:
        return True
    pieces = TEMPLATE.split(wrapped)
    return len(pieces) > 1 and bool(
        re.fullmatch(".*".join(map(re.escape, pieces)), part, re.DOTALL)
    )


def _filled(text: str, values: Mapping[str, str], server: str) -> str:
    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in values:
            raise HostError(
                f"{server}: needs the variable {name}, which the client did not pass on"
            )
        return values[name]

    return _VARIABLE.sub(value, text)
