"""What may be shown: text without keys, session keys as marks, a filter that sees to it in logs."""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING

from clawkit.text.normalization import visible
from clawkit.text.secrets import redact_secrets

if TYPE_CHECKING:
    from clawkit.assistant.api_keys import Keys

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
        record.msg = self._line(_message(record))
        record.args = None
        if record.exc_info:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
            record.exc_info = None
        if record.exc_text:
            record.exc_text = self._indented(record.exc_text)
        if record.stack_info:
            record.stack_info = self._indented(record.stack_info)
        return True

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
