"""A real store with Beings and tokens in it, for the tests of this folder and its neighbours."""

from __future__ import annotations

from pathlib import Path

from clawkit.memory.being_store import BeingStore
from clawkit.store import open_store


class Clock:
    """A clock that tests move."""

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def store_at(folder: Path, clock: Clock | None = None) -> BeingStore:
    """The Beings of a store in a folder; keywords only, so that nothing has to be loaded."""
    address = f"sqlite:{folder / 'beings.db'}"
    if clock is None:
        return BeingStore(open_store(address), "none")
    return BeingStore(open_store(address), "none", clock=clock)
