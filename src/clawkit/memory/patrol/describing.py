"""The digest of each cluster: by a model, or its most important memories in few words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from clawkit.memory.patrol.answers import DATA_ONLY, decoded, listed
from clawkit.memory.patrol.changes import counted
from clawkit.memory.records import Change, Cluster
from clawkit.memory.store import clusters, ledger, nodes
from clawkit.memory.store.database import Database, Unit

if TYPE_CHECKING:
    from clawkit.memory.model import Llm

Sizes = dict[int, tuple[int, int]]

_LOOKED_AT = 20
_ACTIONS = 3
_NAMES = 4
_LONGEST_ACTION = 120
_LONGEST_DIGEST = 600
_MOST_ASKED = 8
_ANSWER_TOKENS = 600
_NOBODY = frozenset(("user", "assistant", "i", "me"))
_ASKED = (
    "You keep a memory in order. You get the most important memories of one group, numbered. Say "
    "in two or three sentences what they are about, with the facts that matter most, in their "
    "language. "
    'Answer as {"digest": "..."}. ' + DATA_ONLY
)


class _Answer(msgspec.Struct, frozen=True):
    digest: str


def sizes(unit: Unit) -> Sizes:
    """How many active memories each cluster has, and its newest; to tell later what changed."""
    rows = unit.rows(
        "SELECT cluster, count(*), max(seq) FROM nodes "
        "WHERE being = $being AND status = 'active' AND ended IS NULL GROUP BY cluster"
    )
    return {cluster: (count, newest) for cluster, count, newest in rows}


def describe(
    database: Database, being: int, before: Sizes, *, llm: Llm | None, now: float, token: str
) -> int:
    """Describe the clusters that are not what they were; gives how many digests are new."""
    with database.read(being) as unit:
        after = sizes(unit)
        changed = [
            cluster
            for cluster in clusters.every(unit)
            if not cluster.digest or before.get(cluster.n) != after.get(cluster.n)
        ]
        texts = {cluster.n: _most_important(unit, cluster.n) for cluster in changed[:_MOST_ASKED]}
    asked = {n: _asked(llm, lines) for n, lines in texts.items() if llm and lines}
    with database.write(being) as unit:
        return _write(unit, changed, asked, now, token)


def digest(unit: Unit, cluster: int) -> str:
    """A digest without a model: who it is about, and what matters most."""
    found = nodes.page(unit, cluster=cluster, statuses=("active",), limit=_LOOKED_AT)
    people = Counter(name for node in found for name in node.scene.actors)
    names = [name for name, _ in people.most_common() if name.casefold() not in _NOBODY][:_NAMES]
    actions = [_short(node.scene.action) for node in found[:_ACTIONS]]
    said = "; ".join(dict.fromkeys(actions))
    return f"{', '.join(names)}: {said}" if names and said else said


def _write(
    unit: Unit, changed: list[Cluster], asked: dict[int, str], now: float, token: str
) -> int:
    there = {cluster.n: cluster for cluster in clusters.every(unit)}
    changes: list[Change] = []
    for cluster in (there[old.n] for old in changed if old.n in there):
        new = asked.get(cluster.n) or digest(unit, cluster.n)
        if new != cluster.digest:
            clusters.describe(unit, cluster.n, cluster.name, new)
            before, after = {"digest": cluster.digest}, {"digest": new}
            changes.append(Change("clusters", str(cluster.n), before, after))
    if changes:
        why = counted(len(changes), "new digest", "new digests")
        ledger.add(unit, now, "described", why, token, changes)
    return len(changes)


def _most_important(unit: Unit, cluster: int) -> list[str]:
    found = nodes.page(unit, cluster=cluster, statuses=("active",), limit=_LOOKED_AT)
    return [node.text for node in found]


def _asked(llm: Llm, lines: list[str]) -> str:
    answer = decoded(llm.complete(_ASKED, listed(lines), _ANSWER_TOKENS), _Answer)
    return " ".join(answer.digest.split())[:_LONGEST_DIGEST] if answer else ""


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ACTION else line[: _LONGEST_ACTION - 1].rstrip() + "…"
