"""The log on stderr; with `--verbose` also an outline of each request and answer."""

from __future__ import annotations

import logging
import sys
from collections.abc import Coroutine
from typing import Any

from clawkit.assistant.redaction import RedactingFilter
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.server import Reply, ServerCore
from clawkit.wire.session import Principal, Send, Session

log = logging.getLogger("clawkit.protocol")


class LoggingServer(ServerCore):
    """A server that logs each request and what came of it."""

    def begin(
        self,
        message: Message,
        session: Session,
        send: Send | None = None,
        principal: Principal | None = None,
    ) -> Reply:
        log.info("→ %s", outline(message))
        reply = super().begin(message, session, send, principal)
        if isinstance(reply, Coroutine):
            return _told(reply)
        if reply is not None:
            log.info("← %s", outline(reply))
        return reply


async def _told(work: Coroutine[Any, Any, Message | None]) -> Message | None:
    reply = await work
    log.info("← %s", "nothing: cancelled" if reply is None else outline(reply))
    return reply


def outline(message: Message) -> str:
    """A message without what was said in it."""
    method, number = message.get("method"), _numbered(message.get("id"))
    if method is not None:
        params = as_object(message.get("params")) or {}
        tool = str(params.get("name", "")) if method == "tools/call" else ""
        return _spaced(str(method), tool, number)
    error = as_object(message.get("error"))
    if error is not None:
        return f"error {error.get('code')} {number}: {error.get('message')}"
    result = as_object(message.get("result")) or {}
    kinds = ", ".join(str(block["type"]) for block in result.get("content", ()))
    state = "failed" if result.get("isError") else str(result.get("resultType", ""))
    return _spaced("result", number, state, kinds)


def _spaced(*parts: str) -> str:
    return " ".join(part for part in parts if part)


def _numbered(number: object) -> str:
    return "" if number is None else f"#{number}"


def log_to_stderr(*, everything: bool = False) -> None:
    """Send what Clawkit logs to stderr, redacted; `everything`, or only what goes wrong."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RedactingFilter())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    # asyncio tells of errors that nobody has looked at, with whatever is in them.
    for name in ("clawkit", "asyncio"):
        logging.getLogger(name).addHandler(handler)
    if everything:
        logging.getLogger("clawkit").setLevel(logging.DEBUG)
