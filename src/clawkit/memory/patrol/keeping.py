"""A new memory with all that it is found by: its words, its vector, its place among the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.changes import made
from clawkit.memory.patrol.embedding import texts_of, vectors_of
from clawkit.memory.recall.texts import words_of_node
from clawkit.memory.records import Change, Node
from clawkit.memory.store import nodes, postings
from clawkit.memory.store.database import Unit

if TYPE_CHECKING:
    from clawkit.memory.patrol.embedding import Embed


def keep(
    unit: Unit, drafts: Sequence[Node], embed: Embed | None, model: str
) -> tuple[list[Node], list[Change]]:
    """Keep new nodes, whose numbers are given here; one without a cluster joins the nearest."""
    if not drafts:
        return [], []
    scenes = [draft.scene for draft in drafts]
    texts = texts_of(unit, scenes, [draft.source.speaker for draft in drafts])
    vectors = vectors_of(embed, texts)
    near: list[int | None] = [None] * len(drafts)
    if vectors is not None:
        near = clusters.nearest(unit, model, vectors)
    roots: dict[str, int] = {}
    first = nodes.reserve(unit, len(drafts))
    kept: list[Node] = []
    for at, draft in enumerate(drafts):
        cluster = draft.cluster or near[at]
        if not cluster:
            name = clusters.root_for(draft.scene)
            if name not in roots:
                roots[name] = clusters.root(unit, name)
            cluster = roots[name]
        kept.append(msgspec.structs.replace(draft, seq=first + at, cluster=cluster))
    nodes.add(unit, kept)
    postings.add(unit, {node.seq: words_of_node(node) for node in kept})
    if vectors is not None:
        unit.vectors.put(model, [node.seq for node in kept], vectors)
        clusters.recompute_all(unit, {node.cluster for node in kept}, model)
    return kept, [made(node.seq for node in kept)]
