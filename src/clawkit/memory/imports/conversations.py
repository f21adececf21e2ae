"""Conversations as JSON lines: `{"role", "content", "timestamp"?, "speaker"?, "conversation"?}`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from clawkit.memory.imports.lines import Lines
from clawkit.memory.imports.reading import (
    Kept,
    Reading,
    Spoken,
    changed_at,
    day_of,
    moment_of,
    pieces,
)
from clawkit.memory.records import Scene
from clawkit.wire.jsonrpc import as_object

ROLES = ("user", "assistant", "system", "tool")
_LONGEST_NAME = 200


def read_conversations(file: Path, *, as_memories: bool = False) -> Reading:
    """The messages of a file; with `as_memories`, each of them as a memory of its own."""
    lines = Lines(file)
    found: list[tuple[Spoken, bool]] = []
    at = changed_at(file)
    dated = False
    for number, line in lines:
        try:
            one = _spoken(line, file.name, at)
        except ValueError as error:
            lines.wrong(number, str(error))
            continue
        at, dated = one.at, dated or line.get("timestamp") is not None
        if one.text:
            found.append((one, dated))
    problems = tuple(lines.problems)
    if as_memories:
        kept = tuple(one for said, dated in found for one in _kept(said, dated=dated))
        return Reading(kept, problems=problems)
    return Reading(messages=tuple(said for said, _ in found), problems=problems)


def _spoken(line: dict[str, Any], name: str, at: float) -> Spoken:
    """One message; without a time of its own, that of the one before it."""
    role = line.get("role")
    if role not in ROLES:
        raise ValueError(f"`role` must be one of {', '.join(ROLES)}, not {role!r}"[:200])
    time = line.get("timestamp")
    if time is not None:
        at = _moment(time)
    conversation = _text(line, "conversation") or name
    speaker = _text(line, "speaker")[:_LONGEST_NAME]
    return Spoken(role, _content(line), at, conversation[:_LONGEST_NAME], speaker)


def _moment(time: Any) -> float:
    try:
        if isinstance(time, str | int | float) and not isinstance(time, bool):
            return moment_of(time)
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError(f"`timestamp` must be an ISO time or seconds since 1970, not {time!r}"[:200])


def _text(line: dict[str, Any], name: str) -> str:
    value = line.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"`{name}` must be a text")
    return value.strip()


def _content(line: dict[str, Any]) -> str:
    """A text, or the texts among the parts that models' programs write."""
    content = line.get("content")
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list):
        parts = map(as_object, cast("list[Any]", content))
        texts = (part.get("text") for part in parts if part is not None)
        return "\n".join(text for text in texts if isinstance(text, str)).strip()
    raise ValueError("`content` must be a text, or a list of parts with texts")


def _kept(said: Spoken, *, dated: bool) -> list[Kept]:
    speaker = said.speaker or said.role
    when = (day_of(said.at),)
    return [
        Kept(Scene(text, (speaker,), when), said.conversation, speaker, dated)
        for text in pieces(said.text)
    ]
