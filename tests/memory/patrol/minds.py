"""A Being in a real store, a small embedder that knows words only, and notes to give it."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from clawkit.memory.patrol import centroids as patrolled
from clawkit.memory.patrol.run import PatrolOutcome, patrol
from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.memory.records import Cluster, LedgerEntry, MemorySource, Node, Note, Scene
from clawkit.memory.store import beings, clusters, ledger, nodes, notes
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from clawkit.store.arrays import Floats
from clawkit.store.database import Database
from clawkit.text.tokenizer import terms

NOW = 1_790_000_000.0
DAY = 86_400.0
TODAY = "2026-09-21"
TABLES = {
    "nodes": "seq",
    "clusters": "n",
    "notes": "id",
    "entries": "id",
}


class WordEmbedder:
    """A vector of words: two texts are near when they share words. The same in every process."""

    def __init__(self, name: str = "words", dimensions: int = 128) -> None:
        self.name = name
        self.dimensions = dimensions

    def embed(self, texts: Sequence[str]) -> Floats:
        out = np.zeros((len(texts), self.dimensions), np.float32)
        for at, text in enumerate(texts):
            for word, times in terms(text).items():
                out[at, self._place(word)] += times
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        return (out / np.maximum(lengths, 1e-9)).astype(np.float32)

    def _place(self, word: str) -> int:
        digest = hashlib.blake2b(f"{self.name} {word}".encode(), digest_size=4).digest()
        return int.from_bytes(digest, "big") % self.dimensions


class Mind:
    """One Being, as tests use it."""

    def __init__(self, database: Database, being: int) -> None:
        self.database = database
        self.being = being
        self.embedder: WordEmbedder | None = WordEmbedder()
        self._notes = itertools.count()

    def note(self, *scenes: Scene | str, conversation: str = "", at: float = NOW) -> list[str]:
        """Let scenes wait for a patrol; gives the notes' ids."""
        made = [
            Note(
                f"note-{next(self._notes):06}",
                at + n * 1e-6,
                Scene(scene, when=(TODAY,)) if isinstance(scene, str) else scene,
                source=MemorySource("Anna", "token-1", conversation),
            )
            for n, scene in enumerate(scenes)
        ]
        with self.database.write(self.being) as unit:
            notes.add(unit, made)
        return [note.id for note in made]

    def patrol(
        self, *messages: ConversationMessage, now: float = NOW, **options: Any
    ) -> PatrolOutcome:
        options.setdefault("embedder", self.embedder)
        options.setdefault("llm", None)
        conversation = options.pop("conversation", "")
        options.setdefault("caller", Caller(token="token-1", conversation=conversation))
        return patrol(self.database, self.being, now=now, messages=messages, **options)

    def remember(self, *scenes: Scene | str, **options: Any) -> list[Node]:
        """Note scenes and patrol; gives the nodes that are new."""
        before = len(self.nodes(ended=True))
        self.note(*scenes)
        self.patrol(**options)
        return self.nodes(ended=True)[before:]

    def change(self, seq: int, **values: Any) -> None:
        with self.database.write(self.being) as unit:
            nodes.change(unit, seq, values)

    def forget(self, seq: int, days: float = 900, **values: Any) -> None:
        """Let a memory be of long ago, and nobody have asked for it since."""
        then = NOW - days * DAY
        with self.database.write(self.being) as unit:
            sql = (
                "UPDATE nodes SET created = ?, last_activated = ? WHERE being = $being AND seq = ?"
            )
            unit.run(sql, then, then, seq)
            if values:
                nodes.change(unit, seq, values)

    def nodes(self, *, ended: bool = False) -> list[Node]:
        with self.database.read(self.being) as unit:
            return nodes.page(unit, ended=ended, order="seq", limit=200_000)

    def node(self, seq: int) -> Node:
        with self.database.read(self.being) as unit:
            return nodes.fetch(unit, [seq])[seq]

    def clusters(self) -> dict[str, Cluster]:
        with self.database.read(self.being) as unit:
            return {cluster.name: cluster for cluster in clusters.every(unit)}

    def topic(self, name: str, parent: str, seqs: Sequence[int]) -> int:
        """A topic under a root, with these memories in it."""
        with self.database.write(self.being) as unit:
            root = patrolled.root(unit, parent)
            made, _ = patrolled.add(unit, name, root)
            for seq in seqs:
                nodes.change(unit, seq, {"cluster": made.n})
        self.settle()
        return made.n

    def settle(self) -> None:
        """Put the middles of all clusters where they belong, after changes by hand."""
        assert self.embedder
        with self.database.write(self.being) as unit:
            every = [cluster.n for cluster in clusters.every(unit)]
            patrolled.recompute(unit, every, self.embedder.name)

    def history(self) -> list[LedgerEntry]:
        """All entries, the oldest first."""
        with self.database.read(self.being) as unit:
            return ledger.latest(unit, 10_000)[::-1]

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """What is stored, every column of it."""
        with self.database.read(self.being) as unit:
            return {
                table: unit.rows(f"SELECT * FROM {table} WHERE being = $being ORDER BY {key}")
                for table, key in TABLES.items()
            }


def open_mind(address: str) -> Mind:
    """The Being of a store; made if there is none."""
    database = open_store(address)
    with database.registry(write=True) as connection:
        found = beings.by_id(connection, "mind") or beings.create(connection, "mind", "Mind", NOW)
    return Mind(database, found.n)


def grown(mind: Mind) -> None:
    """A memory in which every step of a patrol has something to do."""
    made = mind.remember(*(f"fruit number {n}" for n in range(40)))
    mind.topic("Small", "Private", [node.seq for node in made[:2]])
    for node in made[5:9]:
        mind.forget(node.seq, status="dying")
    mind.change(made[10].seq, status="dead", session_count=70, reactivation_count=2)
    mind.change(made[11].seq, status="dying", session_count=70, reactivation_count=9)
    for node in made[12:20]:
        mind.forget(node.seq)
    mind.settle()
