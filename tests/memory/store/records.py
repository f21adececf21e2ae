"""Beings, nodes and vectors for the tests of the stores."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from clawkit.memory.records import Being, MemorySource, Node, Scene
from clawkit.memory.store import beings, nodes
from clawkit.store.arrays import Floats
from clawkit.store.database import Database, Unit

NOW = 1_750_000_000.0
MODEL = "a-model"
SIZE = 32
NOBODY = MemorySource()


def being(database: Database, name: str = "Ada") -> Being:
    with database.registry(write=True) as connection:
        return beings.create(connection, str(uuid.uuid4()), name, NOW)


def node(seq: int, action: str, **rest: Any) -> Node:
    scene = rest.pop("scene", None) or Scene(action, ("Ada",), ("2026-01-02",))
    return Node(seq, str(uuid.uuid4()), scene, rest.pop("created", NOW), **rest)


def remember(unit: Unit, actions: Sequence[str], source: MemorySource = NOBODY) -> list[Node]:
    """Nodes with these actions, found by their words."""
    first = nodes.reserve(unit, len(actions))
    made = [node(first + at, action, source=source) for at, action in enumerate(actions)]
    nodes.add(unit, made)
    nodes.index_words(unit, {one.seq: Counter(one.scene.action.split()) for one in made})
    return made


def vectors(count: int, seed: int, size: int = SIZE) -> Floats:
    """Vectors of length one in all directions."""
    found = np.random.default_rng(seed).standard_normal((count, size)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def place(unit: Unit, made: Sequence[Node], where: Floats, model: str = MODEL) -> None:
    unit.vectors.put(model, [one.seq for one in made], where)
