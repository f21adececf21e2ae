"""Which record of the ledger an entry belongs to, also where a person renamed or moved it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clawkit.errors import HostError
from clawkit.hosts.entries import Entry, Stdio, behind_guard, entry_id
from clawkit.hosts.finding import HostFile, Reading, Scope, host_files, read
from clawkit.hosts.ledger import Item
from clawkit.system.files import read_source

Matches = dict[tuple[str, ...], Item]


def matches(reading: Reading, known: Sequence[Item], elsewhere: frozenset[str]) -> Matches:
    """The record of each entry, by the entry's keys.

    An entry that names a record belongs to it, wherever it stands; then the place counts, then
    the command behind the guard. A record that entries of other files name (`elsewhere`) is not
    one for whatever stands in its place now.
    """
    by_id = {item.id: item for item in known if item.remote is not None}
    found = {
        entry.keys: by_id[name]
        for entry in reading.entries
        if (name := named_by(entry)) is not None and name in by_id
    }
    taken = {item.id for item in found.values()} | elsewhere
    here = [item for item in of_file(known, reading.file) if item.id not in taken]
    for fits in (_same_place, _same_command):
        _match(reading.entries, here, found, fits)
    return found


def named_by(entry: Entry) -> str | None:
    """The id on the entry's command line, if it has one."""
    return entry_id(entry.launch.argv) if isinstance(entry.launch, Stdio) else None


def named_ids(entries: Iterable[Entry]) -> frozenset[str]:
    return frozenset(name for entry in entries if (name := named_by(entry)) is not None)


def named_elsewhere(file: HostFile, scope: Scope, known: Sequence[Item]) -> frozenset[str]:
    """Records of remote servers that entries in other files name, of whichever client."""
    remote = frozenset(item.id for item in known if item.remote is not None)
    if not remote:
        return remote
    everywhere = Scope(None, scope.project, scope.machine)
    others = [one for one in host_files(everywhere, known) if one.real != file.real]
    return remote & frozenset(name for one in others for name in _named_in(one, remote))


def of_file(known: Iterable[Item], file: HostFile) -> tuple[Item, ...]:
    real = file.real
    return tuple(item for item in known if item.file == real)


def _named_in(file: HostFile, ids: frozenset[str]) -> frozenset[str]:
    """In a file that cannot be parsed, an id that stands anywhere counts."""
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
    entries: Sequence[Entry], items: list[Item], found: Matches, fits: Callable[[Entry, Item], bool]
) -> None:
    for entry in entries:
        item = next((one for one in reversed(items) if fits(entry, one)), None)
        if entry.keys not in found and item is not None:
            found[entry.keys] = item
            items.remove(item)


def _same_command(entry: Entry, item: Item) -> bool:
    command = behind_guard(entry.launch.argv) if isinstance(entry.launch, Stdio) else ()
    return bool(command) and command == item.argv


def _same_place(entry: Entry, item: Item) -> bool:
    return entry.keys == item.keys
