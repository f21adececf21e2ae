"""Takes everything of ours out of every client's files: first the guards, then our servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from clawkit.hosts.clients import client_called
from clawkit.hosts.discovery import (
    HostFile,
    HostFileContent,
    SearchScope,
    find,
    host_files,
)
from clawkit.hosts.entries import ServerEntry, StdioLaunch, starts_our_program
from clawkit.hosts.installation import Installed, records, take_out
from clawkit.hosts.wrap import unwrap


class Removal(msgspec.Struct, frozen=True):
    server: str
    client: str
    file: str
    action: str
    note: str = ""


class RemovalReport(msgspec.Struct, frozen=True):
    """Every entry of ours, and the files that could not be used."""

    removals: tuple[Removal, ...]
    problems: tuple[str, ...]

    @property
    def failed(self) -> bool:
        return bool(self.problems) or any(one.action == "failed" for one in self.removals)


def remove_everything(scope: SearchScope, *, dry_run: bool) -> RemovalReport:
    """Servers that are not ours stay, without the guard; what stands around an entry stays.

    So does one of ours with variables, which nobody but a person has written.
    """
    unwrapped = unwrap(None, scope, dry_run=dry_run)
    known = records()
    found = find(_files(scope, known))
    ours = {
        (reading.file.real, entry.keys): (reading.file, entry)
        for reading in found.readings
        for entry in reading.entries
        if _is_ours(reading, entry, known)
    }
    guards = tuple(
        Removal(one.server, one.client, one.file, one.action, one.note)
        for one in unwrapped.changes
        if one.action == "failed"
        or (one.action == "unwrapped" and (_real(one.file), one.keys) not in ours)
    )
    # What was added last goes first: then each file is found as its record knows it.
    order = [one.place for one in reversed(known)]
    places = sorted(ours, key=lambda place: order.index(place) if place in order else -1)
    taken = tuple(_taken(*ours[place], dry_run=dry_run) for place in places)
    problems = dict.fromkeys((*unwrapped.problems, *found.problems))
    return RemovalReport((*guards, *taken), tuple(problems))


def _files(scope: SearchScope, known: Sequence[Installed]) -> Iterator[HostFile]:
    """The clients' files, those of this project, and those that something was added to."""
    seen: set[str] = set()
    recorded = (HostFile(client_called(one.client), Path(one.file)) for one in known)
    for file in (*host_files(scope), *recorded):
        if file.real not in seen and file.path.is_file():
            seen.add(file.real)
            yield file


def _is_ours(reading: HostFileContent, entry: ServerEntry, known: Sequence[Installed]) -> bool:
    if any(one.place == (reading.file.real, entry.keys) for one in known):
        return True
    return starts_our_program(entry.argv)


def _real(file: str) -> str:
    return str(Path(file).resolve())


def _taken(file: HostFile, entry: ServerEntry, *, dry_run: bool) -> Removal:
    if isinstance(entry.launch, StdioLaunch) and entry.launch.env != ():
        # We write none: somebody put them there, and they may be nowhere else.
        which = ", ".join(entry.launch.env or ()) or "envFile"
        note = f"it has variables that we did not write ({which}): take it out by hand"
        return Removal(entry.name, entry.client, entry.file, "kept", note)
    outcome = take_out(file, entry.keys, dry_run=dry_run)
    # Before guards and other entries are gone, nothing is as it will be then.
    note = "" if dry_run and outcome.action == "removed" else outcome.note
    return Removal(entry.name, entry.client, entry.file, outcome.action, note)
