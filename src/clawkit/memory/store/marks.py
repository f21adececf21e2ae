"""Small facts about one Being by name: who is known, where the last patrol ended."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from clawkit.memory.store.database import Unit, written

NAMES = "names"
SPEAKERS = "speakers"
_MOST_NAMES = 2000


def get(unit: Unit, name: str) -> str | None:
    row = unit.row("SELECT value FROM marks WHERE being = $being AND name = ?", name)
    return row[0] if row else None


def put(unit: Unit, name: str, value: str) -> None:
    unit.run(
        "INSERT INTO marks (being, name, value) VALUES ($being, ?, ?) "
        "ON CONFLICT (being, name) DO UPDATE SET value = excluded.value",
        name,
        value,
    )


def names(unit: Unit) -> frozenset[str]:
    """Everybody who takes part in what this Being remembers."""
    found = get(unit, NAMES)
    return frozenset(msgspec.json.decode(found, type=list[str])) if found else frozenset()


def meet(unit: Unit, people: Collection[str]) -> None:
    """Remember that these take part."""
    known = names(unit)
    new = {name for name in people if name} - known
    if new and len(known) < _MOST_NAMES:
        put(unit, NAMES, written(sorted(known | new)[:_MOST_NAMES]))


def speakers(unit: Unit) -> frozenset[str] | None:
    """Everybody who has told this Being something; None in a store that never counted them."""
    found = get(unit, SPEAKERS)
    return None if found is None else frozenset(msgspec.json.decode(found, type=list[str]))


def hear_from(unit: Unit, people: Collection[str]) -> None:
    """Remember that these speak here."""
    known = speakers(unit)
    if known is None:
        rows = unit.rows("SELECT DISTINCT speaker FROM nodes WHERE being = $being")
        people = {*people, *(speaker for (speaker,) in rows)}
    new = {name for name in people if name} - (known or frozenset())
    if known is None or (new and len(known) < _MOST_NAMES):
        put(unit, SPEAKERS, written(sorted((known or frozenset()) | new)[:_MOST_NAMES]))
