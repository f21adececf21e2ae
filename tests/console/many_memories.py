"""The person's own Being with very many memories and their vectors."""

from __future__ import annotations

import numpy as np

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.memory.records import Node, Scene
from clawkit.memory.store import nodes

_DIMENSIONS = 64


def remember_many(count: int) -> None:
    """So many facts, as an import would leave them."""
    vectors = np.random.default_rng(3).normal(size=(count, _DIMENSIONS)).astype(np.float32)
    with opened(MemoryPlace()) as store, store.database.write(store.default().n) as unit:
        first = nodes.reserve(unit, count)
        made = [
            Node(first + at, f"{at:08d}-0000-4000-8000-000000000000", Scene(f"fact {at}"), at + 1.0)
            for at in range(count)
        ]
        nodes.add(unit, made)
        unit.vectors.put("test", [node.seq for node in made], vectors)
