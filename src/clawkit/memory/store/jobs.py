"""Work that waits for any server process: one job of a kind for a Being, claimed by one at a time.

A claim lasts until a moment that its owner moves on while it works. Whoever dies lets it run out,
and another takes the job again.
"""

from __future__ import annotations

from clawkit.memory.store.database import Connection

_LONGEST = 3600.0
"""Nobody claims or puts off a job for longer: what says so is from a clock that went back."""


def want(connection: Connection, being: int, kind: str, now: float) -> None:
    """Ask for a job; asking twice is asking once, also while it runs."""
    connection.run(
        "INSERT INTO jobs (being, kind, wanted) VALUES (?, ?, ?) "
        "ON CONFLICT (being, kind) DO UPDATE SET wanted = excluded.wanted",
        (being, kind, now),
    )


def claim(
    connection: Connection, owner: str, now: float, until: float
) -> tuple[int, str, float, int] | None:
    """A job that nobody works on, the longest wanted first: its Being, kind, when wanted, tries."""
    rows = connection.rows(
        "SELECT being, kind, wanted, tries FROM jobs WHERE (until < ? OR until > ?) "
        f"ORDER BY wanted, being, kind LIMIT 1 {connection.unclaimed}",
        (now, now + _LONGEST),
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
        "UPDATE jobs SET owner = '', until = 0, tries = 0 "
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


def waiting(connection: Connection, being: int) -> list[tuple[str, int, str]]:
    """The jobs of a Being: kind, tries, what went wrong last."""
    sql = "SELECT kind, tries, problem FROM jobs WHERE being = ? ORDER BY kind"
    return [(kind, tries, problem) for kind, tries, problem in connection.rows(sql, (being,))]
