"""A file's server that is replaced when the file changes, while its clients stay connected.

The file and the modules of its author that it imports are looked at once a second. A version that
does not load changes nothing: the one before goes on. Calls that are under way end as they began.
"""

from __future__ import annotations

import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from clawkit.errors import ClawError
from clawkit.tools.loader import forget_modules, load_server, split_target
from clawkit.wire.server import ServerCore
from clawkit.wire.subscriptions import LISTS

EVERY = 1.0
_SETTLED = 0.1
"""Seconds in which a file must not change: editors write in several steps."""
_STANDARD = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib"))
_INSTALLED = {"site-packages", "dist-packages"}

Say = Callable[[str], object]
Stamps = dict[Path, tuple[int, int, int]]


class ReloadedServer:
    """Stands where transports want a server, and is always the newest version that loads."""

    def __init__(self, target: str, say: Say) -> None:
        """Loads the file; `say` hears, in a sentence, what came of each change."""
        file, name = split_target(target)
        # Absolute, as the file may change the directory.
        self._file = Path(file).absolute()
        self._target = f"{self._file}:{name}" if name else str(self._file)
        self._shown = file
        self._say = say
        self._ours = frozenset(sys.modules)
        self._failed = False
        self._current = load_server(self._target)
        self._seen = self._stamps()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._current, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
        else:
            setattr(self._current, name, value)

    @property
    def as_server(self) -> ServerCore:
        return cast("ServerCore", self)

    def watch(self) -> None:
        """Look for changes, in a thread of its own, until the process ends."""
        threading.Thread(target=self._watch, name="claw-reload", daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(EVERY)
            self.look()

    def look(self) -> None:
        """Load the file again if it, or what it imports, has changed and is there."""
        now = self._stamps()
        if now == self._seen or self._file not in now:
            return
        while (later := self._settled()) != now:
            now = later
        self._reload()
        # As they were before they were loaded: what changed meanwhile is not loaded yet.
        self._seen = {file: now.get(file, stamp) for file, stamp in self._stamps().items()}

    def _settled(self) -> Stamps:
        time.sleep(_SETTLED)
        return self._stamps()

    def _reload(self) -> None:
        kept = forget_modules(self._is_watched)
        try:
            new = load_server(self._target)
        except Exception as error:  # noqa: BLE001 - a file may do anything while it is loaded
            sys.modules.update(kept)
            self._failed = True
            reason = str(error) if isinstance(error, ClawError) else f"{self._shown}: {error!r}"
            self._say(f"{reason}; the version before goes on")
            return
        self._failed = False
        new.succeed(self._current)
        self._current = new
        for kind in LISTS:
            new.hub.list_changed(kind)
        self._say(f"{self._shown} was loaded again ({', '.join(new.tools) or 'no tools'})")

    def _is_watched(self, name: str, file: Path) -> bool:
        """Whether a module is the author's own: neither installed nor loaded by us."""
        if file == self._file:
            return True
        if name in self._ours or name.partition(".")[0] == "clawkit":
            return False
        standard = any(folder in file.parents for folder in _STANDARD)
        return not standard and _INSTALLED.isdisjoint(file.parts)

    def _stamps(self) -> Stamps:
        files = {self._file}
        for name, module in list(sys.modules.items()):
            origin = getattr(module, "__file__", None)
            if isinstance(origin, str) and self._is_watched(name, Path(origin)):
                files.add(Path(origin))
        if self._failed:  # what is wrong may be in a file that could not be imported
            files.update(self._file.parent.glob("*.py"))
        found: Stamps = {}
        for file in files:
            try:
                state = file.stat()
            except OSError:
                continue
            found[file] = (state.st_mtime_ns, state.st_size, state.st_ino)
        return found
