"""Vectors in SQLite: a sketch of one bit a dimension finds, half-precision numbers decide.

Sketches lie in blocks of a thousand nodes, all their first words first, so that a search reads a
few large values and compares with a few machine instructions a node. SQLite extensions
are not needed; many Pythons cannot load any.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clawkit.store.database import Row, Unit, other_size, without_vector

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats, Seqs

    _Words = np.ndarray[tuple[int, int], np.dtype[np.uint64]]

_BLOCK = 1024
_FEWEST = 160
_OVERSAMPLING = 4
_SIGN_AND_NUMBER = np.uint32(0x8FFFE000).view(np.int32)
_EXPONENT = np.float32(2.0 ** (127 - 15))


class SqliteVectors:
    """The vectors of one Being, within a transaction."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        # One search looks at some of them three times.
        self._read: dict[str, dict[int, Floats]] = defaultdict(dict)
        self._sketches: dict[str, list[Row]] = {}

    def put(self, model: str, seqs: Sequence[int], vectors: Floats) -> None:
        if not len(seqs):
            return
        self._forget()
        self._check(model, vectors.shape[1])
        self._unit.many(
            "INSERT INTO vectors (being, model, seq, data) VALUES ($being, ?, ?, ?) "
            "ON CONFLICT (being, model, seq) DO UPDATE SET data = excluded.data",
            (
                (model, seq, row.astype("<f2").tobytes())
                for seq, row in zip(seqs, vectors, strict=True)
            ),
        )
        for block in sorted({seq // _BLOCK for seq in seqs}):
            self._sketch(model, block, seqs, vectors)

    def nearest(
        self, model: str, vector: Floats, k: int, exclude: Collection[int] = ()
    ) -> tuple[list[int], list[float]]:
        wanted = max(_FEWEST, k * _OVERSAMPLING)
        seqs, cosines = self._compared(model, vector, self._alike(model, vector, wanted, exclude))
        best = np.lexsort((seqs, -cosines))[:k]
        return seqs[best].tolist(), cosines[best].tolist()

    def cosines(self, model: str, vector: Floats, seqs: Sequence[int]) -> dict[int, float]:
        found, cosines = self._compared(model, vector, seqs)
        return dict(zip(found.tolist(), cosines.tolist(), strict=True))

    def fetch(self, model: str, seqs: Sequence[int]) -> dict[int, Floats]:
        read = self._read[model]
        self._load(model, [seq for seq in seqs if seq not in read])
        return {seq: read[seq] for seq in seqs if seq in read}

    def missing(self, model: str, limit: int) -> list[int]:
        return without_vector(self._unit, model, limit)

    def counts(self) -> dict[str, int]:
        rows = self._unit.rows(
            "SELECT model, sum(size) FROM sketches WHERE being = $being GROUP BY model"
        )
        return {model: int(size) for model, size in rows}

    def count(self, model: str) -> int:
        return sum(size for _, size, _ in self._sketches_of(model))

    def drop(self, model: str) -> None:
        self._forget()
        self._unit.run("DELETE FROM vectors WHERE being = $being AND model = ?", model)
        self._unit.run("DELETE FROM sketches WHERE being = $being AND model = ?", model)

    def remove(self, seqs: Sequence[int]) -> None:
        self._forget()
        self._unit.many(
            "DELETE FROM vectors WHERE being = $being AND seq = ?", [(seq,) for seq in seqs]
        )
        blocks = sorted({seq // _BLOCK for seq in seqs})
        sql = "SELECT block, model, data FROM sketches WHERE being = $being AND block IN (??)"
        for block, model, data in self._unit.among(sql, blocks):
            words = np.frombuffer(data, dtype="<u8").reshape(-1, _BLOCK).copy()
            words[:, [seq % _BLOCK for seq in seqs if seq // _BLOCK == block]] = 0
            self._write_sketch(model, block, words)

    def _check(self, model: str, dimensions: int) -> None:
        row = self._unit.row(
            "SELECT length(data) FROM vectors WHERE being = $being AND model = ? LIMIT 1", model
        )
        if row is not None and row[0] != 2 * dimensions:
            raise other_size(model, dimensions, row[0] // 2)

    def _forget(self) -> None:
        self._read.clear()
        self._sketches.clear()

    def _load(self, model: str, seqs: Sequence[int]) -> tuple[list[int], Floats]:
        """Read the vectors of these nodes, and keep them: whose there are, and a row for each."""
        sql = "SELECT seq, data FROM vectors WHERE being = $being AND model = ? AND seq IN (??)"
        rows = self._unit.among(sql, seqs, model) if seqs else []
        found = [seq for seq, _ in rows]
        numbers = widened(np.frombuffer(b"".join([data for _, data in rows]), dtype="<i2"))
        matrix = numbers.reshape(len(rows), -1 if rows else 0)
        self._read[model].update(zip(found, matrix, strict=True))
        return found, matrix

    def _sketches_of(self, model: str) -> list[Row]:
        if model not in self._sketches:
            sql = (
                "SELECT block, size, data FROM sketches WHERE being = $being AND model = ? "
                "ORDER BY block"
            )
            self._sketches[model] = self._unit.rows(sql, model)
        return self._sketches[model]

    def _compared(self, model: str, vector: Floats, seqs: Sequence[int]) -> tuple[Seqs, Floats]:
        """Those of these nodes that have a vector, and their cosines."""
        if self._read[model].keys().isdisjoint(seqs):
            found, matrix = self._load(model, seqs)
        else:
            vectors = self.fetch(model, seqs)
            found, matrix = list(vectors), np.array(list(vectors.values()))
        if not found:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        if matrix.shape[1] != len(vector):
            raise other_size(model, len(vector), matrix.shape[1])
        return np.array(found), matrix @ vector

    def _alike(self, model: str, vector: Floats, count: int, exclude: Collection[int]) -> list[int]:
        """The nodes whose sketches differ least from the vector's."""
        rows = self._sketches_of(model)
        if not rows:
            return []
        wanted = _bits(vector[None, :])[0]
        if len(rows[0][2]) != wanted.nbytes * _BLOCK:
            self._check(model, len(vector))
        nobody = 64 * len(wanted) + 1  # further away than any vector
        blocks = np.array([block for block, _, _ in rows])
        apart = np.empty((len(rows), _BLOCK), dtype=np.uint16)
        for at, (_, size, data) in enumerate(rows):
            words = np.frombuffer(data, dtype="<u8").reshape(-1, _BLOCK)
            different = np.bitwise_count(words ^ wanted[:, None])
            np.add.reduce(different, axis=0, dtype=np.uint16, out=apart[at])
            if size < _BLOCK:
                apart[at, ~words.any(axis=0)] = nobody
        if exclude:
            seqs = np.fromiter(exclude, dtype=np.int64, count=len(exclude))
            seqs = seqs[np.isin(seqs // _BLOCK, blocks)]
            apart[np.searchsorted(blocks, seqs // _BLOCK), seqs % _BLOCK] = nobody
        first = _least(apart.ravel(), count, nobody)
        return (blocks[first // _BLOCK] * _BLOCK + first % _BLOCK).tolist()

    def _sketch(self, model: str, block: int, seqs: Sequence[int], vectors: Floats) -> None:
        """Write the bits of those vectors that belong to this block."""
        mine = [at for at, seq in enumerate(seqs) if seq // _BLOCK == block]
        bits = _bits(vectors[mine])
        row = self._unit.row(
            "SELECT data FROM sketches WHERE being = $being AND model = ? AND block = ?",
            model,
            block,
        )
        if row is None:
            words = np.zeros((bits.shape[1], _BLOCK), dtype="<u8")
        else:
            words = np.frombuffer(row[0], dtype="<u8").reshape(-1, _BLOCK).copy()
        words[:, [seqs[at] % _BLOCK for at in mine]] = bits.T
        self._write_sketch(model, block, words)

    def _write_sketch(self, model: str, block: int, words: _Words) -> None:
        size = int(words.any(axis=0).sum())
        if not size:
            sql = "DELETE FROM sketches WHERE being = $being AND model = ? AND block = ?"
            self._unit.run(sql, model, block)
            return
        self._unit.run(
            "INSERT INTO sketches (being, model, block, size, data) VALUES ($being, ?, ?, ?, ?) "
            "ON CONFLICT (being, model, block) "
            "DO UPDATE SET size = excluded.size, data = excluded.data",
            model,
            block,
            size,
            words.tobytes(),
        )


def _least(apart: np.ndarray[tuple[int], np.dtype[np.uint16]], count: int, most: int) -> Seqs:
    """Where the `count` least of these numbers are; more where the last ones are equal.

    They are below `most`.
    """
    last = min(count, len(apart)) - 1
    return np.flatnonzero(apart <= min(int(np.partition(apart, last)[last]), most - 1))


def widened(halves: np.ndarray[tuple[int], np.dtype[np.int16]]) -> Floats:
    """Half-precision numbers, none of them infinite, as floats; `astype` takes six times as long.

    The bits are moved to where a float has them, then its exponent is made what it was.
    """
    bits = np.left_shift(halves, 13, dtype=np.int32)
    bits &= _SIGN_AND_NUMBER
    numbers = bits.view(np.float32)
    numbers *= _EXPONENT
    return numbers


def _bits(vectors: Floats) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """One bit a dimension: whether it is above zero; padded to whole machine words."""
    packed = np.packbits(vectors > 0, axis=1)
    if missing := -packed.shape[1] % 8:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    packed[~packed.any(axis=1), 0] = 1  # without any bit, nobody would be there
    return packed.view("<u8")
