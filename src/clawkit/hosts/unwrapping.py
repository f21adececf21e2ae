"""Takes the guard away again: the entry's own bytes come back, or it is said exactly why not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.display import shown
from clawkit.hosts.documents import dialect_of
from clawkit.hosts.documents.editing import Edited, edit_entry, replace_entry
from clawkit.hosts.documents.nodes import Dialect, data_at
from clawkit.hosts.entries import Data, Entry, Stdio, is_guarded
from clawkit.hosts.finding import Reading, Scope, find, host_files
from clawkit.hosts.forms import unguard_stdio
from clawkit.hosts.ledger import Item, items, ledger_file, locked
from clawkit.hosts.wrapping import (
    Change,
    Plan,
    Report,
    carry_out,
    change_of,
    not_found,
)

_MISSING = object()


class Restored(msgspec.Struct, frozen=True):
    """The document with the entry put back, and the keys whose later changes were kept."""

    edited: Edited
    kept: tuple[str, ...]


def unwrap(server: str | None, scope: Scope, *, dry_run: bool = False) -> Report:
    """Unwraps the servers of this name in every client of the scope; all servers without a name.

    Files of other projects that the ledger knows are looked at too.
    """

    def plan(reading: Reading, known: Sequence[Item]) -> Plan:
        return _plan_unwrap(reading, server, known)

    clients = {client.id for client in scope.clients}
    recorded = [item for item in items() if item.client in clients]
    found = find(host_files(scope, recorded))
    names = [entry.name for entry in found.entries] + [item.server for item in recorded]
    if server is not None and server not in names:
        raise HostError(not_found(server, names, found.problems))
    wanted = [item for item in recorded if server in (None, item.server)]
    gone = _forget(wanted, {reading.file.real for reading in found.readings}, dry_run=dry_run)
    files = [
        reading.file
        for reading in found.readings
        if any(server in (None, entry.name) for entry in reading.entries)
        or any(item.file == reading.file.real for item in wanted)
    ]
    report = carry_out(files, plan, dry_run=dry_run, problems=() if server else found.problems)
    return Report((*report.changes, *gone), report.problems)


def _forget(wanted: Sequence[Item], files: set[str], *, dry_run: bool) -> tuple[Change, ...]:
    """Items whose file is gone; a file that is there and cannot be read is not gone."""
    gone = [item for item in wanted if item.file not in files and not Path(item.file).exists()]
    if gone and not dry_run:
        with locked() as ledger:
            ledger.remove(gone)
    return tuple(_without_entry(item, "its file is gone; removed from the ledger") for item in gone)


def _without_entry(item: Item, note: str) -> Change:
    return Change(item.file, item.client, item.server, item.keys, "unchanged", note=note)


def _plan_unwrap(reading: Reading, server: str | None, known: Sequence[Item]) -> Plan:
    text = reading.text
    changes: list[Change] = []
    removed: list[Item] = []
    recorded = {item.keys: item for item in known}
    for entry in reading.entries:
        if server not in (None, entry.name):
            continue
        item = recorded.get(entry.keys)
        try:
            change, text = _unwrap_entry(reading, text, entry, item)
        except HostError as error:
            changes.append(change_of(entry, "failed", note=str(error)))
            continue
        changes.append(change)
        removed += [item] if item else []
    there = {entry.keys for entry in reading.entries}
    for item in known:
        if item.keys not in there and server in (None, item.server):
            changes.append(_without_entry(item, "the entry is gone; removed from the ledger"))
            removed.append(item)
    return Plan(text, tuple(changes), removed=tuple(removed))


def _unwrap_entry(
    reading: Reading, text: str, entry: Entry, item: Item | None
) -> tuple[Change, str]:
    dialect = dialect_of(reading.file.client.format)
    guarded = isinstance(entry.launch, Stdio) and is_guarded(entry.launch.argv)
    if not guarded:
        note = "not wrapped" if item is None else "not wrapped any more; removed from the ledger"
        return change_of(entry, "unchanged", note=note), text
    if item is None:
        edited, note = _rebuilt(reading, dialect, text, entry), "rebuilt from the entry itself"
    else:
        restored = _restored(dialect, text, entry, item)
        edited, note = restored.edited, _note(restored.kept)
    change = change_of(
        entry,
        "unwrapped",
        before=shown(dialect, edited.before, entry.file),
        after=shown(dialect, edited.after, entry.file),
        line=edited.line,
        note=note,
    )
    return change, edited.text


def _rebuilt(reading: Reading, dialect: Dialect, text: str, entry: Entry) -> Edited:
    """Somebody wrapped it by hand, or the ledger was lost."""
    data = cast("Data", data_at(reading.data, entry.keys))
    try:
        new = unguard_stdio(reading.file.client.form, data, cast("Stdio", entry.launch))
    except HostError as error:
        raise HostError(
            f"{error}, and the ledger has no record of it: write the entry again by hand"
        ) from None
    return edit_entry(dialect, text, entry.file, entry.keys, new)


def _restored(dialect: Dialect, text: str, entry: Entry, item: Item) -> Restored:
    """The original bytes; what else changed in the entry meanwhile is carried over to them."""
    document = dialect.open(text, entry.file)
    start, end = document.span(entry.keys)
    now = cast("Data", data_at(document.data, entry.keys))
    try:
        before = _meaning(dialect, text[:start] + item.original + text[end:], entry)
        written = _meaning(dialect, text[:start] + item.wrapped + text[end:], entry)
    except HostError:
        raise HostError(_by_hand("its file was written anew in another layout", item)) from None
    touched = _differing(now, written)
    ours = [key for key in touched if key in _differing(before, written)]
    if ours:
        listed = ", ".join(f"`{key}`" for key in ours)
        raise HostError(_by_hand(f"{listed} changed since it was wrapped", item))
    original = replace_entry(dialect, text, entry.file, entry.keys, item.original, before)
    if not touched:
        return Restored(original, ())
    merged = {key: value for key, value in before.items() if key not in touched}
    merged |= {key: now[key] for key in touched if key in now}
    merged = {key: merged[key] for key in (*before, *now) if key in merged}
    edited = edit_entry(dialect, original.text, entry.file, entry.keys, merged)
    return Restored(msgspec.structs.replace(edited, before=original.before), tuple(touched))


def _meaning(dialect: Dialect, text: str, entry: Entry) -> Data:
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


def _note(kept: tuple[str, ...]) -> str:
    if not kept:
        return ""
    listed = ", ".join(f"`{key}`" for key in kept)
    return f"{listed} changed since it was wrapped and was kept"
