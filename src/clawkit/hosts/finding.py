"""Finds the clients' files on this machine and reads the servers in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.clients import (
    CLIENTS,
    Client,
    Machine,
    client_called,
    project_files,
    this_machine,
    user_files,
)
from clawkit.hosts.documents import dialect_of
from clawkit.hosts.entries import Entry, entries_of
from clawkit.hosts.ledger import Item
from clawkit.system.files import Source, read_source


class Scope(msgspec.Struct, frozen=True):
    """Which clients and which project to look at; every client without `client`."""

    client: str | None = None
    project: Path = Path()
    machine: Machine | None = None

    @property
    def clients(self) -> tuple[Client, ...]:
        return CLIENTS if self.client is None else (client_called(self.client),)


class HostFile(msgspec.Struct, frozen=True):
    """A client's file; `real` is where a symlink leads, and what the ledger calls it."""

    client: Client
    path: Path
    shared: bool = False
    """It belongs to a project, so others may get what is written in it."""

    @property
    def real(self) -> str:
        return str(self.path.resolve())


class Reading(msgspec.Struct, frozen=True):
    """A client's file, read: its text, its data and its servers."""

    file: HostFile
    source: Source
    text: str
    data: Any
    entries: tuple[Entry, ...]


class Found(msgspec.Struct, frozen=True):
    """What there is, and what could not be read."""

    readings: tuple[Reading, ...]
    problems: tuple[str, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for reading in self.readings for entry in reading.entries)


def host_files(scope: Scope, items: Iterable[Item] = ()) -> tuple[HostFile, ...]:
    """The files that exist, each once; with `items`, also files of other projects in the ledger."""
    found: dict[str, HostFile] = {}
    for client in scope.clients:
        recorded = (Path(item.file) for item in items if item.client == client.id)
        for file in (*_places(client, scope), *(HostFile(client, path) for path in recorded)):
            with suppress(PermissionError):  # in a folder that is not for us
                if file.path.is_file():
                    found.setdefault(file.real, file)
    return tuple(found.values())


def _places(client: Client, scope: Scope) -> Iterator[HostFile]:
    for path in user_files(client, scope.machine or this_machine()):
        yield HostFile(client, Path(path))
    for path in project_files(client, scope.project.absolute()):
        yield HostFile(client, Path(path), shared=True)


def read(file: HostFile) -> Reading:
    source = read_source(file.path)
    text = source.text
    data = dialect_of(file.client.format).open(text, str(file.path)).data
    entries = tuple(entries_of(file.client, str(file.path), data))
    return Reading(file, source, text, data, entries)


def find(files: Iterable[HostFile]) -> Found:
    """Every server in these files; a file that cannot be read is a problem, not an end."""
    readings: list[Reading] = []
    problems: list[str] = []
    for file in files:
        try:
            readings.append(read(file))
        except HostError as error:
            problems.append(str(error))
    return Found(tuple(readings), tuple(problems))
