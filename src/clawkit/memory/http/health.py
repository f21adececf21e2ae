"""Whether the store can be reached and written to, for whoever runs the server.

Writing is tried every few seconds at most, however often somebody asks.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from clawkit.errors import StoreError

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

PROBE_EVERY = 5.0

_log = logging.getLogger("clawkit.memory")


class Health:
    """Looks after one store."""

    def __init__(self, keeper: Keeper, probe_every: float = PROBE_EVERY) -> None:
        self._keeper = keeper
        self._probe_every = probe_every
        self._probing = threading.Lock()
        self._next = 0.0
        self._problem = ""

    def look(self) -> dict[str, Any]:
        """What `/healthz` says. It is open to all: nothing says where the store is."""
        try:
            with self._keeper.database.registry() as connection:
                connection.rows("SELECT n FROM beings LIMIT 1")
        except StoreError as error:
            _log.error("the store cannot be reached: %s", error)
            return unavailable("not reachable", error.reason)
        problem = self._probed()
        if problem:
            return unavailable("not writable", problem)
        return {"status": "ok", "store": "reachable", "writable": True}

    def _probed(self) -> str:
        """Why nothing can be written, as of a moment ago; empty if it can."""
        with self._probing:
            if time.monotonic() >= self._next:
                self._problem = self._probe()
                self._next = time.monotonic() + self._probe_every
            return self._problem

    def _probe(self) -> str:
        try:
            self._keeper.database.probe()
        except StoreError as error:
            _log.error("the store cannot be written to: %s", error)
            return error.reason or "it cannot be written to"
        return ""


def unavailable(store: str, reason: str) -> dict[str, Any]:
    told = {"status": "unavailable", "store": store, "writable": False, "reason": reason}
    return {name: value for name, value in told.items() if value != ""}
