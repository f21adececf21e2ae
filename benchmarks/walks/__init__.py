"""The ways that calls take through the package: how many files, and how many jumps between them."""

import os
import sys
import threading
from pathlib import Path
from typing import Any

WORKER = "being-worker"


def watch(out: Path) -> None:
    """Write down each call of a function of the package from now on.

    To go on after an `await` counts as a call. A Being's worker does not count: it looks for jobs
    now and then, whoever asks what.
    """
    import clawkit

    root = f"{Path(clawkit.__file__).parent}{os.sep}"
    log = out.open("w", encoding="utf-8")
    lock, last = threading.Lock(), [""]

    def seen(frame: Any, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(root):
            return
        if threading.current_thread().name != WORKER:
            with lock:
                name = frame.f_code.co_qualname
                log.write(f"\n{file[len(root) :]} | {name}" if file != last[0] else f", {name}")
                last[0] = file
                log.flush()

    threading.setprofile(seen)
    sys.setprofile(seen)


def mark(out: Path) -> int:
    """How much has been written down by now."""
    return len(out.read_text(encoding="utf-8"))


def lines_since(out: Path, begin: int) -> list[str]:
    """What has been written down since: each line a file, and the functions called in it."""
    return out.read_text(encoding="utf-8")[begin:].partition("\n")[2].strip().splitlines()
