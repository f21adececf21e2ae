"""Exploration of one Being: its clusters, one cluster, or one node, as plain text."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from clawkit.errors import BeingError, StoreError
from clawkit.memory.display_text import find_instructions, shown, told
from clawkit.memory.recollection import count_reads
from clawkit.memory.records import Cluster, Node, Scene
from clawkit.memory.store import clusters, nodes, notes
from clawkit.memory.tokens import Caller
from clawkit.memory.validation import LONGEST_TEXT
from clawkit.store.database import Database, Unit

_log = logging.getLogger("clawkit.memory")
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
            with database.write_counters(being) as unit:
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
