"""No fact twice: memories that say the same of the same people."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clawkit.memory.recall.words import folded
from clawkit.memory.records import Node

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawkit.memory.store.database import Unit

SAME = 0.97
"""The cosine above which two texts say the same, but for their numbers."""

_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")


def without_repetition(unit: Unit, model: str | None, nodes: Sequence[Node]) -> list[int]:
    """The places of those that say something new, in the order they came."""
    vectors = unit.vectors.fetch(model, [node.seq for node in nodes]) if model else {}
    said = [(_people(node), _words(node)) for node in nodes]
    # Vectors do not tell people or numbers apart.
    frames = [(_people(node), sorted(_DIGITS.findall(node.scene.action))) for node in nodes]
    kept: list[int] = []
    for at, node in enumerate(nodes):
        mine = vectors.get(node.seq)
        for earlier in kept:
            if said[earlier] == said[at]:
                break
            other = vectors.get(nodes[earlier].seq)
            if mine is None or other is None or frames[earlier] != frames[at]:
                continue
            if float(mine @ other) > SAME:
                break
        else:
            kept.append(at)
    return kept


def _words(node: Node) -> str:
    return " ".join(_WORD.findall(folded(node.scene.action))) or node.scene.action


def _people(node: Node) -> frozenset[str]:
    if node.source.speaker:
        return frozenset((node.source.speaker.casefold(),))
    return frozenset(actor.casefold() for actor in node.scene.actors)
