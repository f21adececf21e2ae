"""What a driver must do; the `Unit`: one transaction that can reach one Being only; its values.

SQL is written once, in what SQLite and PostgreSQL have in common, with `?` for a value and
`$being` for the Being. The Unit puts the Being's number there itself and refuses a statement
without it: no function can forget it, or name another.

PostgreSQL takes no NUL, neither takes half a surrogate pair, and an index of PostgreSQL takes no
long key. What cannot be stored becomes U+FFFD, so that the rest of a text is kept.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

import msgspec

from clawkit.errors import BeingError, StoreError

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

Row = tuple[Any, ...]
Gives = Literal["rows", "count", "many"]

_MARK = re.compile(r"\?|\$being")


class Connection:
    """Runs SQL within a transaction, on a connection of Python's database API."""

    raw: Any
    unclaimed = ""
    """What ends a SELECT that takes rows for itself and passes over those that others took."""

    def execute(self, gives: Gives, sql: str, values: Iterable[Any]) -> Any:
        """Run a statement; with "many", once for each row of values, which gives nothing."""
        if gives == "many":
            return self.raw.executemany(sql, values)
        cursor = self.raw.execute(sql, values)
        return cursor.fetchall() if gives == "rows" else cursor.rowcount

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """What the statement gives: all of it."""
        return self.execute("rows", sql, storable(values))

    def run(self, sql: str, values: Sequence[Any] = ()) -> int:
        """How many rows the statement changed."""
        return self.execute("count", sql, storable(values))

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """The statement, once for each row of values."""
        self.execute("many", sql, map(storable, rows))


class VectorIndex(Protocol):
    """Vectors of one Being, each of which belongs to a model; models are never mixed."""

    def put(self, model: str, seqs: Sequence[int], vectors: Floats) -> None: ...

    def nearest(
        self, model: str, vector: Floats, k: int, exclude: Collection[int] = ()
    ) -> tuple[list[int], list[float]]:
        """The `k` nodes nearest to a vector, with their cosines, the nearest first."""
        ...

    def cosines(self, model: str, vector: Floats, seqs: Sequence[int]) -> dict[int, float]:
        """The cosines of these nodes, where they have a vector."""
        ...

    def fetch(self, model: str, seqs: Sequence[int]) -> dict[int, Floats]: ...

    def missing(self, model: str, limit: int) -> list[int]:
        """Nodes that have no vector of this model yet, the newest first."""
        ...

    def counts(self) -> dict[str, int]:
        """How many vectors there are of each model."""
        ...

    def count(self, model: str) -> int:
        """How many there are of one model, for whoever looks for the nearest of them next."""
        ...

    def drop(self, model: str) -> None: ...

    def remove(self, seqs: Sequence[int]) -> None:
        """The vectors of these nodes go, of every model."""
        ...


class Transactions(Protocol):
    """Transactions on single Beings: all that most functions need of a store."""

    def read(self, being: int) -> AbstractContextManager[Unit]:
        """A transaction that sees one Being at one moment."""
        ...

    def write(self, being: int) -> AbstractContextManager[Unit]:
        """A transaction that changes one Being, all or nothing, and excludes its other writers."""
        ...


class Database(Transactions, Protocol):
    """A store of Beings. Safe to use from any thread."""

    @property
    def address(self) -> str:
        """Where it is, without what is secret."""
        ...

    def registry(self, *, write: bool = False) -> AbstractContextManager[Connection]:
        """A transaction over what belongs to no single Being: the list of them, tokens, jobs."""
        ...

    def write_counters(self, being: int) -> AbstractContextManager[Unit]:
        """Like `write`, for counters: it waits a moment at most, and a power cut may undo it."""
        ...

    def patrolling(self, being: int) -> AbstractContextManager[bool]:
        """Whether nobody else is at this, which nobody else then is until this is left.

        Readers and writers go on meanwhile, and whoever dies lets go of it.
        """
        ...

    def probe(self) -> None:
        """Write something that changes nothing; raises StoreError where that is not possible."""
        ...

    def grow(self) -> None:
        """Build what keeps large Beings fast; takes its time, so no request calls it."""
        ...

    def scrub(self) -> str:
        """Overwrite what was deleted, in the store's own files; gives why it could not."""
        ...

    def close(self) -> None: ...


class Unit:
    """One transaction on one Being."""

    def __init__(
        self, connection: Connection, being: int, vectors: Callable[[Unit], VectorIndex] | None
    ) -> None:
        self._execute = connection.execute
        self._vectors = vectors
        self.being = being

    @cached_property
    def vectors(self) -> VectorIndex:
        assert self._vectors is not None, "this transaction has no vectors"
        return self._vectors(self)

    def rows(self, sql: str, *values: Any) -> list[Row]:
        text, places = _read(sql)
        return self._execute("rows", text, self._placed(values, places))

    def row(self, sql: str, *values: Any) -> Row | None:
        """The first row, if there is one."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def run(self, sql: str, *values: Any) -> int:
        text, places = _read(sql)
        return self._execute("count", text, self._placed(values, places))

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        text, places = _read(sql)
        self._execute("many", text, (self._placed(row, places) for row in rows))

    def among(self, sql: str, values: Sequence[Any], *before: Any) -> list[Row]:
        """A statement with `(??)` for a list of values, however long that is.

        `VALUES (??)` is a table of them, in `column1`. `before` has the values of earlier marks.
        """
        found: list[Row] = []
        for start in range(0, len(values), _TOGETHER):
            part = list(values[start : start + _TOGETHER])
            if "VALUES (??)" in sql:
                text = sql.replace("(??)", ", ".join(["(?)"] * len(part)))
            else:
                # The last one, named again, changes nothing; statements of few lengths are known.
                part += part[-1:] * (_next_length(len(part)) - len(part))
                text = sql.replace("(??)", f"({', '.join('?' * len(part))})")
            found += self.rows(text, *before, *part)
        return found

    def insert(self, table: str, row: Mapping[str, Any]) -> None:
        """A new row of this Being."""
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        sql = f"INSERT INTO {table} (being, {columns}) VALUES ($being, {marks})"
        self.run(sql, *row.values())

    def insert_all(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """New rows of this Being, all with the same columns."""
        if rows:
            columns, marks = ", ".join(rows[0]), ", ".join("?" * len(rows[0]))
            sql = f"INSERT INTO {table} (being, {columns}) VALUES ($being, {marks})"
            self.many(sql, [list(row.values()) for row in rows])

    def mark(self, name: str) -> str | None:
        """A small fact about this Being, such as where the last patrol ended."""
        row = self.row("SELECT value FROM marks WHERE being = $being AND name = ?", name)
        return row[0] if row else None

    def set_mark(self, name: str, value: str) -> None:
        self.run(
            "INSERT INTO marks (being, name, value) VALUES ($being, ?, ?) "
            "ON CONFLICT (being, name) DO UPDATE SET value = excluded.value",
            name,
            value,
        )

    def _placed(self, values: Sequence[Any], places: tuple[int, ...]) -> list[Any]:
        """The values as databases take them, with the Being's number where it is wanted."""
        filled = storable(values)
        for place in places:
            filled.insert(place, self.being)
        return filled


_TOGETHER = 500


def no_being(being: int) -> BeingError:
    """What a writer is told when its Being is not there, or not any more."""
    return BeingError(f"there is no Being number {being} in this store: it may have been deleted")


def other_size(model: str, given: int, kept: int) -> StoreError:
    """What is said of a vector that does not fit the others of its model."""
    return StoreError(
        f"vectors of {model!r} have {kept} dimensions here, not {given}: "
        "name the embedding model that made them, or another name for the new one"
    )


def without_vector(unit: Unit, model: str, limit: int) -> list[int]:
    """Nodes that have no vector of this model yet, the newest first."""
    rows = unit.rows(
        "SELECT seq FROM nodes WHERE being = $being AND ending <> 'erased' AND NOT EXISTS "
        "(SELECT 1 FROM vectors v "
        "WHERE v.being = nodes.being AND v.model = ? AND v.seq = nodes.seq) "
        "ORDER BY seq DESC LIMIT ?",
        model,
        limit,
    )
    return [seq for (seq,) in rows]


def _next_length(count: int) -> int:
    """The next of 1, 2, 4, 8, 16, 32, 64, then of whole 64s."""
    return 1 << (count - 1).bit_length() if count <= 64 else -(-count // 64) * 64


@lru_cache(maxsize=512)
def _read(sql: str) -> tuple[str, tuple[int, ...]]:
    """A statement with `?` marks only, and which of them stand for the Being."""
    marks = _MARK.findall(sql)
    places = tuple(at for at, mark in enumerate(marks) if mark == "$being")
    if not places:
        raise AssertionError(f"a statement that names no Being: {sql}")
    return sql.replace("$being", "?"), places


_UNKNOWN = "\ufffd"
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_KEY = 200
_AS_THEY_ARE = frozenset((int, float, bytes, type(None)))


def storable(values: Iterable[Any]) -> list[Any]:
    """The values of a statement as both databases take them."""
    return [value if type(value) in _AS_THEY_ARE else _storable(value) for value in values]


def keepable(text: str) -> str:
    """A text without what a database refuses."""
    if "\0" in text:
        text = text.replace("\0", _UNKNOWN)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(_UNKNOWN, text)
    return text


def written(value: Any) -> str:
    """A record as JSON, without what a database refuses."""
    with suppress(UnicodeEncodeError):
        text = msgspec.json.encode(value).decode()
        if "\\u0000" not in text:
            return text
    return msgspec.json.encode(_cleaned_all(msgspec.to_builtins(value))).decode()


def key(text: str) -> str:
    """A text that an index can hold: itself, or its beginning and a digest of it."""
    text = keepable(text)
    if len(text) <= _LONGEST_KEY:
        return text
    return f"{text[:32]}…{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def folded(text: str) -> str:
    """The same for texts that differ in case, width and spaces only."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def contains(column: str, text: str) -> str:
    """A condition: whether a column contains a text, given in small letters, whatever the case.

    The databases' own small letters are those of ASCII, and fast.
    """
    cased = "".join(one for one in text if not one.isascii() and one.lower() != one.upper())
    return f"instr({'folded' if cased else 'lower'}({column}), ?) > 0"


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return keepable(value)
    return int(value) if isinstance(value, bool) else value  # the tables have no flags


def _cleaned_all(value: Any) -> Any:
    if isinstance(value, str):
        return keepable(value)
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {_cleaned_all(name): _cleaned_all(one) for name, one in items}
    if isinstance(value, list | tuple):
        return [_cleaned_all(one) for one in cast("Sequence[Any]", value)]
    return value
