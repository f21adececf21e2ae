"""How the ledger writes down what happened to many nodes at once: one change, not one a row.

The key of a change of nodes is a list of numbers and stretches of them, such as `3,7-4000`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from clawkit.memory.changeable import COLUMNS, NODES
from clawkit.memory.records import Change
from clawkit.memory.store.database import Unit


def stretches(seqs: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as first and last of what follows one another."""
    found: list[tuple[int, int]] = []
    for seq in sorted(set(seqs)):
        if found and found[-1][1] == seq - 1:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return found


def key_of(seqs: Iterable[int]) -> str:
    parts = (f"{a}" if a == b else f"{a}-{b}" for a, b in stretches(seqs))
    return ",".join(parts)


def stretches_of(key: str) -> list[tuple[int, int]]:
    """The stretches that a key names."""
    found: list[tuple[int, int]] = []
    for part in key.split(","):
        first, _, last = part.partition("-")
        found.append((int(first), int(last or first)))
    return found


def set_nodes(
    unit: Unit, seqs: Collection[int], before: Mapping[str, Any], after: Mapping[str, Any]
) -> Change:
    """Give the same values to many nodes; `before` is what they all had."""
    write_nodes(unit, stretches(seqs), after)
    return Change(NODES, key_of(seqs), dict(before), dict(after))


def write_nodes(unit: Unit, where: Iterable[tuple[int, int]], values: Mapping[str, Any]) -> None:
    assert values.keys() <= set(COLUMNS[NODES]), values
    settings = ", ".join(f"{column} = ?" for column in values)
    unit.many(
        f"UPDATE nodes SET {settings} WHERE being = $being AND seq BETWEEN ? AND ?",
        [(*values.values(), first, last) for first, last in where],
    )


def counted(number: int, one: str, many: str) -> str:
    """A number with its noun, as the ledger says why."""
    return f"{number} {one if number == 1 else many}"


def made(seqs: Iterable[int]) -> Change:
    """Nodes that were not there before."""
    return Change(NODES, key_of(seqs), None, {})
