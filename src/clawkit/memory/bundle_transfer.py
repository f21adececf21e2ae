"""Exports a Being's memory into a bundle, and loads a bundle into a Being."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any, BinaryIO

from clawkit.errors import BeingError
from clawkit.memory import bundle
from clawkit.memory.bundle import (
    ChangeLine,
    ClusterLine,
    Contents,
    EntryLine,
    MarkLine,
    MessageLine,
    NodeLine,
    NoteLine,
    Record,
)
from clawkit.memory.records import Being, Cluster, HistoryMessage
from clawkit.memory.store import beings, clusters, entries, ledger, nodes, notes, postings
from clawkit.memory.store.database import Row, Unit

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.store.database import Database

_TOGETHER = 1000
_WRITTEN_TOGETHER = 5000
_OWN = ("nodes", "notes", "entries", "messages", "ledger")

Advance = Callable[[int], object]
"""Told how many lines have been written."""


def export(database: Database, being: Being) -> Iterator[bytes]:
    """The lines of a bundle, of one moment; the store is read while they are taken."""
    with database.read(being.n) as unit:
        yield from bundle.written(_everything(unit))


def load(
    store: BeingStore,
    file: BinaryIO,
    name: str,
    *,
    into: Being | str,
    advance: Advance = bool,
) -> tuple[Being, Contents]:
    """Give a Being the memory of a bundle: one that has none yet, or a new one of that name.

    The bundle is read to its end before anything is written, and written in one transaction, with
    the Being itself if that is new: whatever interrupts it leaves nothing.
    """
    contents = bundle.check(file, name)
    file.seek(0)
    with _emptied(store, into) as (being, unit):
        _write(unit, bundle.records(file), advance)
    return being, contents


@contextmanager
def _emptied(store: BeingStore, into: Being | str) -> Generator[tuple[Being, Unit]]:
    if isinstance(into, Being):
        with store.limited.write(into.n) as unit:
            _check_empty(unit, into)
            yield into, unit
        return
    with store.database.registry(write=True) as connection:
        being = beings.create(connection, str(uuid.uuid4()), into, store.clock())
        yield being, Unit(connection, being.n, None)


def _check_empty(unit: Unit, being: Being) -> None:
    """A bundle is a whole memory: two of them cannot be laid into one."""
    for table in _OWN:
        if unit.row(f"SELECT 1 FROM {table} WHERE being = $being LIMIT 1") is not None:
            raise BeingError(
                f"{being.name} remembers something already, and a bundle is a whole memory: "
                "name a Being that is not there yet, and it is made"
            )
    for table in ("clusters", "marks"):
        unit.run(f"DELETE FROM {table} WHERE being = $being")


def _everything(unit: Unit) -> Iterator[Record]:
    yield from _clusters(unit)
    yield from _nodes(unit)
    for *row, taken in _rows(unit, "notes", "created", f"{notes.COLUMNS}, taken"):
        yield NoteLine(notes.note(row), taken)
    for *row, token in _rows(unit, "entries", "at", f"{entries.COLUMNS}, token"):
        yield EntryLine(entries.entry(row), token)
    for *row, token in _rows(unit, "messages", "at", "id, at, role, content, conversation, token"):
        yield MessageLine(HistoryMessage(*row), token)
    yield from _changes(unit)
    found = unit.rows("SELECT name, value FROM marks WHERE being = $being")
    yield from (MarkLine(name, value) for name, value in sorted(found))


def _clusters(unit: Unit) -> Iterator[ClusterLine]:
    rows = unit.rows(
        "SELECT n, id, name, parent, digest, gone FROM clusters WHERE being = $being ORDER BY n"
    )
    return (ClusterLine(Cluster(*row[:5]), row[5]) for row in rows)


def _nodes(unit: Unit) -> Iterator[NodeLine]:
    seq = 0
    while found := nodes.page(unit, ended=True, after=seq, order="seq", limit=_TOGETHER):
        yield from map(NodeLine, found)
        seq = found[-1].seq


def _rows(unit: Unit, table: str, time: str, columns: str) -> Iterator[Row]:
    """Rows by time and id, compared as they are here: databases do not agree on order of text."""
    keys = sorted(
        (at, i) for i, at in unit.rows(f"SELECT id, {time} FROM {table} WHERE being = $being")
    )
    sql = f"SELECT {columns} FROM {table} WHERE being = $being AND id IN (??)"
    for start in range(0, len(keys), _TOGETHER):
        ids = [i for _, i in keys[start : start + _TOGETHER]]
        found = {row[0]: row for row in unit.among(sql, ids)}
        yield from (found[i] for i in ids)


def _changes(unit: Unit) -> Iterator[ChangeLine]:
    last = 0
    while found := unit.rows(
        "SELECT n FROM ledger WHERE being = $being AND n > ? ORDER BY n LIMIT 1", last
    ):
        last = found[0][0]
        change = ledger.one(unit, last)
        assert change is not None
        yield ChangeLine(change)


def _write(unit: Unit, records: Iterable[Record], advance: Advance) -> None:
    done = 0
    for kind, group in groupby(records, type):
        for part in _parts(group):
            _WRITERS[kind](unit, part)
            done += len(part)
            advance(done)


def _parts(group: Iterable[Record]) -> Iterator[list[Any]]:
    part: list[Record] = []
    for record in group:
        part.append(record)
        if len(part) == _WRITTEN_TOGETHER:
            yield part
            part = []
    if part:
        yield part


def _write_clusters(unit: Unit, lines: list[ClusterLine]) -> None:
    for line in lines:
        clusters.add(unit, line.cluster)
        if line.gone is not None:
            clusters.set_gone(unit, line.cluster.n, line.gone)


def _write_nodes(unit: Unit, lines: list[NodeLine]) -> None:
    from clawkit.memory.recall.index_text import words_of_node

    nodes.reserve(unit, len(lines))
    nodes.add(unit, [line.node for line in lines])
    postings.add(unit, {line.node.seq: words_of_node(line.node) for line in lines})


def _write_notes(unit: Unit, lines: list[NoteLine]) -> None:
    notes.add(unit, [line.note for line in lines])
    taken = [(line.note.id, line.taken) for line in lines if line.taken is not None]
    notes.take(unit, taken)


def _write_entries(unit: Unit, lines: list[EntryLine]) -> None:
    for line in lines:
        entries.add(unit, line.entry, line.token)


def _write_messages(unit: Unit, lines: list[MessageLine]) -> None:
    from clawkit.memory.store import messages

    for token, group in groupby(lines, lambda line: line.token):
        messages.add(unit, [line.message for line in group], token)


def _write_changes(unit: Unit, lines: list[ChangeLine]) -> None:
    for line in lines:
        ledger.put(unit, line.change)
    unit.run("UPDATE beings SET last_ledger = ? WHERE n = $being", lines[-1].change.n)


def _write_marks(unit: Unit, lines: list[MarkLine]) -> None:
    for line in lines:
        unit.set_mark(line.name, line.value)


_WRITERS: dict[type[Record], Callable[[Unit, list[Any]], None]] = {
    ClusterLine: _write_clusters,
    NodeLine: _write_nodes,
    NoteLine: _write_notes,
    EntryLine: _write_entries,
    MessageLine: _write_messages,
    ChangeLine: _write_changes,
    MarkLine: _write_marks,
}
