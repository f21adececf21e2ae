"""Puts the guard before servers in clients' files (ledger first, then file), and removes it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.discovery import (
    HostFile,
    HostFileContent,
    Matches,
    SearchScope,
    find,
    host_files,
    matches,
    named_elsewhere,
    named_ids,
    of_file,
    read,
)
from clawkit.hosts.documents.edits import Edited, dialect_of, edit_entry, replace_entry
from clawkit.hosts.documents.nodes import Dialect, data_at
from clawkit.hosts.entries import (
    Data,
    ServerEntry,
    StdioLaunch,
    entries_of,
    guard_program,
    is_guarded,
    is_our_own,
    is_this_installation,
    our_server,
    without_secrets,
)
from clawkit.hosts.guarded_entry import (
    GuardedEntry,
    foreign_places,
    foreign_program,
    guard_remote,
    guard_stdio,
    launcher,
    unguard_stdio,
)
from clawkit.hosts.ledger import (
    Item,
    Ledger,
    backups_directory,
    items,
    ledger_file,
    locked,
    private_directory,
)
from clawkit.system.files import (
    FileChangedError,
    FileSnapshot,
    is_readable,
    replace_source,
    write_whole,
)

ATTEMPTS = 5
SHARED = "the file belongs to a project: this entry works only on this machine, do not commit it"


class EntryChange(msgspec.Struct, frozen=True):
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

    changes: tuple[EntryChange, ...]
    problems: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        return bool(self.problems) or any(one.action == "failed" for one in self.changes)


class WrapPlan(msgspec.Struct, frozen=True):
    """A file's next text, what the ledger gains or loses by it, and the changes to report."""

    text: str
    changes: tuple[EntryChange, ...]
    added: tuple[Item, ...] = ()
    removed: tuple[Item, ...] = ()


Planner = Callable[[HostFileContent, Sequence[Item]], WrapPlan]


def wrap(server: str | None, scope: SearchScope, *, dry_run: bool = False) -> Report:
    """Wraps the servers of this name in every client of the scope; all servers without a name."""

    def plan(reading: HostFileContent, known: Sequence[Item]) -> WrapPlan:
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
    changes: list[EntryChange] = []
    failures = list(problems)
    for file in files:
        try:
            changes += plan(read(file), items()).changes if dry_run else _do(file, plan)
        except HostError as error:
            failures.append(str(error))
    return Report(tuple(changes), tuple(failures))


def _do(file: HostFile, plan: Planner) -> tuple[EntryChange, ...]:
    """Plans and writes; plans again if the client wrote the file meanwhile."""
    with locked() as ledger:
        for _ in range(ATTEMPTS):
            reading = read(file)
            planned = plan(reading, ledger.items)
            try:
                _write(reading, planned, ledger)
            except FileChangedError:
                continue
            return planned.changes
    raise HostError(f"{file.path}: keeps changing: close {file.client.title} and try again")


def _write(reading: HostFileContent, planned: WrapPlan, ledger: Ledger) -> None:
    """The ledger never knows less than the file, so a crash between the two loses nothing."""
    if planned.added:
        ledger.add(planned.added)
    if planned.text != reading.text:
        back_up(reading.source)
        replace_source(reading.source, planned.text)
    ledger.remove(planned.removed)


def back_up(source: FileSnapshot) -> None:
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


def _plan_wrap(
    reading: HostFileContent, server: str | None, scope: SearchScope, known: Sequence[Item]
) -> WrapPlan:
    text = reading.text
    recorded = matches(reading, known, named_elsewhere(reading.file, scope, known))
    changes: list[EntryChange] = []
    added: list[Item] = []
    for entry in reading.entries:
        if server not in (None, entry.name):
            continue
        if server is None and (ours := _ours(entry)):
            changes.append(_change(entry, "unchanged", f"skipped: {ours}"))
            continue
        try:
            change, item, text = _wrap_entry(reading, text, entry, recorded.get(entry.keys))
        except HostError as error:
            # Whoever wraps all servers means those that can be guarded.
            done = "failed" if server else "unchanged"
            change, item = _change(entry, done, f"{'' if server else 'skipped: '}{error}"), None
        changes.append(change)
        added += [item] if item else []
    return WrapPlan(text, tuple(changes), tuple(added))


def _ours(entry: ServerEntry) -> str:
    """Why a server of ours is not worth a guard of ours, where it is one."""
    if is_guarded(entry.argv) or not is_our_own(entry.argv):
        return ""
    name = our_server(entry.argv)
    return f"it is our own {name}; by its name it can be wrapped all the same"


def _is_behind_our_guard(launch: StdioLaunch, earlier: Item | None) -> bool:
    """Whether our guard starts the server: this program, or an earlier one by the ledger."""
    if not is_guarded(launch.argv):
        return False
    program = guard_program(launch.argv)
    recorded = earlier is not None and all(word in earlier.wrapped for word in program)
    return recorded or is_this_installation(launch.argv)


def _wrap_entry(
    reading: HostFileContent, text: str, entry: ServerEntry, earlier: Item | None
) -> tuple[EntryChange, Item | None, str]:
    if entry.launch is None:
        return _change(entry, "unchanged", f"not wrapped: {entry.reason}"), None, text
    if isinstance(entry.launch, StdioLaunch) and _is_behind_our_guard(entry.launch, earlier):
        how = "already wrapped" if earlier else "already wrapped by hand"
        foreign = (foreign_places(entry.launch), foreign_program(entry.launch.argv))
        note = "; ".join(filter(None, (how, *foreign)))
        return _change(entry, "unchanged", note), None, text
    data = cast("Data", data_at(reading.data, entry.keys))
    # The same id again where an earlier attempt got no further than the ledger.
    identity = earlier.id if earlier else os.urandom(6).hex()
    client = reading.file.client
    if isinstance(entry.launch, StdioLaunch):
        guarded = GuardedEntry(guard_stdio(client.form, data, launcher()))
    else:
        guarded = guard_remote(client, data, entry.launch, launcher(), identity)
    dialect = dialect_of(client.format)
    edited = edit_entry(dialect, text, entry.file, entry.keys, guarded.data)
    shared = SHARED if reading.file.shared else ""
    # What looks like a guard here is another's program of the same name.
    namesake = foreign_program(entry.argv) if is_guarded(entry.argv) else ""
    note = "; ".join(filter(None, (namesake, guarded.note, shared)))
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
        argv=entry.argv,
        remote=guarded.remote,
        variables=entry.launch.env if isinstance(entry.launch, StdioLaunch) else None,
    )
    return _change(entry, "wrapped", note, dialect, edited), item, edited.text


def _change(
    entry: ServerEntry,
    action: Literal["wrapped", "unwrapped", "unchanged", "failed"],
    note: str,
    dialect: Dialect | None = None,
    edited: Edited | None = None,
) -> EntryChange:
    """What is reported about an entry, its texts before and after without secrets."""
    place = (entry.file, entry.client, entry.name, entry.keys, action)
    if dialect is None or edited is None:
        return EntryChange(*place, note=note)
    before, after = (
        without_secrets(dialect, text, entry.file) for text in (edited.before, edited.after)
    )
    return EntryChange(*place, before, after, edited.line, note)


def now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


_MISSING = object()


def unwrap(server: str | None, scope: SearchScope, *, dry_run: bool = False) -> Report:
    """Unwraps the servers of this name in every client of the scope; all servers without a name.

    Files of other projects that the ledger knows are looked at too.
    """

    def plan(reading: HostFileContent, known: Sequence[Item]) -> WrapPlan:
        return _plan_unwrap(reading, server, scope, known)

    clients = {client.id for client in scope.clients}
    recorded = [item for item in items() if item.client in clients]
    found = find(host_files(scope, recorded))
    names = [entry.name for entry in found.entries] + [item.server for item in recorded]
    if server is not None and server not in names:
        raise HostError(not_found(server, names, found.problems))
    wanted = [item for item in recorded if server in (None, item.server)]
    files = [
        reading.file
        for reading in found.readings
        if any(server in (None, entry.name) for entry in reading.entries)
        or any(item.file == reading.file.real for item in wanted)
    ]
    report = carry_out(files, plan, dry_run=dry_run, problems=() if server else found.problems)
    left = _out_of_reach(wanted, {reading.file.real for reading in found.readings})
    return Report((*report.changes, *left), report.problems)


def _out_of_reach(wanted: Sequence[Item], files: set[str]) -> Iterator[EntryChange]:
    """Records whose file is not there, or is and cannot be read: it may come back any time."""
    left = {item.id for item in items()}
    for item in wanted:
        if item.file in files or item.id not in left:
            continue
        if Path(item.file).exists():
            yield _without_entry(item, "failed", "its file cannot be read; kept in the ledger")
        else:
            yield _without_entry(item, "unchanged", "its file is gone; kept in the ledger")


def _without_entry(item: Item, action: Literal["unchanged", "failed"], note: str) -> EntryChange:
    return EntryChange(item.file, item.client, item.server, item.keys, action, note=note)


def _plan_unwrap(
    reading: HostFileContent, server: str | None, scope: SearchScope, known: Sequence[Item]
) -> WrapPlan:
    text = reading.text
    changes: list[EntryChange] = []
    done: list[Item] = []
    elsewhere = named_elsewhere(reading.file, scope, known)
    recorded = matches(reading, known, elsewhere)
    for entry in reading.entries:
        if server not in (None, entry.name):
            continue
        item = recorded.get(entry.keys)
        try:
            change, text = _unwrap_entry(reading, text, entry, item)
        except HostError as error:
            changes.append(_change(entry, "failed", str(error)))
            continue
        changes.append(change)
        done += [item] if item else []
    for change, item in _without_place(reading, server, known, recorded, elsewhere):
        changes.append(change)
        done += [item] if item else []
    named = elsewhere | named_ids(_entries(reading, text))
    removed = tuple(item for item in done if _can_go(item, reading, named))
    return WrapPlan(text, tuple(changes), removed=removed)


def _without_place(
    reading: HostFileContent,
    server: str | None,
    known: Sequence[Item],
    recorded: Matches,
    elsewhere: frozenset[str],
) -> Iterator[tuple[EntryChange, Item | None]]:
    """Records of this file whose entry is not where it was; with the record if it is gone."""
    names: dict[str, list[str]] = {}
    for entry in reading.entries:
        if entry.keys in recorded:
            names.setdefault(recorded[entry.keys].id, []).append(entry.name)
    for item in of_file(known, reading.file):
        if server not in (None, item.server):
            continue
        if item.id in names:
            if server not in (None, *names[item.id]):
                note = f"it is called `{names[item.id][0]}` now: unwrap that"
                yield _without_entry(item, "unchanged", note), None
        elif item.id in elsewhere:
            note = "its entry stands in another file now; kept in the ledger"
            yield _without_entry(item, "unchanged", note), None
        else:
            note = "the entry is gone; removed from the ledger"
            yield _without_entry(item, "unchanged", note), item


def _entries(reading: HostFileContent, text: str) -> Iterator[ServerEntry]:
    client, file = reading.file.client, str(reading.file.path)
    return entries_of(client, file, dialect_of(client.format).open(text, file).data)


def _can_go(item: Item, reading: HostFileContent, named: frozenset[str]) -> bool:
    """The record of a remote server may be the only place that has its token: it stays while an
    entry names it, or while its own file is out of reach and may do so."""
    if item.remote is None:
        return True
    return item.id not in named and (item.file == reading.file.real or is_readable(item.file))


def _unwrap_entry(
    reading: HostFileContent, text: str, entry: ServerEntry, item: Item | None
) -> tuple[EntryChange, str]:
    dialect = dialect_of(reading.file.client.format)
    if not is_guarded(entry.argv):
        note = "not wrapped" if item is None else "not wrapped any more; removed from the ledger"
        return _change(entry, "unchanged", note), text
    if item is None:
        edited, note = _rebuilt(reading, dialect, text, entry), "rebuilt from the entry itself"
    elif item.client != entry.client:
        raise HostError(_by_hand(f"it was wrapped in another client ({item.client})", item))
    else:
        edited, note = _restored(dialect, text, entry, item)
    return _change(entry, "unwrapped", note, dialect, edited), edited.text


def _rebuilt(reading: HostFileContent, dialect: Dialect, text: str, entry: ServerEntry) -> Edited:
    """Rebuilds the original entry where the ledger has no record of it."""
    data = cast("Data", data_at(reading.data, entry.keys))
    try:
        new = unguard_stdio(reading.file.client.form, data, cast("StdioLaunch", entry.launch))
    except HostError as error:
        raise HostError(
            f"{error}, and the ledger has no record of it: write the entry again by hand"
        ) from None
    return edit_entry(dialect, text, entry.file, entry.keys, new)


def _restored(dialect: Dialect, text: str, entry: ServerEntry, item: Item) -> tuple[Edited, str]:
    """The original bytes, to which what else changed in the entry is carried over, as is noted."""
    document = dialect.open(text, entry.file)
    start, end = document.span(entry.keys)
    now = cast("Data", data_at(document.data, entry.keys))
    original = dialect.renamed(item.original, item.keys, entry.keys)
    wrapped = dialect.renamed(item.wrapped, item.keys, entry.keys)
    try:
        before = _meaning(dialect, text[:start] + original + text[end:], entry)
        written = now
        if text[start:end] != wrapped:
            written = _meaning(dialect, text[:start] + wrapped + text[end:], entry)
    except HostError:
        raise HostError(_by_hand("its file was written anew in another layout", item)) from None
    touched = _differing(now, written)
    ours = [key for key in touched if key in _differing(before, written)]
    if ours:
        raise HostError(_by_hand(f"{_listed(ours)} changed since it was wrapped", item))
    put_back = replace_entry(dialect, text, entry.file, entry.keys, original, before)
    if not touched:
        return put_back, ""
    merged = {key: value for key, value in before.items() if key not in touched}
    merged |= {key: now[key] for key in touched if key in now}
    merged = {key: merged[key] for key in (*before, *now) if key in merged}
    edited = edit_entry(dialect, put_back.text, entry.file, entry.keys, merged)
    note = f"{_listed(touched)} changed since it was wrapped and was kept"
    return msgspec.structs.replace(edited, before=put_back.before), note


def _meaning(dialect: Dialect, text: str, entry: ServerEntry) -> Data:
    data = data_at(dialect.open(text, entry.file).data, entry.keys)
    if not isinstance(data, dict):
        raise HostError(f"{entry.file}: {entry.name} is no entry")
    return cast("Data", data)


def _differing(one: Data, other: Data) -> list[str]:
    return [key for key in {**one, **other} if one.get(key, _MISSING) != other.get(key, _MISSING)]


def _by_hand(why: str, item: Item) -> str:
    return (
        f"{why}, so it was left alone. Put it back by hand: how it was written is in "
        f"{ledger_file()}, under `original` of {item.id}"
    )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)
