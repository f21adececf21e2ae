"""Notes of one Being: scenes that wait for the next patrol, and memos that stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from clawkit.memory.records import MemorySource, Note, Scene
from clawkit.store.database import Unit, written

Kind = Literal["scene", "note"]
COLUMNS = "id, created, kind, body, speaker, token, conversation"
_SELECT = f"SELECT {COLUMNS} FROM notes WHERE being = $being"
_BETWEEN = 1e-6  # seconds; twice as fine would be lost in a number of this size


def add(unit: Unit, notes: Sequence[Note]) -> None:
    """Keep notes; those of one moment follow one another, so that their order is never lost."""
    before: Counter[tuple[bool, float]] = Counter()
    times: list[float] = []
    for note in notes:
        moment = note.scene is None, note.created
        times.append(note.created + before[moment] * _BETWEEN)
        before[moment] += 1
    rows = [
        {
            "id": note.id,
            "created": created,
            "kind": "scene" if note.scene else "note",
            "body": written(note.scene) if note.scene else note.text,
            "speaker": note.source.speaker,
            "token": note.source.token,
            "conversation": note.source.conversation,
        }
        for note, created in zip(notes, times, strict=True)
    ]
    unit.insert_all("notes", rows)


def waiting(unit: Unit, kind: Kind, limit: int = 10_000) -> list[Note]:
    """What no patrol has taken yet, the oldest first."""
    sql = f"{_SELECT} AND kind = ? AND taken IS NULL ORDER BY created, id LIMIT ?"
    return [note(row) for row in unit.rows(sql, kind, limit)]


def count(unit: Unit, kind: Kind) -> int:
    sql = "SELECT count(*) FROM notes WHERE being = $being AND kind = ? AND taken IS NULL"
    return unit.rows(sql, kind)[0][0]


def by_ids(unit: Unit, ids: Sequence[str]) -> list[Note]:
    """The notes of these ids that still wait."""
    return [note(row) for row in unit.among(f"{_SELECT} AND taken IS NULL AND id IN (??)", ids)]


def became(unit: Unit, nodes: Mapping[str, int]) -> None:
    """Store each note's node number, 0 if it became none."""
    unit.many(
        "UPDATE notes SET node = ? WHERE being = $being AND id = ?",
        [(seq, note) for note, seq in nodes.items()],
    )


def take(unit: Unit, taken: Sequence[tuple[str, int]]) -> None:
    """Mark notes as taken by a patrol, each with its node's number."""
    unit.many(
        "UPDATE notes SET taken = ? WHERE being = $being AND id = ?",
        [(seq, note) for note, seq in taken],
    )


def take_waiting(unit: Unit) -> int:
    """Mark all notes that are nodes as taken by a patrol; returns how many nodes."""
    ((found,),) = unit.rows(
        "SELECT count(DISTINCT node) FROM notes WHERE being = $being AND kind = 'scene' "
        "AND taken IS NULL AND node > 0 AND NOT EXISTS (SELECT 1 FROM notes earlier "
        "WHERE earlier.being = $being AND earlier.taken = notes.node)"
    )
    unit.run(
        "UPDATE notes SET taken = node WHERE being = $being AND taken IS NULL AND node IS NOT NULL"
    )
    return found


def without_node(unit: Unit, limit: int) -> list[Note]:
    """Scenes that wait and are no nodes yet, the oldest first."""
    waits = "kind = 'scene' AND taken IS NULL AND node IS NULL"
    sql = f"{_SELECT} AND {waits} ORDER BY created, id LIMIT ?"
    return [note(row) for row in unit.rows(sql, limit)]


def nodes_of(unit: Unit, ids: Sequence[str]) -> dict[str, int]:
    """The numbers of the nodes that these notes have become."""
    sql = (
        "SELECT id, coalesce(taken, node) FROM notes WHERE being = $being "
        "AND coalesce(taken, node) > 0 AND id IN (??)"
    )
    return dict(unit.among(sql, ids))


def remove(unit: Unit, ids: Sequence[str]) -> None:
    """Delete what still waits."""
    unit.many(
        "DELETE FROM notes WHERE being = $being AND taken IS NULL AND id = ?", [(i,) for i in ids]
    )


def note(row: Sequence[Any]) -> Note:
    """A note from a row of `COLUMNS`."""
    scene = msgspec.json.decode(row[3], type=Scene) if row[2] == "scene" else None
    return Note(row[0], row[1], scene, "" if scene else row[3], MemorySource(*row[4:7]))
