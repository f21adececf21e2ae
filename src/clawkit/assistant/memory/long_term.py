"""Long-term memory for one turn: runs in threads, and an answer never fails because of it.

A memory that cannot be reached, or takes too long, is told as a problem; the answer comes without.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from clawkit.assistant.memory.backend import MOST_FOUND, MemoryBackend, RecalledMemory, TurnMessage
from clawkit.assistant.toolbox.tool_source import CallResult, own_result
from clawkit.errors import ClawError, QuotaError, ToolExecutionError
from clawkit.models.protocol import ToolCall
from clawkit.settings import seconds_in
from clawkit.wire.calls import Workers

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.assistant.config import Config

T = TypeVar("T")
Work = Callable[[MemoryBackend], T]
_log = logging.getLogger("clawkit.assistant")
Tell = Callable[[str], None]

PATIENCE = "CLAW_MEMORY_PATIENCE"
"""Names the seconds for which an answer waits for memory; what is to be kept is kept anyway."""
_USUAL_PATIENCE = 5.0
_SETTLING = 5.0
"""Seconds for which the end waits for what is still at work."""
_KEEPING = 30.0
"""Likewise for what is still to be kept or forgotten: an answer has said that it is."""
_CLOSING = 30.0
_THREADS = 8
_DEFAULT_LIMIT = 10


class LongTermMemory:
    """The memory of one assistant, opened when first needed."""

    def __init__(self, config: Config, keys: Keys) -> None:
        self._config = config
        self._keys = keys
        self._opening = threading.Lock()
        self._being: MemoryBackend | None = None
        # Daemons: a store that another program has locked must not keep the process alive.
        self._workers = Workers(_THREADS)
        self._at_work: set[asyncio.Future[Any]] = set()
        self._late: set[asyncio.Future[Any]] = set()
        self._promised: set[asyncio.Future[Any]] = set()
        self._waited = 0.0
        """Seconds for which the first of those was waited for."""

    async def recall(self, text: str, session: str, tell: Tell) -> tuple[RecalledMemory, ...]:
        """Recall memories for a message."""
        found = await self._tried(lambda being: being.recall(text, session), tell)
        return found or ()

    async def keep(self, said: tuple[TurnMessage, ...], session: str, tell: Tell) -> None:
        """Remember a turn."""
        notice = await self._tried(lambda being: being.keep(said, session), tell, promised=True)
        if notice:
            tell(f"memory: {notice}")

    async def forget(self, named: Sequence[str], said: str, tell: Tell) -> str:
        """Take back what a person names in what they said; says what was done."""
        done = [
            await self._tried(lambda being, one=one: being.forget(one, said), tell, promised=True)
            for one in named
        ]
        return " ".join(filter(None, done))

    async def search_history(self, call: ToolCall) -> CallResult:
        """The tool `search_history`, for the model."""
        started = time.monotonic()
        try:
            text = await self._done(lambda being: _searched(being, call.arguments), _CLOSING)
            failed = False
        except (ClawError, TimeoutError) as error:
            text, failed = f"memory: {error}", True
        return own_result(call, text, started, is_error=failed)

    async def close(self) -> None:
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=_SETTLING)
        if self._promised:
            await asyncio.wait(self._promised, timeout=_KEEPING)
        if self._being is None:
            return
        try:
            await self._done(lambda being: being.close(), _CLOSING)
        except ClawError as error:
            _log.warning("memory: %s", error)
        except TimeoutError as error:
            _log.warning("memory: %s, so it may lack what was said", error)
        self._being = None

    async def _tried(self, work: Work[T], tell: Tell, *, promised: bool = False) -> T | None:
        patience = seconds_in(os.environ, PATIENCE, _USUAL_PATIENCE)
        try:
            return await self._done(work, patience, promised=promised)
        except QuotaError as error:
            tell(f"memory is full: {error}")
        except ClawError as error:
            tell(f"memory is out of reach: {error}")
        except TimeoutError as error:
            tell(f"memory takes too long: {error}; going on without it")
        except Exception as error:  # noqa: BLE001 - the answer is worth more
            _log.exception("memory failed")
            tell(f"memory failed ({type(error).__name__}); going on without it")
        return None

    async def _done(self, work: Work[T], patience: float, *, promised: bool = False) -> T:
        """Do it in a thread; what takes too long goes on there, and nobody waits for it.

        Nor for what comes behind it: a memory that hangs holds up one step of a turn, not each.
        """
        patience = 0 if self._late else patience
        outcome = self._workers.start(self._with_being, {"work": work}).outcome
        self._at_work.add(outcome)
        if promised:
            self._promised.add(outcome)
        outcome.add_done_callback(self._ended)
        done, _ = await asyncio.wait((outcome,), timeout=patience)
        if not done:
            self._late.add(outcome)
            self._waited = patience or self._waited
            raise TimeoutError(f"it did not answer within {self._waited:g} s")
        return outcome.result()

    def _ended(self, outcome: asyncio.Future[Any]) -> None:
        self._at_work.discard(outcome)
        self._late.discard(outcome)
        self._promised.discard(outcome)
        if not outcome.cancelled():
            outcome.exception()  # whoever still waited has been told

    def _with_being(self, work: Work[T]) -> T:
        with self._opening:
            if self._being is None:
                self._being = _open(self._config, self._keys)
            being = self._being
        return work(being)


def _open(config: Config, keys: Keys) -> MemoryBackend:
    if config.memory.url:
        from clawkit.assistant.memory.remote_backend import open_remote

        return open_remote(config.memory, keys)
    from clawkit.assistant.memory.local_backend import open_local

    return open_local(config, keys)


def _searched(being: MemoryBackend, arguments: dict[str, object]) -> str:
    texts: list[str] = []
    for name in ("query", "date_from", "date_to"):
        value = arguments.get(name) or ""
        if not isinstance(value, str):
            raise ToolExecutionError(f"{name} must be a text")
        texts.append(value)
    limit = arguments.get("limit")
    wanted = limit if isinstance(limit, int) else _DEFAULT_LIMIT
    return being.history(texts[0], texts[1], texts[2], max(1, min(wanted, MOST_FOUND)))
