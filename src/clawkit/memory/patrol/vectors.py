"""Vectors for memories: embedded before a transaction needs them, or later where missing.

A model that cannot be reached costs nothing but vectors: what is remembered meanwhile is found by
its words, and `catch_up` gives it vectors later.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawkit.errors import ModelError
from clawkit.memory import people
from clawkit.memory.patrol import centroids
from clawkit.memory.recall.index_text import texts_to_embed
from clawkit.memory.records import USER, Scene
from clawkit.memory.store import clusters as stored_clusters
from clawkit.memory.store import nodes
from clawkit.store.database import Transactions, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.store.arrays import Floats

_AT_ONCE = 64
_LOOKED_UP = 4096
_CONTEXT = 0.7
"""How much what was said before counts beside a memory's own words."""

_log = logging.getLogger("clawkit.memory")


class Embed(NamedTuple):
    """How a transaction gets vectors for new memories, and of which model they are."""

    model: str
    make: Callable[[list[str]], Floats]


def _cached(embedder: Embedder) -> Callable[[list[str]], Floats]:
    """An `embed` that makes each text's vector once."""
    made: dict[str, Floats] = {}

    def make(texts: list[str]) -> Floats:
        import numpy as np

        missing = [text for text in dict.fromkeys(texts) if text not in made]
        for start in range(0, len(missing), _AT_ONCE):
            part = missing[start : start + _AT_ONCE]
            made.update(zip(part, embedder.embed(part), strict=True))
        return np.array([made[text] for text in texts], np.float32)

    return make


def ahead(
    database: Transactions,
    being: int,
    embedder: Embedder | None,
    scenes: Sequence[Scene],
    speakers: Sequence[str] = (),
) -> Embed | None:
    """An `embed` for a transaction, with the vectors of these scenes made before it begins."""
    if embedder is None or not scenes:
        return None
    with database.read(being) as unit:
        texts = texts_of(unit, scenes, speakers)
    try:
        make = _cached(embedder)
        make([part for both in texts for part in both if part])
        return Embed(embedder.name, make)
    except ModelError as error:
        _log.warning("no vectors for now: %s", error)
        return None


def texts_of(
    unit: Unit, scenes: Sequence[Scene], speakers: Sequence[str] = ()
) -> list[tuple[str, str]]:
    """The texts to embed of each scene: alone, and with its context."""
    voices = people.known(unit).voices.union(speakers) - {"", USER}
    return [texts_to_embed(scene, voices) for scene in scenes]


def vectors_of(embed: Embed | None, texts: Sequence[tuple[str, str]]) -> Floats | None:
    """The vectors, or None where there is no way to make them now."""
    if embed is None or not texts:
        return None
    try:
        return combined(embed.make, texts)
    except ModelError as error:
        _log.warning("no vectors for now: %s", error)
        return None


def combined(embed: Callable[[list[str]], Floats], texts: Sequence[tuple[str, str]]) -> Floats:
    """One vector for each memory, of its words alone and of its words in their context."""
    import numpy as np

    found: Floats = np.array(embed([alone for alone, _ in texts]), np.float32)
    places = [at for at, (_, around) in enumerate(texts) if around]
    if places:
        around = embed([texts[at][1] for at in places])
        both = (found[places] + _CONTEXT * around).astype(np.float32)
        found[places] = centroids.unit_length(both)
    return found


def catch_up(database: Transactions, being: int, embedder: Embedder, batch: int = _AT_ONCE) -> int:
    """Give each memory a vector of this model; gives how many were made.

    Only when all have one are the vectors of other models dropped: a change of the model that is
    given up half-way has cost nothing.
    """
    made = 0
    while True:
        with database.read(being) as unit:
            missing = unit.vectors.missing(embedder.name, _LOOKED_UP)
        if not missing:
            break
        for start in range(0, len(missing), batch):
            made += _embed(database, being, embedder, missing[start : start + batch])
    _settle(database, being, embedder.name, moved=made > 0)
    return made


def _embed(database: Transactions, being: int, embedder: Embedder, seqs: list[int]) -> int:
    with database.read(being) as unit:
        found = nodes.fetch(unit, seqs)
        there = sorted(found)
        texts = texts_of(unit, [found[seq].scene for seq in there])
    vectors = combined(embedder.embed, texts)
    with database.write(being) as unit:
        unit.vectors.put(embedder.name, there, vectors)
    return len(there)


def _settle(database: Transactions, being: int, model: str, *, moved: bool) -> None:
    """Recompute centroids in this model's space, and drop other models' vectors."""
    with database.read(being) as unit:
        others = [name for name in unit.vectors.counts() if name != model]
        placed = stored_clusters.centroids(unit, model)
        if not (moved or others or len(placed) < len(stored_clusters.every(unit))):
            return
    with database.write(being) as unit:
        if unit.vectors.missing(model, 1):
            return
        # Where nothing was made, a process with another model may be at it.
        for other in others if moved else ():
            unit.vectors.drop(other)
        centroids.recompute(unit, (c.n for c in stored_clusters.every(unit)), model)
