"""Messages as lines: written so that the CLI can read them, read as the CLI means them."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from clawkit.errors import CliGarbageError

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode
_SHOWN = 200


def write_line(message: dict[str, Any]) -> bytes:
    """A message as a line, without its end; half an emoji, which is no UTF-8, is escaped."""
    try:
        return _encode(message)
    except UnicodeEncodeError:
        return json.dumps(message, default=msgspec.to_builtins).encode()


def read_line(line: bytes) -> dict[str, Any] | None:
    """The message in a line; None for one that never was a message, such as a stray print."""
    try:
        return _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        return _leniently(line.decode(errors="replace"))
    except RecursionError:
        raise CliGarbageError(f"a message is nested too deeply: {_shown(line)}…") from None
    except ValueError:
        said = f"the Claude CLI wrote what is no JSON object: {_shown(line)}"
        raise CliGarbageError(said) from None


def _leniently(text: str) -> dict[str, Any]:
    """As a JavaScript program means it: `NaN` is no number, half an emoji is a wrong character."""
    found = json.loads(text, parse_constant=lambda _: None)
    written = json.dumps(found, ensure_ascii=False)
    whole = written.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return json.loads(whole)


def _shown(line: bytes) -> str:
    return line[:_SHOWN].decode(errors="replace")
