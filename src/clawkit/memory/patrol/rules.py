"""Annotates what a person said, without a model: who, when, how much it matters.

Every message is kept, in pieces; nothing here decides whether it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from clawkit.memory.patrol.conversation import own_words
from clawkit.memory.patrol.weighing import importance
from clawkit.memory.records import Said, Scene
from clawkit.text.calendar import day_of, resolved
from clawkit.text.sentences import pieces, sentences

_LONGEST_MESSAGE = 100_000
_LONGEST_CONTEXT = 200
_RELATION = re.compile(
    r"\b(?:[Mm]y|[Oo]ur|[Mm]eine?|[Uu]nsere?|[Mm]on|[Mm]a|[Mm]i|[Mm]io|[Mm]ia|[Mm]eu|[Mm]inha) "
    r"(?:\w+ )?\w+(?:'s name is| is called| is named| named| called| heißt|,)? ([A-ZÀ-ÖØ-Þ][\w-]+)"
)


class Fact(msgspec.Struct, frozen=True):
    """One piece of a message as a scene; `message` is the message's id."""

    scene: Scene
    message: str


def facts(said: Said, speaker: str, people: Collection[str], before: str = "") -> list[Fact]:
    """The pieces of one message, in their order; `before` is what was said before it."""
    if said.role != "user":
        return []
    found: list[Fact] = []
    day = day_of(said.at)
    for piece in pieces(own_words(said.text[:_LONGEST_MESSAGE])):
        action, days = resolved(piece, day)
        scene = Scene(
            action=action,
            actors=_actors(piece, speaker, people),
            when=tuple(dict.fromkeys((day.isoformat(), *days))),
            importance=importance(piece),
            context=ending_of(resolved(before, day)[0]),
        )
        found.append(Fact(scene, said.id))
        before = piece
    return found


def ending_of(text: str) -> str:
    """The last sentence of what was said before, if it is no essay."""
    last = sentences(own_words(text[-4 * _LONGEST_CONTEXT :]))[-1:]
    return last[0][-_LONGEST_CONTEXT:] if last else ""


def _actors(text: str, speaker: str, people: Collection[str]) -> tuple[str, ...]:
    """Who takes part: the speaker, people who are known, and those who are introduced."""
    named = [name for name in sorted(people) if _names(name, text)]
    named += [match[1] for match in _RELATION.finditer(text)]
    return tuple(dict.fromkeys((speaker, *named)))


def _names(name: str, text: str) -> bool:
    if len(name) < 2 or name not in text:
        return False
    edge = r"\b" if name.isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{edge}", text) is not None
