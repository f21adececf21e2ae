"""Takes in notes and conversations; replaces, pins and retracts single memories.

A scene is a memory at once; a patrol, which is asked for when ten wait, puts it in order. Who
replaces a scene, or a memory by its id, corrects what is known. No model is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from clawkit.errors import BeingError
from clawkit.memory.job_worker import PATROL
from clawkit.memory.patrol import PatrolContext, replacement
from clawkit.memory.patrol.new_memories import KnownScenes, cleaned, remember, touch
from clawkit.memory.patrol.scenes import hear
from clawkit.memory.patrol.vectors import ahead
from clawkit.memory.records import Change, MemorySource, Node, Note, Scene
from clawkit.memory.store import ledger, nodes, notes
from clawkit.memory.structured_memory import forget_notes
from clawkit.memory.tokens import Caller
from clawkit.store.database import Transactions, Unit

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.memory.patrol.transcript import ConversationMessage
    from clawkit.memory.patrol.vectors import Embed
    from clawkit.memory.records import Being
    from clawkit.memory.secret_filter import SecretFilter

ENOUGH_FOR_PATROL = 10


class NotesRequest(msgspec.Struct, frozen=True):
    """What a caller wants written down, in place of what."""

    scenes: Sequence[Scene] = ()
    memos: Sequence[str] = ()
    replaced: Sequence[str] = ()


def take_notes(
    unit: Unit, caller: Caller, given: NotesRequest, embed: Embed | None, now: float
) -> dict[str, Any]:
    """Write scenes and notes down, in place of those that are replaced; say what was done."""
    source = source_of(caller)
    scenes = [Note(str(uuid4()), now, scene, "", source) for scene in given.scenes]
    memos = [Note(str(uuid4()), now, None, memo, source) for memo in given.memos]
    old = _found(unit, given.replaced)
    notes.add(unit, [*scenes, *memos])
    remember(unit, scenes, embed, now, caller.token)
    answer: dict[str, Any] = {"status": "ok"}
    if given.replaced:
        new = notes.nodes_of(unit, [note.id for note in scenes])
        by = [new.get(note.id) for note in scenes]
        answer |= _replace(unit, given.replaced, old, by, caller, now)
        answer["not_found"] = [one for one in given.replaced if one not in old]
    answer["scene_ids"] = [note.id for note in scenes]
    answer["node_ids"] = _node_ids(unit, answer["scene_ids"])
    answer["note_ids"] = [note.id for note in memos]
    answer["waiting_scenes"] = notes.count(unit, "scene")
    return answer


def _node_ids(unit: Unit, notes_: Sequence[str]) -> list[str]:
    """The ids of the memories that notes have become, as all other tools show them."""
    became = notes.nodes_of(unit, notes_)
    there = nodes.fetch(unit, became.values())
    return [there[became[one]].id for one in notes_ if became.get(one) in there]


def remember_now(
    database: Transactions,
    being: int,
    embedder: Embedder | None,
    scene: Scene,
    source: MemorySource,
    now: float,
) -> Node:
    """Make one scene a memory at once; the one that says it already, if there is one."""
    scene = cleaned(scene)
    if not scene.action:
        raise BeingError("there is nothing to remember in this: say what happened or what is so")
    # The note is never stored, so that undoing this forgets it and does not let it wait again.
    note = Note(str(uuid4()), now, scene, "", source)
    embed = ahead(database, being, embedder, [scene], [source.speaker])
    with database.write(being) as unit:
        known = KnownScenes(unit, [scene]).find(scene, source)
        if known is not None:
            touch(unit, known, now)
            return known
        return remember(unit, [note], embed, now, source.token)[0]


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


def pin(unit: Unit, node_id: str, on: bool, caller: Caller, now: float) -> Node:
    """Let a memory never fade, or fade again; an id stands for what it has become."""
    node = nodes.latest(unit, one(unit, node_id))
    if node.pinned != on:
        before, after = {"pinned": int(node.pinned)}, {"pinned": int(on)}
        nodes.change(unit, node.seq, after)
        change = Change("nodes", str(node.seq), before, after)
        ledger.add(unit, now, "pinned", "pinned" if on else "unpinned", caller.token, [change])
    return one(unit, node.id)


def source_of(caller: Caller, speaker: str = "") -> MemorySource:
    return MemorySource(speaker or caller.person, caller.token, caller.conversation)


def _found(unit: Unit, ids: Sequence[str]) -> dict[str, Node]:
    """The current memories of these ids, which are of notes or of memories.

    The id of one that was wrong stands for the one that corrected it.
    """
    became = notes.nodes_of(unit, ids)
    there = nodes.fetch(unit, became.values())
    found = {one: there[seq] for one, seq in became.items() if seq in there}
    found |= nodes.by_ids(unit, [one for one in ids if one not in found])
    current = {one: nodes.latest(unit, node, ("corrected",)) for one, node in found.items()}
    return {one: node for one, node in current.items() if node.ended is None}


def _replace(
    unit: Unit,
    given: Sequence[str],
    old: dict[str, Node],
    new: Sequence[int | None],
    caller: Caller,
    now: float,
) -> dict[str, Any]:
    """End what is replaced: corrected by the new scene in its place, else forgotten."""
    waiting = [note for note in notes.by_ids(unit, list(old)) if note.scene is not None]
    if waiting:
        forget_notes(unit, waiting, caller.token, now)
    current = {one: node for one, node in old.items() if node.seq not in new}
    places = {node.seq: given.index(one) for one, node in reversed(current.items())}
    successors = nodes.fetch(unit, [seq for seq in new if seq])
    answer: dict[str, Any] = {"deleted": len(old)}
    if not successors:
        replacement.retract(
            unit, _each(current), now=now, token=caller.token, why="forgotten on request"
        )
        return {**answer, "forgotten": [node.id for node in _each(current)]}
    corrected: list[dict[str, str]] = []
    for node in _each(current):
        by = successors[next(seq for seq in (*new[places[node.seq] :], *reversed(new)) if seq)]
        replacement.end(unit, node, by, "corrected", now=now, token=caller.token, why="corrected")
        corrected.append({"old": node.id, "new": by.id, "was": node.scene.action})
    return {**answer, "corrected": corrected}


def _each(found: dict[str, Node]) -> list[Node]:
    return list({node.seq: node for node in found.values()}.values())


def listen(
    store: BeingStore,
    being: Being,
    messages: Sequence[ConversationMessage],
    caller: Caller,
    secret_filter: SecretFilter,
) -> bool:
    """Keep what was said to an assistant, without the secrets that `secret_filter` finds.

    Says if a patrol is due.
    """
    now = store.clock()
    run = PatrolContext(store.limited, being.n, now, caller, store.embedder)
    hear(run, secret_filter.messages(messages, caller, now), to_assistant=True)
    with store.database.read(being.n) as unit:
        waiting = notes.count(unit, "scene")
    due = waiting >= ENOUGH_FOR_PATROL
    if due:
        store.want(being, PATROL)
    return due
