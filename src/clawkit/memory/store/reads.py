"""Read counts of read-only callers, and what each conversation was told already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from clawkit.store.database import Unit, key

_APART = "\x1f"


def queue(unit: Unit, token: str, times: Mapping[int, int], now: float) -> None:
    """Count reads where no other reader sees them, until a patrol looks."""
    unit.many(
        "INSERT INTO touches (being, seq, token, times, last) VALUES ($being, ?, ?, ?, ?) "
        "ON CONFLICT (being, seq, token) "
        "DO UPDATE SET times = touches.times + excluded.times, last = excluded.last",
        [(seq, token, number, now) for seq, number in sorted(times.items())],
    )


def take(unit: Unit) -> dict[int, float]:
    """The nodes that were read, with when they last were; nothing is queued afterwards."""
    rows = unit.rows("SELECT seq, max(last) FROM touches WHERE being = $being GROUP BY seq")
    unit.run("DELETE FROM touches WHERE being = $being")
    return dict(rows)


def conversation_of(token: str, person: str, name: str) -> str:
    """Under which name it is kept what a conversation was told; none where it has no name.

    Clients name their conversations as they like: two people may both be in "chat-1".
    """
    return _APART.join(("", token, person, name)) if name else ""


def told(unit: Unit, conversation: str) -> frozenset[int]:
    """What this conversation has been told already."""
    rows = unit.rows(
        "SELECT seq FROM told WHERE being = $being AND conversation = ?", key(conversation)
    )
    return frozenset(seq for (seq,) in rows)


def tell(unit: Unit, conversation: str, seqs: Iterable[int], now: float) -> None:
    unit.many(
        "INSERT INTO told (being, conversation, seq, at) VALUES ($being, ?, ?, ?) "
        "ON CONFLICT (being, conversation, seq) DO NOTHING",
        [(key(conversation), seq, now) for seq in seqs],
    )


def forget_told(unit: Unit, before: float) -> None:
    """Conversations of long ago may hear everything again."""
    unit.run("DELETE FROM told WHERE being = $being AND at < ?", before)


def forget(unit: Unit, seqs: Iterable[int]) -> None:
    """Nobody was told these, or read them."""
    rows = [(seq,) for seq in seqs]
    unit.many("DELETE FROM touches WHERE being = $being AND seq = ?", rows)
    unit.many("DELETE FROM told WHERE being = $being AND seq = ?", rows)
