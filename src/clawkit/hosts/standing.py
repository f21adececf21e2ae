"""How every server of every client stands: behind the guard, not, or changed since."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from clawkit.hosts.documents import dialect_of
from clawkit.hosts.entries import Entry, Stdio, is_guarded
from clawkit.hosts.finding import Reading, Scope, find, host_files
from clawkit.hosts.forms import foreign_places, foreign_program
from clawkit.hosts.ledger import Item, items
from clawkit.hosts.matching import matches, named_elsewhere

State = Literal["wrapped", "wrapped elsewhere", "not wrapped", "changed since"]
"""Elsewhere is behind a guard that uses another policy, or another log, than this machine's."""


class Standing(msgspec.Struct, frozen=True):
    """One server in one file."""

    client: str
    server: str
    state: State
    file: str
    keys: tuple[str, ...]
    transport: Literal["stdio", "http", "sse", ""]
    note: str = ""


class Standings(msgspec.Struct, frozen=True):
    """All of them, and the files that could not be read."""

    servers: tuple[Standing, ...]
    problems: tuple[str, ...]


def status(scope: Scope) -> Standings:
    """Every server of the scope, and those that the ledger knows in other projects."""
    known = items()
    found = find(host_files(scope, known))
    servers: list[Standing] = []
    there: set[str] = set()
    for reading in found.readings:
        elsewhere = named_elsewhere(reading.file, scope, known)
        recorded = matches(reading, known, elsewhere)
        there |= {item.id for item in recorded.values()} | elsewhere
        servers += [
            _standing(reading, entry, recorded.get(entry.keys)) for entry in reading.entries
        ]
    return Standings((*servers, *_gone(scope, found.readings, known, there)), found.problems)


def _standing(reading: Reading, entry: Entry, item: Item | None) -> Standing:
    state, note = _state(reading, entry, item)
    transport = _transport(entry, item)
    return Standing(entry.client, entry.name, state, entry.file, entry.keys, transport, note)


def _transport(entry: Entry, item: Item | None) -> Literal["stdio", "http", "sse", ""]:
    """Of the server itself, also where it stands behind the guard."""
    if item is not None and item.remote is not None:
        return item.remote.transport
    if entry.launch is None:
        return ""
    return "stdio" if isinstance(entry.launch, Stdio) else entry.launch.transport


def _state(reading: Reading, entry: Entry, item: Item | None) -> tuple[State, str]:
    if not isinstance(entry.launch, Stdio) or not is_guarded(entry.launch.argv):
        if item is None or _text(reading, entry) == item.original:
            return "not wrapped", entry.reason
        return "changed since", "it no longer goes through the guard: wrap it again"
    program, foreign = entry.launch.argv[0], foreign_program(entry.launch.argv)
    if Path(program).is_absolute() and not Path(program).exists():
        return "changed since", f"{program} does not exist any more: unwrap it and wrap it again"
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


def _text(reading: Reading, entry: Entry) -> str:
    document = dialect_of(reading.file.client.format).open(reading.text, entry.file)
    start, end = document.span(entry.keys)
    return reading.text[start:end]


def _gone(
    scope: Scope, readings: Sequence[Reading], known: Sequence[Item], there: set[str]
) -> list[Standing]:
    """Wrapped entries that are not there any more."""
    clients = {client.id for client in scope.clients}
    read = {reading.file.real for reading in readings}
    return [
        Standing(
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
