"""Beings with names that no new one is given: stores of earlier days, and imports, have them."""

from __future__ import annotations

from uuid import uuid4

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.memory.records import Being
from clawkit.memory.store import beings


def create_named(name: str) -> Being:
    with (
        opened(MemoryPlace()) as store,
        store.database.registry(write=True) as connection,
    ):
        return beings.create(connection, str(uuid4()), name, store.clock())
