"""What an attack can come to, and how a client's answers show it.

NotHeld
├── Leaked     something got past the guard, to the server or to the client
├── Crashed    the guard ended, or stopped serving
├── Unclear    nothing got past, but the client cannot tell what happened
└── Hung       the client waits for an answer that does not come
"""

from __future__ import annotations

import json
from typing import Any, ClassVar, Literal, cast

import msgspec

from clawkit.wire.jsonrpc import as_object

Result = Literal["held", "LEAKED", "crashed", "unclear error", "hung"]


class NotHeld(Exception):
    """The guard did not withstand an attack. Its text is what was seen."""

    result: ClassVar[Result] = "LEAKED"


class Leaked(NotHeld):
    """What must not pass did."""


class Crashed(NotHeld):
    """The guard is gone."""

    result = "crashed"


class Unclear(NotHeld):
    """The client got no error, or one that says nothing."""

    result = "unclear error"


class Hung(NotHeld):
    """An answer did not come in time."""

    result = "hung"


class AttackOutcome(msgspec.Struct, frozen=True):
    attack: str
    row: str
    must: str
    result: Result
    seen: str
    seconds: float

    @property
    def held(self) -> bool:
        return self.result == "held"


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
