"""The nodes of one Being: added with their words, found, and changed only in what may change."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from clawkit.memory import people
from clawkit.memory.records import MemorySource, Node, Scene, Status, since
from clawkit.memory.store.ledger import COLUMNS, NODES
from clawkit.store import database
from clawkit.store.database import Row, Unit, folded, written

if TYPE_CHECKING:
    from clawkit.store.arrays import Seqs

_COLUMNS = (
    "seq, id, scene, created, speaker, token, conversation, message, cluster, status, fresh, "
    "pinned, session_count, reactivation_count, last_activated, ended, ending, successor, "
    "importance"
)
ERASED = "erased"
"""How a node has ended of which nothing is left."""

_SELECT = f"SELECT {_COLUMNS} FROM nodes WHERE being = $being"
_scene = msgspec.json.Decoder(Scene).decode


class _Days(msgspec.Struct, frozen=True):
    when: tuple[str, ...] = ()


_when = msgspec.json.Decoder(_Days).decode


def add(unit: Unit, nodes: Sequence[Node]) -> None:
    """Keep new nodes; their numbers must be the next ones, from `reserve`."""
    speakers = {node.source.speaker for node in nodes}
    people.meet(unit, {name for node in nodes for name in node.scene.actors} | speakers, speakers)
    unit.insert_all("nodes", [_row(node) for node in nodes])


def reserve(unit: Unit, count: int) -> int:
    """The first of the next `count` numbers."""
    unit.run("UPDATE beings SET top = top + ? WHERE n = $being", count)
    return top(unit) - count + 1


def top(unit: Unit) -> int:
    """The highest number that a node has."""
    row = unit.row("SELECT top FROM beings WHERE n = $being")
    return row[0] if row else 0


def fetch(unit: Unit, seqs: Iterable[int]) -> dict[int, Node]:
    found = unit.among(f"{_SELECT} AND seq IN (??)", [int(seq) for seq in seqs])
    return {row[0]: _node(row) for row in found}


def by_ids(unit: Unit, ids: Sequence[str]) -> dict[str, Node]:
    found = unit.among(f"{_SELECT} AND id IN (??)", list(ids))
    return {row[1]: _node(row) for row in found}


def same_words(unit: Unit, scenes: Iterable[Scene]) -> dict[str, list[Node]]:
    """The current nodes that say what these scenes say, whoever says it, by fingerprint."""
    sql = (
        f"SELECT said, {_COLUMNS} FROM nodes "
        "WHERE being = $being AND ended IS NULL AND said IN (??)"
    )
    prints = list({fingerprint(scene) for scene in scenes})
    found: dict[str, list[Node]] = {}
    for row in unit.among(sql, prints):
        found.setdefault(row[0], []).append(_node(row[1:]))
    return found


def page(
    unit: Unit,
    *,
    cluster: int | None = None,
    statuses: Sequence[Status] = (),
    fresh: bool | None = None,
    contains: str = "",
    ended: bool = False,
    order: str = "importance DESC, seq DESC",
    limit: int = 1000,
    after: int = 0,
    offset: int = 0,
) -> list[Node]:
    """Nodes that fit, `limit` at most; `order` is one of ours, never a caller's."""
    sql, values = f"{_SELECT} AND seq > ?", [after]
    if not ended:
        sql += " AND ended IS NULL"
    if cluster is not None:
        sql += " AND cluster = ?"
        values.append(cluster)
    if fresh is not None:
        sql += " AND fresh = ?"
        values.append(int(fresh))
    if contains:
        sql += f" AND {database.contains('action', contains)}"
        values.append(contains.lower())  # pyright: ignore[reportArgumentType]
    if statuses:
        sql += f" AND status IN ({', '.join('?' * len(statuses))})"
        values.extend(statuses)  # pyright: ignore[reportArgumentType]
    rows = unit.rows(f"{sql} ORDER BY {order} LIMIT ? OFFSET ?", *values, limit, offset)
    return [_node(row) for row in rows]


class NodeOutline(msgspec.Struct, frozen=True):
    """What a map needs of a node."""

    seq: int
    id: str
    cluster: int
    status: Status


def outline(unit: Unit, limit: int) -> list[NodeOutline]:
    """The current nodes in short, the newest of them, in order."""
    sql = (
        "SELECT seq, id, cluster, status FROM nodes "
        "WHERE being = $being AND ended IS NULL ORDER BY seq DESC LIMIT ?"
    )
    return [NodeOutline(*row) for row in reversed(unit.rows(sql, limit))]


def days(unit: Unit) -> list[tuple[int, tuple[str, ...], float]]:
    """Of each current node the days that its scene names, and when it was told."""
    rows = unit.rows("SELECT seq, scene, created FROM nodes WHERE being = $being AND ended IS NULL")
    return [(seq, _when(scene).when, created) for seq, scene, created in rows]


def ended(unit: Unit, offset: int, limit: int) -> list[Node]:
    """The nodes that are not known any more, the last ended first; nothing is left of erased."""
    sql = f"{_SELECT} AND ended IS NOT NULL AND ending <> ? ORDER BY ended DESC, seq DESC"
    return [_node(row) for row in unit.rows(f"{sql} LIMIT ? OFFSET ?", ERASED, limit, offset)]


def replaced_by(unit: Unit, seqs: Sequence[int]) -> list[Node]:
    """The nodes that these have replaced."""
    sql = f"{_SELECT} AND ended IS NOT NULL AND successor IN (??)"
    return [_node(row) for row in unit.among(sql, seqs) if row[16] != ERASED]


def latest(unit: Unit, node: Node, endings: Collection[str] = ()) -> Node:
    """What a memory has become, at whatever remove: itself, where nothing follows it.

    With `endings`, only what ended in one of these ways goes on in the one that follows it.
    """
    seen = {node.seq}
    while node.successor is not None and (not endings or node.ending in endings):
        after = fetch(unit, [node.successor]).get(node.successor)
        if after is None or after.seq in seen:
            break
        seen.add(after.seq)
        node = after
    return node


def counts(unit: Unit) -> dict[tuple[int, str], int]:
    """How many current nodes there are, by cluster and status."""
    rows = unit.rows(
        "SELECT cluster, status, count(*) FROM nodes "
        "WHERE being = $being AND ended IS NULL GROUP BY cluster, status"
    )
    return {(cluster, status): number for cluster, status, number in rows}


def count_erased(unit: Unit) -> int:
    """How many nodes are nothing but a number."""
    sql = "SELECT count(*) FROM nodes WHERE being = $being AND ended IS NOT NULL AND ending = ?"
    row = unit.row(sql, ERASED)
    return row[0] if row else 0


def hidden(unit: Unit, as_of: float | None = None, *, past: bool = False) -> Seqs:
    """The nodes that are not part of what is known: now, or of what was so at an earlier moment.

    With `past`, what was so until something else began to be is known, too. What was taken back is
    known at no moment.
    """
    if as_of is None:
        kept = " AND ending <> 'superseded'" if past else ""
        rows = unit.rows(
            f"SELECT seq FROM nodes WHERE being = $being AND ended IS NOT NULL{kept} ORDER BY seq"
        )
        return np.fromiter((seq for (seq,) in rows), dtype=np.int64, count=len(rows))
    over = unit.rows(
        "SELECT seq FROM nodes WHERE being = $being "
        "AND ended IS NOT NULL AND (ended <= ? OR ending = 'retracted')",
        as_of,
    )
    told_later = unit.rows(
        "SELECT seq, scene, created FROM nodes WHERE being = $being AND created > ?", as_of
    )
    # What was said in place of something began when that ended, whatever day it is of.
    sql = "SELECT successor FROM nodes WHERE being = $being AND ended > ? AND successor IS NOT NULL"
    replacing = {seq for (seq,) in unit.rows(sql, as_of)}
    begun_later = {
        seq
        for seq, scene, created in told_later
        if seq in replacing or since(_when(scene).when, created) > as_of
    }
    return np.array(sorted({seq for (seq,) in over} | begun_later), dtype=np.int64)


def places(unit: Unit, seqs: Iterable[int]) -> dict[int, tuple[str, str]]:
    """The conversation and the speaker of each node: enough to tell who are neighbours."""
    sql = "SELECT seq, conversation, speaker FROM nodes WHERE being = $being AND seq IN (??)"
    found = unit.among(sql, [int(seq) for seq in seqs])
    return {seq: (conversation, speaker) for seq, conversation, speaker in found}


def change(unit: Unit, seq: int, values: Mapping[str, Any]) -> None:
    """Change what may change of a node: never its words."""
    assert values.keys() <= set(COLUMNS[NODES]), values
    settings = ", ".join(f"{column} = ?" for column in values)
    unit.run(f"UPDATE nodes SET {settings} WHERE being = $being AND seq = ?", *values.values(), seq)


def touch(unit: Unit, seqs: Mapping[int, int], now: float) -> None:
    """Count that nodes were recalled, each so many times; the dead stay as old as they are."""
    unit.many(
        "UPDATE nodes SET reactivation_count = reactivation_count + ?, "
        "session_count = CASE status WHEN 'dead' THEN session_count ELSE 0 END, "
        "last_activated = ? WHERE being = $being AND seq = ?",
        [(times, now, seq) for seq, times in sorted(seqs.items())],
    )


def erase(unit: Unit, moved: Mapping[int, int | None], now: float) -> None:
    """Leave nothing of nodes but their numbers and ids; `moved` has what follows each, if any."""
    row = _row(Node(0, "", Scene(""), now, ended=now, ending=ERASED, status="dead", fresh=False))
    del row["seq"], row["id"], row["successor"]
    row["said"] = ""
    settings = ", ".join(f"{column} = ?" for column in row)
    unit.many(
        f"UPDATE nodes SET {settings}, successor = ? WHERE being = $being AND seq = ?",
        [(*row.values(), successor, seq) for seq, successor in moved.items()],
    )


def fingerprint(scene: Scene) -> str:
    """The same for two scenes that say the same of the same people and days."""
    people = sorted({folded(name) for name in scene.actors})
    said = (*people, "", *scene.when, "", folded(scene.setting), folded(scene.action))
    data = "\n".join(said).encode(errors="surrogatepass")
    return hashlib.blake2b(data, digest_size=12).hexdigest()


def _row(node: Node) -> dict[str, Any]:
    row = msgspec.structs.asdict(node)
    source = msgspec.structs.asdict(row.pop("source"))
    return {
        **row,
        **source,
        "scene": written(node.scene),
        "action": node.scene.action,
        "importance": node.scene.importance,
        "said": fingerprint(node.scene),
    }


def _node(row: Row) -> Node:
    scene, importance = _scene(row[2]), row[18]
    if scene.importance != importance:
        scene = msgspec.structs.replace(scene, importance=importance)
    source, fresh, pinned = MemorySource(*row[4:8]), bool(row[10]), bool(row[11])
    return Node(row[0], row[1], scene, row[3], source, row[8], row[9], fresh, pinned, *row[12:18])
