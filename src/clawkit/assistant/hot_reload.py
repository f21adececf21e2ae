"""Reopens the assistant of a server process when its config changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from clawkit.assistant.config import AssistantOptions, Config, config_file, read_config
from clawkit.assistant.media.call_folder import sweep
from clawkit.assistant.reply import Assistant
from clawkit.errors import SettingsError
from clawkit.settings import settings


class _OpenAssistant:
    """An assistant, and how many orders it works on."""

    def __init__(self, config: Config) -> None:
        self.assistant = Assistant(config)
        self.orders = 0
        self.retired = False


class ReloadingAssistant:
    """Gives each order the assistant of the newest config; an older one finishes what it has."""

    def __init__(self) -> None:
        self._newest: _OpenAssistant | None = None
        self._seen: object = None
        self._sweeping: asyncio.Task[int] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def task_after(self) -> float:
        """From the config; a config that cannot be read is reported by the order itself."""
        if self._newest is not None:
            return self._newest.assistant.config.assistant.task_after
        try:
            return read_config(settings()).assistant.task_after
        except SettingsError:
            return AssistantOptions().task_after

    @asynccontextmanager
    async def assistant(self) -> AsyncGenerator[Assistant]:
        """The assistant for one order."""
        opened = await self._current()
        opened.orders += 1
        try:
            yield opened.assistant
        finally:
            opened.orders -= 1
            self._close_beside(opened)

    async def close(self) -> None:
        """Let go of everything; what is still worked on is waited for by nobody."""
        if self._sweeping is not None:
            await self._sweeping
        if self._closing:
            await asyncio.wait(self._closing)
        if self._newest is not None:
            await self._newest.assistant.close()
            self._newest = None

    def _close_beside(self, opened: _OpenAssistant) -> None:
        """Nobody waits for servers that an older config has started."""
        if opened.retired and opened.orders == 0:
            task = asyncio.get_running_loop().create_task(opened.assistant.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _current(self) -> _OpenAssistant:
        places = settings()
        seen = tuple(_stamp(f) for f in (config_file(places), places.config / ".env"))
        if self._newest is None:
            self._sweeping = asyncio.get_running_loop().create_task(asyncio.to_thread(sweep))
        if self._newest is None or seen != self._seen:
            opened = _OpenAssistant(read_config(places))
            retired, self._newest, self._seen = self._newest, opened, seen
            if retired is not None:
                retired.retired = True
                self._close_beside(retired)
        return self._newest


def _stamp(file: Path) -> tuple[int, int] | None:
    """Enough of a file to see that it is another one."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
