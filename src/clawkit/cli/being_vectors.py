"""Vectors that memories lack, made while a person looks on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawkit.cli.being_opening import Progress
from clawkit.cli.rows import shown

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder, Vectors
    from clawkit.memory.keeper import Keeper
    from clawkit.memory.records import Being


_FEW = 200


class _Shown:
    """An embedder that says how far it is."""

    def __init__(self, embedder: Embedder, progress: Progress, total: int) -> None:
        self.name = embedder.name
        self._embedder = embedder
        self._progress = progress
        self._total = total
        self._done = 0

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        self._progress.show(self._done, self._total)
        vectors = self._embedder.embed(texts)
        self._done += len(texts)
        self._progress.show(self._done, self._total)
        return vectors


def make_vectors(keeper: Keeper, being: Being) -> int:
    """Give the memories of a Being the vectors that they lack; gives how many were made.

    An embedder that does not answer is no error: memories are found by their words meanwhile, and
    the next search asks for the vectors again.
    """
    from clawkit.errors import ModelError
    from clawkit.memory.patrol.embedding import catch_up
    from clawkit.memory.store import nodes

    embedder = keeper.embedder
    if embedder is None:
        return 0
    with keeper.database.read(being.n) as unit:
        total = nodes.top(unit) - unit.vectors.counts().get(embedder.name, 0)
    try:
        with Progress("Making vectors") as progress:
            return catch_up(keeper.database, being.n, _Shown(embedder, progress, total))
    except ModelError as error:
        print(f"claw: no vectors for now: {shown(str(error))}", file=sys.stderr)
        return 0


def make_few_vectors(keeper: Keeper, being: Being) -> None:
    """Before a search: the vectors that a few memories lack, so that all are found by meaning.

    One memory without a vector would let the whole search go by words. A Being whose vectors are
    of another model is left alone: to change the model is a decision, not a side effect.
    """
    embedder = keeper.embedder
    if embedder is None:
        return
    with keeper.database.read(being.n) as unit:
        ours = unit.vectors.counts()
        missing = len(unit.vectors.missing(embedder.name, _FEW + 1))
    if 0 < missing <= _FEW and (embedder.name in ours or not ours):
        make_vectors(keeper, being)


def say_missing(keeper: Keeper, being: Being, kind: str) -> None:
    """Say why a search went by words alone, if it need not have."""
    if kind != "keyword" or keeper.embedder is None:
        return
    with keeper.database.read(being.n) as unit:
        missing = bool(unit.vectors.missing(keeper.embedder.name, 1))
    if missing:
        note = "searched by words alone, as vectors are missing: `claw memory tidy` makes them"
        print(f"claw: {note}", file=sys.stderr)
