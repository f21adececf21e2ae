"""Answers as a client reads them: whose they are, whether they are errors, and clear ones."""

from __future__ import annotations

import json
from typing import Any, cast

from clawkit.guard.selftest.verdict import Leaked, Unclear
from clawkit.wire.jsonrpc import as_object

_SHORTEST_CLEAR = 10
_SHOWN = 160


def is_answer_to(message: dict[str, Any], *ids: Any) -> bool:
    """Whether this answers one of these ids, by type as well."""
    if "method" in message or not ("result" in message or "error" in message):
        return False
    found = message.get("id")
    return any(found == id and type(found) is type(id) for id in ids)


def text_of(answer: dict[str, Any]) -> str | None:
    """The text of an error or of a result that is one; None where it is none."""
    error, result = as_object(answer.get("error")), as_object(answer.get("result"))
    if error is not None:
        return str(error.get("message", ""))
    if result is not None and result.get("isError"):
        return json.dumps(result.get("content"))
    return None


def require_clear_error(answer: dict[str, Any], code: int | None = None) -> None:
    """Raise Leaked where this is no error, and Unclear where it does not say what is wrong."""
    text = text_of(answer)
    if text is None:
        raise Leaked(f"answered as if nothing were wrong: {short(answer)}")
    if len(text) < _SHORTEST_CLEAR or "Traceback" in text:
        raise Unclear(f"the error says only: {text[:_SHOWN]!r}")
    found = answer.get("error", {}).get("code")
    if code is not None and found != code:
        raise Unclear(f"the error has code {found}, not {code}: {text[:_SHOWN]}")


def short(answer: dict[str, Any]) -> str:
    return shortened(json.dumps(answer).encode())


def shortened(line: bytes) -> str:
    text = line.decode(errors="replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(line)} bytes)"


def strings(value: Any) -> list[str]:
    """Every string in a JSON value, keys too."""
    found: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, list):
            todo.extend(cast("list[Any]", item))
        elif (members := as_object(item)) is not None:
            todo.extend((*members.keys(), *members.values()))
    return found
