"""What `claw memory person` prints and writes: what there is about somebody, and receipts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.cli.memory_words import MANY, counted
from clawkit.cli.rows import shown
from clawkit.memory.erasure.finding import text_of
from clawkit.memory.erasure.texts import ERASED
from clawkit.text.sentences import sentences

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
}
_CALLED = {
    "messages": ("message", "messages"),
    "notes": ("note", "notes"),
    "entries": ("entry", "entries"),
}
_A_FEW_WORDS = 30
"""Characters around a sentence that was shown already: an answer such as "Got it: …"."""


def plan_lines(plan: Plan) -> Iterator[str]:
    """What there is, and what erasing would do to it; nothing is said twice."""
    if plan.is_empty:
        yield f"Nothing is remembered about {shown(plan.person.name)}."
    yield f"Looked for {', '.join(shown(form) for form in plan.person.forms)}."
    seen = _Seen()
    yield from _part("memories", [*_memories_that_go(plan, seen), *_memories_that_stay(plan, seen)])
    again: list[str] = []
    for table, title in _TITLES.items():
        lines = [_row(row, seen) for row in plan.of(table)]
        yield from _part(title, list(filter(None, lines)))
        if table in _CALLED and (number := lines.count("")):
            again.append(counted(number, *_CALLED[table]))
    if again:
        yield f"The same words stand in {', '.join(again)}, and go there too."
    yield from _unseen(plan)
    yield from _may_be_about(plan)


def name_of_memory(plan: Plan, being: Being) -> Iterator[str]:
    """What is said where the memory itself has the name."""
    from clawkit.memory.erasure.naming import Matcher

    if Matcher(plan.person.forms).mentions(being.name):
        yield f"The memory itself is called {shown(being.name)}: that name stays."


class _Seen:
    """The sentences and clauses that were shown, so that none is shown again."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def add(self, text: str) -> None:
        self._said.update(map(_key, _said_in(text)))

    def new_in(self, before: str, after: str) -> list[str]:
        """What goes from a text and was not shown yet."""
        kept = set(map(_key, _said_in(after)))
        new = [
            one for one in _said_in(before) if _key(one) not in kept and not self._has(_key(one))
        ]
        self._said.update(map(_key, new))
        return new

    def _has(self, key: str) -> bool:
        near = (one for one in self._said if len(key) - len(one) <= _A_FEW_WORDS)
        return key in self._said or any(one in key for one in near)


def _said_in(text: str) -> list[str]:
    return [clause for sentence in sentences(text) for clause in sentence.split("; ")]


def _key(said: str) -> str:
    return said.strip(" ;.!?…").casefold()


def _memories_that_go(plan: Plan, seen: _Seen) -> Iterator[str]:
    for node in plan.gone:
        seen.add(node.scene.action)
        yield f"{_memory(node)}  goes"


def _memories_that_stay(plan: Plan, seen: _Seen) -> Iterator[str]:
    for old, new in plan.edited:
        if old.text != new.text:
            seen.add(old.scene.action)
            yield f"{_memory(old)}  becomes: {_line(new.scene.action)}"


def _unseen(plan: Plan) -> Iterator[str]:
    """What is erased beside texts: it is counted, as it has no words of its own."""
    beside = sum(old.text == new.text for old, new in plan.edited)
    if beside:
        keep = counted(beside, "memory keeps its words", "memories keep their words")
        yield f"{keep} and forget who said or was told it."
    if plan.changes:
        told = counted(len(plan.changes), "entry of the history says", "entries of the history say")
        yield f"{told} something of it too."


def _may_be_about(plan: Plan) -> Iterator[str]:
    """What is neither exported nor erased, with the name that would count it."""
    seen: set[str] = set()
    lines: list[str] = []
    for one in plan.maybe:
        text = _line(one.text)
        said = set(map(_key, _said_in(one.text)))
        if not said <= seen:
            names = " ".join(f"--also {shown(_quoted(name))}" for name in one.names)
            lines.append(f"{text}  {names}")
        seen |= said
    title = f"may be about {shown(plan.person.name)} or somebody else, and stays; --also counts it"
    yield from _part(title, lines)


def _quoted(name: str) -> str:
    plain = shlex.quote(name)
    return f'"{name}"' if plain != name and not set(name) & set('"$`\\!') else plain


def _part(title: str, lines: Sequence[str]) -> Iterator[str]:
    if lines:
        yield f"{title} ({len(lines):,})"
        yield from (f"  {line}" for line in lines)


def _memory(node: Node) -> str:
    ended = "  [not known any more]" if node.ended is not None else ""
    return f"{node.id[:_SHORT]}  {_line(node.text)}{ended}"


def _row(row: RowPlan, seen: _Seen) -> str:
    """What becomes of a row; empty where that was shown already."""
    before = text_of(row.table, row.before)
    if row.table == "tokens":
        theirs = bool(row.before["person"]) and not (row.after or {}).get("person")
        return f"{_line(before or str(row.key))}  {'is revoked' if theirs else 'loses the name'}"
    after = "" if row.goes or row.after is None else text_of(row.table, row.after)
    new = seen.new_in(before, after.replace(ERASED, ""))
    if not new:
        return ""
    if row.goes or row.table == "messages":
        return f"{_line(' '.join(new))}  goes"
    return f"{_line(before)}  becomes: {_line(after)}"


def _line(text: str) -> str:
    return shown(" ".join(text.split()))


def plan_json(plan: Plan) -> dict[str, Any]:
    """All of it, as a person can read it and a program too."""
    person = plan.person
    return {
        "person": person.name,
        "matched": person.forms,
        "memories": [_memory_json(node) for node in plan.gone],
        "memories_about_others_too": [
            {**_memory_json(old), "becomes": new.scene.action} for old, new in plan.edited
        ],
        "messages": [_row_json(row) for row in plan.of("messages")],
        "notes": [_note_json(row) for row in plan.of("notes")],
        "structured": [_entry_json(row) for row in plan.of("entries")],
        "topics": [_row_json(row) for row in plan.of("clusters")],
        "tokens": [_row_json(row) for row in plan.of("tokens")],
        "changes": plan.changes,
    }


def maybe_json(plan: Plan) -> list[dict[str, Any]]:
    """What may be about this person: for whoever asks, never for the file that is handed out."""
    return [{"id": one.key, "text": one.text, "also": one.names} for one in plan.maybe]


def _memory_json(node: Node) -> dict[str, Any]:
    return {"id": node.id, "text": node.text, **msgspec.to_builtins(node)}


def _row_json(row: RowPlan) -> dict[str, Any]:
    return {"id": row.key, **row.before}


def _note_json(row: RowPlan) -> dict[str, Any]:
    return {**_row_json(row), "body": text_of(row.table, row.before)}


def _entry_json(row: RowPlan) -> dict[str, Any]:
    return {**_row_json(row), "data": msgspec.json.decode(row.before["data"])}


def receipt_lines(receipt: Receipt) -> Iterator[str]:
    """A receipt in words."""
    if not receipt.erased and not receipt.edited:
        yield "There was nothing to erase."
    if receipt.erased:
        yield f"Erased: {_counts(receipt.erased)}."
    if counts := _counts(receipt.edited):
        yield f"Took it out of: {counts}; what is about others stays."
    if receipt.changes_scrubbed:
        entries = counted(len(receipt.changes_scrubbed), "entry", "entries")
        yield f"Took it out of {entries} of the history."
    yield f"Found by {', '.join(receipt.matched_by)}; {receipt.at}, by {shown(receipt.by)}."
    if receipt.left_in_file:
        yield f"Deleted, but its bytes may still be there: {shown(receipt.left_in_file)}."


def _counts(found: dict[str, Counted]) -> str:
    return ", ".join(MANY[name](one.count) for name, one in found.items() if name in MANY)
