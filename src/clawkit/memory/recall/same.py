"""Memories that say the same in the same words, of which one is told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clawkit.text.words import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawkit.memory.records import Node

_WORD = re.compile(r"\w+")


def without_repetition(nodes: Sequence[Node]) -> list[int]:
    """The places of those that say something new, in the order they came; of two, the newest."""
    kept: dict[tuple[object, ...], int] = {}
    for at, node in enumerate(nodes):
        said = _people(node), _words(node)
        earlier = kept.setdefault(said, at)
        if node.created > nodes[earlier].created:
            kept[said] = at
    return list(kept.values())


def _words(node: Node) -> str:
    return " ".join(_WORD.findall(folded(node.scene.action))) or node.scene.action


def _people(node: Node) -> frozenset[str]:
    if node.source.speaker:
        return frozenset((node.source.speaker.casefold(),))
    return frozenset(actor.casefold() for actor in node.scene.actors)
