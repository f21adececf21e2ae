"""The records behind what a tool says, so that a Being elsewhere can be shown like a local one.

A client asks for them in `_meta` of a call, and finds them in `_meta` of the result. They are what
the same token may read anyway; a server that does not know the key answers with text alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.errors import BeingError, InvalidParamsError

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.memory import Memory
    from clawkit.memory.tokens import Caller
    from clawkit.memory.tools import RecallArguments, SearchArguments

META_DETAILS = "clawkit/details"
_MOST = 1000


class DetailsRequest(msgspec.Struct, frozen=True):
    """How many memories are wanted, or which one, by its id or the beginning of it."""

    limit: int = 10
    node: str = ""

    @classmethod
    def read(cls, meta: dict[str, Any]) -> DetailsRequest:
        """What a call asks for that has the key."""
        try:
            wanted = msgspec.convert(meta[META_DETAILS], cls)
        except msgspec.ValidationError as error:
            raise InvalidParamsError(f"Invalid params: _meta[{META_DETAILS!r}]: {error}") from None
        if not 0 <= wanted.limit <= _MOST:
            raise InvalidParamsError(
                f"Invalid params: _meta[{META_DETAILS!r}]: limit must be from 0 to {_MOST}"
            )
        return wanted


class Details(msgspec.Struct, frozen=True):
    """What a call found: its text, and the records."""

    text: str
    records: Any


class FoundMemories(msgspec.Struct, frozen=True):
    """The hits of a search, and how it searched."""

    kind: str
    hits: Any


def _recalled(
    _store: BeingStore,
    memory: Memory,
    caller: Caller,
    given: RecallArguments,
    wanted: DetailsRequest,
) -> Details:
    told = memory.recall(
        given.user_message,
        caller,
        explain=bool(given.explain),
        as_of=given.as_of,
        limit=max(1, wanted.limit),
    )
    return Details(told.text, FoundMemories(told.kind, told.hits))


def _searched(
    _store: BeingStore,
    memory: Memory,
    caller: Caller,
    given: SearchArguments,
    wanted: DetailsRequest,
) -> Details:
    found = memory.search(
        given.query,
        caller,
        limit=max(1, wanted.limit),
        mode=given.mode or "or",
        explain=bool(given.explain),
        as_of=given.as_of,
    )
    text = f"Memories found: {len(found.hits)} ({found.kind} search)"
    return Details(text, FoundMemories(found.kind, found.hits))


def _viewed(
    store: BeingStore, memory: Memory, _caller: Caller, _given: object, wanted: DetailsRequest
) -> Details:
    from clawkit.memory.statistics import view

    found = view(store.database, memory.being, wanted.limit)
    return Details(f"{memory.being.name}: {found.memories} memories", found)


def _shown(
    store: BeingStore, memory: Memory, _caller: Caller, _given: object, wanted: DetailsRequest
) -> Details:
    from clawkit.memory.statistics import node_called
    from clawkit.memory.store import nodes

    with store.database.read(memory.being.n) as unit:
        found = nodes.latest(unit, node_called(unit, wanted.node), ("corrected",))
    if found.ending == "retracted":
        raise BeingError(f"the memory {found.id[:8]} was taken back: it is not known any more")
    return Details(found.text, found)


DETAILED: dict[str, Callable[[BeingStore, Memory, Caller, Any, DetailsRequest], Details]] = {
    "get_context": _viewed,
    "recall": _recalled,
    "recall_memory": _shown,
    "search_memory": _searched,
}
"""The tools that have details, with what finds them."""
