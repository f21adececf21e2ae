"""One request on its way through the server: its id, who asks for what, and how it ended."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Container
from typing import Any, NamedTuple

from clawkit.memory.access import Access
from clawkit.memory.http.logs import Log
from clawkit.memory.http.metrics import Metrics
from clawkit.wire.http.answer import Asgi, SendAsgi
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.methods import ROUTES

KEY = "clawkit.exchange"
"""Where it stands in the ASGI scope."""

_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}")
_OTHER = "other"
_LEFT = 499
"""The status of a request whose caller left before there was an answer, as proxies have it."""


class Record(NamedTuple):
    """Where requests are written down when they are over."""

    metrics: Metrics
    log: Log | None


class Exchange:
    """What is known of a request; the log and the figures are written from this."""

    def __init__(self, scope: Any) -> None:
        self.id = _request_id(scope["headers"])
        self.verb: str = scope.get("method", "WEBSOCKET")
        self.method = ""
        self.tool = ""
        self.access: Access | None = None
        self.status = 0
        self._began = time.perf_counter()

    def asks(self, message: Message | None, tools: Container[str]) -> str:
        """Note what is asked; gives the name of the tool that is called, if one is."""
        method = (message or {}).get("method")
        if not isinstance(method, str):
            return ""
        self.method = method if method in ROUTES else _OTHER
        if method.startswith("notifications/"):
            self.method = "notification"
        if method != "tools/call":
            return ""
        name = (as_object((message or {}).get("params")) or {}).get("name")
        self.tool = name if isinstance(name, str) and name in tools else _OTHER
        return name if isinstance(name, str) else ""

    def watching(self, send: SendAsgi) -> SendAsgi:
        """Sends a response that carries the id of its request, and notes its status."""
        header = (b"x-request-id", self.id.encode())

        async def watched(event: Asgi) -> None:
            if event["type"] == "http.response.start":
                self.status = event["status"]
                event["headers"] = [*event["headers"], header]
            await send(event)

        return watched

    def end(self, record: Record) -> None:
        """Write it down: never what was said, only that something was."""
        seconds = time.perf_counter() - self._began
        self.status = self.status or _LEFT
        being = self.access.being.id if self.access is not None else ""
        record.metrics.count(
            tool=self.tool, method=self.verb, status=self.status, seconds=seconds, being=being
        )
        if record.log is None:
            return
        record.log.line(
            {
                "request": self.id,
                "http": self.verb,
                "method": self.method,
                "tool": self.tool,
                "status": self.status,
                "ms": round(seconds * 1000, 2),
                "token": self.access.caller.token if self.access is not None else "",
                "being": being,
            }
        )


def _request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """The caller's own id for the request where it is sane, else a new one."""
    given = next((value for name, value in headers if name == b"x-request-id"), b"")
    text = given.decode("latin-1").strip()
    return text if _SANE_ID.fullmatch(text) else secrets.token_hex(8)
