"""The view of approvals as several windows share it: a terminal, the console, another terminal.

One process has the view, and the others reach it there, so that an answer counts once wherever it
is given. When the one that has it ends, another one takes its place.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from pathlib import Path
from typing import Protocol

from clawkit.errors import PolicyError
from clawkit.guard.approvals import Answer, Ask, answer_pending, has_view, pending
from clawkit.guard.approvals_view import ApprovalsView, Ended

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
        self._known: dict[str, Ask] = {}
        self._ended: deque[Ended] = deque(maxlen=_REMEMBERED)
        self._changing = threading.RLock()

    def __enter__(self) -> SharedView:
        self.asks()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deny what waits, if nobody else can be asked; `asks` opens it again."""
        with self._changing:
            if self._own is not None:
                self._own.close()
                self._own = None

    @property
    def denies_when_closed(self) -> bool:
        """Whether the view is here: what waits in another process goes on waiting there."""
        return self._own is not None

    def asks(self) -> tuple[Ask, ...]:
        """What waits for an answer, oldest first. Raises PolicyError where no view can be."""
        with self._changing:
            if self._own is None:
                found = pending(self._path)
                if found is not None:
                    return self._note(tuple(found))
                self._open()
            return self._own.asks() if self._own is not None else ()

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
            ask = self._known.pop(id, None)
            done = answer_pending(self._path, id, answer, reviewed=True) == ""
            if ask is not None:
                self._ended.append(Ended(ask, answer if done else "elsewhere"))
            return done

    def _open(self) -> None:
        view = ApprovalsView(self._path)
        try:
            view.open()
        except PolicyError:
            if has_view(self._path):  # another process was quicker
                return
            raise
        self._own = view

    def _note(self, asks: tuple[Ask, ...]) -> tuple[Ask, ...]:
        """Remember what waits in the other process, and what of it waits no longer."""
        now = {ask.id: ask for ask in asks}
        for id, ask in self._known.items():
            if id not in now:
                how = "expired" if ask.deadline <= time.time() else "elsewhere"
                self._ended.append(Ended(ask, how))
        self._known = now
        return asks
