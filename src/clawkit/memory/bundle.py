"""The bundle: a Being's memory as one text file, one JSON object a line; exported, checked, loaded.

{"kind":"bundle","format":"clawkit-memory","version":1}
{"kind":"cluster",…}  {"kind":"node",…}  {"kind":"note",…}  {"kind":"entry",…}
{"kind":"message",…}  {"kind":"change",…}  {"kind":"mark",…}
{"kind":"end","lines":123,"sha256":"…"}

The same memory gives the same bytes. What belongs to the place where a Being lives is not in it:
its name and id, tokens, keys, counters of readers. Nor are vectors, which are made anew.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
from msgspec import Struct

from clawkit.errors import UNREADABLE_JSON, BeingError
from clawkit.memory.people import NAMES
from clawkit.memory.recall.index_text import words_of_node
from clawkit.memory.records import (
    Being,
    Cluster,
    Count,
    Entry,
    HistoryMessage,
    LedgerEntry,
    Moment,
    Node,
    Note,
)
from clawkit.memory.store import beings, clusters, entries, ledger, messages, nodes, notes
from clawkit.store.database import Row, Unit

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.store.database import Database

FORMAT = "clawkit-memory"
VERSION = 1
_LONGEST = 64 * 1024 * 1024
"""Bytes of a line; what is longer is read no further."""


class BundleLine(Struct, frozen=True, tag_field="kind", omit_defaults=True):
    """One line of a bundle."""


class HeaderLine(BundleLine, frozen=True, tag="bundle"):
    """The first line."""

    format: str
    version: int


class ClusterLine(BundleLine, frozen=True, tag="cluster"):
    """A cluster; `gone` is since when it is no more."""

    cluster: Cluster
    gone: Moment | None = None


class NodeLine(BundleLine, frozen=True, tag="node"):
    """A node, also one that has ended."""

    node: Node


class NoteLine(BundleLine, frozen=True, tag="note"):
    """A note; `taken` is the node that it has become, 0 if none."""

    note: Note
    taken: Count | None = None


class EntryLine(BundleLine, frozen=True, tag="entry"):
    """An entry of structured memory, and the token that wrote it."""

    entry: Entry
    token: str = ""


class MessageLine(BundleLine, frozen=True, tag="message"):
    """A message, and the token that brought it."""

    message: HistoryMessage
    token: str = ""


class ChangeLine(BundleLine, frozen=True, tag="change"):
    """An entry of the ledger."""

    change: LedgerEntry


class MarkLine(BundleLine, frozen=True, tag="mark"):
    """A small fact by name."""

    name: str
    value: str


class EndLine(BundleLine, frozen=True, tag="end"):
    """The last line: how many came before it, and the sum of their bytes."""

    lines: int
    sha256: str


Record = ClusterLine | NodeLine | NoteLine | EntryLine | MessageLine | ChangeLine | MarkLine
_ORDER = (ClusterLine, NodeLine, NoteLine, EntryLine, MessageLine, ChangeLine, MarkLine)
_decode = msgspec.json.Decoder(HeaderLine | Record | EndLine).decode
_encode = msgspec.json.Encoder(order="sorted").encode


class Contents(Struct, frozen=True):
    """What is in a bundle that was found to be whole."""

    nodes: int = 0
    notes: int = 0
    entries: int = 0
    messages: int = 0
    changes: int = 0
    clusters: int = 0
    marks: int = 0

    @property
    def lines(self) -> int:
        return sum(msgspec.structs.astuple(self))


def written(records: Iterable[Record]) -> Iterator[bytes]:
    """The lines of a bundle."""
    digest, lines = hashlib.sha256(), 0
    for line in chain((HeaderLine(FORMAT, VERSION),), records):
        data = _encode(line) + b"\n"
        digest.update(data)
        lines += 1
        yield data
    yield _encode(EndLine(lines, digest.hexdigest())) + b"\n"


def check(file: BinaryIO, name: str) -> Contents:
    """Read a bundle to its end and raise what is wrong with it, with the number of the line."""
    checker = _Checker(name)
    digest = hashlib.sha256()
    end: EndLine | None = None
    number = 0
    for number, data in enumerate(iter(lambda: file.readline(_LONGEST), b""), 1):
        if end is not None:
            raise checker.wrong(number, "there is something behind the end")
        line = checker.line(number, data)
        if isinstance(line, EndLine):
            checker.end(number, line, digest.hexdigest())
            end = line
        else:
            digest.update(data)
            if not isinstance(line, HeaderLine):
                checker.check_record(number, line)
    if number == 0:
        raise BeingError(f"{name}: the file is empty")
    if end is None:
        raise checker.wrong(number, "the bundle ends here, without its last line: it was cut off")
    checker.check_references()
    return checker.contents


def records(file: BinaryIO) -> Iterator[Record]:
    """The records of a bundle that was checked."""
    for data in file:
        line = _decode(data)
        if not isinstance(line, HeaderLine | EndLine):
            yield line


class _Checker:
    """Checks a bundle line by line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._at = 0
        self._ids: set[tuple[int, str | int]] = set()
        self._references: list[tuple[int, int]] = []
        self._parents: list[tuple[int, int]] = []
        self._clusters: set[int] = {0}
        self._gone: set[int] = set()
        self._top = 0
        self._last_change = 0
        self._counts = [0] * len(_ORDER)

    @property
    def contents(self) -> Contents:
        clusters, nodes, notes, entries, messages, changes, marks = self._counts
        return Contents(nodes, notes, entries, messages, changes, clusters, marks)

    def wrong(self, number: int, what: str) -> BeingError:
        return BeingError(f"{self._name}, line {number}: {what}; nothing was imported")

    def line(self, number: int, data: bytes) -> HeaderLine | Record | EndLine:
        if len(data) == _LONGEST:
            raise self.wrong(number, "this line is longer than any of a bundle")
        if number == 1:
            return self._header(data)
        try:
            found = _decode(data)
        except RecursionError:  # what it says differs from Python to Python
            raise self.wrong(number, "this is no line of a bundle: nested too deeply") from None
        except ValueError as error:
            raise self.wrong(number, f"this is no line of a bundle: {error}") from None
        if isinstance(found, HeaderLine):
            raise self.wrong(number, "a second bundle begins here: give one file for each")
        return found

    def _header(self, data: bytes) -> HeaderLine:
        """The first line; the version is looked at before anything that depends on it."""
        try:
            header = msgspec.json.decode(data, type=HeaderLine)
        except UNREADABLE_JSON:
            raise self.wrong(1, "a bundle begins otherwise: this is none") from None
        if header.format != FORMAT:
            raise self.wrong(1, f"this is not a bundle of memories but {header.format!r}")
        if header.version < 1:
            raise self.wrong(1, f"there is no version {header.version} of bundles")
        if header.version > VERSION:
            known = f"this program knows version {VERSION}: install a newer clawkit"
            raise self.wrong(1, f"the bundle has version {header.version}, and {known}")
        return header

    def check_record(self, number: int, line: Record) -> None:
        at = _ORDER.index(type(line))
        if at < self._at:
            raise self.wrong(number, "the lines are not in their order")
        self._at = at
        self._counts[at] += 1
        match line:
            case ClusterLine(cluster=cluster):
                self._cluster(number, cluster, gone=line.gone is not None)
            case NodeLine(node=node):
                self._node(number, node)
            case NoteLine(note=note):
                self._check_unique(number, note.id)
                if line.taken:
                    self._references.append((number, line.taken))
            case EntryLine(entry=entry):
                self._check_unique(number, entry.id)
            case MessageLine(message=said):
                self._check_unique(number, said.id)
            case ChangeLine(change=change):
                if change.n <= self._last_change:
                    raise self.wrong(number, "the entries of the ledger are not in their order")
                self._last_change = change.n
                if not all(map(ledger.is_known, change.changes)):
                    raise self.wrong(number, "such changes are not made here")
            case MarkLine(name=name):
                self._check_unique(number, name)
                self._mark(number, line)

    def end(self, number: int, line: EndLine, digest: str) -> None:
        if line.lines != number - 1:
            count = f"{line.lines} lines should stand before this one, and there are {number - 1}"
            raise self.wrong(number, count)
        if line.sha256 != digest:
            raise self.wrong(number, "the checksum is another: a line above was changed")

    def _cluster(self, number: int, cluster: Cluster, *, gone: bool) -> None:
        self._check_unique(number, cluster.n)
        self._clusters.add(cluster.n)
        if gone:
            self._gone.add(cluster.n)
        if cluster.parent is not None:
            self._parents.append((number, cluster.parent))
        if cluster.n in (0, cluster.parent):
            raise self.wrong(number, f"a cluster cannot be {cluster.n}, or in itself")

    def _node(self, number: int, node: Node) -> None:
        self._check_unique(number, node.id)
        if node.seq != self._top + 1:
            raise self.wrong(number, f"memory {self._top + 1} is missing before {node.seq}")
        self._top = node.seq
        if node.cluster not in self._clusters:
            raise self.wrong(number, f"there is no cluster {node.cluster}")
        if node.cluster in self._gone and node.ended is None:
            raise self.wrong(number, f"cluster {node.cluster} is gone, and this is in it")
        if not 0 <= node.scene.importance <= 1:
            raise self.wrong(number, "`importance` is between 0 and 1")
        if node.successor is not None:
            self._references.append((number, node.successor))

    def _mark(self, number: int, line: MarkLine) -> None:
        if line.name == NAMES:
            try:
                msgspec.json.decode(line.value, type=list[str])
            except UNREADABLE_JSON:
                raise self.wrong(number, "the names of people are no list of texts") from None

    def _check_unique(self, number: int, key: str | int) -> None:
        if (self._at, key) in self._ids:
            raise self.wrong(number, f"{key} is there twice")
        self._ids.add((self._at, key))

    def check_references(self) -> None:
        """Every successor and parent cluster must exist."""
        for number, seq in self._references:
            if not 0 < seq <= self._top:
                raise self.wrong(number, f"there is no memory {seq}")
        for number, parent in self._parents:
            if parent not in self._clusters:
                raise self.wrong(number, f"there is no cluster {parent}")


_TOGETHER = 1000
_WRITTEN_TOGETHER = 5000
_CLUSTER = "n, id, name, parent, digest, gone"
_OWN = ("nodes", "notes", "entries", "messages", "ledger")

Advance = Callable[[int], object]
"""Told how many lines have been written."""


def export(database: Database, being: Being) -> Iterator[bytes]:
    """The lines of a bundle, of one moment; the store is read while they are taken."""
    with database.read(being.n) as unit:
        yield from written(_everything(unit))


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
    contents = check(file, name)
    file.seek(0)
    with _empty_being(store, into) as (being, unit):
        _write(unit, records(file), advance)
    return being, contents


@contextmanager
def _empty_being(store: BeingStore, into: Being | str) -> Generator[tuple[Being, Unit]]:
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
    for row in unit.rows(f"SELECT {_CLUSTER} FROM clusters WHERE being = $being ORDER BY n"):
        yield ClusterLine(Cluster(*row[:5]), row[5])
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
    """One by one: an entry can be large."""
    for (n,) in unit.rows("SELECT n FROM ledger WHERE being = $being ORDER BY n"):
        change = ledger.get(unit, n)
        assert change is not None
        yield ChangeLine(change)


def _write(unit: Unit, found: Iterable[Record], advance: Advance) -> None:
    done = 0
    for _, group in groupby(found, type):
        while part := list(islice(group, _WRITTEN_TOGETHER)):
            _write_part(unit, part)
            done += len(part)
            advance(done)


def _write_part(unit: Unit, lines: list[Any]) -> None:
    """Write some lines of one kind."""
    match lines[0]:
        case NodeLine():
            nodes.reserve(unit, len(lines))
            nodes.add(unit, [line.node for line in lines])
            nodes.index_words(unit, {line.node.seq: words_of_node(line.node) for line in lines})
        case NoteLine():
            notes.add(unit, [line.note for line in lines])
            taken = [(line.note.id, line.taken) for line in lines if line.taken is not None]
            notes.take(unit, taken)
        case MessageLine():
            for token, group in groupby(lines, lambda line: line.token):
                messages.add(unit, [line.message for line in group], token)
        case ChangeLine():
            for line in lines:
                ledger.put(unit, line.change)
            unit.run("UPDATE beings SET last_ledger = ? WHERE n = $being", lines[-1].change.n)
        case _:
            for line in lines:
                _write_line(unit, line)


def _write_line(unit: Unit, line: ClusterLine | EntryLine | MarkLine) -> None:
    match line:
        case ClusterLine(cluster=cluster, gone=gone):
            clusters.add(unit, cluster)
            if gone is not None:
                clusters.set_gone(unit, cluster.n, gone)
        case EntryLine(entry=entry, token=token):
            entries.add(unit, entry, token)
        case MarkLine(name=name, value=value):
            unit.set_mark(name, value)
