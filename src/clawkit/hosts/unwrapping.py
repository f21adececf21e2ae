"""Takes the guard away again: the entry's own bytes come back, or it is said exactly why not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.display import shown
from clawkit.hosts.documents import dialect_of
from clawkit.hosts.documents.editing import Edited, edit_entry, replace_entry
from clawkit.hosts.documents.nodes import Dialect, data_at
from clawkit.hosts.entries import Data, Entry, Stdio, entries_of, is_guarded
from clawkit.hosts.finding import Reading, Scope, find, host_files
from clawkit.hosts.forms import unguard_stdio
from clawkit.hosts.ledger import Item, items, ledger_file
from clawkit.hosts.matching import Matches, matches, named_elsewhere, named_ids, of_file
from clawkit.hosts.wrapping import (
    Change,
    Plan,
    Report,
    carry_out,
    change_of,
    not_found,
)
from clawkit.system.files import is_readable

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


def _out_of_reach(wanted: Sequence[Item], files: set[str]) -> Iterator[Change]:
    """Records whose file is not there, or is and cannot be read: it may come back any time."""
    left = {item.id for item in items()}
    for item in wanted:
        if item.file in files or item.id not in left:
            continue
        if Path(item.file).exists():
            yield _without_entry(item, "failed", "its file cannot be read; kept in the ledger")
        else:
            yield _without_entry(item, "unchanged", "its file is gone; kept in the ledger")


def _without_entry(item: Item, action: Literal["unchanged", "failed"], note: str) -> Change:
    return Change(item.file, item.client, item.server, item.keys, action, note=note)


def _plan_unwrap(reading: Reading, server: str | None, scope: Scope, known: Sequence[Item]) -> Plan:
    text = reading.text
    changes: list[Change] = []
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
            changes.append(change_of(entry, "failed", note=str(error)))
            continue
        changes.append(change)
        done += [item] if item else []
    for change, item in _without_place(reading, server, known, recorded, elsewhere):
        changes.append(change)
        done += [item] if item else []
    named = elsewhere | named_ids(_entries(reading, text))
    removed = tuple(item for item in done if _can_go(item, reading, named))
    return Plan(text, tuple(changes), removed=removed)


def _without_place(
    reading: Reading,
    server: str | None,
    known: Sequence[Item],
    recorded: Matches,
    elsewhere: frozenset[str],
) -> Iterator[tuple[Change, Item | None]]:
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


def _entries(reading: Reading, text: str) -> Iterator[Entry]:
    client, file = reading.file.client, str(reading.file.path)
    return entries_of(client, file, dialect_of(client.format).open(text, file).data)


def _can_go(item: Item, reading: Reading, named: frozenset[str]) -> bool:
    """The record of a remote server may be the only place that has its token: it stays while an
    entry names it, or while its own file is out of reach and may do so."""
    if item.remote is None:
        return True
    return item.id not in named and (item.file == reading.file.real or is_readable(item.file))


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
    elif item.client != entry.client:
        raise HostError(_by_hand(f"it was wrapped in another client ({item.client})", item))
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
        listed = ", ".join(f"`{key}`" for key in ours)
        raise HostError(_by_hand(f"{listed} changed since it was wrapped", item))
    put_back = replace_entry(dialect, text, entry.file, entry.keys, original, before)
    if not touched:
        return Restored(put_back, ())
    merged = {key: value for key, value in before.items() if key not in touched}
    merged |= {key: now[key] for key in touched if key in now}
    merged = {key: merged[key] for key in (*before, *now) if key in merged}
    edited = edit_entry(dialect, put_back.text, entry.file, entry.keys, merged)
    return Restored(msgspec.structs.replace(edited, before=put_back.before), tuple(touched))


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
