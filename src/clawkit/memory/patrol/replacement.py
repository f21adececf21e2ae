"""Merges, replaces, outdates and retracts memories; all of them stay in the store, ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from clawkit.errors import BeingError
from clawkit.memory.patrol import centroids
from clawkit.memory.patrol.new_memories import cleaned, draft, keep, union
from clawkit.memory.records import MemorySource, Node, Scene
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.ledger import set_nodes
from clawkit.store.database import Unit

if TYPE_CHECKING:
    from clawkit.memory.patrol.vectors import Embed

GAIN = 0.05
"""What a memory gains in importance when others are merged into it."""

_ENDED = {"superseded": "replaced", "retracted": "taken back"}
_SAME_MEMORY = ("corrected", "merged")
"""How a memory ended that goes on in the one that follows it; one that was replaced was true."""

_CURRENT = {"ended": None, "ending": "", "successor": None}


def merge(
    unit: Unit,
    merged: Sequence[Node],
    summary: str,
    feeling: str = "",
    *,
    now: float,
    token: str,
    embed: Embed | None = None,
    why: str = "",
) -> Node:
    """One memory in the place of several; they end, and it is their successor."""
    olds = _current(unit, merged)
    if len(olds) < 2:
        raise BeingError("to merge takes at least two different memories")
    scene = merged_scene(olds, summary, feeling)
    if not scene.action:
        raise BeingError("the summary of a merge is empty: say what the merged memory is")
    speaker = _common(node.source.speaker for node in olds)
    conversation = _common(node.source.conversation for node in olds)
    new = draft(
        scene,
        _moment(olds, now),
        MemorySource(speaker, token, conversation),
        cluster=Counter(node.cluster for node in olds).most_common(1)[0][0],
        fresh=False,
        pinned=any(node.pinned for node in olds),
        reactivation_count=max(node.reactivation_count for node in olds),
    )
    reason = why or f"{len(olds)} memories merged into one"
    return _replace(unit, olds, new, "merged", reason, now, token, embed)


def merged_scene(merged: Sequence[Node], summary: str, feeling: str = "") -> Scene:
    """What the merged memory will be; its days, people and themes are those of all."""
    by_weight = sorted(merged, key=lambda node: (-node.scene.importance, node.seq))
    in_order = sorted(merged, key=lambda node: node.seq)
    return cleaned(
        Scene(
            action=summary,
            actors=union(*(node.scene.actors for node in in_order)),
            when=tuple(sorted(union(*(node.scene.when for node in in_order)))),
            setting=next((node.scene.setting for node in by_weight if node.scene.setting), ""),
            feeling=feeling
            or next((node.scene.feeling for node in by_weight if node.scene.feeling), ""),
            themes=union(*(node.scene.themes for node in in_order)),
            importance=min(1.0, by_weight[0].scene.importance + GAIN),
            context=_common(node.scene.context for node in merged),
        )
    )


def supersede(
    unit: Unit,
    old: Node,
    scene: Scene,
    *,
    now: float,
    token: str,
    why: str = "",
    embed: Embed | None = None,
) -> Node:
    """Another memory in the place of one that is no longer so."""
    olds = _current(unit, [old])
    scene = cleaned(scene)
    if not scene.action:
        raise BeingError("what a memory is replaced with is empty: say what is so now")
    (old,) = olds
    source = MemorySource(old.source.speaker, token, old.source.conversation)
    new = draft(scene, _moment(olds, now), source, cluster=old.cluster, pinned=old.pinned)
    reason = why or "replaced by what is so now"
    return _replace(unit, olds, new, "superseded", reason, now, token, embed)


def retract(
    unit: Unit, retracted: Sequence[Node], *, now: float, token: str, why: str = ""
) -> list[Node]:
    """Take memories back, with their earlier versions: nobody recalls them any more."""
    olds = _current(unit, retracted)
    if not olds:
        return []
    moment = _moment(olds, now)
    after = {"ended": moment, "ending": "retracted"}
    before = {name: _CURRENT[name] for name in after}
    changes = [set_nodes(unit, [node.seq for node in olds], before, after)]
    versions = _versions(unit, olds)
    for ending in _SAME_MEMORY:
        earlier = [node.seq for node in versions if node.ending == ending]
        if earlier:
            changes.append(set_nodes(unit, earlier, {"ending": ending}, {"ending": "retracted"}))
    ledger.add(unit, now, "retracted", why or "taken back", token, changes)
    centroids.refresh(unit, {node.cluster for node in olds})
    return olds


def _versions(unit: Unit, olds: Sequence[Node]) -> list[Node]:
    """What these memories were before they were corrected or merged, at whatever remove."""
    found: dict[int, Node] = {}
    latest = [node.seq for node in olds]
    while latest:
        before = nodes.replaced_by(unit, latest)
        new = {one.seq: one for one in before if one.ending in _SAME_MEMORY}
        latest = [seq for seq in new if seq not in found]
        found |= new
    return list(found.values())


def end(
    unit: Unit,
    old: Node,
    by: Node,
    ending: Literal["corrected", "superseded"],
    *,
    now: float,
    token: str,
    why: str,
) -> None:
    """End a memory in favour of one that is there already: it was wrong, or true until then."""
    olds = _current(unit, [old])
    after = {"ended": _moment(olds, by.created), "ending": ending, "successor": by.seq}
    change = set_nodes(unit, [old.seq], _CURRENT, after)
    ledger.add(unit, now, ending, why, token, [change])
    centroids.refresh(unit, {node.cluster for node in olds})


def _replace(
    unit: Unit,
    olds: list[Node],
    new: Node,
    ending: str,
    why: str,
    now: float,
    token: str,
    embed: Embed | None,
) -> Node:
    (new,), changes = keep(unit, [new], embed)
    after = {"ended": new.created, "ending": ending, "successor": new.seq}
    ended = set_nodes(unit, [node.seq for node in olds], _CURRENT, after)
    ledger.add(unit, now, ending, why, token, [*changes, ended])
    centroids.refresh(unit, {new.cluster, *(node.cluster for node in olds)})
    return new


def _current(unit: Unit, given: Sequence[Node]) -> list[Node]:
    """The memories as they are now; one that has ended cannot be changed any more."""
    found = nodes.fetch(unit, {node.seq for node in given})
    for node in given:
        now = found.get(node.seq)
        if now is None:
            raise BeingError(f"there is no memory {node.id}")
        if now.ended is not None:
            how = _ENDED.get(now.ending, now.ending)
            raise BeingError(f"the memory {node.id} is {how} already{_by_what(unit, now)}")
    return [found[seq] for seq in sorted(found)]


def _by_what(unit: Unit, node: Node) -> str:
    after = nodes.latest(unit, node)
    return "" if after.ended is not None else f", by {after.id}: {after.scene.action}"


def _moment(olds: Sequence[Node], now: float) -> float:
    # A clock that went back must not end a memory before it began.
    return max(now, *(node.created for node in olds))


def _common(texts: Iterable[str]) -> str:
    """The text that all of them are, if there is one."""
    first, *others = set(texts)
    return "" if others else first
