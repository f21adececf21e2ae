"""How often a Being was called today."""

from __future__ import annotations

from clawkit.memory.store.database import Unit


def made(unit: Unit, day: int) -> int:
    """The calls of a day, which counts from 1970."""
    row = unit.row("SELECT times FROM calls WHERE being = $being AND day = ?", day)
    return row[0] if row else 0


def count(unit: Unit, day: int) -> None:
    unit.run(
        "INSERT INTO calls (being, day, times) VALUES ($being, ?, 1) "
        "ON CONFLICT (being) DO UPDATE SET day = excluded.day, "
        "times = CASE WHEN calls.day = excluded.day THEN calls.times + 1 ELSE 1 END",
        day,
    )
