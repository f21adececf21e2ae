"""What was done to a memory, in plain words: its history, and what an undo changes.

People are told other words than ours for the parts and states of a memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from clawkit.memory.records import STATES, Change, LedgerEntry
from clawkit.memory.store import nodes
from clawkit.memory.store.ledger import ranges_of
from clawkit.store.database import Unit
from clawkit.text.counts import counted
from clawkit.text.normalization import shortened, visible

ENDINGS = {
    "superseded": "replaced",
    "corrected": "corrected",
    "merged": "merged with others",
    "retracted": "taken back",
    "erased": "erased",
}

_PLAIN = {
    "another patrol is running": "it is being tidied up already",
    "memory patrol": "memory tidy",
    "one patrol may": "tidying up may",
    "would die": "would fall asleep",
    "a patrol": "tidying up",
    "patrol": "tidying up",
}


def plain(text: str) -> str:
    """An internal message in the words of the commands."""
    for theirs, ours in _PLAIN.items():
        text = text.replace(theirs, ours)
    return text


_TOLD = 3
_LONGEST = 100
_SHORT = 8
_OWN = ("local", "")
_USUAL_REASONS = ("taken back", "its scene was replaced", "replaced by what is so now")
_SAID_BY_IT = "a newer memory says: "  # which stands beside it
_BY = {"patrol": "while tidying up", "import": "by an import"}


class MemoryHistory:
    """Describes ledger entries and changes with the texts of their rows."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        names = unit.rows("SELECT n, name FROM clusters WHERE being = $being")
        self._topics = {str(n): name for n, name in names}
        labels = unit.rows("SELECT id, label FROM tokens WHERE being = $being")
        self._labels = {i: label or i[:_SHORT] for i, label in labels}
        self._tellings: dict[str, Callable[[LedgerEntry], str]] = {
            "remembered": self._remembered,
            **dict.fromkeys(("superseded", "corrected", "merged"), self._replaced),
            "retracted": self._taken_back,
            "pinned": self._pinned,
            "aged": lambda entry: f"{_memories(entry.changes)} grew older",
            **dict.fromkeys(("faded", "revived"), self._faded),
            **dict.fromkeys(("described", "joined", "split"), self._topics_changed),
            "settled": lambda entry: f"looked for what says the same: {_memories(entry.changes)}",
            **dict.fromkeys(("entry", "note"), lambda one: "; ".join(self.changed(one.changes))),
            "diary": self._diary,
            "undo": self._undo,
            "erased": self._erased,
        }

    def told(self, entry: LedgerEntry) -> str:
        """What an entry did."""
        telling = self._tellings.get(entry.kind)
        said = telling(entry) if telling is not None else ""
        return said or f"{plain(entry.kind)}: {visible(plain(entry.why))}".rstrip(": ")

    def changed(self, changes: Sequence[Change]) -> Iterator[str]:
        """What changes do, a line each."""
        for change in changes:
            yield from self._lines(change)

    def by(self, token: str) -> str:
        """Through whom something was done; empty for the person here."""
        if token in _OWN:
            return ""
        return _BY.get(token) or f"by {visible(self._labels.get(token, token[:_SHORT]))}"

    def _remembered(self, entry: LedgerEntry) -> str:
        made = _made(entry.changes)
        if not made:
            return "noted again what was known"
        return self._several("remembered", "new memories", made)

    def _replaced(self, entry: LedgerEntry) -> str:
        olds = [one for one in entry.changes if _after(one, "ended") is not None]
        new = _made(entry.changes) or [n for one in olds if (n := _after(one, "successor"))]
        how = "replaced" if entry.kind == "superseded" else entry.kind
        why = _reason(entry) if entry.kind == "superseded" else ""
        return f"{how}: {self._quoted(_seqs(olds))} → {self._quoted(new[:1])}{why}"

    def _taken_back(self, entry: LedgerEntry) -> str:
        said = self._several("taken back", "taken back", _seqs(entry.changes))
        return f"{said}{_reason(entry)}"

    def _pinned(self, entry: LedgerEntry) -> str:
        on = any(_after(one, "pinned") for one in entry.changes)
        return f"{'pinned' if on else 'not pinned any more'}: {self._quoted(_seqs(entry.changes))}"

    def _faded(self, entry: LedgerEntry) -> str:
        words = {"dying": "began to fade", "dead": "fell asleep", "active": "woke again"}
        parts: list[str] = []
        for state, word in words.items():
            ones = [one for one in entry.changes if _after(one, "status") == state]
            if ones:
                parts.append(f"{word}: {self._quoted(_seqs(ones))}")
        return "; ".join(parts)

    def _topics_changed(self, entry: LedgerEntry) -> str:
        topics = [one for one in entry.changes if one.table == "clusters"]
        if new := [one.key for one in topics if one.before is None]:
            return f"new topics: {self._named(new)}"
        if gone := [one.key for one in topics if _after(one, "gone") is not None]:
            return f"small topics joined others: {self._named(gone)}"
        return f"topics described anew: {self._named(one.key for one in topics)}" if topics else ""

    def _diary(self, entry: LedgerEntry) -> str:
        texts = [str(_after(one, "content") or "") for one in entry.changes]
        return f"wrote the diary: {_several_texts(texts)}"

    def _undo(self, entry: LedgerEntry) -> str:
        # What is undone again counts anew: its entry is changed, and not undone.
        numbers = [one.key for one in entry.changes if _after(one, "undone_by") is not None]
        back = [one for one in entry.changes if one.table != "ledger"]
        lines = list(self.changed(back))
        more = f" and {len(lines) - _TOLD} more" if len(lines) > _TOLD else ""
        return f"undid {', '.join(numbers)}: {'; '.join(lines[:_TOLD])}{more}"

    def _erased(self, entry: LedgerEntry) -> str:
        return f"erased: {visible(entry.why)}" if entry.why else "erased"

    def _lines(self, change: Change) -> Iterator[str]:
        """One change in words; what nobody needs to know is not told."""
        before, after = change.before or {}, change.after or {}
        if change.table == "nodes":
            yield from self._memory_lines(change, before, after)
        elif change.table == "ages":
            by = after.get("by", 0) - before.get("by", 0)
            how = "grew older" if by > 0 else "younger again"
            yield f"{_memories([change])} {how}"
        elif change.table == "clusters":
            yield self._topic_line(change, before, after)
        elif change.table == "entries":
            yield _row_line(change, _entry_text(before), _entry_text(after))
        elif change.table == "notes" and ("body" in before or "body" in after):
            yield _row_line(change, _note_text(before), _note_text(after))

    def _memory_lines(
        self, change: Change, before: dict[str, Any], after: dict[str, Any]
    ) -> Iterator[str]:
        texts = self._quoted(_seqs([change]))
        if change.before is None:
            yield f"new: {texts}"
        elif "ended" in after:
            yield f"{'comes back' if after['ended'] is None else 'goes'}: {texts}"
        elif "status" in after:
            yield f"{STATES[after['status']]}: {texts}"
        elif "pinned" in after:
            yield f"{'pinned' if after['pinned'] else 'not pinned any more'}: {texts}"
        elif "cluster" in after:
            places = (self._topics.get(str(row.get("cluster")), "") for row in (before, after))
            yield f"from {' to '.join(repr(visible(one)) for one in places)}: {texts}"

    def _topic_line(self, change: Change, before: dict[str, Any], after: dict[str, Any]) -> str:
        name = self._named([change.key])
        if change.before is None or ("gone" in after and after["gone"] is None):
            return f"topic {name}: is there"
        if "gone" in after:
            return f"topic {name}: goes"
        old, new = (str(row.get("digest", row.get("name", ""))) for row in (before, after))
        return f"topic {name}: {_quote(old)} → {_quote(new)}"

    def _several(self, one: str, many: str, seqs: Sequence[int]) -> str:
        if len(seqs) == 1:
            return f"{one}: {self._quoted(seqs)}"
        return f"{len(seqs):,} {many}: {self._quoted(seqs)}"

    def _quoted(self, seqs: Sequence[int]) -> str:
        found = nodes.fetch(self._unit, seqs[:_TOLD])
        texts = [found[seq].scene.action for seq in seqs[:_TOLD] if seq in found]
        return _several_texts(texts, len(seqs) - len(texts))

    def _named(self, numbers: Iterable[str]) -> str:
        return ", ".join(f"'{visible(self._topics.get(n, '?'))}'" for n in numbers)


def _reason(entry: LedgerEntry) -> str:
    """Why somebody did it, if they said so."""
    usual = entry.why in _USUAL_REASONS or entry.why.startswith(_SAID_BY_IT)
    return "" if usual or not entry.why else f" ({visible(entry.why)})"


def _after(change: Change, column: str) -> Any:
    return (change.after or {}).get(column)


def _made(changes: Iterable[Change]) -> list[int]:
    return _seqs(one for one in changes if one.before is None)


def _seqs(changes: Iterable[Change]) -> list[int]:
    """The numbers of the memories that changes are about."""
    places = [p for one in changes if one.table == "nodes" for p in ranges_of(one.key)]
    return [seq for first, last in places for seq in range(first, last + 1)]


def _memories(changes: Iterable[Change]) -> str:
    """How many memories changes are about."""
    places = [p for one in changes if one.table in ("nodes", "ages") for p in ranges_of(one.key)]
    return counted(sum(last - first + 1 for first, last in places), "memory")


def _row_line(change: Change, old: str, new: str) -> str:
    if change.before is None:
        return f"wrote {new}"
    if change.after is None:
        return f"deleted {old}"
    return f"{old} → {new}"


def _entry_text(row: dict[str, Any]) -> str:
    called = " ".join(filter(None, (str(row.get("target", "")), str(row.get("name", "")))))
    return f"{visible(called)} {_quote(str(row.get('content', '')))}"


def _note_text(row: dict[str, Any]) -> str:
    body = str(row.get("body", ""))
    if row.get("kind") == "scene":
        body = str(msgspec.json.decode(body).get("action", ""))
    return f"note {_quote(body)}"


def _several_texts(texts: Sequence[str], more: int = 0) -> str:
    told = ", ".join(_quote(text) for text in texts if text)
    if not told:
        return counted(more, "memory") if more else "nothing"
    return f"{told} and {more:,} more" if more else told


def _quote(text: str) -> str:
    return f"'{shortened(' '.join(visible(text).split()), _LONGEST)}'"
