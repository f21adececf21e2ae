"""Beings with many memories, written with the store's own functions, without waiting for a model.

Each distinct sentence is embedded once, really. A memory of two sentences gets the direction
between their vectors, so that a million memories have a million different vectors that lie as real
ones do. Nodes, words and vectors are written as a patrol writes them, only many at once.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.memory_texts import PEOPLE, Noted, memories, sentences
from clawkit.memory.being_store import BeingStore
from clawkit.memory.embed.embedder import shared
from clawkit.memory.patrol import centroids
from clawkit.memory.recall.index_text import texts_to_embed, words_of
from clawkit.memory.records import Being, MemorySource, Node, Scene, moment
from clawkit.memory.store import nodes
from clawkit.memory.tokens import issue
from clawkit.store import open_store
from clawkit.store.database import Database, Unit

AT_ONCE = 10_000
_EMBEDDED_AT_ONCE = 256


@dataclass(frozen=True)
class Door:
    """How a client gets to one Being."""

    being: Being
    token: str


def make_being(address: str, name: str = "bench") -> Door:
    """A Being without memories, and a token for it."""
    store = BeingStore(open_store(address), "none")
    try:
        being = store.create(name)
        return Door(being, issue(store, being)[0])
    finally:
        store.close()


def grow(address: str, being: int, count: int) -> tuple[int, float]:
    """Let a Being remember `count` memories; gives how many were new, and the seconds it took."""
    database = open_store(address)
    vectors = sentence_vectors()
    try:
        start = time.perf_counter()
        with database.read(being) as unit:
            there = nodes.top(unit)
        wanted = itertools.islice(memories(count), there, None)
        while batch := list(itertools.islice(wanted, AT_ONCE)):
            add(database, being, batch, vectors)
        return max(0, count - there), time.perf_counter() - start
    finally:
        database.close()


def add(database: Database, being: int, batch: list[Noted], vectors: np.ndarray) -> None:
    """One batch of memories, in one transaction."""
    with database.write(being) as unit:
        first = nodes.reserve(unit, len(batch))
        roots = {
            name: centroids.root(unit, name) for name in (centroids.BUSINESS, centroids.PRIVATE)
        }
        made = [_node(first + at, noted, roots) for at, noted in enumerate(batch)]
        nodes.add(unit, made)
        words = zip(made, batch, strict=True)
        nodes.index_words(unit, {node.seq: _words(noted) for node, noted in words})
        _put_vectors(unit, made, batch, vectors)
        centroids.recompute(unit, roots.values(), shared.name)


def _put_vectors(unit: Unit, made: list[Node], batch: list[Noted], vectors: np.ndarray) -> None:
    both = vectors[[noted.first for noted in batch]] + vectors[[noted.second for noted in batch]]
    both /= np.maximum(np.linalg.norm(both, axis=1, keepdims=True), 1e-9)
    unit.vectors.put(shared.name, [node.seq for node in made], both.astype(np.float32))


@cache
def sentence_vectors() -> np.ndarray:
    """The vector of each distinct sentence, from the default embedder."""
    people = frozenset(PEOPLE)
    texts = [texts_to_embed(Scene(each.text, (each.who,)), people)[0] for each in sentences()]
    starts = range(0, len(texts), _EMBEDDED_AT_ONCE)
    return np.concatenate([shared.embed(texts[at : at + _EMBEDDED_AT_ONCE]) for at in starts])


@cache
def _sentence_words(number: int) -> Counter[str]:
    return words_of(Scene(sentences()[number].text), MemorySource())


@cache
def _name_words(actors: tuple[str, ...]) -> Counter[str]:
    return words_of(Scene("", actors), MemorySource())


@cache
def _cluster_of(number: int) -> str:
    return centroids.root_for(Scene(sentences()[number].text))


def _words(noted: Noted) -> Counter[str]:
    """What `words_of` gives for the whole: words do not reach from one sentence to the next."""
    return _sentence_words(noted.first) + _sentence_words(noted.second) + _name_words(noted.actors)


def _node(seq: int, noted: Noted, roots: dict[str, int]) -> Node:
    created = moment(noted.day)
    return Node(
        seq=seq,
        id=str(uuid.uuid4()),
        scene=Scene(noted.text, noted.actors, (noted.day,)),
        created=created,
        cluster=roots[_cluster_of(noted.first)],
        fresh=False,
        last_activated=created,
    )


def scenes(some: Iterable[Noted]) -> list[dict[str, object]]:
    """The same memories as a client sends them to `update_notes`."""
    return [
        {"action": noted.text, "actors": list(noted.actors), "when": [noted.day]} for noted in some
    ]
