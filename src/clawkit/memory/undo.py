"""Undoes entries of the ledger.

An undo is an entry of its own, so it can be undone in turn. It gives back what the entry changed,
and refuses where somebody has changed that since. Memories that an entry made are ended, because
what was once said stays in the store; counters that reading moves stay where reading put them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from clawkit.errors import BeingError
from clawkit.memory.patrol import centroids
from clawkit.memory.records import Change, LedgerEntry
from clawkit.memory.store import ledger
from clawkit.memory.store.ledger import (
    AGES,
    KEYS,
    NODES,
    is_known,
    ranges_of,
    row,
    table_key,
    write_nodes,
)
from clawkit.memory.store.nodes import ERASED
from clawkit.store.database import Unit

UNDO = "undo"

_COUNTERS = frozenset(("session_count", "reactivation_count", "last_activated"))
_FEW = 50
_CALLED = {NODES: "a memory", "clusters": "a topic", "notes": "a note", "entries": "an entry"}


def undo(unit: Unit, n: int, now: float, token: str, dry_run: bool = False) -> list[Change]:
    """Undo an entry; returns the changes. `dry_run` only plans them."""
    entry = ledger.get(unit, n)
    if entry is None:
        raise BeingError(f"the history has no entry {n}: `claw memory history` lists them")
    if entry.kind == ERASED:
        raise BeingError(f"entry {n} is about somebody who was erased: nothing is left to undo")
    if entry.undone_by is not None:
        raise BeingError(f"entry {n} is undone already, by entry {entry.undone_by}")
    if not all(map(is_known, entry.changes)):
        raise BeingError(f"entry {n} says of its changes what this program does not know")
    back = [_inverse(unit, entry, change, now) for change in reversed(entry.changes)]
    changes = [change for change in back if change.before != change.after]
    if entry.kind == "corrected":
        changes += _corrections(unit, entry, changes, now)
    _check_clusters(unit, entry, changes)
    _check_places(unit, entry, changes)
    if dry_run:
        return changes
    moved = _clusters_of(unit, changes)
    for change in changes:
        _apply(unit, change)
    # That an entry is undone is a change like others: an undo of the undo takes it back.
    by = ledger.last(unit) + 1
    undone = Change("ledger", str(n), {"undone_by": None}, {"undone_by": by})
    _apply(unit, undone)
    why = f"undo of entry {n}: {entry.why}"
    ledger.add(unit, now, UNDO, why, token, [*changes, undone])
    moved |= _clusters_of(unit, changes)
    centroids.refresh(unit, moved)
    return changes


def _inverse(unit: Unit, entry: LedgerEntry, change: Change, now: float) -> Change:
    """The inverse of a change; an error where its result has been changed since."""
    table, key = change.table, change.key
    if table == AGES:
        return Change(AGES, key, change.after, change.before)
    if table == NODES:
        return _node_inverse(unit, entry, change, now)
    there = row(unit, table, key)
    if table == "clusters":
        change = _without_digest(change, there)
    if change.before is None and table == "clusters":
        _check_same(unit, entry, change, there, {"gone": None})
        return Change(table, key, {"gone": None}, {"gone": now})
    _check_same(unit, entry, change, there, change.after)
    return Change(table, key, change.after, change.before)


def _without_digest(change: Change, there: dict[str, Any] | None) -> Change:
    """A change without its digest where that is another by now: digests follow memories."""
    before, after = change.before, change.after
    if not before or not after or not there or after.get("digest") == there["digest"]:
        return change
    left = {column for column in after if column != "digest"}
    kept = ({column: values[column] for column in left} for values in (before, after))
    return Change(change.table, change.key, *kept)


def _node_inverse(unit: Unit, entry: LedgerEntry, change: Change, now: float) -> Change:
    before, after = change.before, change.after
    if before is None or after is None:
        ended = _end_of(unit, change.key, now)
        before, after = {"ended": ended, "ending": "retracted"}, {"ended": None, "ending": ""}
    firm = {column: value for column, value in after.items() if column not in _COUNTERS}
    if not _nodes_have(unit, change.key, firm):
        raise _changed_since(unit, entry, change)
    if not _nodes_have(unit, change.key, after):
        before = {column: before[column] for column in firm}
        after = firm
    return Change(NODES, change.key, after, before)


def _corrections(unit: Unit, entry: LedgerEntry, changes: list[Change], now: float) -> list[Change]:
    """The end of what was said in place of memories that come back: both cannot be right."""
    names = {str(seq) for change in changes if (seq := (change.before or {}).get("successor"))}
    current = {"ended": None, "ending": ""}
    return [
        Change(NODES, key, current, {"ended": _end_of(unit, key, now), "ending": "retracted"})
        for key in sorted(names)
        if _nodes_have(unit, key, {**current, "created": entry.at})
    ]


def _end_of(unit: Unit, key: str, now: float) -> float:
    """Now, or when the youngest of these nodes began, where the clock went back."""
    first, last = ranges_of(key)[0][0], ranges_of(key)[-1][1]
    sql = "SELECT max(created) FROM nodes WHERE being = $being AND seq BETWEEN ? AND ?"
    found = unit.row(sql, first, last)
    return max(now, found[0]) if found and found[0] is not None else now


def _nodes_have(unit: Unit, key: str, values: Mapping[str, Any]) -> bool:
    """Whether all nodes of a key have these values, and are there."""
    tests = "".join(
        f" AND {column} IS NULL" if value is None else f" AND {column} = ?"
        for column, value in values.items()
    )
    given = [value for value in values.values() if value is not None]
    sql = f"SELECT seq FROM nodes WHERE being = $being{tests}"
    places = ranges_of(key)
    if len(places) > _FEW:
        there = {seq for (seq,) in unit.rows(sql, *given)}
        return all(there.issuperset(range(first, last + 1)) for first, last in places)
    for first, last in places:
        found = unit.rows(f"{sql} AND seq BETWEEN ? AND ?", *given, first, last)
        if len(found) != last - first + 1:
            return False
    return True


def _check_same(
    unit: Unit,
    entry: LedgerEntry,
    change: Change,
    there: dict[str, Any] | None,
    left: dict[str, Any] | None,
) -> None:
    """Refuse if a row is not as the entry left it."""
    if left is None or there is None:
        same = left is there
    else:
        same = all(there[column] == value for column, value in left.items())
    if not same:
        raise _changed_since(unit, entry, change)


def _check_clusters(unit: Unit, entry: LedgerEntry, changes: list[Change]) -> None:
    """A cluster can only go when none of its memories would be left without a place."""
    leaving = {
        place
        for change in changes
        if change.table == NODES and change.after and {"cluster", "ended"} & change.after.keys()
        for place in ranges_of(change.key)
    }
    for change in changes:
        if change.table != "clusters" or not (change.after or {}).get("gone"):
            continue
        rows = unit.rows(
            "SELECT seq FROM nodes WHERE being = $being AND ended IS NULL AND cluster = ?",
            int(change.key),
        )
        if not all(any(a <= seq <= b for a, b in leaving) for (seq,) in rows):
            raise _changed_since(unit, entry, change)


def _check_places(unit: Unit, entry: LedgerEntry, changes: list[Change]) -> None:
    """A memory can only come back to a cluster that is there."""
    gone = {
        n for (n,) in unit.rows("SELECT n FROM clusters WHERE being = $being AND gone IS NOT NULL")
    }
    gone -= {int(change.key) for change in changes if change.table == "clusters"}
    for change in changes:
        after = change.after or {}
        if change.table == NODES and after.get("ended", 0) is None and "cluster" not in after:
            for lost in _clusters_of(unit, [change]) & gone:
                raise _changed_since(unit, entry, Change("clusters", str(lost), None, None))


def _changed_since(unit: Unit, entry: LedgerEntry, change: Change) -> BeingError:
    later = _later(unit, entry.n, change)
    what = _CALLED.get(change.table, "the same")
    reason = f"entry {later.n} has changed" if later else "something has changed"
    advice = f"undo entry {later.n} first" if later else "it cannot be undone any more"
    return BeingError(f"entry {entry.n} cannot be undone: {reason} {what} since; {advice}")


def _later(unit: Unit, n: int, change: Change) -> LedgerEntry | None:
    """The newest entry in force that touches the same rows, or puts memories into the cluster."""
    for entry in takewhile(lambda entry: entry.n > n, ledger.every(unit)):
        if entry.undone_by is None and any(_touches(other, change) for other in entry.changes):
            return entry
    return None


def _touches(other: Change, change: Change) -> bool:
    if change.table == "clusters" and other.table == NODES:
        return str((other.after or {}).get("cluster", "")) == change.key
    if other.table != change.table:
        return False
    if change.table != NODES:
        return other.key == change.key
    if not is_known(other):
        return False
    return _overlap(ranges_of(change.key), ranges_of(other.key))


def _overlap(mine: list[tuple[int, int]], others: list[tuple[int, int]]) -> bool:
    """Whether two ordered lists of ranges have a number in common."""
    one = other = 0
    while one < len(mine) and other < len(others):
        if mine[one][1] < others[other][0]:
            one += 1
        elif others[other][1] < mine[one][0]:
            other += 1
        else:
            return True
    return False


def _apply(unit: Unit, change: Change) -> None:
    table, key = change.table, change.key
    before, after = change.before, change.after
    if table == AGES:
        _age(unit, key, (after or {}).get("by", 0) - (before or {}).get("by", 0))
    elif table == NODES:
        write_nodes(unit, ranges_of(key), after or {})
    elif before is None and after is not None:
        unit.insert(table, {KEYS[table]: table_key(table, key), **after})
    else:
        ledger.write_row(unit, table, KEYS[table], table_key(table, key), after)


def _age(unit: Unit, key: str, by: int) -> None:
    unit.many(
        "UPDATE nodes SET session_count = CASE WHEN session_count + ? < 0 THEN 0 "
        "ELSE session_count + ? END WHERE being = $being AND seq BETWEEN ? AND ?",
        [(by, by, first, last) for first, last in ranges_of(key)],
    )


def _clusters_of(unit: Unit, changes: list[Change]) -> set[int]:
    """The clusters that the changed memories are in; all, where very many have changed."""
    places = [p for change in changes if change.table == NODES for p in ranges_of(change.key)]
    if len(places) > _FEW:
        sql = "SELECT DISTINCT cluster FROM nodes WHERE being = $being"
        return {cluster for (cluster,) in unit.rows(sql)}
    sql = "SELECT cluster FROM nodes WHERE being = $being AND seq BETWEEN ? AND ?"
    return {cluster for place in places for (cluster,) in unit.rows(sql, *place)}
