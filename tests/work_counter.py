"""What a piece of work costs, counted: the same number on a fast machine and on a slow one."""

from __future__ import annotations

import gc
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls(work: Callable[[], object]) -> int:
    """How many calls of functions, of Python's own too, the work is made of."""
    return called(work).total()


def called(work: Callable[[], object]) -> Counter[str]:
    """The same by their names. What the work remembers, it is to have done once before."""
    found: Counter[str] = Counter()

    def note(frame: FrameType, event: str, function: Any) -> None:
        if event == "call":
            found[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            found[function.__qualname__] += 1

    before, collecting = sys.getprofile(), gc.isenabled()
    gc.disable()  # it would call others' functions, at any moment
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collecting:
            gc.enable()
    return found
