"""Finds clients' files, their servers, each one's ledger record, and which are guarded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.clients import (
    CLIENTS,
    ClientApp,
    Machine,
    client_called,
    project_files,
    this_machine,
    user_files,
)
from clawkit.hosts.documents.edits import dialect_of
from clawkit.hosts.entries import (
    ServerEntry,
    StdioLaunch,
    behind_guard,
    entries_of,
    entry_id,
    is_guarded,
    is_this_installation,
)
from clawkit.hosts.guarded_entry import foreign_places, foreign_program
from clawkit.hosts.ledger import Item, items
from clawkit.system.files import FileSnapshot, read_source


class SearchScope(msgspec.Struct, frozen=True):
    """Which clients and which project to look at; every client without `client`."""

    client: str | None = None
    project: Path = Path()
    machine: Machine | None = None

    @property
    def clients(self) -> tuple[ClientApp, ...]:
        return CLIENTS if self.client is None else (client_called(self.client),)


class HostFile(msgspec.Struct, frozen=True):
    """A client's file; `real` is where a symlink leads, and what the ledger calls it."""

    client: ClientApp
    path: Path
    shared: bool = False
    """It belongs to a project, so others may get what is written in it."""

    @property
    def real(self) -> str:
        return str(self.path.resolve())


class HostFileContent(msgspec.Struct, frozen=True):
    """A client's file, read: its text, its data and its servers."""

    file: HostFile
    source: FileSnapshot
    text: str
    data: Any
    entries: tuple[ServerEntry, ...]


class FoundServers(msgspec.Struct, frozen=True):
    """What there is, and what could not be read."""

    readings: tuple[HostFileContent, ...]
    problems: tuple[str, ...]

    @property
    def entries(self) -> tuple[ServerEntry, ...]:
        return tuple(entry for reading in self.readings for entry in reading.entries)


def host_files(scope: SearchScope, items: Iterable[Item] = ()) -> tuple[HostFile, ...]:
    """The files that exist, each once; with `items`, also files of other projects in the ledger."""
    found: dict[str, HostFile] = {}
    for client in scope.clients:
        recorded = (Path(item.file) for item in items if item.client == client.id)
        for file in (*_places(client, scope), *(HostFile(client, path) for path in recorded)):
            with suppress(PermissionError):  # in a folder that is not for us
                if file.path.is_file():
                    found.setdefault(file.real, file)
    return tuple(found.values())


def _places(client: ClientApp, scope: SearchScope) -> Iterator[HostFile]:
    for path in user_files(client, scope.machine or this_machine()):
        yield HostFile(client, Path(path))
    for path in project_files(client, scope.project.absolute()):
        yield HostFile(client, Path(path), shared=True)


def read(file: HostFile) -> HostFileContent:
    source = read_source(file.path)
    text = source.text
    data = dialect_of(file.client.format).open(text, str(file.path)).data
    entries = tuple(entries_of(file.client, str(file.path), data))
    return HostFileContent(file, source, text, data, entries)


def find(files: Iterable[HostFile]) -> FoundServers:
    """Every server in these files; a file that cannot be read is a problem, not an end."""
    readings: list[HostFileContent] = []
    problems: list[str] = []
    for file in files:
        try:
            readings.append(read(file))
        except HostError as error:
            problems.append(str(error))
    return FoundServers(tuple(readings), tuple(problems))


Matches = dict[tuple[str, ...], Item]


def matches(reading: HostFileContent, known: Sequence[Item], elsewhere: frozenset[str]) -> Matches:
    """The record of each entry, by the entry's keys.

    An entry that names a record belongs to it, wherever it stands; then the place counts, then
    the command behind the guard. A record that entries of other files name (`elsewhere`) is not
    one for whatever stands in its place now.
    """
    by_id = {item.id: item for item in known if item.remote is not None}
    found = {
        entry.keys: by_id[name]
        for entry in reading.entries
        if (name := entry_id(entry.argv)) is not None and name in by_id
    }
    taken = {item.id for item in found.values()} | elsewhere
    here = [item for item in of_file(known, reading.file) if item.id not in taken]
    _match(reading.entries, here, found, lambda entry, item: entry.keys == item.keys)
    _match(reading.entries, here, found, _same_command)
    return found


def named_ids(entries: Iterable[ServerEntry]) -> frozenset[str]:
    """The ids of records on the entries' command lines."""
    return frozenset(name for entry in entries if (name := entry_id(entry.argv)) is not None)


def named_elsewhere(file: HostFile, scope: SearchScope, known: Sequence[Item]) -> frozenset[str]:
    """Records of remote servers that entries in other files name, of whichever client."""
    remote = frozenset(item.id for item in known if item.remote is not None)
    if not remote:
        return remote
    everywhere = SearchScope(None, scope.project, scope.machine)
    others = [one for one in host_files(everywhere, known) if one.real != file.real]
    return remote & frozenset(name for one in others for name in _named_in(one, remote))


def of_file(known: Iterable[Item], file: HostFile) -> tuple[Item, ...]:
    real = file.real
    return tuple(item for item in known if item.file == real)


def _named_in(file: HostFile, ids: frozenset[str]) -> frozenset[str]:
    """The ids that a file's entries name; anywhere in a file that cannot be parsed."""
    try:
        data = read_source(file.path).data
    except HostError:
        return frozenset()
    anywhere = frozenset(name for name in ids if name.encode() in data)
    try:
        return anywhere and named_ids(read(file).entries)
    except HostError:
        return anywhere


def _match(
    entries: Sequence[ServerEntry],
    items: list[Item],
    found: Matches,
    fits: Callable[[ServerEntry, Item], bool],
) -> None:
    for entry in entries:
        item = next((one for one in reversed(items) if fits(entry, one)), None)
        if entry.keys not in found and item is not None:
            found[entry.keys] = item
            items.remove(item)


def _same_command(entry: ServerEntry, item: Item) -> bool:
    command = behind_guard(entry.argv)
    return bool(command) and command == item.argv


State = Literal["wrapped", "wrapped elsewhere", "not wrapped", "changed since"]
"""Elsewhere is behind a guard that uses another policy, or another log, than this machine's."""


class ServerStatus(msgspec.Struct, frozen=True):
    client: str
    server: str
    state: State
    file: str
    keys: tuple[str, ...]
    transport: Literal["stdio", "http", "sse", ""]
    note: str = ""


class StatusReport(msgspec.Struct, frozen=True):
    """All of them, and the files that could not be read."""

    servers: tuple[ServerStatus, ...]
    problems: tuple[str, ...]


def status(scope: SearchScope) -> StatusReport:
    """Every server of the scope, and those that the ledger knows in other projects."""
    known = items()
    found = find(host_files(scope, known))
    servers: list[ServerStatus] = []
    there: set[str] = set()
    for reading in found.readings:
        elsewhere = named_elsewhere(reading.file, scope, known)
        recorded = matches(reading, known, elsewhere)
        there |= {item.id for item in recorded.values()} | elsewhere
        servers += [
            _server_status(reading, entry, recorded.get(entry.keys)) for entry in reading.entries
        ]
    return StatusReport((*servers, *_gone(scope, found.readings, known, there)), found.problems)


def _server_status(reading: HostFileContent, entry: ServerEntry, item: Item | None) -> ServerStatus:
    state, note = _state(reading, entry, item)
    transport = _transport(entry, item)
    return ServerStatus(entry.client, entry.name, state, entry.file, entry.keys, transport, note)


def _transport(entry: ServerEntry, item: Item | None) -> Literal["stdio", "http", "sse", ""]:
    """The transport of the server itself, also behind the guard."""
    if item is not None and item.remote is not None:
        return item.remote.transport
    if entry.launch is None:
        return ""
    return "stdio" if isinstance(entry.launch, StdioLaunch) else entry.launch.transport


def _state(reading: HostFileContent, entry: ServerEntry, item: Item | None) -> tuple[State, str]:
    if not isinstance(entry.launch, StdioLaunch) or not is_guarded(entry.launch.argv):
        if item is None or _text(reading, entry) == item.original:
            return "not wrapped", entry.reason
        return "changed since", "it no longer goes through the guard: wrap it again"
    program, foreign = entry.launch.argv[0], foreign_program(entry.launch.argv)
    if Path(program).is_absolute() and not Path(program).exists():
        return "changed since", f"{program} does not exist any more: unwrap it and wrap it again"
    if item is None and not is_this_installation(entry.launch.argv):
        return "not wrapped", f"{foreign}: wrap it, if you do not know that for a guard"
    if elsewhere := foreign_places(entry.launch):
        return "wrapped elsewhere", "; ".join(filter(None, (elsewhere, foreign)))
    if item is None:
        return "wrapped", "; ".join(filter(None, ("by hand", foreign)))
    if item.place != (reading.file.real, entry.keys):
        renamed = f"it was wrapped as `{'.'.join(item.keys)}`"
        return "changed since", "; ".join(filter(None, (renamed, foreign)))
    if _text(reading, entry) == item.wrapped:
        return "wrapped", foreign
    return "changed since", foreign or "it still goes through the guard"


def _text(reading: HostFileContent, entry: ServerEntry) -> str:
    document = dialect_of(reading.file.client.format).open(reading.text, entry.file)
    start, end = document.span(entry.keys)
    return reading.text[start:end]


def _gone(
    scope: SearchScope, readings: Sequence[HostFileContent], known: Sequence[Item], there: set[str]
) -> list[ServerStatus]:
    """Wrapped entries that are not there any more."""
    clients = {client.id for client in scope.clients}
    read = {reading.file.real for reading in readings}
    return [
        ServerStatus(
            item.client,
            item.server,
            "changed since",
            item.file,
            item.keys,
            item.remote.transport if item.remote else "stdio",
            "the entry is gone" if item.file in read else "its file is gone",
        )
        for item in known
        if item.client in clients
        and item.id not in there
        and (item.file in read or not Path(item.file).exists())
    ]
