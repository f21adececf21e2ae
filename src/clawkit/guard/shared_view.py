"""The view of approvals as several windows share it: a terminal, the console, another terminal.

One process has the view, and the others reach it there, so that an answer counts once wherever it
is given. When the one that has it ends, however it does, another one takes its place, and what
waited there is asked here.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import Protocol

from clawkit.guard.approvals import Answer, Ask, ViewReply, answer_pending, has_window, look
from clawkit.guard.approvals_view import ApprovalsView, Ended, join_windows

_REMEMBERED = 32


class View(Protocol):
    """What a window shows and does; an `ApprovalsView` is one, too."""

    @property
    def denies_when_closed(self) -> bool: ...

    def asks(self) -> tuple[Ask, ...]: ...

    def ended(self) -> tuple[Ended, ...]: ...

    def answer(self, id: str, answer: Answer) -> bool: ...


class SharedView:
    """The user's view, in this process or in the one that has it. Any thread may call it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._own: ApprovalsView | None = None
        self._window = -1
        self._known: dict[str, Ask] = {}
        self._ended: deque[Ended] = deque(maxlen=_REMEMBERED)
        self._changing = threading.RLock()

    def __enter__(self) -> SharedView:
        self.asks()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave what waits to the other windows; without any, it is denied. `asks` opens anew."""
        with self._changing:
            if self._own is not None:
                self._own.close()
                self._own = None
            self._leave()

    @property
    def denies_when_closed(self) -> bool:
        """Whether nobody is left to ask without this window."""
        with self._changing:
            if self._own is None:
                return False
            self._leave()  # for a moment: nobody counts windows while the view can be reached
            alone = not has_window(self._path)
            self._join()
            return alone

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first. Raises PolicyError where no view can be."""
        with self._changing:
            self._join()
            if self._own is None:
                found = look(self._path)
                if found is not None:
                    return self._note(found)
                self._open()
            # While another process leaves the view or begins it, what waited there still does.
            return self._own.asks() if self._own is not None else tuple(self._known.values())

    def ended(self) -> tuple[Ended, ...]:
        """The last questions that were answered or went away, oldest first, as far as known."""
        with self._changing:
            return (*self._ended, *(self._own.ended() if self._own is not None else ()))

    def answer(self, id: str, answer: Answer) -> bool:
        """Answer a question; False when nobody waits for this answer any more.

        "always" is for a rule that a person has read, and that is written.
        """
        with self._changing:
            if self._own is not None:
                return self._own.answer(id, answer)
            done = answer_pending(self._path, id, answer, reviewed=True) == ""
            ask = self._known.pop(id, None) if done else None
            if ask is not None:
                self._ended.append(Ended(ask, answer))
            return done

    def _join(self) -> None:
        if self._window < 0:
            self._window = join_windows(self._path)

    def _leave(self) -> None:
        if self._window >= 0:
            os.close(self._window)
            self._window = -1

    def _open(self) -> None:
        """Have the view, unless another process was quicker; who asked in the last one returns."""
        view = ApprovalsView(self._path, expected=self._known.values())
        if view.try_open():
            self._own = view
            self._known = {}

    def _note(self, found: ViewReply) -> tuple[Ask, ...]:
        """Remember what waits in the other process, and what of it waits no longer."""
        now = {ask.id: ask for ask in found.asks}
        notes = {note.id: note for note in found.ended}
        for id, ask in self._known.items():
            if id in now:
                continue
            if note := notes.get(id):
                self._ended.append(Ended(ask, note.how, note.scripted))
            else:
                how = "expired" if ask.deadline <= time.time() else "elsewhere"
                self._ended.append(Ended(ask, how))
        self._known = now
        return found.asks
