"""What `claw memory person` prints and writes: what there is about somebody, and receipts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.cli.memory_words import MANY, counted
from clawkit.cli.rows import shown

if TYPE_CHECKING:
    from clawkit.memory.erasure.erasing import Counted, Receipt
    from clawkit.memory.erasure.finding import Plan, RowPlan
    from clawkit.memory.records import Being, Node

_SHORT = 8
_TITLES = {
    "messages": "in past conversations",
    "notes": "in notes",
    "entries": "in preferences, relationships, diary and the like",
    "clusters": "in the names and descriptions of topics",
    "tokens": "tokens",
    "marks": "in the list of known names",
    "jobs": "in messages about work that failed",
}
_HIDDEN = ("marks", "jobs")


def plan_lines(plan: Plan) -> Iterator[str]:
    """What there is, and what erasing would do to it."""
    name = shown(plan.person.name)
    if plan.is_empty:
        yield f"Nothing is remembered about {name}."
        yield from _matched(plan)
        return
    yield from _matched(plan)
    yield from _part("memories", [_memory(node) for node in plan.gone])
    yield from _part(
        "memories that are about others too, and would only lose the name",
        [f"{_memory(old)} → {shown(new.scene.action)}" for old, new in plan.renamed],
    )
    for table, title in _TITLES.items():
        rows = plan.of(table)
        if table not in _HIDDEN:
            yield from _part(title, [_row(row) for row in rows])
    if plan.changes:
        told = counted(len(plan.changes), "entry of the history says", "entries of the history say")
        yield f"{told} something of it too."


def name_of_memory(plan: Plan, being: Being) -> Iterator[str]:
    """What is said where the memory itself has the name."""
    from clawkit.memory.erasure.naming import Matcher

    if Matcher(plan.person.forms).mentions(being.name):
        yield f"The memory itself is called {shown(being.name)}: that name stays."


def _matched(plan: Plan) -> Iterator[str]:
    person = plan.person
    yield f"Looked for {', '.join(shown(form) for form in person.forms)}."
    for part, others in person.shared.items():
        who = ", ".join(map(shown, others))
        word = shown(part)
        yield f"Not for {word} alone, as {who} has that name too: --also {word} takes it along."


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title} ({len(lines):,})"
        yield from (f"  {line}" for line in lines)


def _memory(node: Node) -> str:
    ended = "  [not known any more]" if node.ended is not None else ""
    return f"{node.id[:_SHORT]}  {shown(node.text)}{ended}"


def _row(row: RowPlan) -> str:
    text = _text(row, row.before)
    if row.table == "tokens":
        return f"{shown(text)}{'  would be revoked' if _is_theirs(row) else ''}"
    if row.goes or row.after is None:
        return shown(text)
    return f"{shown(text)} → {shown(_text(row, row.after))}"


def _is_theirs(row: RowPlan) -> bool:
    return bool(row.before["person"])


def _text(row: RowPlan, values: dict[str, Any]) -> str:
    if row.table == "messages":
        return values["content"]
    if row.table == "notes":
        if values["kind"] == "note":
            return values["body"]
        return msgspec.json.decode(values["body"])["action"]
    if row.table == "entries":
        named = f"{values['target']}, {values['name']}" if values["name"] else values["target"]
        return f"{named}: {values['content']}"
    if row.table == "clusters":
        return ": ".join(filter(None, (values["name"], values["digest"])))
    return values["label"] or values["person"] or str(row.key)


def plan_json(plan: Plan) -> dict[str, Any]:
    """All of it, as a person can read it and a program too."""
    person = plan.person
    return {
        "person": person.name,
        "matched": person.forms,
        "not_matched": person.shared,
        "memories": [_memory_json(node) for node in plan.gone],
        "memories_about_others_too": [
            {**_memory_json(old), "becomes": new.scene.action} for old, new in plan.renamed
        ],
        "messages": [_row_json(row) for row in plan.of("messages")],
        "notes": [_note_json(row) for row in plan.of("notes")],
        "structured": [_entry_json(row) for row in plan.of("entries")],
        "topics": [_row_json(row) for row in plan.of("clusters")],
        "tokens": [_row_json(row) for row in plan.of("tokens")],
        "changes": plan.changes,
    }


def _memory_json(node: Node) -> dict[str, Any]:
    return {"id": node.id, "text": node.text, **msgspec.to_builtins(node)}


def _row_json(row: RowPlan) -> dict[str, Any]:
    return {"id": row.key, **row.before}


def _note_json(row: RowPlan) -> dict[str, Any]:
    return {**_row_json(row), "body": _text(row, row.before)}


def _entry_json(row: RowPlan) -> dict[str, Any]:
    return {**_row_json(row), "data": msgspec.json.decode(row.before["data"])}


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    """A receipt in words."""
    if not receipt.erased and not receipt.name_taken_out:
        yield "There was nothing to erase."
    if receipt.erased:
        yield f"Erased: {_counts(receipt.erased)}."
    if counts := _counts(receipt.name_taken_out):
        yield f"Took the name out of: {counts}."
    if receipt.changes_scrubbed:
        entries = counted(len(receipt.changes_scrubbed), "entry", "entries")
        yield f"Took it out of {entries} of the history."
    yield f"Found by {', '.join(receipt.matched_by)}; {receipt.at}, by {shown(receipt.by)}."
    if receipt.left_in_file:
        yield f"Deleted, but its bytes may still be there: {shown(receipt.left_in_file)}."


def _counts(found: dict[str, Counted]) -> str:
    return ", ".join(MANY[name](one.count) for name, one in found.items() if name in MANY)
