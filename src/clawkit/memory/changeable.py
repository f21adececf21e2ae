"""What the ledger may say was changed: tables, their keys and columns.

Entries of the ledger also come from bundles, which anybody can write. Nothing else than what is
named here gets from an entry into a statement.
"""

from __future__ import annotations

import re
from typing import Any

from clawkit.memory.records import Change

NODES = "nodes"
AGES = "ages"
"""No table: a change of `AGES` says what was added to `session_count`, whatever that was."""

KEYS = {NODES: "seq", "clusters": "n", "notes": "id", "entries": "id", "ledger": "n"}
COLUMNS = {
    NODES: (
        *("cluster", "status", "fresh", "pinned", "importance", "session_count"),
        *("reactivation_count", "last_activated", "ended", "ending", "successor"),
    ),
    AGES: ("by",),
    "clusters": ("id", "name", "parent", "digest", "gone"),
    "notes": ("created", "kind", "body", "speaker", "token", "conversation", "taken", "node"),
    "entries": ("target", "name", "content", "at", "token", "data"),
    "ledger": ("undone_by",),
}
_LARGEST = 1 << 53
_NUMBER = r"[1-9]\d{0,8}"
_STRETCH = rf"{_NUMBER}(?:-{_NUMBER})?"
_STRETCHES = re.compile(rf"{_STRETCH}(?:,{_STRETCH})*")
_FORMS = {
    NODES: _STRETCHES,
    AGES: _STRETCHES,
    "clusters": re.compile(_NUMBER),
    "ledger": re.compile(_NUMBER),
}


def is_known(change: Change) -> bool:
    """Whether a change is one that could have been made here."""
    columns = COLUMNS.get(change.table)
    form = _FORMS.get(change.table)
    if columns is None or (form and not form.fullmatch(change.key)):
        return False
    rows = (change.before or {}, change.after or {})
    plain = all(_is_plain(value) for row in rows for value in row.values())
    return plain and {*rows[0], *rows[1]} <= set(columns)


def _is_plain(value: Any) -> bool:
    if isinstance(value, int | float):
        return abs(value) < _LARGEST
    return value is None or isinstance(value, str)
