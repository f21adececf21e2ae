"""What a session should know about the person from the start, out of what is remembered.

A few standing questions are asked as a person would ask them, and what lies ahead comes by its
day. Nothing here is written by a model.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import ModelError
from clawkit.memory import people
from clawkit.memory.recall.engine import search
from clawkit.memory.recall.signals import only_asks
from clawkit.memory.recall.texts import day_terms, days_of
from clawkit.memory.records import Node
from clawkit.memory.store import nodes, postings
from clawkit.memory.store.database import Unit
from clawkit.text.calendar import day_of
from clawkit.text.words import terms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clawkit.memory.embed.protocol import Embedder

WHO = "Who"
STANDING = {
    WHO: ("What is my name and how old am I?",),
    "Home": ("Where do I live?", "What is my new address since I moved?", "Who lives with me?"),
    "Work": (
        "What is my job?",
        "Where do I work now?",
        "What does our company do?",
        "When do we open?",
    ),
    "People": (
        "Who is my husband, wife or partner?",
        "What are my children called?",
        "How are my parents?",
        "Is somebody pregnant or ill?",
    ),
    "Health": (
        "What am I allergic to?",
        "Which medicine do I take now, and how much?",
        "Which illness do I have?",
        "When is my operation?",
    ),
    "Likes": ("What do I like?", "What do I not eat?"),
    "Decided": ("What did we decide?", "Which code opens the door?"),
}
AHEAD = "Ahead"
_AHEAD_DAYS = 45
_MOST_AHEAD = 8
_EACH = 3
_FIRST = 16
_MOST_INTRODUCED = 8


class Part(msgspec.Struct, frozen=True):
    """One side of a person, and the memories that tell of it, the most telling first."""

    title: str
    told: tuple[Node, ...]


def portrait(unit: Unit, embedder: Embedder | None, now: float) -> list[Part]:
    """The parts for which something is known."""
    coming = _ahead(unit, now)
    seen = {node.seq for node in coming}
    parts: list[Part] = []
    for title, told in _standing(unit, embedder, now):
        new = [node for node in told if node.seq not in seen]
        seen.update(node.seq for node in new)
        parts += [Part(title, tuple(new))] if new else []
    return [*parts, Part(AHEAD, tuple(coming))] if coming else parts


def _standing(
    unit: Unit, embedder: Embedder | None, now: float
) -> Iterable[tuple[str, list[Node]]]:
    """What the standing questions find, where there are vectors to find it by."""
    for title, questions in STANDING.items():
        answers: list[list[Node]] = [_introductions(unit)] if title == WHO else []
        for question in questions:
            try:
                found = search(unit, question, embedder=embedder, limit=_EACH, now=now)
            except ModelError:
                return
            if found.kind == "keyword":
                return
            answers.append([hit.node for hit in found.hits if not only_asks(hit.node.scene.action)])
        best_first = chain.from_iterable(zip_longest(*answers))
        yield title, list({node.seq: node for node in best_first if node is not None}.values())


def _introductions(unit: Unit) -> list[Node]:
    """What was told first, when people say who they are, and where each of them is first named."""
    first = [node.seq for node in nodes.page(unit, order="seq", limit=_FIRST)]
    for name in sorted(people.voices(unit))[:_MOST_INTRODUCED]:
        first += [int(seq) for seq in postings.having_all(unit, list(terms(name)))[:1]]
    return [node for node in nodes.fetch(unit, first).values() if not only_asks(node.scene.action)]


def _ahead(unit: Unit, now: float) -> list[Node]:
    """What is to come, the next first."""
    today = datetime.fromtimestamp(now, UTC).date()
    days = [today + timedelta(step) for step in range(_AHEAD_DAYS)]
    found = nodes.fetch(unit, postings.having_any(unit, day_terms(days)))
    current = [node for node in found.values() if node.ended is None]

    def coming(node: Node) -> list[date]:
        """Days to come that it names; the day on which it was told is none of them."""
        told = day_of(node.created)
        return [day for day in days_of(node.scene.when) if day >= today and day != told]

    ahead = [node for node in current if coming(node) and not only_asks(node.scene.action)]
    return sorted(ahead, key=lambda node: (min(coming(node)), -node.created))[:_MOST_AHEAD]
