"""`--verbose`: requests and answers in the log on stderr, by their outline, not their words."""

from __future__ import annotations

import logging
import sys
from collections.abc import Coroutine
from typing import Any

from clawkit.assistant.redaction import RedactingFilter
from clawkit.wire.jsonrpc import Message
from clawkit.wire.server import Reply, Server
from clawkit.wire.session import Principal, Send, Session

log = logging.getLogger("clawkit.protocol")


class TalkativeServer(Server):
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
    method, number = message.get("method"), message.get("id")
    if method is not None:
        tool = (message.get("params") or {}).get("name") if method == "tools/call" else None
        return " ".join(str(part) for part in (method, tool, _numbered(number)) if part)
    if "error" in message:
        error = message["error"]
        return f"error {error.get('code')} {_numbered(number)}: {error.get('message')}"
    result = message.get("result") or {}
    kinds = ", ".join(str(block.get("type")) for block in result.get("content", ()))
    state = "failed" if result.get("isError") else result.get("resultType", "")
    return " ".join(part for part in ("result", _numbered(number), state, kinds) if part)


def _numbered(number: object) -> str:
    return "" if number is None else f"#{number}"


def log_to_stderr() -> None:
    """Send what Clawkit logs to stderr, redacted."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(RedactingFilter())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("clawkit")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
