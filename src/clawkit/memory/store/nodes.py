"""The nodes of one Being: added with their words, found, and changed only in what may change.

The index has for each word the nodes that have it, and how often. These postings lie in blocks; a
full block only changes when one of its nodes is erased. A search reads the blocks of its words and
computes BM25 for all nodes at once. How rare a word is, and how long a node is usually, are counted
in this Being alone.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
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
    from clawkit.store.arrays import Floats, Seqs

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

_BLOCK = 512
_ENTRY = np.dtype([("seq", "<u4"), ("times", "<u2"), ("length", "<u2")])
_MOST = 65535
_SATURATION = 1.2
_LENGTH = 0.75


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


def index_words(unit: Unit, words: Mapping[int, Mapping[str, int]]) -> None:
    """Let nodes be found by their words; `words` has each node's, and how often it has them."""
    new: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    total = 0
    for seq, counts in sorted(words.items()):
        length = sum(counts.values())
        total += length
        for word, times in counts.items():
            new[word].append((seq, min(times, _MOST), min(length, _MOST)))
    last = _last_blocks(unit, sorted(new))
    unit.many(
        "INSERT INTO postings (being, term, block, size, data) VALUES ($being, ?, ?, ?, ?) "
        "ON CONFLICT (being, term, block) DO UPDATE SET size = excluded.size, data = excluded.data",
        [row for word in sorted(new) for row in _extended(word, last.get(word), new[word])],
    )
    unit.run("UPDATE beings SET words = words + ? WHERE n = $being", total)


def remove_words(unit: Unit, seqs: Iterable[int]) -> None:
    """Let nodes be found by no word any more; words that no other node has are gone.

    All blocks are read, since nobody knows any more by which words a node was kept.
    """
    gone = np.array(sorted(seqs), dtype="<u4")
    if not len(gone):
        return
    lengths: dict[int, int] = {}
    smaller: list[tuple[int, bytes, str, int]] = []
    empty: list[tuple[str, int]] = []
    for term, block, data in unit.rows(
        "SELECT term, block, data FROM postings WHERE being = $being"
    ):
        entries = np.frombuffer(data, dtype=_ENTRY)
        theirs = np.isin(entries["seq"], gone)
        if not theirs.any():
            continue
        lengths.update((int(one["seq"]), int(one["length"])) for one in entries[theirs])
        kept = entries[~theirs]
        if len(kept):
            smaller.append((len(kept), kept.tobytes(), term, block))
        else:
            empty.append((term, block))
    unit.many(
        "UPDATE postings SET size = ?, data = ? WHERE being = $being AND term = ? AND block = ?",
        smaller,
    )
    unit.many("DELETE FROM postings WHERE being = $being AND term = ? AND block = ?", empty)
    lost = sum(lengths.values())
    sql = "UPDATE beings SET words = CASE WHEN words > ? THEN words - ? ELSE 0 END WHERE n = $being"
    unit.run(sql, lost, lost)


class WordMatches(msgspec.Struct, frozen=True):
    """What words find: each node's score, by its number, who has which word, and who is absent."""

    scores: Floats
    having: dict[str, Seqs]
    absent: list[int]


def by_words(unit: Unit, words: Mapping[str, float], without: str = "") -> WordMatches:
    """BM25 of every node, as if those that have the term `without` were not there.

    A word's weight multiplies what it says.
    """
    top, usual = _size(unit)
    found = _entries(unit, [*words, without] if without else list(words))
    absent = found.pop(without)["seq"].tolist() if without in found else []
    there = np.ones(top + 1, bool)
    there[absent] = False
    count = top - len(absent)
    scores = np.zeros(top + 1, dtype=np.float32)
    having: dict[str, Seqs] = {}
    for word, every in found.items():
        entries = every[there[every["seq"]]] if absent else every
        seqs = having[word] = entries["seq"].astype(np.int64)
        times = entries["times"].astype(np.float32)
        damping = entries["length"] * np.float32(_SATURATION * _LENGTH / usual)
        damping += np.float32(_SATURATION * (1 - _LENGTH)) + times
        rarity = math.log(1 + (count - len(seqs) + 0.5) / (len(seqs) + 0.5))
        scores[seqs] += times * np.float32(words[word] * rarity * (_SATURATION + 1)) / damping
    return WordMatches(scores, having, absent)


def having_all(unit: Unit, words: list[str]) -> Seqs:
    """The nodes that have every one of these words."""
    found = _entries(unit, words)
    if not words or len(found) < len(set(words)):
        return np.empty(0, dtype=np.int64)
    common: Seqs | None = None
    for entries in sorted(found.values(), key=len):
        seqs = entries["seq"].astype(np.int64)
        common = seqs if common is None else np.intersect1d(common, seqs, assume_unique=True)
    return common if common is not None else np.empty(0, dtype=np.int64)


def having_any(unit: Unit, words: list[str]) -> list[int]:
    """The nodes that have at least one of these words, in the order of their numbers."""
    found = _entries(unit, words)
    return sorted({int(seq) for entries in found.values() for seq in entries["seq"]})


def word_frequencies(unit: Unit, words: list[str]) -> dict[str, int]:
    """In how many nodes each word is."""
    sql = "SELECT term, sum(size) FROM postings WHERE being = $being AND term IN (??) GROUP BY term"
    return {word: int(size) for word, size in unit.among(sql, words)}


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


def _size(unit: Unit) -> tuple[int, float]:
    """How many nodes there are, and how many words one has on average."""
    row = unit.row("SELECT top, words FROM beings WHERE n = $being")
    top, words = row or (0, 0)
    return top, max(1.0, words / max(1, top))


def _entries(unit: Unit, words: list[str]) -> dict[str, np.ndarray[tuple[int], np.dtype[np.void]]]:
    sql = (
        "SELECT term, data FROM postings WHERE being = $being AND term IN (??) ORDER BY term, block"
    )
    parts: dict[str, list[bytes]] = defaultdict(list)
    for word, data in unit.among(sql, words):
        parts[word].append(data)
    return {word: np.frombuffer(b"".join(data), dtype=_ENTRY) for word, data in parts.items()}


def _last_blocks(unit: Unit, words: list[str]) -> dict[str, tuple[int, bytes]]:
    sql = (
        "SELECT p.term, p.block, p.data FROM (VALUES (??)) AS wanted JOIN postings p "
        "ON p.being = $being AND p.term = wanted.column1 AND p.block = (SELECT max(q.block) "
        "FROM postings q WHERE q.being = $being AND q.term = wanted.column1)"
    )
    return {word: (block, bytes(data)) for word, block, data in unit.among(sql, words)}


def _extended(
    word: str, last: tuple[int, bytes] | None, new: list[tuple[int, int, int]]
) -> list[tuple[str, int, int, bytes]]:
    """The word's last block with the new postings behind it, and further blocks if it is full."""
    block, data = last or (0, b"")
    data += np.array(new, dtype=_ENTRY).tobytes()
    width = _BLOCK * _ENTRY.itemsize
    parts = [data[start : start + width] for start in range(0, len(data), width)]
    return [(word, block + at, len(part) // _ENTRY.itemsize, part) for at, part in enumerate(parts)]
