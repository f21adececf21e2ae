"""Redacts keys in text and logs; logs requests without their content."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from clawkit.errors import ClawError
from clawkit.text.normalization import visible
from clawkit.text.secrets import redact_secrets
from clawkit.wire.jsonrpc import Message, as_object

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys
    from clawkit.wire.server import Reply

log = logging.getLogger("clawkit.protocol")
_failures = logging.getLogger("clawkit.assistant")

_SHORTEST = 8
"""Local servers are given keys such as `none`: a word, of which every text is full."""


_LONGEST_LINE = 10_000

given_out: set[str] = set()
"""Every key that anything in this process was given."""


def redact(text: str, keys: Keys | None = None) -> str:
    """A text without what looks like a key, and without those given out: by `keys`, or by all."""
    values = given_out if keys is None else keys.values()
    # The longest first: one key may be the start of another.
    for value in sorted(values, key=len, reverse=True):
        if len(value) >= _SHORTEST:
            text = text.replace(value, "[redacted: key]")
    return redact_secrets(text)[0]


def explain_failure(error: Exception, keys: Keys | None = None) -> str:
    """What a reply says of an error, which is logged: its text if it is ours, else only its class.

    Nothing that fails on the way leaves the reply unsent.
    """
    name = type(error).__name__
    if isinstance(error, ClawError):
        try:
            said = redact(str(error), keys)
        except Exception:  # noqa: BLE001 - logged
            _failures.exception("the text of %s cannot be shown", name)
        else:
            _failures.info("failed: %s: %s", name, said)
            return said
    else:
        _failures.error("failed", exc_info=error)
    return f"{name} in the assistant; `mcp-server --verbose` says more"


def session_mark(key: str) -> str:
    """A session in a log: enough to tell a few apart, too little to learn the key."""
    return f"session {hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:4]}…"


class RedactingFilter(logging.Filter):
    """Redacts records, their tracebacks too, and keeps each on its line: nothing that was said by
    somebody else looks like a record. Belongs on handlers, which see every record.
    """

    def __init__(self, keys: Keys | None = None) -> None:
        super().__init__()
        self._keys = keys

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            self._redact(record)
        except Exception as error:  # noqa: BLE001 - whoever logs goes on; what may be a key is not shown
            record.msg = f"(a record that could not be redacted: {type(error).__name__})"
            record.args = record.exc_info = record.exc_text = record.stack_info = None
        return True

    def _redact(self, record: logging.LogRecord) -> None:
        record.msg = self._line(_message(record))
        record.args = None
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = self._indented(record.exc_text)
        if record.stack_info:
            record.stack_info = self._indented(record.stack_info)

    def _line(self, text: str) -> str:
        return visible(redact(text, self._keys), _LONGEST_LINE)

    def _indented(self, text: str) -> str:
        return "\n".join(f"    {self._line(line)}" for line in text.splitlines())


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):
        # logging itself would print the arguments.
        return f"{record.msg} (its arguments do not fit)"


class RequestLog:
    """Observes a server, and logs each request and what came of it."""

    def received(self, message: Message) -> None:
        log.info("→ %s", outline(message))

    def replied(self, reply: Reply) -> Reply:
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
    method, id_ = message.get("method"), message.get("id")
    number = "" if id_ is None else f"#{id_}"
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
