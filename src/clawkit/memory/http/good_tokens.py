"""The digests of all tokens that count, for addresses that are locked out for guessing.

A lock-out is for what fails: a good token passes, whoever guesses behind the same address. To look
each guess up in the store would let guesses cost the store something, so the digests are read
together, every few seconds at most, and only while somebody is locked out.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from clawkit.memory.store import tokens

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

READ_EVERY = 5.0
MOST_WAITING = 100


class GoodTokens:
    """What was good when it was last read."""

    def __init__(self, keeper: Keeper, read_every: float = READ_EVERY) -> None:
        self._keeper = keeper
        self._read_every = read_every
        self._digests: frozenset[str] = frozenset()
        self._next = 0.0
        self._reading: asyncio.Task[None] | None = None
        self._waiting = 0

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    @property
    def may_wait(self) -> bool:
        """Whether one more may wait for what is read next."""
        return self._waiting < MOST_WAITING

    async def renewed(self, away: Callable[..., Awaitable[Any]]) -> None:
        """Wait until the digests have been read once more."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._read(away))
        self._waiting += 1
        try:
            await asyncio.shield(self._reading)
        finally:
            self._waiting -= 1

    async def _read(self, away: Callable[..., Awaitable[Any]]) -> None:
        try:
            await asyncio.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self._read_every
            self._digests = await away(self._from_store)
        finally:
            self._reading = None

    def _from_store(self) -> frozenset[str]:
        with self._keeper.database.registry() as connection:
            return frozenset(tokens.good(connection, self._keeper.clock()))
