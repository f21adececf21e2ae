"""The assistant's memory as a turn uses it: off the event loop, and never in an answer's way.

A memory that cannot be reached is said in a notice; the answer comes without it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from clawkit.assistant.models.protocol import Text, ToolCall, ToolOutcome
from clawkit.assistant.remembering.protocol import (
    MOST_FOUND,
    Exchanged,
    Remembered,
    Remembrance,
)
from clawkit.assistant.toolbox.toolbox import CallResult
from clawkit.errors import ClawError, ToolExecutionError

if TYPE_CHECKING:
    from clawkit.assistant.config import Config
    from clawkit.assistant.secrets import Keys

T = TypeVar("T")
_log = logging.getLogger("clawkit.assistant")
Notice = Callable[[str], None]

_PATIENCE = 5.0
"""Seconds that a recall may take before the answer goes on without it."""
_DEFAULT_LIMIT = 10


class LongTerm:
    """The memory of one assistant, opened when first needed."""

    def __init__(self, config: Config, keys: Keys) -> None:
        self._config = config
        self._keys = keys
        self._opening = asyncio.Lock()
        self._being: Remembrance | None = None

    async def recall(self, text: str, session: str, notice: Notice) -> tuple[Remembered, ...]:
        """What comes to mind about a message."""
        found = await self._tried(lambda being: being.recall(text, session), notice, _PATIENCE)
        return found or ()

    async def keep(self, said: tuple[Exchanged, ...], session: str, notice: Notice) -> None:
        """Remember a turn."""
        await self._tried(lambda being: being.keep(said, session), notice, None)

    async def search_history(self, call: ToolCall) -> CallResult:
        """The tool `search_history`, for the model."""
        started = time.monotonic()
        try:
            being = await self._opened()
            text, failed = await asyncio.to_thread(_searched, being, call.arguments), False
        except ClawError as error:
            text, failed = str(error), True
        outcome = ToolOutcome(call.id, (Text(text),), is_error=failed)
        return CallResult(outcome, "", (), time.monotonic() - started)

    async def close(self) -> None:
        being, self._being = self._being, None
        if being is None:
            return
        try:
            await asyncio.to_thread(being.close)
        except ClawError as error:
            _log.warning("memory: %s", error)

    async def _tried(
        self, work: Callable[[Remembrance], T], notice: Notice, patience: float | None
    ) -> T | None:
        try:
            being = await self._opened()
            async with asyncio.timeout(patience):
                return await asyncio.to_thread(work, being)
        except ClawError as error:
            notice(f"memory: {error}")
        except TimeoutError:
            notice(f"memory: nothing came for {patience:g} s; going on without it")
        return None

    async def _opened(self) -> Remembrance:
        async with self._opening:
            if self._being is None:
                self._being = await asyncio.to_thread(_open, self._config, self._keys)
            return self._being


def _open(config: Config, keys: Keys) -> Remembrance:
    if config.memory.url:
        from clawkit.assistant.remembering.elsewhere import open_remote

        return open_remote(config.memory, keys)
    from clawkit.assistant.remembering.here import open_here

    return open_here(config, keys)


def _searched(being: Remembrance, arguments: dict[str, object]) -> str:
    texts: list[str] = []
    for name in ("query", "date_from", "date_to"):
        value = arguments.get(name) or ""
        if not isinstance(value, str):
            raise ToolExecutionError(f"{name} must be a text")
        texts.append(value)
    limit = arguments.get("limit")
    wanted = limit if isinstance(limit, int) else _DEFAULT_LIMIT
    return being.history(texts[0], texts[1], texts[2], max(1, min(wanted, MOST_FOUND)))
