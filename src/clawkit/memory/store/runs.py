"""How the work behind Beings ended: for each job and outcome how often, when last, how long."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from clawkit.memory.store.database import Connection

Outcome = Literal["ok", "partial", "skipped", "failed"]
"""`partial`: a model failed where it was asked; `skipped`: another was at it."""


class Run(Struct, frozen=True):
    """All runs of one kind with one outcome; `at` and `seconds` are those of the last."""

    being: int
    kind: str
    outcome: str
    times: int
    at: float
    seconds: float


def note(
    connection: Connection, being: int, kind: str, outcome: Outcome, at: float, seconds: float
) -> None:
    """Count a run that is over."""
    connection.run(
        "INSERT INTO runs (being, kind, outcome, times, at, seconds) VALUES (?, ?, ?, 1, ?, ?) "
        "ON CONFLICT (being, kind, outcome) DO UPDATE "
        "SET times = runs.times + 1, at = excluded.at, seconds = excluded.seconds",
        (being, kind, outcome, at, seconds),
    )


def every(connection: Connection) -> list[Run]:
    rows = connection.rows(
        "SELECT being, kind, outcome, times, at, seconds FROM runs ORDER BY being, kind, outcome"
    )
    return [Run(*row) for row in rows]
