"""What a topic says of its memories where no model describes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from clawkit.memory.store import clusters, nodes
from clawkit.store.database import Unit

LOOKED_AT = 20
_ACTIONS = 3
_NAMES = 4
_LONGEST_ACTION = 120
_NOBODY = frozenset(("user", "assistant", "i", "me"))


def digest(unit: Unit, cluster: int) -> str:
    """Who it is about, and what matters most."""
    found = nodes.page(unit, cluster=cluster, statuses=("active",), limit=LOOKED_AT)
    people = Counter(name for node in found for name in node.scene.actors)
    names = [name for name, _ in people.most_common() if name.casefold() not in _NOBODY][:_NAMES]
    actions = [_short(node.scene.action) for node in found[:_ACTIONS]]
    said = "; ".join(dict.fromkeys(actions))
    return f"{', '.join(names)}: {said}" if names and said else said


def refresh(unit: Unit, numbers: Collection[int]) -> None:
    """Let clusters say nothing of memories that have ended; a model may describe them later."""
    for cluster in clusters.every(unit):
        if cluster.n in numbers and cluster.digest:
            clusters.describe(unit, cluster.n, cluster.name, digest(unit, cluster.n))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ACTION else line[: _LONGEST_ACTION - 1].rstrip() + "…"
