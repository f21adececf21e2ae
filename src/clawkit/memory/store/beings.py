"""The list of Beings in a store, and how often each was called today."""

from __future__ import annotations

from clawkit.errors import BeingError
from clawkit.memory.records import Being
from clawkit.store.database import Connection, Unit

_SELECT = "SELECT n, id, name, created FROM beings"


def create(connection: Connection, being_id: str, name: str, now: float) -> Being:
    """A new Being; raises BeingError if another has its name, also one that came just now.

    A name is no Being's id either: addresses and commands take both. Nor is it another's in other
    letters: people could not tell them apart.
    """
    if by_id(connection, name) is not None:
        raise BeingError(f"{name!r} is the id of a Being: take another name")
    for other in every(connection):
        if other.name != name and _folded(other.name) == _folded(name):
            taken = f"there is a Being called {other.name!r} already ({other.id})"
            raise BeingError(f"{taken}: take a name that differs in more than capitals")
    connection.run(
        "INSERT INTO beings (id, name, created) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
        (being_id, name, now),
    )
    found = by_name(connection, name)
    if found is None:
        raise BeingError(f"there is a Being with the id {being_id} already")
    if found.id != being_id:
        taken = f"there is a Being called {name!r} already ({found.id})"
        raise BeingError(f"{taken}: take another name")
    return found


def _folded(name: str) -> str:
    import unicodedata

    return unicodedata.normalize("NFKC", name).casefold()


def by_name(connection: Connection, name: str) -> Being | None:
    rows = connection.rows(f"{_SELECT} WHERE name = ?", (name,))
    return Being(*rows[0]) if rows else None


def by_id(connection: Connection, being_id: str) -> Being | None:
    rows = connection.rows(f"{_SELECT} WHERE id = ?", (being_id,))
    return Being(*rows[0]) if rows else None


def by_number(connection: Connection, n: int) -> Being | None:
    rows = connection.rows(f"{_SELECT} WHERE n = ?", (n,))
    return Being(*rows[0]) if rows else None


def every(connection: Connection) -> list[Being]:
    return [Being(*row) for row in connection.rows(f"{_SELECT} ORDER BY n")]


def delete(connection: Connection, n: int) -> None:
    """A Being and everything that belongs to it."""
    connection.run("DELETE FROM beings WHERE n = ?", (n,))


def quota(connection: Connection, n: int) -> str:
    """How much a Being may hold, as it was written; empty where that is not limited."""
    rows = connection.rows("SELECT quota FROM beings WHERE n = ?", (n,))
    return rows[0][0] if rows else ""


def set_quota(connection: Connection, n: int, text: str) -> None:
    connection.run("UPDATE beings SET quota = ? WHERE n = ?", (text, n))


def named(unit: Unit) -> tuple[str, str]:
    """The name of a Being, and its quota."""
    row = unit.row("SELECT name, quota FROM beings WHERE n = $being")
    return (row[0], row[1]) if row else ("", "")


def set_key(connection: Connection, n: int, sealed: bytes | None) -> None:
    """Keep the Being's own model key; it comes here encrypted."""
    connection.run("UPDATE beings SET llm_key = ? WHERE n = ?", (sealed, n))


def key(connection: Connection, n: int) -> bytes | None:
    rows = connection.rows("SELECT llm_key FROM beings WHERE n = ?", (n,))
    return bytes(rows[0][0]) if rows and rows[0][0] is not None else None


def calls_made(unit: Unit, day: int) -> int:
    """The calls of a day, which counts from 1970."""
    row = unit.row("SELECT times FROM calls WHERE being = $being AND day = ?", day)
    return row[0] if row else 0


def count_call(unit: Unit, day: int) -> None:
    unit.run(
        "INSERT INTO calls (being, day, times) VALUES ($being, ?, 1) "
        "ON CONFLICT (being) DO UPDATE SET day = excluded.day, "
        "times = CASE WHEN calls.day = excluded.day THEN calls.times + 1 ELSE 1 END",
        day,
    )
