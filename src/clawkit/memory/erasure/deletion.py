"""Erases what a Being has about one person, in one transaction, and gives a receipt.

Nothing of it can be undone: rows are emptied or gone, the indexes of words and vectors have
nothing of them, the ledger says "erased". A memory that goes leaves its number behind, since the
numbers of others never change. What is about others too becomes a new memory without the name.
"""

from __future__ import annotations

import getpass
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from msgspec import Struct

from clawkit.errors import BeingError, StoreError
from clawkit.memory.erasure.person_search import (
    TABLES,
    ErasurePlan,
    ErasureRequest,
    PersonSearch,
    RowPlan,
)
from clawkit.memory.erasure.redaction import Person
from clawkit.memory.patrol import centroids
from clawkit.memory.recall.index_text import words_of_node
from clawkit.memory.records import Being, Node, iso
from clawkit.memory.store import clusters, ledger, nodes, reads
from clawkit.memory.store.nodes import ERASED
from clawkit.store.database import folded
from clawkit.text.counts import counted

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.store.database import Unit

_CALLED = {
    "messages": "messages",
    "notes": "notes",
    "entries": "entries",
    "clusters": "topics",
    "tokens": "tokens",
    "marks": "names",
    "jobs": "jobs",
}


class Counted(Struct, frozen=True):
    """How many, and which; ids say nothing about anybody."""

    count: int
    ids: tuple[str, ...]


class Receipt(Struct, frozen=True):
    """What was erased, when and by whom, without any of its content.

    `person` is the SHA-256 of the name in small letters: who knows the name can check it.
    """

    at: str
    by: str
    being: str
    person: str
    matched_by: tuple[str, ...]
    erased: dict[str, Counted]
    edited: dict[str, Counted]
    """Of what something stays: other sentences, or all but the name."""
    changes_scrubbed: tuple[int, ...]
    left_in_file: str = ""
    """Why deleted bytes may still be in the store's files; empty where they are overwritten."""


def find(store: BeingStore, being: Being, who: ErasureRequest) -> ErasurePlan:
    """What there is about a person, and what would become of it."""
    with store.database.read(being.n) as unit:
        return PersonSearch(unit, who, store.clock()).plan()


def erase(store: BeingStore, being: Being, who: ErasureRequest) -> Receipt:
    """Erase it; nothing brings it back but what was exported or saved elsewhere before."""
    now = store.clock()
    # A patrol may hold texts that it has read, and write what it makes of them.
    with store.database.patrolling(being.n) as alone:
        if not alone:
            raise BeingError("this memory is being tidied up: try again when that is done")
        with store.database.write(being.n) as unit:
            search = PersonSearch(unit, who, now)
            plan = search.plan()
            _apply(unit, search, plan, now)
    return msgspec.structs.replace(_receipt(plan, being, now), left_in_file=_scrub(store))


def _scrub(store: BeingStore) -> str:
    """Overwrite what was deleted; it is deleted where that fails, too."""
    try:
        return store.database.scrub()
    except StoreError as error:
        return str(error)


def how_matched(person: Person) -> tuple[str, ...]:
    """By what a person was found, in words that do not say the name."""
    others = len(person.also)
    return ("the name as given", *([f"{others} given with --also"] if others else []))


def _apply(unit: Unit, search: PersonSearch, plan: ErasurePlan, now: float) -> None:
    if plan.is_empty:
        return
    moved = _erase_nodes(unit, plan, now)
    for row in plan.rows:
        _write_row(unit, row)
    _repoint(unit, moved)
    _forget_told(unit, search, list(moved))
    touched = {node.cluster for node in (*plan.gone, *(old for old, _ in plan.edited))}
    touched |= {int(row.key) for row in plan.of("clusters")}
    _describe_anew(unit, search, touched)
    for entry in list(ledger.every(unit)):
        scrubbed = search.scrubbed(entry, moved, plan.rows)
        if scrubbed != entry:
            ledger.rewrite(unit, scrubbed)
    ledger.add(unit, now, ERASED, _why(plan), "local", ())
    centroids.recompute(unit, touched)


def _erase_nodes(unit: Unit, plan: ErasurePlan, now: float) -> dict[int, int | None]:
    """Empty the nodes, and store redacted copies as new ones; maps old numbers to new ones."""
    moved: dict[int, int | None] = {node.seq: None for node in plan.gone}
    first = nodes.reserve(unit, len(plan.edited)) if plan.edited else 0
    drafts: list[Node] = []
    for at, (old, draft) in enumerate(plan.edited):
        moved[old.seq] = first + at
        drafts.append(msgspec.structs.replace(draft, seq=first + at, id=str(uuid4())))
    nodes.add(unit, [_repointed(draft, moved) for draft in drafts])
    nodes.index_words(unit, {draft.seq: words_of_node(draft) for draft in drafts})
    nodes.remove_words(unit, moved.keys())
    unit.vectors.remove(list(moved))
    nodes.erase(unit, moved, now)
    return moved


def _repointed(node: Node, moved: Mapping[int, int | None]) -> Node:
    if node.successor is None or node.successor not in moved:
        return node
    return msgspec.structs.replace(node, successor=moved[node.successor])


def _repoint(unit: Unit, moved: Mapping[int, int | None]) -> None:
    """Update references to nodes that have new numbers."""
    unit.many(
        "UPDATE nodes SET successor = ? WHERE being = $being AND successor = ? AND ending <> ?",
        [(new, old, ERASED) for old, new in moved.items()],
    )
    for column in ("taken", "node"):
        unit.many(
            f"UPDATE notes SET {column} = ? WHERE being = $being AND {column} = ?",
            [(new, old) for old, new in moved.items() if new is not None],
        )


def _write_row(unit: Unit, row: RowPlan) -> None:
    changed = None
    if row.after is not None:
        changed = {name: value for name, value in row.after.items() if value != row.before[name]}
    ledger.write_row(unit, row.table, TABLES[row.table][0], row.key, changed)


def _forget_told(unit: Unit, search: PersonSearch, seqs: Sequence[int]) -> None:
    """Forget which conversations were told of it, and those whose name has the person's."""
    reads.forget(unit, seqs)
    rows = unit.rows("SELECT DISTINCT conversation FROM told WHERE being = $being")
    named = [(place,) for (place,) in rows if search.editor.mentions(place)]
    unit.many("DELETE FROM told WHERE being = $being AND conversation = ?", named)


def _describe_anew(unit: Unit, search: PersonSearch, touched: set[int]) -> None:
    """Rewrite the digests of topics without the person."""
    for cluster in clusters.every(unit):
        if cluster.n in touched:
            told = centroids.digest(unit, cluster.n)
            told = "" if search.editor.is_in(told) else told
            clusters.describe(unit, cluster.n, cluster.name, told)


def _why(plan: ErasurePlan) -> str:
    memories = counted(len(plan.gone) + len(plan.edited), "memory")
    return f"what was about one person: {memories}, {counted(len(plan.rows), 'entry')}"


def _receipt(plan: ErasurePlan, being: Being, now: float) -> Receipt:
    erased = {"memories": _counted(node.id for node in plan.gone)}
    edited = {"memories": _counted(old.id for old, _ in plan.edited)}
    for table, name in _CALLED.items():
        rows = plan.of(table)
        erased[name] = _counted(str(row.key) for row in rows if row.goes)
        edited[name] = _counted(str(row.key) for row in rows if not row.goes)
    return Receipt(
        at=iso(now),
        by=_by(),
        being=being.id,
        person=hashlib.sha256(folded(plan.person.name).encode()).hexdigest(),
        matched_by=how_matched(plan.person),
        erased={name: one for name, one in erased.items() if one.count},
        edited={name: one for name, one in edited.items() if one.count},
        changes_scrubbed=tuple(sorted(entry.n for entry in plan.changes)),
    )


def _counted(ids: Iterable[str]) -> Counted:
    found = tuple(ids)
    return Counted(len(found), found)


def _by() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "local"
