"""Recall, search and exploration of one Being, and the read counts that they leave.

What a full caller is told counts as recalled at once; the counters of a read-only caller wait for a
patrol, where no other reader looks. What a conversation was told is kept under its own token.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import BeingError, StoreError
from clawkit.memory import people
from clawkit.memory.display_text import find_instructions, shown, told
from clawkit.memory.portrait import Told, best_of, is_of, portrait
from clawkit.memory.recall.engine import Hit, asks_about_self, search
from clawkit.memory.recall.second_look import looked_again
from clawkit.memory.recall.signals import only_asks
from clawkit.memory.records import USER, Cluster, Node, Scene
from clawkit.memory.store import clusters, nodes, notes, reads
from clawkit.memory.tokens import Caller
from clawkit.memory.validation import LONGEST_TEXT
from clawkit.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.embed import Embedder
    from clawkit.store.arrays import Floats

NOTHING = "No relevant memories found."
NOTHING_NEW = (
    "No relevant memories found that this conversation was not told already; search_memory shows "
    "them again."
)
_OF_ACTIVE, _OF_DEAD = 1, 2
_NEXT = " · "
_LOOKED_AT = 36
"""How many memories are looked at again, to choose what is told beside the best."""

_AROUND = 200
"""Characters of what was said before and after a memory."""

_PLAIN = 300
_BESIDE = 9
"""How many memories at most are told beside those that were asked for."""

_OF_ASKER = 24
"""How many memories at most tell somebody what is known of them."""

_SAME_MATTER = 0.5
"""How near in meaning two of the best are that are told together, the newer first."""

_SITTING = 3600.0
_log = logging.getLogger("clawkit.memory")


class Recollection(msgspec.Struct, frozen=True):
    """What came to mind: the hits that are worth telling, the best first."""

    kind: str
    hits: tuple[Hit, ...]
    beside: tuple[Hit, ...]
    """What is told beside them: the next best, which may be on the same matter."""

    text: str


def recollect(
    database: Database,
    being: int,
    message: str,
    embedder: Embedder | None,
    caller: Caller,
    *,
    limit: int,
    now: float,
    as_of: float | None = None,
    apart_from: str = "",
    explain: bool = False,
) -> Recollection:
    """What is worth telling about a message, which this conversation has not been told.

    The conversation `apart_from` knows what was said in it and need not be reminded.
    """
    most = limit + _BESIDE
    with database.read(being) as unit:
        before = [seq for seq in told_to(unit, caller) if seq > 0]
        find = partial(
            search,
            unit,
            message,
            embedder=embedder,
            limit=_LOOKED_AT,
            as_of=as_of,
            asker=caller.person,
            now=now,
            explain=explain,
        )
        known = find(exclude=before)
        hits = known.hits if known.relevant else ()
        nothing = NOTHING_NEW if before and not hits and find().relevant else NOTHING
        if apart_from:
            hits = tuple(hit for hit in hits if hit.node.source.conversation != apart_from)
        hits = tuple(hit for hit in hits if not only_asks(hit.node.scene.action))
        vectors = _vectors(unit, embedder, hits)
        there = known.people
        names = people.names_of(there.names - there.own)
        again = looked_again(hits, limit, message, names, vectors, known.far_behind, known.rare)
        hits = again.hits[:most]
        of_asker: list[Told] = []
        if as_of is None and asks_about_self(message):
            of_asker = _of_asker(unit, embedder, caller, apart_from, now)
            hits = _with(of_asker, hits, caller.person)[: max(most, len(of_asker))]
        telling = MemoryTexts(unit, there.own, [hit.node for hit in hits] if not of_asker else ())
    if hits:
        hits = _told_now(database, being, hits, caller, now)
    found = [hit.node for hit in hits]
    if of_asker:
        earlier = {told.node.seq: told.before for told in of_asker}
        matters = [[node, *filter(None, (earlier.get(node.seq),))] for node in found]
    else:
        matters = _matters(found, limit, vectors, again.replaced)
    best = [node.seq for node in found if node.seq not in again.replaced][:limit]
    block = telling.block(message, matters, best) if matters else nothing
    return Recollection(known.kind, hits[:limit], hits[limit:], block)


def _of_asker(
    unit: Unit, embedder: Embedder | None, caller: Caller, apart_from: str, now: float
) -> list[Told]:
    """What is known of the one who asks, as the start of a session has it; nothing told before."""
    before = told_to(unit, caller)
    parts = portrait(unit, embedder, now, caller.person)
    return [
        told
        for told in best_of(parts, caller.person, _OF_ASKER)
        if told.node.seq not in before
        and not (apart_from and told.node.source.conversation == apart_from)
    ]


def _with(of_asker: Sequence[Told], hits: Sequence[Hit], asker: str) -> tuple[Hit, ...]:
    """These first, then what else was found of the one who asks."""
    first = {told.node.seq: Hit(told.node, 0.0, {}) for told in of_asker}
    rest = (hit for hit in hits if not asker or is_of(hit.node, asker))
    return (*first.values(), *(hit for hit in rest if hit.node.seq not in first))


def _vectors(unit: Unit, embedder: Embedder | None, hits: Sequence[Hit]) -> Mapping[int, Floats]:
    if embedder is None or not hits:
        return {}
    return unit.vectors.fetch(embedder.name, [hit.node.seq for hit in hits])


def _matters(
    found: Sequence[Node], count: int, vectors: Mapping[int, Floats], replaced: frozenset[int]
) -> list[list[Node]]:
    """The best so many by what they are about, each with those of the others nearest to it.

    What was replaced stands beside what replaced it, the first.
    """
    current = [node for node in found if node.seq not in replaced]
    matters: list[list[Node]] = []

    def nearness(matter: list[Node], node: Node) -> float:
        one, other = vectors.get(matter[0].seq), vectors.get(node.seq)
        return 0.0 if one is None or other is None else float(one @ other)

    for at, node in enumerate(current):
        nearest = max(matters, key=lambda matter: nearness(matter, node), default=None)
        if nearest is None or (at < count and nearness(nearest, node) < _SAME_MATTER):
            matters.append([node])
        else:
            nearest.append(node)
    if matters:
        matters[0] += [node for node in found if node.seq in replaced]
    return matters


def told_to(unit: Unit, caller: Caller) -> frozenset[int]:
    return reads.told(unit, _conversation(caller)) if caller.conversation else frozenset()


def count_reads(unit: Unit, read: Sequence[Node], caller: Caller, now: float) -> None:
    """Count that nodes came to mind: at once, or where only a patrol sees it."""
    times = {
        node.seq: _OF_DEAD if node.status == "dead" else _OF_ACTIVE for node in read if node.seq > 0
    }
    if caller.may_write:
        nodes.touch(unit, times, now)
    else:
        reads.queue(unit, caller.token, times, now)


class MemoryTexts:
    """Memories as they are told: when, whose, what, and what was said around it."""

    def __init__(self, unit: Unit, own: Collection[str], found: Sequence[Node] = ()) -> None:
        self._own = min(own, key=len, default="")
        self._timed: frozenset[str] = frozenset()
        around = {node.seq + step for node in found for step in (-1, 1)} - {n.seq for n in found}
        self._around = nodes.fetch(unit, [seq for seq in around if seq > 0])

    def block(
        self, message: str, matters: Sequence[Sequence[Node]], best: Collection[int] = ()
    ) -> str:
        """The fragments of memories, shuffled; the same for the same message and memories.

        What was said around the `best` is told with them.
        """
        self._timed = _several_a_day([node for matter in matters for node in matter])
        fragments = [self._matter(nodes, best) for nodes in matters]
        random.Random(f"{message}{[nodes[0].id for nodes in matters]}").shuffle(fragments)
        return f"<memory-recall>\n{' / '.join(fragments)}\n</memory-recall>"

    def _matter(self, told: Sequence[Node], best: Collection[int]) -> str:
        """The memories on one matter, the newest first: what is so now, then what was so before."""
        ordered = sorted(told, key=lambda node: (-node.since, -node.created, -node.seq))
        return _NEXT.join(
            self.fragment(node) if node is told[0] or node.seq in best else self.plain(node)
            for node in ordered
        )

    def fragment(self, node: Node) -> str:
        """One memory, in one line."""
        scene = node.scene
        place = f"{scene.setting}: " if scene.setting else ""
        feeling = f" ({scene.feeling})" if scene.feeling else ""
        said = told(f"{place}{scene.action}{feeling}")
        before, after = told(self._before(node), _AROUND), told(self._after(node), _AROUND)
        parts = (f"({before})" if before else "", said, f"({after})" if after else "")
        return self._headed(node, " ".join(part for part in parts if part))

    def plain(self, node: Node) -> str:
        """One memory without what was said around it."""
        return self._headed(node, told(node.scene.action, _PLAIN))

    def told(self, one: Told) -> str:
        """What holds, and what held before it."""
        if one.before is None:
            return self.plain(one.node)
        return f"{self.plain(one.node)}{_NEXT}before: {self.plain(one.before)}"

    def _headed(self, node: Node, said: str) -> str:
        days = _days(node, timed=self._timed)
        head = ", ".join(part for part in (days, self._whose(node)) if part)
        return f"{told(head, 200)}: {said}" if head else said

    def _whose(self, node: Node) -> str:
        speaker = node.source.speaker
        return self._own if speaker in ("", USER) else speaker

    def _before(self, node: Node) -> str:
        """What it goes on about; a model may have said it better than what was said before."""
        other = self._around.get(node.seq - 1)
        if other is None or not _in_one_sitting(node, other):
            return node.scene.context
        if other.ended is not None:
            return ""
        return node.scene.context or other.scene.action

    def _after(self, node: Node) -> str:
        other = self._around.get(node.seq + 1)
        if other is None or other.ended is not None or not _in_one_sitting(node, other):
            return ""
        return other.scene.action


def _in_one_sitting(one: Node, other: Node) -> bool:
    mine, its = one.source, other.source
    same = mine.speaker == its.speaker and mine.conversation == its.conversation
    talk = bool(mine.conversation or (mine.message and its.message))
    return same and talk and abs(one.created - other.created) < _SITTING


def _several_a_day(found: Sequence[Node]) -> frozenset[str]:
    """The days on which several of these were told, at times that tell them apart."""
    times: dict[str, set[str]] = {}
    for node in found:
        day = _minute(node)[:10]
        if day in node.scene.when[:1]:
            times.setdefault(day, set()).add(_minute(node))
    return frozenset(day for day, minutes in times.items() if len(minutes) > 1)


def _minute(node: Node) -> str:
    return datetime.fromtimestamp(node.created, UTC).strftime("%Y-%m-%d %H:%M")


def _days(node: Node, timed: Collection[str] = ()) -> str:
    """From when it is, on some days with the time, and until when it was so."""
    since = node.scene.when[0] if node.scene.when else ""
    if since in timed and _minute(node).startswith(since):
        since = _minute(node)
    if node.ended is None or not since:
        return since
    return f"{since} until {datetime.fromtimestamp(node.ended, UTC).date().isoformat()}"


def _told_now(
    database: Database, being: int, hits: tuple[Hit, ...], caller: Caller, now: float
) -> tuple[Hit, ...]:
    """Write down what is told; another call of the same conversation may have told some of it.

    Where nothing can be written, memories are told all the same.
    """
    try:
        with database.jot(being) as unit:
            told = told_to(unit, caller)
            new = tuple(hit for hit in hits if hit.node.seq not in told)
            count_reads(unit, [hit.node for hit in new], caller, now)
            if caller.conversation:
                reads.tell(unit, _conversation(caller), [hit.node.seq for hit in new], now)
            return new
    except StoreError as error:
        _log.warning("what was recalled cannot be counted: %s", error)
        return hits


def _conversation(caller: Caller) -> str:
    return reads.conversation_of(caller.token, caller.person, caller.conversation)


_LIVING_FIRST = "CASE status WHEN 'dead' THEN 1 ELSE 0 END, importance DESC, seq DESC"


class ExploreRequest(msgspec.Struct, frozen=True):
    """What is to be explored; with neither a cluster nor a node, the list of clusters."""

    cluster: str | None = None
    node: str | None = None
    limit: int = 5
    query: str = ""
    no_nodes: bool = False


def explore(
    database: Database, being: int, asked: ExploreRequest, caller: Caller, now: float
) -> str:
    """The answer as plain text. Dead nodes in it have come to mind, and count as recalled."""
    with database.read(being) as unit:
        text, read = _explored(unit, asked)
    dead = [node for node in read if node.status == "dead" and node.ended is None]
    if dead:
        try:
            with database.jot(being) as unit:
                count_reads(unit, dead, caller, now)
        except StoreError as error:
            _log.warning("what was read cannot be counted: %s", error)
    return text


def line(node: Node) -> str:
    """A node as one line of a list."""
    mark = "" if node.status == "active" else f" [{node.status}]"
    return f"- {told(node.text)}{mark} (id: {node.id})"


def _explored(unit: Unit, asked: ExploreRequest) -> tuple[str, list[Node]]:
    if asked.node is not None:
        return _one_node(unit, asked.node)
    if asked.cluster is not None:
        return _one_cluster(unit, asked.cluster, asked)
    return _every_cluster(unit, asked)


def _every_cluster(unit: Unit, asked: ExploreRequest) -> tuple[str, list[Node]]:
    every = clusters.every(unit)
    counts = nodes.counts(unit)
    lines = [f"Clusters: {len(every)}"] if every else ["There are no clusters yet."]
    for root in [cluster for cluster in every if cluster.parent is None]:
        lines.append(_cluster_line(root, counts))
        lines += [f"  {_cluster_line(c, counts)}" for c in every if c.parent == root.n]
    waiting = notes.count(unit, "scene")
    if waiting:
        lines.append(f"Scenes that wait for the next patrol: {waiting}")
    if not asked.query or asked.no_nodes:
        return "\n".join(lines), []
    found = nodes.page(unit, contains=asked.query, order=_LIVING_FIRST, limit=asked.limit)
    lines += [f"Nodes with {shown(asked.query, 100)!r} in any cluster:", *_lines(found)]
    return "\n".join(lines), found


def _one_cluster(unit: Unit, cluster_id: str, asked: ExploreRequest) -> tuple[str, list[Node]]:
    cluster = clusters.by_id(unit, cluster_id)
    if cluster is None:
        raise BeingError(
            f"there is no cluster {cluster_id}: recall_memory without arguments lists them"
        )
    lines = [_cluster_line(cluster, nodes.counts(unit))]
    if asked.no_nodes:
        return "\n".join(lines), []
    found = nodes.page(
        unit, cluster=cluster.n, contains=asked.query, order=_LIVING_FIRST, limit=asked.limit
    )
    return "\n".join([*lines, *_lines(found)]), found


def _one_node(unit: Unit, node_id: str) -> tuple[str, list[Node]]:
    node = nodes.by_ids(unit, [node_id]).get(node_id)
    if node is None:
        raise BeingError(
            f"there is no node {node_id}: search_memory shows the ids of those it finds"
        )
    node = nodes.latest(unit, node, ("corrected",))
    if node.ending == "retracted":
        return f"Node {node_id} was retracted ({_time(node.ended)}); it is not known any more.", []
    corrected = [f"Node {node_id} was corrected; this is so:"] if node.id != node_id else []
    return "\n".join([*corrected, *_details(unit, node)]), [node]


def _details(unit: Unit, node: Node) -> list[str]:
    scene = node.scene
    cluster = next((c for c in clusters.every(unit) if c.n == node.cluster), None)
    facts = {
        "action": scene.action,
        "when": ", ".join(scene.when),
        "actors": ", ".join(scene.actors),
        "setting": scene.setting,
        "feeling": scene.feeling,
        "themes": ", ".join(scene.themes),
        "marked": _marked(scene),
        "importance": f"{scene.importance:g}",
        "status": node.status + (", pinned" if node.pinned else ""),
        "cluster": f"{cluster.name} (id: {cluster.id})" if cluster else "",
        "reactivation_count": str(node.reactivation_count),
        "last_activated": _time(node.last_activated),
        "created": _time(node.created),
        "said by": node.source.speaker,
        "through": node.source.token,
        "in conversation": node.source.conversation,
        "replaced": _replaced(unit, node),
    }
    lines = [f"{name}: {told(value, LONGEST_TEXT)}" for name, value in facts.items() if value]
    return [f"Node {node.id}", *lines]


def _marked(scene: Scene) -> str:
    """Why a memory is quoted wherever it is told, if it is."""
    orders = find_instructions(f"{scene.action}\n{scene.setting}\n{scene.feeling}")
    return f"gives orders ({', '.join(orders)}), so it is quoted" if orders else ""


def _replaced(unit: Unit, node: Node) -> str:
    """By which node this one was replaced, if it was."""
    if node.ended is None:
        return ""
    after = nodes.fetch(unit, [node.successor]).get(node.successor) if node.successor else None
    by = f" by {after.id}: {after.text}" if after and after.ending != "retracted" else ""
    return f"{node.ending} {_time(node.ended)}{by}"


def _cluster_line(cluster: Cluster, counts: dict[tuple[int, str], int]) -> str:
    here = {status: counts.get((cluster.n, status), 0) for status in ("active", "dying", "dead")}
    parts = ", ".join(f"{number} {status}" for status, number in here.items() if number)
    digest = f": {told(cluster.digest)}" if cluster.digest else ""
    return f"- {told(cluster.name, 100)} ({parts or 'empty'}; id: {cluster.id}){digest}"


def _lines(found: Sequence[Node]) -> list[str]:
    return [line(node) for node in found] or ["No nodes."]


def _time(moment: float | None) -> str:
    if not moment:
        return ""
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M UTC")
