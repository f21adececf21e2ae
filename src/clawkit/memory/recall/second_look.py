"""A second look, from the best memory: at those whom it introduces, and at what became of it.

"Where does Stan's daughter work?" finds that his daughter is Ivy, and only then what Ivy does. What
is near to the best and later may have replaced it, unless it only asks. Neither comes before what
fits the question itself: both only choose what is told beside that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from clawkit.memory.recall.signals import mentioned, only_asks

if TYPE_CHECKING:
    from clawkit.memory.people import ParticipantNames
    from clawkit.memory.recall.engine import Hit
    from clawkit.store.arrays import Floats

_INTRODUCED, _NEAR, _LATER = 0.6, 0.3, 0.6
"""As shares of how far behind the best one may be; chosen on the made lives."""

_FIRST_FEW, _SAME_MATTER = 4, 0.4
"""Who is among so many, so near to the best and later may say what is so now."""


def looked_again(
    hits: Sequence[Hit],
    first: int,
    question: str,
    names: ParticipantNames,
    vectors: Mapping[int, Floats],
    far_behind: float,
) -> tuple[Hit, ...]:
    """The first so many as they are, then those that the best leads to; nobody else far behind."""
    if not hits:
        return ()
    nodes, best = [hit.node for hit in hits], hits[0].node
    tells = np.array([not only_asks(node.scene.action) for node in nodes])
    leads = tells & (mentioned(nodes, names.named(best.scene.action) - names.named(question)) > 0)
    said = best.created, best.seq
    later = np.array([(node.created, node.seq) > said for node in nodes], np.float32)
    near = tells * _nearness(best.seq, [node.seq for node in nodes], vectors)
    gain = _INTRODUCED * leads + near * (_NEAR + _LATER * later)
    scores = np.array([hit.score for hit in hits]) + far_behind * gain
    scores[:first] = [hit.score for hit in hits[:first]]
    rest = sorted(range(first, len(hits)), key=lambda at: -scores[at])
    order = (*range(min(first, len(hits))), *rest)
    enough = hits[0].score - far_behind
    kept = leads | (scores >= enough)
    kept[:_FIRST_FEW] |= (near * later)[:_FIRST_FEW] >= _SAME_MATTER
    return tuple(hits[at] for at in order if kept[at])


def _nearness(best: int, seqs: Sequence[int], vectors: Mapping[int, Floats]) -> Floats:
    """The cosine of each with the best, 0 where one has no vector."""
    middle = vectors.get(best)
    if middle is None:
        return np.zeros(len(seqs), np.float32)
    return np.array(
        [max(0.0, float(vectors[seq] @ middle)) if seq in vectors else 0.0 for seq in seqs],
        np.float32,
    )
