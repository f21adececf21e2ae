"""What patrols know of each cluster: when one last looked for topics in it, and who named it."""

from __future__ import annotations

from typing import Literal

import msgspec

from clawkit.memory.store import clusters, marks
from clawkit.memory.store.database import Unit
from clawkit.memory.store.texts import written

_MARK = "topics"


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """`seen` is the newest memory when it was last looked at, `named` its size when named."""

    seen: int = 0
    named: int = 0
    by: Literal["", "words", "model"] = ""


def known(unit: Unit) -> dict[int, Known]:
    """By the number of the cluster; one that is not there was never looked at."""
    found = marks.get(unit, _MARK)
    return msgspec.json.decode(found, type=dict[int, Known]) if found else {}


def learn(unit: Unit, new: dict[int, Known]) -> None:
    """Keep what is new, and forget clusters that are gone."""
    there = {cluster.n for cluster in clusters.every(unit)}
    found = {n: one for n, one in {**known(unit), **new}.items() if n in there}
    marks.put(unit, _MARK, written({str(n): found[n] for n in sorted(found)}))
