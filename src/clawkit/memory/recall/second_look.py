"""A second look, from the best memory: at those whom it introduces, and at what became of it.

"Where does Stan's daughter work?" finds that his daughter is Ivy, and only then what Ivy does. What
is near to the best and later may have replaced it, unless it only asks. Both choose what is told
beside what fits the question itself; only what says that the matter has changed comes before it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.recall.signals import asks_about_past, mentioned, only_asks, says_change

if TYPE_CHECKING:
    from clawkit.memory.people import ParticipantNames
    from clawkit.memory.recall.engine import Hit
    from clawkit.memory.records import Node
    from clawkit.store.arrays import Floats

_INTRODUCED, _NEAR, _LATER = 0.6, 0.3, 0.6
"""As shares of how far behind the best one may be; chosen on the made lives."""

_FIRST_FEW, _SAME_MATTER = 4, 0.4
"""Who is among so many, so near to the best and later may say what is so now."""

_REPLACING, _REPLACED = 12, 0.5
"""Who is among so many, so near to the best, later, and says that it has changed, is so now."""


class SecondLook(msgspec.Struct, frozen=True):
    """What is to be told, the best first, and the numbers of those that the first replaced."""

    hits: tuple[Hit, ...]
    replaced: frozenset[int] = frozenset()


def looked_again(
    hits: Sequence[Hit],
    first: int,
    question: str,
    names: ParticipantNames,
    vectors: Mapping[int, Floats],
    far_behind: float,
    rare: Collection[int] = (),
) -> SecondLook:
    """The first so many as they are, then those that the best leads to; nobody else far behind.

    One of those with a `rare` word that was asked for is among the first, and all are told. Where
    one of the others replaced the best, that one is first, unless the past is asked for.
    """
    if not hits:
        return SecondLook(())
    nodes, best = [hit.node for hit in hits], hits[0].node
    tells = np.array([not only_asks(node.scene.action) for node in nodes])
    leads = tells & (mentioned(nodes, names.named(best.scene.action) - names.named(question)) > 0)
    said = best.created, best.seq
    later = np.array([(node.created, node.seq) > said for node in nodes], np.float32)
    near = tells * _nearness(best.seq, [node.seq for node in nodes], vectors)
    gain = _INTRODUCED * leads + near * (_NEAR + _LATER * later)
    scores = np.array([hit.score for hit in hits]) + far_behind * gain
    scores[:first] = [hit.score for hit in hits[:first]]
    named = tells & np.array([node.seq in rare for node in nodes])
    rest = sorted(range(first, len(hits)), key=lambda at: (not named[at], -scores[at]))
    order = [*range(min(first, len(hits))), *rest]
    if first > 1 and named.any() and not named[:first].any():
        order[first - 1], order[first] = order[first], order[first - 1]
    now = not asks_about_past(question)
    newer = _replacing(nodes, near * later) if now else None
    if newer is not None:
        order = [newer, *(at for at in order if at not in (0, newer))]
        order.insert(first, 0)
    enough = hits[0].score - far_behind
    kept = leads | named | (scores >= enough)
    kept[:_FIRST_FEW] |= (near * later)[:_FIRST_FEW] >= _SAME_MATTER
    found = tuple(hits[at] for at in order if kept[at] or at == newer)
    return SecondLook(found, _replaced(nodes[newer or 0], nodes, vectors) if now else frozenset())


def _replacing(nodes: Sequence[Node], near: Floats) -> int | None:
    """The place of what its speaker later said to have become of the best, if anything."""
    whose = nodes[0].source.voice
    found = [
        at
        for at, node in enumerate(nodes[:_REPLACING])
        if near[at] >= _REPLACED and node.source.voice == whose and says_change(node.scene.action)
    ]
    return max(found, key=lambda at: near[at], default=None)


def _replaced(first: Node, nodes: Sequence[Node], vectors: Mapping[int, Floats]) -> frozenset[int]:
    """What its speaker said before on the matter of the first, which says that it has changed."""
    if not says_change(first.scene.action):
        return frozenset()
    near = _nearness(first.seq, [node.seq for node in nodes], vectors)
    return frozenset(
        node.seq
        for node, cosine in zip(nodes, near, strict=True)
        if cosine >= _REPLACED
        and node.created < first.created
        and node.source.voice == first.source.voice
    )


def _nearness(best: int, seqs: Sequence[int], vectors: Mapping[int, Floats]) -> Floats:
    """The cosine of each with the best, 0 where one has no vector."""
    middle = vectors.get(best)
    if middle is None:
        return np.zeros(len(seqs), np.float32)
    return np.array(
        [max(0.0, float(vectors[seq] @ middle)) if seq in vectors else 0.0 for seq in seqs],
        np.float32,
    )
