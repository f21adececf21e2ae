"""Questions, views and proxies for the tests of approvals."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clawkit.guard import approval_socket
from clawkit.guard.approval_socket import ask_windows
from clawkit.guard.approval_window import ApprovalWindow
from clawkit.guard.approvals import Ask, call_digest
from clawkit.guard.pending_approvals import Wait
from tests.processes import PATIENCE


def until(condition: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait for a condition that another thread or process brings about."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"it did not happen within {patience} s"
        time.sleep(0.005)


def question(
    id: str = "q1",
    *,
    tool: str = "read_file",
    arguments: dict[str, Any] | None = None,
    seconds: float = 60.0,
    **others: Any,
) -> Ask:
    """A question like those of a proxy."""
    call = {"method": "tools/call", "tool": tool, "arguments": arguments or {"path": "/srv/a"}}
    fields: dict[str, Any] = {
        "server": "files",
        "client": "editor/1.0",
        "method": "tools/call",
        "tool": tool,
        "rule": 1,
        "description": "Ask first",
        "digest": call_digest(call),
        "policy": "",
        "deadline": time.time() + seconds,
        "call": call,
    }
    return Ask(id=id, **{**fields, **others})


class Asking:
    """A question on its way in a thread of its own, as a proxy asks it."""

    def __init__(self, socket: Path, ask: Ask) -> None:
        self.cancelled = Wait()
        self._given: list[str | None] = []
        self._thread = threading.Thread(target=self._run, args=(socket, ask), daemon=True)
        self._thread.start()

    def _run(self, socket: Path, ask: Ask) -> None:
        self._given.append(ask_windows(socket, ask, self.cancelled))

    @property
    def answer(self) -> str | None:
        self._thread.join(PATIENCE)
        assert self._given, "no answer came"
        return self._given[0]


def asked(view: ApprovalWindow, socket: Path, ask: Ask) -> Asking:
    """Ask, and wait until the view has the question."""
    asking = Asking(socket, ask)
    until(lambda: ask.id in [known.id for known in view.asks()])
    return asking


@contextmanager
def short_folder() -> Generator[Path]:
    """A folder whose path leaves room for a socket's name, which has to be short."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="claw") as name:
        yield Path(name)
        for folder in [each for each in approval_socket._sockets if each.is_relative_to(name)]:
            approval_socket._sockets.pop(folder).close()
