"""What of a memory is indexed as words or embedded, with participants' names masked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date

from clawkit.memory.people import names_of
from clawkit.memory.records import MemorySource, Node, Scene
from clawkit.text.cues import only_asks
from clawkit.text.tokenizer import terms

_DAY = "\x02"
"""Begins a term that stands for a day; no text has it."""

ASKING = "\x03"
"""The term of memories that only ask, and tell nothing."""


def words_of(scene: Scene, source: MemorySource) -> Counter[str]:
    """What a memory is found by: who, where, what, how it felt, what it is about, which days."""
    people = {source.speaker, *scene.actors}
    parts = (*sorted(people), scene.setting, scene.action, scene.feeling, *scene.themes)
    found = terms(" \n".join(part for part in parts if part))
    found.update(day_terms(days_of(scene.when)))
    if only_asks(scene.action):
        found[ASKING] = 1
    return found


def day_terms(days: Iterable[date]) -> list[str]:
    """The terms by which memories of these days are found."""
    return [f"{_DAY}{day.isoformat()}" for day in days]


def days_of(when: Iterable[str]) -> list[date]:
    """The days that a memory is about, those that are written as such."""
    found: list[date] = []
    for text in when:
        try:
            found.append(date.fromisoformat(text[:10]))
        except ValueError:
            continue
    return found


def texts_to_embed(scene: Scene, voices: Collection[str]) -> tuple[str, str]:
    """What a memory means, alone and after what was said before it; speakers' names are "I"."""
    parts = (scene.setting, scene.action, scene.feeling)
    masked = names_of(frozenset(voices)).masked
    alone = masked(" — ".join(part for part in parts if part))
    return alone, f"{masked(scene.context)} {alone}" if scene.context else ""


def words_of_node(node: Node) -> Counter[str]:
    return words_of(node.scene, node.source)
