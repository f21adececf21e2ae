"""Notes of a Being as callers write them, and what they do to single memories.

Scenes wait for a patrol; when ten wait, one is asked for. A scene that is deleted after a patrol
has made a memory of it takes that memory back, so that who replaces a scene replaces what is
known, whenever the patrol was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from clawkit.errors import BeingError
from clawkit.memory.caller import Caller
from clawkit.memory.patrol import merging
from clawkit.memory.patrol.alike import Known
from clawkit.memory.patrol.embedding import ahead
from clawkit.memory.patrol.remembering import cleaned, remember, touch
from clawkit.memory.records import Change, Node, Note, Scene, Source
from clawkit.memory.store import ledger, nodes, notes
from clawkit.memory.store.database import Database, Unit
from clawkit.memory.structured import forget_notes

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder

ENOUGH_FOR_PATROL = 10


def take_notes(
    unit: Unit,
    caller: Caller,
    scenes: Sequence[Scene],
    memos: Sequence[str],
    replaced: Sequence[str],
    now: float,
) -> dict[str, Any]:
    """Write scenes and notes down, in place of scenes that are replaced; say what was done."""
    answer: dict[str, Any] = {"status": "ok"}
    if replaced:
        answer |= _remove(unit, replaced, caller, now)
    source = source_of(caller)
    new_scenes = [Note(str(uuid4()), now, scene, "", source) for scene in scenes]
    new_memos = [Note(str(uuid4()), now, None, memo, source) for memo in memos]
    notes.add(unit, [*new_scenes, *new_memos])
    answer["scene_ids"] = [note.id for note in new_scenes]
    answer["note_ids"] = [note.id for note in new_memos]
    answer["waiting_scenes"] = notes.count(unit, "scene")
    return answer


def remember_now(
    database: Database,
    being: int,
    embedder: Embedder | None,
    scene: Scene,
    source: Source,
    now: float,
) -> Node:
    """Make one scene a memory at once; the one that says it already, if there is one."""
    scene = cleaned(scene)
    if not scene.action:
        raise BeingError("there is nothing to remember in this: say what happened or what is so")
    # The note is never stored, so that undoing this forgets it and does not let it wait again.
    note = Note(str(uuid4()), now, scene, "", source)
    embed = ahead(database, being, embedder, [scene], [source.speaker])
    model = embedder.name if embedder is not None else ""
    with database.write(being) as unit:
        known = Known(unit, [scene]).find(scene, source.conversation)
        if known is not None:
            touch(unit, known, now)
            return known
        return remember(unit, [note], embed, model, now, source.token)[0]


def one(unit: Unit, node_id: str) -> Node:
    """The node of an id."""
    return several(unit, [node_id])[0]


def several(unit: Unit, ids: Sequence[str]) -> list[Node]:
    """The nodes of these ids, in this order."""
    found = nodes.by_ids(unit, ids)
    missing = [node_id for node_id in ids if node_id not in found]
    if missing:
        raise BeingError(f"there is no node {', '.join(missing)}")
    return [found[node_id] for node_id in ids]


def retract(unit: Unit, ids: Sequence[str], caller: Caller, why: str, now: float) -> list[Node]:
    return merging.retract(unit, several(unit, ids), now=now, token=caller.token, why=why)


def pin(unit: Unit, node_id: str, on: bool, caller: Caller, now: float) -> Node:
    """Let a memory never fade, or fade again."""
    node = one(unit, node_id)
    if node.pinned != on:
        before, after = {"pinned": int(node.pinned)}, {"pinned": int(on)}
        nodes.change(unit, node.seq, after)
        change = Change("nodes", str(node.seq), before, after)
        ledger.add(unit, now, "pinned", "pinned" if on else "unpinned", caller.token, [change])
    return one(unit, node_id)


def source_of(caller: Caller, speaker: str = "") -> Source:
    return Source(speaker, caller.token, caller.conversation)


def _remove(unit: Unit, ids: Sequence[str], caller: Caller, now: float) -> dict[str, Any]:
    """Take scenes away, those that wait and those that have become memories."""
    waiting = [note for note in notes.by_ids(unit, ids) if note.scene is not None]
    if waiting:
        forget_notes(unit, waiting, caller.token, now)
    became = notes.nodes_of(unit, ids)
    there = nodes.fetch(unit, became.values())
    known = {note: there[seq] for note, seq in became.items() if there[seq].ended is None}
    if known:
        old = list({node.seq: node for node in known.values()}.values())
        why = "its scene was replaced"
        merging.retract(unit, old, now=now, token=caller.token, why=why)
    deleted = {note.id for note in waiting} | known.keys()
    return {"deleted": len(deleted), "not_found": [i for i in ids if i not in deleted]}
