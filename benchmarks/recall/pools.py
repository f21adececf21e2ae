"""A set of questions over one memory: what every source gives and every measure takes."""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from clawkit.memory.recall.index_text import texts_to_embed, words_of
from clawkit.memory.records import MemorySource, Node, Scene, moment
from clawkit.memory.store import nodes
from clawkit.store import open_store

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.store.database import Database


@dataclass(frozen=True)
class Memory:
    """One thing to remember; its number is its place in the pool, from 1."""

    text: str
    speaker: str = ""
    actors: tuple[str, ...] = ()
    when: str = ""
    conversation: str = ""


@dataclass(frozen=True)
class Asked:
    """A question and the numbers of the memories that answer it; none where nothing does."""

    text: str
    evidence: tuple[int, ...]
    kind: str = ""


@dataclass(frozen=True)
class Pool:
    """One conversation, or one life."""

    name: str
    memories: tuple[Memory, ...]
    questions: tuple[Asked, ...]
    now: float = field(default=0.0)

    @property
    def people(self) -> frozenset[str]:
        """Everybody who takes part."""
        return frozenset(name for m in self.memories for name in (m.speaker, *m.actors) if name)


@dataclass(frozen=True)
class Stored:
    """A pool as a Being of a real store."""

    pool: Pool
    database: Database
    being: int


@contextmanager
def stored(pools: Sequence[Pool], embedder: Embedder | None) -> Generator[list[Stored]]:
    """Each pool as a Being of its own in one SQLite file, written as the product writes it."""
    with tempfile.TemporaryDirectory() as folder:
        database = open_store(f"sqlite:{Path(folder) / 'recall.db'}")
        try:
            yield [_store(database, pool, embedder) for pool in pools]
        finally:
            database.close()


def _store(database: Database, pool: Pool, embedder: Embedder | None) -> Stored:
    from clawkit.memory.store import beings

    with database.registry(write=True) as connection:
        being = beings.create(connection, str(uuid.uuid4()), pool.name, pool.now)
    with database.write(being.n) as unit:
        first = nodes.reserve(unit, len(pool.memories))
        rows = [_node(first + at, memory) for at, memory in enumerate(pool.memories)]
        nodes.add(unit, rows)
        nodes.index_words(unit, {row.seq: words_of(row.scene, row.source) for row in rows})
        if embedder is not None:
            texts = [texts_to_embed(row.scene, pool.people)[0] for row in rows]
            unit.vectors.put(embedder.name, [row.seq for row in rows], embedder.embed(texts))
    return Stored(pool, database, being.n)


def _node(seq: int, memory: Memory) -> Node:
    created = moment(memory.when) if memory.when else 0.0
    return Node(
        seq=seq,
        id=f"{seq}",
        scene=Scene(memory.text, memory.actors, (memory.when,) if memory.when else ()),
        created=created,
        source=MemorySource(speaker=memory.speaker, conversation=memory.conversation),
    )
