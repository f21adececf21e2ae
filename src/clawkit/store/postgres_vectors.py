"""Vectors in PostgreSQL: pgvector's half-precision numbers, compared exactly or by an own index.

The vectors of a Being are compared one by one as long as they are few. A Being with many gets an
index of its own, since an index over all Beings would find the neighbours of others and starve it.
Vectors have length one, so that the product of two is their cosine.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np
import psycopg
from psycopg import sql
from psycopg.adapt import Dumper
from psycopg.pq import Format

from clawkit.store.database import Row, Unit, other_size, without_vector

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

MANY = 50_000
"""From how many vectors on a Being gets an index."""

_WIDEST = 4000  # dimensions that an index of pgvector can have
_EFFORT = 200
_FURTHEST = 5000  # neighbours; beyond, comparing all takes no longer
_HEADER = struct.Struct(">HH")
_GROWING = int.from_bytes(b"Grow", "big")
_PREFIX = "vectors_near_"


class Halfvec:
    """A vector as pgvector reads it."""

    def __init__(self, vector: Floats) -> None:
        self.data = _HEADER.pack(len(vector), 0) + vector.astype(">f2").tobytes()


class _HalfvecDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Halfvec) -> bytes:
        return obj.data


def know_vectors(raw: psycopg.Connection) -> None:
    """Let a connection take vectors as values."""
    raw.adapters.register_dumper(Halfvec, _HalfvecDumper)


class PostgresVectors:
    """The vectors of one Being, within a transaction."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit

    def put(self, model: str, seqs: Sequence[int], vectors: Floats) -> None:
        if not len(seqs):
            return
        self._space(model, vectors.shape[1])
        row = self._unit.row(
            "SELECT count(*) FROM vectors WHERE being = $being AND model = ? "
            "AND seq = ANY(?::int[])",
            model,
            list(seqs),
        )
        self._unit.many(
            "INSERT INTO vectors (being, model, seq, data) VALUES ($being, ?, ?, ?::halfvec) "
            "ON CONFLICT (being, model, seq) DO UPDATE SET data = excluded.data",
            [(model, seq, Halfvec(row)) for seq, row in zip(seqs, vectors, strict=True)],
        )
        self._unit.run(
            "INSERT INTO spaces (being, model, dimensions, size) VALUES ($being, ?, ?, ?) "
            "ON CONFLICT (being, model) DO UPDATE SET size = spaces.size + excluded.size",
            model,
            vectors.shape[1],
            len(set(seqs)) - (row[0] if row else 0),
        )

    def nearest(
        self, model: str, vector: Floats, k: int, exclude: Collection[int] = ()
    ) -> tuple[list[int], list[float]]:
        found: list[tuple[int, float]] = []
        if self._space(model, len(vector)):
            found = self._by_index(model, vector, k, exclude)
        if len(found) < k:
            found = self._one_by_one(model, vector, k, exclude)
        found.sort(key=lambda pair: (-pair[1], pair[0]))
        return [seq for seq, _ in found], [cosine for _, cosine in found]

    def cosines(self, model: str, vector: Floats, seqs: Sequence[int]) -> dict[int, float]:
        self._space(model, len(vector))
        rows = self._unit.rows(
            "SELECT seq, -(data <#> ?::halfvec) FROM vectors "
            "WHERE being = $being AND model = ? AND seq = ANY(?::int[])",
            Halfvec(vector),
            model,
            list(seqs),
        )
        return dict(rows)

    def fetch(self, model: str, seqs: Sequence[int]) -> dict[int, Floats]:
        rows = self._unit.rows(
            "SELECT seq, halfvec_send(data) FROM vectors "
            "WHERE being = $being AND model = ? AND seq = ANY(?::int[])",
            model,
            list(seqs),
        )
        return {
            seq: np.frombuffer(data, dtype=">f2", offset=_HEADER.size).astype(np.float32)
            for seq, data in rows
        }

    def missing(self, model: str, limit: int) -> list[int]:
        return without_vector(self._unit, model, limit)

    def counts(self) -> dict[str, int]:
        return dict(self._unit.rows("SELECT model, size FROM spaces WHERE being = $being"))

    def count(self, model: str) -> int:
        return self.counts().get(model, 0)

    def drop(self, model: str) -> None:
        self._unit.run("DELETE FROM vectors WHERE being = $being AND model = ?", model)
        self._unit.run("DELETE FROM spaces WHERE being = $being AND model = ?", model)

    def remove(self, seqs: Sequence[int]) -> None:
        there = self._unit.rows(
            "SELECT model, count(*) FROM vectors "
            "WHERE being = $being AND seq = ANY(?::int[]) GROUP BY model",
            list(seqs),
        )
        self._unit.run(
            "DELETE FROM vectors WHERE being = $being AND seq = ANY(?::int[])", list(seqs)
        )
        self._unit.many(
            "UPDATE spaces SET size = size - ? WHERE being = $being AND model = ?",
            [(count, model) for model, count in there],
        )

    def _space(self, model: str, dimensions: int) -> bool:
        """Whether these vectors have an index; an error if they have other dimensions."""
        row = self._unit.row(
            "SELECT dimensions, grown FROM spaces WHERE being = $being AND model = ?", model
        )
        if row is not None and row[0] != dimensions:
            raise other_size(model, dimensions, row[0])
        return row is not None and bool(row[1])

    def _one_by_one(
        self, model: str, vector: Floats, k: int, exclude: Collection[int]
    ) -> list[tuple[int, float]]:
        rows = self._unit.rows(
            "SELECT seq, -(data <#> ?::halfvec) AS cosine FROM vectors "
            "WHERE being = $being AND model = ? AND seq <> ALL(?::int[]) "
            "ORDER BY cosine DESC, seq LIMIT ?",
            Halfvec(vector),
            model,
            [int(seq) for seq in exclude],
            k,
        )
        return [(seq, cosine) for seq, cosine in rows]

    def _by_index(
        self, model: str, vector: Floats, k: int, exclude: Collection[int]
    ) -> list[tuple[int, float]]:
        """The nearest by the Being's index; fewer than `k` where too many are excluded."""
        excluded = frozenset(exclude)
        limit = k + min(k, len(excluded))
        while True:
            found = self._indexed(model, vector, limit)
            kept = [(seq, cosine) for seq, cosine in found if seq not in excluded][:k]
            if len(kept) == k or len(found) < limit or limit >= _FURTHEST:
                return kept
            limit *= 4

    def _indexed(self, model: str, vector: Floats, limit: int) -> list[Row]:
        size = len(vector)
        self._unit.rows(
            "SELECT set_config('hnsw.iterative_scan', 'strict_order', true), "
            "set_config('hnsw.ef_search', ?, true) FROM beings WHERE n = $being",
            str(min(1000, max(_EFFORT, 2 * limit))),
        )
        return self._unit.rows(
            f"SELECT seq, -(data::halfvec({size}) <#> ?::halfvec({size})) FROM vectors "
            f"WHERE being = $being AND model = ? AND vector_dims(data) = {size} "
            f"ORDER BY data::halfvec({size}) <#> ?::halfvec({size}) LIMIT ?",
            Halfvec(vector),
            model,
            Halfvec(vector),
            limit,
        )


def grow(raw: psycopg.Connection, many: int = MANY) -> None:
    """Give an index to each Being that has many vectors, and take away those of no more use.

    Nobody waits for it: other processes that come here meanwhile go away, writers go on.
    """
    row = raw.execute(b"SELECT pg_try_advisory_lock(%s)", (_GROWING,)).fetchone()
    if not row or not row[0]:
        return
    raw.execute(b"SET lock_timeout = 0")
    raw.execute(b"SET maintenance_work_mem = '256MB'")
    # Several workers would build in shared memory, of which containers have little.
    raw.execute(b"SET max_parallel_maintenance_workers = 0")
    wanted, there = _wanted(raw, many), _there(raw)
    good = {name for name, valid in there.items() if valid and name in wanted}
    for name in there.keys() - good:
        raw.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))
    for name, (being, model, dimensions) in wanted.items():
        if name not in good:
            _build(raw, name, being, model, dimensions)
        raw.execute(
            b"UPDATE spaces SET grown = 1 WHERE being = %s AND model = %s AND grown = 0",
            (being, model),
        )


def _wanted(raw: psycopg.Connection, many: int) -> dict[str, tuple[int, str, int]]:
    """The indexes that should be there: by name, whose, of which model, how wide."""
    rows = raw.execute(
        b"SELECT being, model, dimensions FROM spaces WHERE size >= %s AND dimensions <= %s "
        b"ORDER BY being, model",
        (many, _WIDEST),
    ).fetchall()
    return {_name(*row): row for row in rows}


def _there(raw: psycopg.Connection) -> dict[str, bool]:
    """The indexes of Beings that are there, and whether they were built to the end."""
    rows = raw.execute(
        b"SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
        b"WHERE i.indrelid = 'vectors'::regclass AND starts_with(c.relname, %s)",
        (_PREFIX,),
    ).fetchall()
    return dict(rows)


def _name(being: int, model: str, dimensions: int) -> str:
    digest = hashlib.blake2b(model.encode(), digest_size=6).hexdigest()
    return f"{_PREFIX}{being}_{dimensions}_{digest}"


def _build(raw: psycopg.Connection, name: str, being: int, model: str, dimensions: int) -> None:
    raw.execute(
        sql.SQL(
            "CREATE INDEX CONCURRENTLY {} ON vectors "
            "USING hnsw ((data::halfvec({})) halfvec_ip_ops) "
            "WHERE being = {} AND model = {} AND vector_dims(data) = {}"
        ).format(
            sql.Identifier(name),
            sql.Literal(dimensions),
            sql.Literal(being),
            sql.Literal(model),
            sql.Literal(dimensions),
        )
    )
