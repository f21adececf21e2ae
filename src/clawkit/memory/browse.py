"""What a person looks at of a Being: a map of memories, their days, and what was so before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from clawkit.memory.history_text import ENDINGS
from clawkit.memory.records import LedgerEntry, Node
from clawkit.memory.store import clusters, ledger, nodes
from clawkit.memory.store.ledger import NODES, ranges_of
from clawkit.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats, Seqs

MOST_MAPPED = 20_000
"""Memories on a map, the newest of them."""

EDGE = 10_000
"""Coordinates on a map are whole numbers from 0 to this."""

_SHELL = 0.04
_ROUNDING = 1e-4
_STATES = ("active", "dying", "dead")


class MapTopic(Struct, frozen=True):
    """A topic on the map: where its middle is, and how many memories of it are shown."""

    id: str
    name: str
    digest: str
    x: int
    y: int
    memories: int


class MemoryMap(Struct, frozen=True):
    """Memories by their place in two dimensions; the lists belong together, item by item.

    `topic` is a place in `topics`, `state` one in active, dying, dead.
    """

    total: int
    topics: tuple[MapTopic, ...]
    ids: list[str]
    x: list[int]
    y: list[int]
    topic: list[int]
    state: list[int]


def stamp_of_memories(database: Database) -> str:
    """Another text whenever a memory, a Being or a token of a store is another one."""
    with database.registry() as connection:
        beings = connection.rows("SELECT n, name, top, words, last_ledger FROM beings ORDER BY n")
        tokens = connection.rows("SELECT COUNT(*), COUNT(revoked) FROM tokens")
    return str((*beings, *tokens))


def memory_map(unit: Unit, most: int = MOST_MAPPED) -> MemoryMap:
    """Where current memories lie: what means the same is near, and topics keep together.

    The same memories always give the same map.
    """
    rows = nodes.outline(unit, most)
    known = {cluster.n: at for at, cluster in enumerate(clusters.every(unit))}
    groups = np.array([known.get(row.cluster, 0) for row in rows], dtype=np.int64)
    flat = _flat(_vectors(unit, [row.seq for row in rows]), groups, max(1, len(known)))
    places = np.rint((flat + 1) * (EDGE / 2)).astype(np.int64)
    return MemoryMap(
        sum(nodes.counts(unit).values()),
        tuple(_topics(unit, groups, places)),
        [row.id for row in rows],
        places[:, 0].tolist(),
        places[:, 1].tolist(),
        groups.tolist(),
        [_STATES.index(row.status) for row in rows],
    )


def _topics(unit: Unit, groups: Seqs, places: Seqs) -> list[MapTopic]:
    found: list[MapTopic] = []
    for at, cluster in enumerate(clusters.every(unit)):
        mine = places[groups == at]
        x, y = np.rint(mine.mean(axis=0)).astype(int).tolist() if len(mine) else (0, 0)
        found.append(MapTopic(cluster.id, cluster.name, cluster.digest, x, y, len(mine)))
    return found


def _vectors(unit: Unit, seqs: Sequence[int]) -> list[Floats | None]:
    """The vectors of the model that most memories have one of."""
    counts = unit.vectors.counts()
    model = max(counts, key=lambda name: (counts[name], name), default=None)
    found = unit.vectors.fetch(model, seqs) if model is not None else {}
    return [found.get(seq) for seq in seqs]


def _flat(vectors: Sequence[Floats | None], groups: Seqs, topics: int) -> Floats:
    """Two coordinates each, from -1 to 1; what has no vector lies around its topic's middle."""
    flat = np.zeros((len(vectors), 2), dtype=np.float32)
    have = np.array([vector is not None for vector in vectors], dtype=bool)
    if have.sum() > 1:
        rows = np.stack([vector for vector in vectors if vector is not None])
        flat[have] = _projected(rows, groups[have])
    turns = 2 * np.pi * np.arange(topics) / topics
    for topic in range(topics):
        mine = groups == topic
        missing = np.flatnonzero(mine & ~have)
        if not len(missing):
            continue
        alone = np.array([np.cos(turns[topic]), np.sin(turns[topic])]) * (0.6 if topics > 1 else 0)
        middle = flat[mine & have].mean(axis=0) if (mine & have).any() else alone
        flat[missing] = middle + _around(len(missing))
    return np.clip(flat, -1, 1)


def _around(count: int) -> Floats:
    """Places around a middle, evenly apart, as the seeds of a sunflower are."""
    number = np.arange(1, count + 1)
    angle = number * np.pi * (3 - np.sqrt(5))
    far = min(0.35, _SHELL * np.sqrt(count)) * np.sqrt(number / count)
    return np.stack([far * np.cos(angle), far * np.sin(angle)], axis=1).astype(np.float32)


def _projected(vectors: Floats, groups: Seqs) -> Floats:
    """The two principal axes of vectors that were moved apart by topic."""
    moved = vectors.copy()
    for group in np.unique(groups):
        mine = groups == group
        moved[mine] += vectors[mine].mean(axis=0)
    moved -= moved.mean(axis=0)
    axes = _principal(moved)
    # An axis may point either way: its largest part decides, so that no map is a mirror image.
    largest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1, 1)
    flat = np.zeros((len(vectors), 2), dtype=np.float32)
    flat[:, : axes.shape[1]] = moved @ axes
    usual = np.quantile(np.abs(flat), 0.9, axis=0)
    spread = np.tanh(flat / np.where(usual > 0, usual, 1))
    most = np.abs(spread).max(axis=0)
    return (spread / np.where(most > 0, most, 1)).astype(np.float32)


def _principal(rows: Floats) -> Floats:
    """The two directions in which rows differ most, by whichever way has the smaller matrix."""
    if len(rows) >= rows.shape[1]:
        return np.linalg.eigh(rows.T @ rows)[1][:, :-3:-1]
    found = rows.T @ np.linalg.eigh(rows @ rows.T)[1][:, :-3:-1]
    lengths = np.linalg.norm(found, axis=0)
    # Where there is no second direction, what is found is nothing but rounding.
    far = np.where(lengths > lengths.max() * _ROUNDING, lengths, np.inf)
    return (found / far).astype(np.float32)


class ScenesPage(Struct, frozen=True):
    """Some memories by the day on which they happened, the last first; months with how many."""

    total: int
    months: dict[str, int]
    scenes: tuple[tuple[str, Node], ...]


def timeline(unit: Unit, offset: int = 0, limit: int = 50, until: str = "") -> ScenesPage:
    """Current memories by day; with `until`, such as `2026-11`, none that is later."""
    days = sorted(((_day(when, made), seq) for seq, when, made in nodes.days(unit)), reverse=True)
    months: dict[str, int] = {}
    for day, _ in days:
        months[day[:7]] = months.get(day[:7], 0) + 1
    if until:
        days = [one for one in days if one[0][: len(until)] <= until]
    chosen = days[offset : offset + limit]
    found = nodes.fetch(unit, [seq for _, seq in chosen])
    scenes = tuple((day, found[seq]) for day, seq in chosen)
    return ScenesPage(len(days), months, scenes)


def _day(when: Sequence[str], made: float) -> str:
    """The day that a scene names first, or the one on which it was told."""
    return when[0][:10] if when else datetime.fromtimestamp(made, UTC).date().isoformat()


class EndedFact(Struct, frozen=True):
    """What was so until a moment, how that ended, and what is so instead."""

    was: Node
    how: str
    now: Node | None = None
    why: str = ""
    entry: int | None = None
    """The number in the history that can be undone."""


def ended_facts(unit: Unit, offset: int = 0, limit: int = 50) -> tuple[EndedFact, ...]:
    """What is no longer so, the latest first."""
    return _ended(unit, nodes.ended(unit, offset, limit))


def _ended(unit: Unit, found: Sequence[Node]) -> tuple[EndedFact, ...]:
    after = nodes.fetch(unit, {node.successor for node in found if node.successor is not None})
    entries = ledger.at(unit, {node.ended for node in found if node.ended is not None})
    return tuple(_fact(node, after, entries) for node in found)


def _fact(node: Node, after: dict[int, Node], entries: Sequence[LedgerEntry]) -> EndedFact:
    by = next((one for one in entries if one.at == node.ended and _ends(one, node.seq)), None)
    how = ENDINGS.get(node.ending, node.ending)
    now = after.get(node.successor) if node.successor is not None else None
    if by is None:
        return EndedFact(node, how, now)
    return EndedFact(node, how, now, by.why, by.n if by.undone_by is None else None)


def _ends(entry: LedgerEntry, seq: int) -> bool:
    return any(
        change.table == NODES
        and (change.after or {}).get("ended") is not None
        and any(first <= seq <= last for first, last in ranges_of(change.key))
        for change in entry.changes
    )


class NodeStory(Struct, frozen=True):
    """A memory with its topic, what it replaced, the latest first, and what replaced it."""

    node: Node
    topic: str
    before: tuple[EndedFact, ...]
    after: EndedFact | None


_MOST_BEFORE = 50


def story(unit: Unit, node: Node) -> NodeStory:
    """All that was so before, as far as it is known."""
    names = {cluster.n: cluster.name for cluster in clusters.every(unit)}
    before: list[Node] = []
    latest = [node.seq]
    while latest and len(before) < _MOST_BEFORE:
        known = {node.seq, *(one.seq for one in before)}
        latest = [one.seq for one in nodes.replaced_by(unit, latest) if one.seq not in known]
        before += nodes.fetch(unit, latest).values()
    before.sort(key=lambda one: one.ended or 0, reverse=True)
    after = _ended(unit, [node])[0] if node.ended is not None else None
    return NodeStory(node, names.get(node.cluster, ""), _ended(unit, before), after)
