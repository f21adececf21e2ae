"""What of a memory is indexed as words, and what of it becomes a vector."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from clawkit.memory.recall.names import names_of
from clawkit.memory.recall.words import terms
from clawkit.memory.records import Node, Scene, Source


def words_of(scene: Scene, source: Source) -> Counter[str]:
    """The words that a memory is found by: who, where, what, how it felt, what it is about."""
    people = {source.speaker, *scene.actors}
    parts = (*sorted(people), scene.setting, scene.action, scene.feeling, *scene.themes)
    return terms(" \n".join(part for part in parts if part))


def text_to_embed(scene: Scene, people: Collection[str]) -> str:
    """What a memory means, whoever it is about; its day is a signal of its own."""
    parts = (scene.setting, scene.action, scene.feeling)
    text = " — ".join(part for part in parts if part)
    return names_of(frozenset((*people, *scene.actors))).masked(text)


def words_of_node(node: Node) -> Counter[str]:
    return words_of(node.scene, node.source)
