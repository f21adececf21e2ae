"""A model finds which older memories are no longer so because of newer ones; they end there.

Without a model both stay, each with its day: rules that guess would hide what is still true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clawkit.memory.patrol.answers import DATA_ONLY, decoded
from clawkit.memory.patrol.merging import outdate
from clawkit.memory.records import Node
from clawkit.memory.store import marks, nodes
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

_MARK = "supersession.seen"
_MOST_NEW = 100
_TOGETHER = 20
_OLDER = 5
_NEAR = 0.4
_LONGEST = 400
_ANSWER_TOKENS = 2_000
_ASKED = (
    "You keep a memory true. Each line has one new statement and older ones on a similar matter, "
    "with their days. Find the older statements that are no longer true because of the new one: "
    "the same thing of the same person has another value now, such as a new dose, boss, address, "
    "date or price. What happened stays true, and so does what only adds to it; when in doubt, "
    'name nothing. Answer as {"outdated": [{"new": 2, "old": [1]}]}, where `new` is the number of '
    'the line; {"outdated": []} if there is nothing. ' + DATA_ONLY
)


class Outdated(msgspec.Struct, frozen=True):
    """The number of a line, and of the older statements in it that it replaces."""

    new: int
    old: list[int]


class _Answer(msgspec.Struct, frozen=True):
    outdated: list[Outdated]


Pair = tuple[Node, list[Node]]


def supersede_outdated(
    database: Database, being: int, *, llm: Llm, model: str, now: float, token: str
) -> int:
    """End what a model finds to be replaced by newer memories; gives how many ended."""
    with database.read(being) as unit:
        new = _unseen(unit)
        pairs = [(node, old) for node in new if (old := _similar(unit, model, node))]
    ended = 0
    for start in range(0, len(pairs), _TOGETHER):
        part = pairs[start : start + _TOGETHER]
        found = _found(llm, part)
        with database.write(being) as unit:
            ended += sum(_end(unit, by, old, now, token) for by, old in found)
    if new:
        with database.write(being) as unit:
            marks.put(unit, _MARK, str(new[-1].seq))
    return ended


def _unseen(unit: Unit) -> list[Node]:
    """The memories that no patrol has looked at for this, the oldest first."""
    after = int(marks.get(unit, _MARK) or 0)
    return nodes.page(unit, after=after, order="seq", limit=_MOST_NEW)


def _similar(unit: Unit, model: str, node: Node) -> list[Node]:
    """Older memories on the matter of a new one, the nearest first."""
    vector = unit.vectors.fetch(model, [node.seq]).get(node.seq) if model else None
    if vector is None:
        return []
    hidden = {int(seq) for seq in nodes.hidden(unit)}
    seqs, cosines = unit.vectors.nearest(model, vector, 3 * _OLDER, hidden)
    near = [seq for seq, cosine in zip(seqs, cosines, strict=True) if cosine >= _NEAR]
    older = [seq for seq in near if seq < node.seq][:_OLDER]
    found = nodes.fetch(unit, older)
    return [found[seq] for seq in older if found[seq].created < node.created]


def _found(llm: Llm, pairs: list[Pair]) -> list[tuple[Node, Node]]:
    """The new memory and the old one, for each that a model says is outdated."""
    lines = [
        msgspec.json.encode(
            {
                "n": n,
                "new": _said(node),
                "older": {str(at): _said(one) for at, one in enumerate(old, 1)},
            }
        ).decode()
        for n, (node, old) in enumerate(pairs, 1)
    ]
    answer = decoded(llm.complete(_ASKED, "\n".join(lines), _ANSWER_TOKENS), _Answer)
    found: list[tuple[Node, Node]] = []
    for one in answer.outdated if answer else ():
        if 1 <= one.new <= len(pairs):
            by, old = pairs[one.new - 1]
            found += [(by, old[at - 1]) for at in one.old if 1 <= at <= len(old)]
    return found


def _end(unit: Unit, by: Node, old: Node, now: float, token: str) -> bool:
    """End one, if nobody has ended it or the new one meanwhile."""
    there = nodes.fetch(unit, [by.seq, old.seq])
    if len(there) < 2 or any(node.ended is not None for node in there.values()):
        return False
    outdate(unit, old, by, now=now, token=token, why=f"a newer memory says: {_said(by)[:200]}")
    return True


def _said(node: Node) -> str:
    context = f" [{node.scene.context}]" if node.scene.context else ""
    who = f"{node.source.speaker}: " if node.source.speaker else ""
    return f"{', '.join(node.scene.when[:1])} {who}{node.scene.action}{context}"[:_LONGEST]
