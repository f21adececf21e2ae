"""Recall and search of one Being, and the traces that reading leaves.

What a full caller is told counts as recalled at once. What a read-only caller is told is written
where no other reader looks: its counters wait for a patrol, and what its conversation was told is
kept under its own token.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from clawkit.errors import ModelError, StoreError
from clawkit.memory.caller import Caller
from clawkit.memory.cleaning import shown
from clawkit.memory.recall.candidates import Mode
from clawkit.memory.recall.engine import Found, Hit, search, worth_telling
from clawkit.memory.records import Node
from clawkit.memory.store import nodes, touches
from clawkit.memory.store.database import Database, Unit
from clawkit.memory.waiting import waiting_hits

if TYPE_CHECKING:
    from clawkit.memory.embed.protocol import Embedder

NOTHING = "No relevant memories found."
_OF_ACTIVE, _OF_DEAD = 1, 2
_APART = "\x1f"
_WIDER = 4
_log = logging.getLogger("clawkit.memory")


class Recollection(msgspec.Struct, frozen=True):
    """What came to mind: the hits that are worth telling, the best first."""

    kind: str
    hits: tuple[Hit, ...]
    text: str


class Looking(msgspec.Struct, frozen=True):
    """How one search is to be done."""

    limit: int
    now: float
    mode: Mode = "or"
    as_of: float | None = None
    apart_from: str = ""
    """A conversation that knows what was said in it and need not be reminded."""


def found(unit: Unit, query: str, embedder: Embedder | None, how: Looking) -> Found:
    """What a search finds, scenes that wait for a patrol behind the memories."""
    known = _search(unit, query, embedder, how, ())
    return msgspec.structs.replace(known, hits=_joined(unit, query, how, (), known.hits))


def recollect(
    database: Database,
    being: int,
    message: str,
    embedder: Embedder | None,
    caller: Caller,
    how: Looking,
) -> Recollection:
    """What is worth telling about a message, which this conversation has not been told."""
    apart = how.apart_from
    wide = msgspec.structs.replace(how, limit=how.limit * _WIDER) if apart else how
    with database.read(being) as unit:
        told = told_to(unit, caller)
        known = _search(unit, message, embedder, wide, told)
        worth = worth_telling(known)
        hits = _joined(unit, message, wide, told, worth)
    if apart:
        hits = tuple(hit for hit in hits if hit.node.source.conversation != apart)[: how.limit]
    if hits:
        hits = _told_now(database, being, hits, caller, how.now)
    return Recollection(known.kind, hits, block(message, [hit.node for hit in hits]))


def told_to(unit: Unit, caller: Caller) -> frozenset[int]:
    return touches.told(unit, _conversation(caller)) if caller.conversation else frozenset()


def count_reads(unit: Unit, read: Sequence[Node], caller: Caller, now: float) -> None:
    """Count that nodes came to mind: at once, or where only a patrol sees it."""
    times = {
        node.seq: _OF_DEAD if node.status == "dead" else _OF_ACTIVE for node in read if node.seq > 0
    }
    if caller.may_write:
        nodes.touch(unit, times, now)
    else:
        touches.queue(unit, caller.token, times, now)


def count_reads_if_possible(
    database: Database, being: int, read: Sequence[Node], caller: Caller, now: float
) -> None:
    """The same in a transaction of its own, and no failure where nothing can be written."""
    try:
        with database.jot(being) as unit:
            count_reads(unit, read, caller, now)
    except StoreError as error:
        _log.warning("what was read cannot be counted: %s", error)


def block(message: str, told: Sequence[Node]) -> str:
    """The fragments of memories, shuffled; the same for the same message and memories."""
    scenes = [node.scene for node in told]
    fragments = [shown(part) for scene in scenes for part in (scene.action, scene.feeling) if part]
    if not fragments:
        return NOTHING
    random.Random(f"{message}{[node.id for node in told]}").shuffle(fragments)
    return f"<memory-recall>\n{' / '.join(fragments)}\n</memory-recall>"


def _search(
    unit: Unit, query: str, embedder: Embedder | None, how: Looking, exclude: Collection[int]
) -> Found:
    """What is remembered, found by words alone where the embedder does not answer."""
    seqs = [seq for seq in exclude if seq > 0]
    try:
        return _asked(unit, query, embedder, how, seqs)
    except ModelError as error:
        _log.warning("memories are searched by keywords: %s", error)
        return _asked(unit, query, None, how, seqs)


def _asked(
    unit: Unit, query: str, embedder: Embedder | None, how: Looking, exclude: Collection[int]
) -> Found:
    return search(
        unit,
        query,
        embedder=embedder,
        limit=how.limit,
        mode=how.mode,
        as_of=how.as_of,
        exclude=exclude,
        now=how.now,
    )


def _joined(
    unit: Unit, query: str, how: Looking, exclude: Collection[int], known: tuple[Hit, ...]
) -> tuple[Hit, ...]:
    """Memories, and behind them waiting scenes that say something else.

    A third of the places is theirs if they need it: a full memory must not hide what is new.
    """
    if how.as_of is not None:
        return known
    said = {nodes.fingerprint(hit.node.scene) for hit in known}
    waiting = waiting_hits(unit, query, how.limit, mode=how.mode, exclude=exclude)
    new = [hit for hit in waiting if nodes.fingerprint(hit.node.scene) not in said]
    room = max(how.limit - len(known), min(len(new), max(1, how.limit // 3)))
    return (*known[: how.limit - min(room, len(new))], *new[:room])


def _told_now(
    database: Database, being: int, hits: tuple[Hit, ...], caller: Caller, now: float
) -> tuple[Hit, ...]:
    """What is left to tell; where nothing can be written, memories are told all the same."""
    try:
        return _tell(database, being, hits, caller, now)
    except StoreError as error:
        _log.warning("what was recalled cannot be counted: %s", error)
        return hits


def _tell(
    database: Database, being: int, hits: tuple[Hit, ...], caller: Caller, now: float
) -> tuple[Hit, ...]:
    """Write down what is told; another call of the same conversation may have told some of it."""
    with database.jot(being) as unit:
        told = told_to(unit, caller)
        new = tuple(hit for hit in hits if hit.node.seq not in told)
        count_reads(unit, [hit.node for hit in new], caller, now)
        if caller.conversation:
            seqs = [hit.node.seq for hit in new]
            touches.tell(unit, _conversation(caller), seqs, now)
    return new


def _conversation(caller: Caller) -> str:
    """Under which name it is kept what this conversation was told."""
    if caller.may_write:
        return caller.conversation
    return f"{_APART}{caller.token}{_APART}{caller.conversation}"
