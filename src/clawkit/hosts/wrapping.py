"""Puts the guard before servers in clients' files: first the ledger, then the file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Literal, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.display import shown
from clawkit.hosts.documents import dialect_of
from clawkit.hosts.documents.editing import edit_entry
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.entries import Data, Entry, Stdio, is_guarded
from clawkit.hosts.finding import HostFile, Reading, Scope, find, host_files, read
from clawkit.hosts.forms import (
    Guarded,
    foreign_places,
    foreign_program,
    guard_remote,
    guard_stdio,
    launcher,
)
from clawkit.hosts.ledger import (
    Item,
    Ledger,
    backups_directory,
    items,
    locked,
    private_directory,
)
from clawkit.hosts.matching import matches, named_elsewhere
from clawkit.system.files import Changed, Source, replace_source, write_whole

ATTEMPTS = 5
SHARED = "the file belongs to a project: this entry works only on this machine, do not commit it"


class Change(msgspec.Struct, frozen=True):
    """What was, or would be, done to one entry. Texts are for showing: secrets are left out."""

    file: str
    client: str
    server: str
    keys: tuple[str, ...]
    action: Literal["wrapped", "unwrapped", "unchanged", "failed"]
    before: str = ""
    after: str = ""
    line: int = 0
    note: str = ""


class Report(msgspec.Struct, frozen=True):
    """Every entry that was asked for, and the files that could not be used."""

    changes: tuple[Change, ...]
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.problems) or any(one.action == "failed" for one in self.changes)


class Plan(msgspec.Struct, frozen=True):
    """A file's next text, what the ledger gains or loses by it, and the changes to report."""

    text: str
    changes: tuple[Change, ...]
    added: tuple[Item, ...] = ()
    removed: tuple[Item, ...] = ()


Planner = Callable[[Reading, Sequence[Item]], Plan]


def wrap(server: str | None, scope: Scope, *, dry_run: bool = False) -> Report:
    """Wraps the servers of this name in every client of the scope; all servers without a name."""

    def plan(reading: Reading, known: Sequence[Item]) -> Plan:
        return _plan_wrap(reading, server, scope, known)

    found = find(host_files(scope))
    names = [entry.name for entry in found.entries]
    if server is not None and server not in names:
        raise HostError(not_found(server, names, found.problems))
    wanted = [
        reading.file
        for reading in found.readings
        if any(server in (None, entry.name) for entry in reading.entries)
    ]
    return carry_out(wanted, plan, dry_run=dry_run, problems=() if server else found.problems)


def not_found(server: str, names: Sequence[str], problems: Sequence[str]) -> str:
    listed = ", ".join(sorted(set(names))) or "no servers at all"
    text = f"no client has a server called `{server}`; found: {listed}"
    return "\n".join((text, *problems))


def carry_out(
    files: Sequence[HostFile], plan: Planner, *, dry_run: bool, problems: Sequence[str] = ()
) -> Report:
    """Runs a plan over each file; one that cannot be done leaves the others alone."""
    changes: list[Change] = []
    failures = list(problems)
    for file in files:
        try:
            changes += _try(file, plan) if dry_run else _do(file, plan)
        except HostError as error:
            failures.append(str(error))
    return Report(tuple(changes), tuple(failures))


def _try(file: HostFile, plan: Planner) -> tuple[Change, ...]:
    return plan(read(file), items()).changes


def _do(file: HostFile, plan: Planner) -> tuple[Change, ...]:
    """Plans and writes; plans again if the client wrote the file meanwhile."""
    with locked() as ledger:
        for _ in range(ATTEMPTS):
            reading = read(file)
            planned = plan(reading, ledger.items)
            try:
                _write(reading, planned, ledger)
            except Changed:
                continue
            return planned.changes
    raise HostError(f"{file.path}: keeps changing: close {file.client.title} and try again")


def _write(reading: Reading, planned: Plan, ledger: Ledger) -> None:
    """The ledger never knows less than the file, so a crash between the two loses nothing."""
    if planned.added:
        ledger.add(planned.added)
    if planned.text != reading.text:
        back_up(reading.source)
        replace_source(reading.source, planned.text)
    ledger.remove(planned.removed)


def back_up(source: Source) -> None:
    """The file as it was before our first change to it, which stays, and before our last."""
    directory = backups_directory()
    mark = hashlib.sha256(str(source.path.resolve()).encode()).hexdigest()[:12]
    first = directory / f"{mark}-first-{source.path.name}"
    last = directory / f"{mark}-{source.path.name}"
    try:
        private_directory(directory)
        write_whole(last if first.exists() else first, source.data)
    except OSError as error:
        raise HostError(f"{directory}: cannot be written: {error.strerror}") from None


def _plan_wrap(reading: Reading, server: str | None, scope: Scope, known: Sequence[Item]) -> Plan:
    text = reading.text
    recorded = matches(reading, known, named_elsewhere(reading.file, scope, known))
    changes: list[Change] = []
    added: list[Item] = []
    for entry in reading.entries:
        if server not in (None, entry.name):
            continue
        try:
            change, item, text = _wrap_entry(reading, text, entry, recorded.get(entry.keys))
        except HostError as error:
            change, item = change_of(entry, "failed", note=str(error)), None
        changes.append(change)
        added += [item] if item else []
    return Plan(text, tuple(changes), tuple(added))


def _wrap_entry(
    reading: Reading, text: str, entry: Entry, earlier: Item | None
) -> tuple[Change, Item | None, str]:
    if entry.launch is None:
        return change_of(entry, "unchanged", note=f"not wrapped: {entry.reason}"), None, text
    if isinstance(entry.launch, Stdio) and is_guarded(entry.launch.argv):
        how = "already wrapped" if earlier else "already wrapped by hand"
        foreign = (foreign_places(entry.launch), foreign_program(entry.launch.argv))
        note = "; ".join(filter(None, (how, *foreign)))
        return change_of(entry, "unchanged", note=note), None, text
    data = cast("Data", data_at(reading.data, entry.keys))
    # The same id again where an earlier attempt got no further than the ledger.
    identity = earlier.id if earlier else os.urandom(6).hex()
    client = reading.file.client
    if isinstance(entry.launch, Stdio):
        guarded = Guarded(guard_stdio(client.form, data, launcher()))
    else:
        guarded = guard_remote(client, data, entry.launch, launcher(), identity)
    dialect = dialect_of(client.format)
    edited = edit_entry(dialect, text, entry.file, entry.keys, guarded.data)
    change = change_of(
        entry,
        "wrapped",
        before=shown(dialect, edited.before, entry.file),
        after=shown(dialect, edited.after, entry.file),
        line=edited.line,
        note="; ".join(filter(None, (guarded.note, SHARED if reading.file.shared else ""))),
    )
    item = Item(
        id=identity,
        client=client.id,
        file=reading.file.real,
        keys=entry.keys,
        server=entry.name,
        original=edited.before,
        wrapped=edited.after,
        sha256=hashlib.sha256(edited.after.encode()).hexdigest(),
        time=now(),
        argv=entry.launch.argv if isinstance(entry.launch, Stdio) else (),
        remote=guarded.remote,
    )
    return change, item, edited.text


def change_of(
    entry: Entry,
    action: Literal["wrapped", "unwrapped", "unchanged", "failed"],
    *,
    before: str = "",
    after: str = "",
    line: int = 0,
    note: str = "",
) -> Change:
    return Change(
        entry.file, entry.client, entry.name, entry.keys, action, before, after, line, note
    )


def now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
