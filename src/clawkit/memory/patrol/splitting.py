"""❻ A model finds topics in what has grown large.

A large topic becomes several. A root stays what it is, but what lies in it can move into topics
under it; that is where topics come from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from clawkit.memory.patrol import clusters
from clawkit.memory.patrol.answers import DATA_ONLY, decoded, listed
from clawkit.memory.patrol.changes import counted
from clawkit.memory.patrol.joining import SMALL, move
from clawkit.memory.records import Change, Cluster, Node
from clawkit.memory.store import clusters as stored
from clawkit.memory.store import ledger, nodes
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

LARGE = 10
"""More active memories than this are too many for one topic."""

_MOST_CLUSTERS = 5
_MOST_NODES = 80
_LONGEST_NAME = 80
_LONGEST_DIGEST = 600
_ANSWER_TOKENS = 4_000
_ASKED = (
    "You keep a memory in order. You get the memories of one group, numbered. Find the topics in "
    "them: subjects that at least three of the memories share. Leave out memories that fit none. "
    "Give each topic a short name and a digest of two sentences, in the language of its memories. "
    'Answer as {"topics": [{"name": "...", "digest": "...", "nodes": [1, 2, 5]}]}; '
    '{"topics": []} if they are all of one kind. ' + DATA_ONLY
)


class Topic(msgspec.Struct, frozen=True):
    """What a model proposes as a topic."""

    name: str
    nodes: list[int]
    digest: str = ""


class _Answer(msgspec.Struct, frozen=True):
    topics: list[Topic]


def split(database: Database, being: int, *, llm: Llm, model: str, now: float, token: str) -> int:
    """Make topics of what a model finds to belong together; gives how many are new."""
    with database.read(being) as unit:
        large = _large(unit)
    new = 0
    for cluster, members in large:
        topics = _asked(llm, cluster, members)
        if topics:
            with database.write(being) as unit:
                new += split_off(unit, cluster, topics, model, now, token)
    return new


def _large(unit: Unit) -> list[tuple[Cluster, list[Node]]]:
    counts = nodes.counts(unit)
    there = {cluster.n: cluster for cluster in stored.every(unit)}
    sizes = sorted(
        ((size, n) for (n, status), size in counts.items() if status == "active" and n in there),
        reverse=True,
    )
    return [(there[n], _members(unit, n)) for size, n in sizes[:_MOST_CLUSTERS] if size > LARGE]


def _members(unit: Unit, cluster: int) -> list[Node]:
    found = nodes.page(
        unit, cluster=cluster, statuses=("active",), order="seq DESC", limit=_MOST_NODES
    )
    return found[::-1]


def _asked(llm: Llm, cluster: Cluster, members: list[Node]) -> list[tuple[Topic, list[Node]]]:
    said = llm.complete(_ASKED, listed([node.text for node in members]), _ANSWER_TOKENS)
    answer = decoded(said, _Answer)
    found: list[tuple[Topic, list[Node]]] = []
    used: set[int] = set()
    for topic in answer.topics if answer else ():
        numbers = {n for n in topic.nodes if 1 <= n <= len(members)} - used
        if len(numbers) <= SMALL or not topic.name.strip():
            continue
        used |= numbers
        found.append((topic, [members[n - 1] for n in sorted(numbers)]))
    # One topic that has everything would be the same one again.
    whole = cluster.parent is not None and len(found) == 1 and len(used) == len(members)
    return [] if whole else found


def split_off(
    unit: Unit,
    cluster: Cluster,
    topics: list[tuple[Topic, list[Node]]],
    model: str,
    now: float,
    token: str,
) -> int:
    if cluster.n not in {there.n for there in stored.every(unit)}:
        return 0
    changes: list[Change] = []
    new: list[int] = []
    for topic, members in topics:
        found = nodes.fetch(unit, [node.seq for node in members]).values()
        seqs = [node.seq for node in found if node.ended is None and node.cluster == cluster.n]
        if len(seqs) <= SMALL:
            continue
        parent = cluster.n if cluster.parent is None else cluster.parent
        name = " ".join(topic.name.split())[:_LONGEST_NAME]
        digest = " ".join(topic.digest.split())[:_LONGEST_DIGEST]
        made, change = clusters.add(unit, name, parent, digest)
        changes += [change, *move(unit, seqs, cluster.n, made.n)]
        new.append(made.n)
    if new:
        clusters.recompute_all(unit, [*new, cluster.n], model)
        why = f"{cluster.name}: {counted(len(new), 'topic', 'topics')} found in it"
        ledger.add(unit, now, "split", why, token, changes)
    return len(new)
