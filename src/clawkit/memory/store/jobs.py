"""The job queue of all server processes, each job claimed by one; and how past runs ended.

A claim lasts until a moment that its owner moves on while it works. Whoever dies lets it run out,
and another takes the job again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct

from clawkit.store.database import Connection

_LONGEST = 3600.0
"""The longest claim in seconds; a longer one comes from a clock that went back."""


def want(
    connection: Connection, being: int, kind: str, now: float, claimant: str = "", until: float = 0
) -> None:
    """Ask for a job; asking twice is asking once, also while it runs.

    Nobody but the `claimant` takes it before `until`, unless somebody has it already.
    """
    connection.run(
        "INSERT INTO jobs (being, kind, wanted, since, owner, until) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (being, kind) DO UPDATE SET wanted = excluded.wanted",
        (being, kind, now, now, _kept_for(claimant), until),
    )
    if claimant:
        connection.run(
            "UPDATE jobs SET owner = ?, until = ? "
            "WHERE being = ? AND kind = ? AND owner = '' AND until < ?",
            (_kept_for(claimant), until, being, kind, now),
        )


def claim(
    connection: Connection, owner: str, now: float, until: float, busy: Collection[int] = ()
) -> tuple[int, str, float, int] | None:
    """A job that nobody works on, the longest waiting first: its Being, kind, when wanted, tries.

    None of a Being that somebody works for: `busy` are those that this owner knows of itself.
    """
    kept = _kept_for(owner)
    passed_over = f"AND being NOT IN ({', '.join('?' * len(busy))}) " if busy else ""
    rows = connection.rows(
        "SELECT being, kind, wanted, tries FROM jobs "
        "WHERE (until < ? OR until > ? OR owner = ?) "
        "AND NOT EXISTS (SELECT 1 FROM jobs other WHERE other.being = jobs.being "
        "AND other.owner NOT IN ('', ?) AND other.until BETWEEN ? AND ?) "
        f"{passed_over}ORDER BY since, being, kind LIMIT 1 {connection.unclaimed}",
        (now, now + _LONGEST, kept, kept, now, now + _LONGEST, *busy),
    )
    if not rows:
        return None
    being, kind, wanted, tries = rows[0]
    connection.run(
        "UPDATE jobs SET owner = ?, until = ?, tries = tries + 1 WHERE being = ? AND kind = ?",
        (owner, until, being, kind),
    )
    return being, kind, wanted, tries + 1


def extend(connection: Connection, being: int, kind: str, owner: str, until: float) -> bool:
    """Go on holding a claim; False if it ran out and is another's."""
    sql = "UPDATE jobs SET until = ? WHERE being = ? AND kind = ? AND owner = ?"
    return connection.run(sql, (until, being, kind, owner)) > 0


def done(connection: Connection, being: int, kind: str, owner: str, wanted: float) -> None:
    """The job is done; it stays if it was wanted again meanwhile, on whatever clock."""
    connection.run(
        "DELETE FROM jobs WHERE being = ? AND kind = ? AND owner = ? AND wanted = ?",
        (being, kind, owner, wanted),
    )
    connection.run(
        "UPDATE jobs SET owner = '', until = 0, tries = 0, problem = '', since = wanted "
        "WHERE being = ? AND kind = ? AND owner = ?",
        (being, kind, owner),
    )


def failed(
    connection: Connection, being: int, kind: str, owner: str, problem: str, again: float
) -> None:
    """The job failed; nobody takes it before `again`."""
    connection.run(
        "UPDATE jobs SET owner = '', until = ?, problem = ? "
        "WHERE being = ? AND kind = ? AND owner = ?",
        (again, problem, being, kind, owner),
    )


def give_back(connection: Connection, owner: str) -> None:
    """Release what this owner has claimed or reserved."""
    connection.run(
        "UPDATE jobs SET owner = '', until = 0 WHERE owner IN (?, ?)", (owner, _kept_for(owner))
    )


class WaitingJobs(Struct, frozen=True):
    """The jobs of one kind: how many, how many have failed, how long one has waited at most."""

    kind: str
    jobs: int = 0
    failed: int = 0
    longest_wait: float = 0.0


def by_kind(connection: Connection, now: float) -> list[WaitingJobs]:
    """All that wait or run; only what nobody works on waits."""
    rows = connection.rows(
        "SELECT kind, count(*), sum(CASE WHEN problem <> '' THEN 1 ELSE 0 END), "
        "min(CASE WHEN owner = '' OR until < ? THEN since END) FROM jobs GROUP BY kind",
        (now,),
    )
    return [
        WaitingJobs(kind, number, failed, max(0.0, now - since) if since else 0.0)
        for kind, number, failed, since in rows
    ]


def waiting(connection: Connection, being: int) -> list[tuple[str, int, str]]:
    """The jobs of a Being: kind, tries, what went wrong last."""
    sql = "SELECT kind, tries, problem FROM jobs WHERE being = ? ORDER BY kind"
    return [(kind, tries, problem) for kind, tries, problem in connection.rows(sql, (being,))]


def _kept_for(claimant: str) -> str:
    """The owner column's value while a job is reserved for a certain worker."""
    return f"for {claimant}" if claimant else ""


RunOutcome = Literal["ok", "partial", "skipped", "failed"]
"""`partial`: a model failed where it was asked; `skipped`: another was at it."""


class Run(Struct, frozen=True):
    """All runs of one kind with one outcome; `at` and `seconds` are those of the last."""

    being: int
    kind: str
    outcome: str
    times: int
    at: float
    seconds: float


def note_run(
    connection: Connection, being: int, kind: str, outcome: RunOutcome, at: float, seconds: float
) -> None:
    """Count a run that is over."""
    connection.run(
        "INSERT INTO runs (being, kind, outcome, times, at, seconds) VALUES (?, ?, ?, 1, ?, ?) "
        "ON CONFLICT (being, kind, outcome) DO UPDATE "
        "SET times = runs.times + 1, at = excluded.at, seconds = excluded.seconds",
        (being, kind, outcome, at, seconds),
    )


def runs(connection: Connection) -> list[Run]:
    rows = connection.rows(
        "SELECT being, kind, outcome, times, at, seconds FROM runs ORDER BY being, kind, outcome"
    )
    return [Run(*row) for row in rows]
