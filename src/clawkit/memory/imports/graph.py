"""The file of the official MCP memory server: entities with observations, and relations.

Each observation is a memory, without a day, for the file has none. What relates an entity to
others becomes its relationship.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any, cast

from clawkit.memory.imports.lines import Lines
from clawkit.memory.imports.reading import Kept, Reading, Relation, pieces
from clawkit.memory.records import Scene

_UNKNOWN = "entity"


def read_graph(file: Path) -> Reading:
    lines = Lines(file)
    memories: list[Kept] = []
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
        Relation(name, kinds.get(name, _UNKNOWN), tuple(dict.fromkeys(said)))
        for name, said in related.items()
    )
    return Reading(tuple(memories), relations=relations, problems=tuple(lines.problems))


def _observed(name: str, kind: str, line: dict[str, Any], file: str) -> list[Kept]:
    observations = line.get("observations", [])
    if not isinstance(observations, list):
        raise ValueError("`observations` must be a list of texts")
    found: list[Kept] = []
    for one in cast("list[Any]", observations):
        if not isinstance(one, str):
            raise ValueError("`observations` must be a list of texts")
        text = one.strip()
        about = text if name.casefold() in text.casefold() else f"{name}: {text}"
        found += [
            Kept(Scene(action=part, actors=(name,), themes=(kind,)), file)
            for part in pieces(about)
            if text
        ]
    return found


def _text(line: dict[str, Any], name: str) -> str:
    value = line.get(name)
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"`{name}` must be a text")
    return value.strip()
