"""Makes memories of scenes: at once, each once, whoever notes it and however often."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

from clawkit.memory import people
from clawkit.memory.cleaning import keepable
from clawkit.memory.patrol.alike import Known, Seen
from clawkit.memory.patrol.changes import counted
from clawkit.memory.patrol.conversation import without_recall
from clawkit.memory.patrol.embedding import ahead
from clawkit.memory.patrol.keeping import keep
from clawkit.memory.records import Node, Note, Scene
from clawkit.memory.store import ledger, nodes, notes
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder
    from clawkit.memory.patrol.embedding import Embed

_AT_ONCE = 1000
_ROUNDS = 1000
_ONCE, _FROM_THE_DEAD = 1, 2


def remember(
    unit: Unit,
    given: Sequence[Note],
    embed: Embed | None,
    model: str,
    now: float,
    token: str,
) -> list[Node]:
    """Make memories of notes; gives the new ones.

    A scene that is remembered already makes its memory more alive instead; one that has no words
    of its own becomes nothing.
    """
    scenes = [cleaned(note.scene) for note in given if note.scene]
    known, seen = Known(unit, scenes), Seen()
    drafts: list[Node] = []
    became: dict[str, int] = {}
    later: dict[str, int] = {}
    for note, scene in zip(given, scenes, strict=True):
        if not scene.action:
            became[note.id] = 0
            continue
        talk = bool(note.source.message)
        old = known.find(scene, note.source.conversation, talk=talk)
        if old is not None:
            became[note.id] = old.seq
            touch(unit, old, now)
            continue
        later[note.id] = seen.place(scene, len(drafts))
        if later[note.id] == len(drafts):
            drafts.append(_draft(note, scene, now))
    people.learn(unit, given)
    kept, changes = keep(unit, drafts, embed, model)
    became |= {note: kept[at].seq for note, at in later.items()}
    notes.became(unit, became)
    if changes:
        why = counted(len(kept), "new memory", "new memories")
        ledger.add(unit, now, "remembered", why, token, changes)
    return kept


def remember_waiting(
    database: Database, being: int, embedder: Embedder | None, now: float, token: str
) -> int:
    """See to all notes that wait for a patrol; gives how many memories they are."""
    for _ in range(_ROUNDS):
        with database.read(being) as unit:
            waiting = notes.without_node(unit, _AT_ONCE)
        if not waiting:
            break
        scenes = [cleaned(note.scene) for note in waiting if note.scene]
        speakers = [note.source.speaker for note in waiting]
        embed = ahead(database, being, embedder, scenes, speakers)
        with database.write(being) as unit:
            model = embedder.name if embedder else ""
            remember(unit, _still_waiting(unit, waiting), embed, model, now, token)
    with database.write(being) as unit:
        return notes.take_waiting(unit)


def cleaned(scene: Scene) -> Scene:
    """The scene without what recall has put into it and what no store can hold."""
    weight = scene.importance
    return Scene(
        action=keepable(without_recall(scene.action)).strip(),
        actors=tuple(keepable(name).strip() for name in scene.actors if name.strip()),
        when=tuple(keepable(day).strip() for day in scene.when if day.strip()),
        setting=keepable(without_recall(scene.setting)).strip(),
        feeling=keepable(without_recall(scene.feeling)).strip(),
        themes=tuple(keepable(theme).strip() for theme in scene.themes if theme.strip()),
        importance=min(1.0, max(0.0, weight)) if math.isfinite(weight) else 0.5,
        context=keepable(without_recall(scene.context)).strip(),
    )


def touch(unit: Unit, node: Node, now: float) -> None:
    """What is said again is as alive as what is asked for."""
    times = _FROM_THE_DEAD if node.status == "dead" else _ONCE
    nodes.touch(unit, {node.seq: times}, max(now, node.last_activated))


def _still_waiting(unit: Unit, waiting: Sequence[Note]) -> list[Note]:
    """Those that nobody else has seen to meanwhile."""
    there = {note.id for note in notes.without_node(unit, _AT_ONCE)}
    return [note for note in waiting if note.id in there]


def _draft(note: Note, scene: Scene, now: float) -> Node:
    # A clock that went back must not make a memory that is younger than now.
    created = min(note.created, now)
    return Node(
        seq=0,
        id=str(uuid4()),
        scene=scene,
        created=created,
        source=note.source,
        last_activated=created,
    )
