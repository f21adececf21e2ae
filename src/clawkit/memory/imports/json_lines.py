"""Reads JSON-lines files: conversations, and the official MCP memory server's graph.

Each observation of a graph is a memory, without a day, for the file has none. What relates an
entity to others becomes its relationship.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec

from clawkit.memory.imports.imported import (
    ImportedFiles,
    ImportedMemory,
    ImportedMessage,
    ImportedRelation,
    ImportProblem,
    changed_at,
    day_of,
    moment_of,
    pieces,
    read_bytes,
)
from clawkit.memory.records import Scene
from clawkit.wire.jsonrpc import as_object

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class JsonLines:
    """The objects of a file; what is none is a problem."""

    def __init__(self, file: Path) -> None:
        self.name = file.name
        self.problems: list[ImportProblem] = []
        self._data = read_bytes(file).removeprefix(b"\xef\xbb\xbf")

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self._data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                yield number, _decode(line)
            except RecursionError:  # what it says differs from Python to Python
                self.wrong(number, "this is no JSON object: nested too deeply")
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                self.wrong(number, f"this is no JSON object: {error}")

    def wrong(self, line: int, what: str) -> None:
        self.problems.append(ImportProblem(self.name, line, what))


ROLES = ("user", "assistant", "system", "tool")
_LONGEST_NAME = 200


def read_conversations(file: Path, *, as_memories: bool = False) -> ImportedFiles:
    """The messages of a file; with `as_memories`, each of them as a memory of its own."""
    lines = JsonLines(file)
    found: list[tuple[ImportedMessage, bool]] = []
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
        return ImportedFiles(kept, problems=problems)
    return ImportedFiles(messages=tuple(said for said, _ in found), problems=problems)


def _spoken(line: dict[str, Any], name: str, at: float) -> ImportedMessage:
    """One message; without a time of its own, that of the one before it."""
    role = line.get("role")
    if role not in ROLES:
        raise ValueError(f"`role` must be one of {', '.join(ROLES)}, not {role!r}"[:200])
    time = line.get("timestamp")
    if time is not None:
        at = _moment(time)
    conversation = _message_text(line, "conversation") or name
    speaker = _message_text(line, "speaker")[:_LONGEST_NAME]
    return ImportedMessage(role, _content(line), at, conversation[:_LONGEST_NAME], speaker)


def _moment(time: Any) -> float:
    try:
        if isinstance(time, str | int | float) and not isinstance(time, bool):
            return moment_of(time)
    except (ValueError, OverflowError, OSError):
        pass
    raise ValueError(f"`timestamp` must be an ISO time or seconds since 1970, not {time!r}"[:200])


def _message_text(line: dict[str, Any], name: str) -> str:
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


def _kept(said: ImportedMessage, *, dated: bool) -> list[ImportedMemory]:
    speaker = said.speaker or said.role
    when = (day_of(said.at),)
    return [
        ImportedMemory(Scene(text, (speaker,), when), said.conversation, speaker, dated)
        for text in pieces(said.text)
    ]


_UNKNOWN = "entity"


def read_graph(file: Path) -> ImportedFiles:
    lines = JsonLines(file)
    memories: list[ImportedMemory] = []
    kinds: dict[str, str] = {}
    related: dict[str, list[str]] = defaultdict(list)
    for number, line in lines:
        try:
            if line.get("type") == "entity":
                name, kind = _text(line, "name"), _text(line, "entityType")
                kinds.setdefault(name, kind)
                memories += _observed(name, kind, line, file.name)
            elif line.get("type") == "relation":
                said = f"{_text(line, 'relationType')} {_text(line, 'to')}"
                related[_text(line, "from")].append(said)
            else:
                raise ValueError('`type` must be "entity" or "relation"')
        except ValueError as error:
            lines.wrong(number, str(error))
    relations = tuple(
        ImportedRelation(name, kinds.get(name, _UNKNOWN), tuple(dict.fromkeys(said)))
        for name, said in related.items()
    )
    return ImportedFiles(tuple(memories), relations=relations, problems=tuple(lines.problems))


def _observed(name: str, kind: str, line: dict[str, Any], file: str) -> list[ImportedMemory]:
    observations = line.get("observations", [])
    if not isinstance(observations, list):
        raise ValueError("`observations` must be a list of texts")
    found: list[ImportedMemory] = []
    for one in cast("list[Any]", observations):
        if not isinstance(one, str):
            raise ValueError("`observations` must be a list of texts")
        text = one.strip()
        about = text if name.casefold() in text.casefold() else f"{name}: {text}"
        found += [
            ImportedMemory(Scene(action=part, actors=(name,), themes=(kind,)), file)
            for part in pieces(about)
            if text
        ]
    return found


def _text(line: dict[str, Any], name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{name}` must be a text")
    return value.strip()
