"""The page Memory: Beings, their map, days, facts and history; correcting, forgetting, tokens."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Lock
from typing import Literal

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from clawkit.assistant.memory.place import MemoryPlace
from clawkit.console import api
from clawkit.console.api import ApiError, ConsolePage, NoParameters
from clawkit.memory import tokens
from clawkit.memory.being_store import DEFAULT_BEING, BeingStore
from clawkit.memory.browse import (
    MemoryMap,
    ended_facts,
    memory_map,
    stamp_of_memories,
    story,
    timeline,
)
from clawkit.memory.history_text import MemoryHistory
from clawkit.memory.mcp_app import MAP_SCRIPT
from clawkit.memory.memory import Memory
from clawkit.memory.records import Being, LedgerEntry, Scope, Token
from clawkit.memory.statistics import being_state, lacks_few_vectors, node_called, view
from clawkit.memory.store import clusters, nodes
from clawkit.memory.tokens import Caller
from clawkit.store.database import Unit
from clawkit.system.addresses import shown_address

_PAGE = 50
_HITS = 20
_NEAREST = 8
"""How many are shown beside those that recall would tell."""
_YOU = Caller()


class BeingParameters(Struct, frozen=True):
    """Which Being is meant, by its id."""

    being: str


class PageParameters(Struct, frozen=True):
    """A part of a list of a Being; `before` is an entry's number, `until` a month."""

    being: str
    topic: str = ""
    contains: str = ""
    until: str = ""
    before: int = 0
    offset: int = 0
    limit: int = _PAGE

    def __post_init__(self) -> None:
        if self.offset < 0 or not 0 < self.limit <= api.MOST_ROWS:
            raise ValueError(f"limit must be from 1 to {api.MOST_ROWS}, offset 0 or more")


class SearchParameters(Struct, frozen=True):
    """What is looked for."""

    being: str
    query: str
    as_of: str = ""


class NodeParameters(Struct, frozen=True):
    """One memory, by its id."""

    being: str
    id: str


class RestateBody(Struct, frozen=True):
    """What is so now in place of a memory, and why."""

    being: str
    id: str
    text: str
    why: str = ""


class ForgetBody(Struct, frozen=True):
    """A memory to take back, and why."""

    being: str
    id: str
    why: str = ""


class PinBody(Struct, frozen=True):
    """Whether a memory never fades."""

    being: str
    id: str
    on: bool


class UndoBody(Struct, frozen=True):
    """An entry of the history to undo."""

    being: str
    entry: int


class TokenBody(Struct, frozen=True):
    """A token to make."""

    being: str
    label: str = ""
    scope: Scope = "full"
    expires: str = ""
    person: str = ""
    owner: bool = False
    kind: Literal["brt", "bto"] = "brt"


class RevokeBody(Struct, frozen=True):
    """A token to end."""

    being: str
    token: str


class OpenedMemories:
    """The store of this person's memories, opened when it is first asked for."""

    def __init__(self, until_end: ExitStack) -> None:
        self.place = MemoryPlace()
        self._until_end = until_end
        self._lock = Lock()
        self._store: BeingStore | None = None
        self._drawing = Lock()
        self._maps: dict[str, tuple[str, MemoryMap]] = {}

    def store(self) -> BeingStore:
        with self._lock:
            if self._store is None:
                self._store = self.place.open()
                self._until_end.callback(self._store.close)
            return self._store

    def is_begun(self) -> bool:
        return self._store is not None or self.place.is_begun()

    def stamp(self) -> str:
        """Another text whenever a memory or a token is another one; nothing is opened for it."""
        if self._store is None:
            return str(self.is_begun())
        return stamp_of_memories(self._store.database)

    def being(self, being_id: str) -> Being:
        found = self.store().by_id(being_id) if self.is_begun() else None
        if found is None:
            raise ApiError(
                f"There is no Being {being_id[:60]!r} any more: load the page again", 404
            )
        return found

    def memory(self, being_id: str) -> Memory:
        return self.store().open(self.being(being_id))

    @contextmanager
    def unit(self, being_id: str) -> Generator[Unit]:
        being = self.being(being_id)
        with self.store().database.read(being.n) as unit:
            yield unit

    def map(self, being_id: str) -> MemoryMap:
        """Where the memories of a Being lie, computed anew only when they are others."""
        self.being(being_id)  # opens the store, which alone can be asked what has changed
        with self._drawing:
            stamp = self.stamp()  # before what is drawn is read: at worst it is drawn once more
            with self.unit(being_id) as unit:
                now = f"{stamp} {unit.vectors.counts()}"
                known, drawn = self._maps.get(being_id, ("", None))
                if drawn is None or known != now:
                    drawn = memory_map(unit)
                    self._maps = {being_id: (now, drawn)}
            return drawn


def page(until_end: ExitStack) -> ConsolePage:
    memories = OpenedMemories(until_end)
    return ConsolePage(
        (
            Route("/map.js", _map_script, methods=["GET"]),
            api.get("/api/memory/beings", NoParameters, partial(_beings, memories)),
            api.get("/api/memory/overview", BeingParameters, partial(_overview, memories)),
            api.get("/api/memory/map", BeingParameters, partial(_map, memories)),
            api.get("/api/memory/list", PageParameters, partial(_list, memories)),
            api.get("/api/memory/timeline", PageParameters, partial(_timeline, memories)),
            api.get("/api/memory/facts", PageParameters, partial(_facts, memories)),
            api.get("/api/memory/history", PageParameters, partial(_history, memories)),
            api.get("/api/memory/search", SearchParameters, partial(_search, memories)),
            api.get("/api/memory/node", NodeParameters, partial(_node, memories)),
            api.get("/api/memory/tokens", BeingParameters, partial(_tokens, memories)),
            api.post("/api/memory/restate", RestateBody, partial(_restate, memories)),
            api.post("/api/memory/forget", ForgetBody, partial(_forget, memories)),
            api.post("/api/memory/pin", PinBody, partial(_pin, memories)),
            api.post("/api/memory/undo", UndoBody, partial(_undo, memories)),
            api.post("/api/memory/tokens/create", TokenBody, partial(_create_token, memories)),
            api.post("/api/memory/tokens/revoke", RevokeBody, partial(_revoke_token, memories)),
        ),
        topics={"memory": memories.stamp},
    )


async def _map_script(_: Request) -> Response:
    """The script that draws maps is the memory's own: its MCP App has the same."""
    return Response(MAP_SCRIPT.read_bytes(), media_type="text/javascript; charset=utf-8")


class BeingLine(Struct, frozen=True):
    """A Being in the list of all."""

    id: str
    name: str
    created: float
    memories: int
    waiting: int
    tokens: int
    is_own: bool


def _beings(memories: OpenedMemories, _: NoParameters) -> object:
    place = memories.place
    about = {"store": shown_address(place.address), "elsewhere": shown_address(place.remote)}
    if not memories.is_begun():
        return {**about, "beings": [], "stamp": memories.stamp()}
    store, stamp = memories.store(), memories.stamp()
    own = place.config.memory.being or DEFAULT_BEING
    lines: list[BeingLine] = []
    for being in store.every()[: api.MOST_ROWS]:
        state = being_state(store.database, being)
        good = [one for one in _of_being(store, being) if tokens.is_good(one, store.clock())]
        is_own = own in (being.name, being.id)
        lines.append(
            BeingLine(
                being.id,
                being.name,
                being.created,
                state.memories,
                state.waiting_scenes,
                len(good),
                is_own,
            )
        )
    return {**about, "beings": lines, "stamp": stamp}


def _overview(memories: OpenedMemories, given: BeingParameters) -> object:
    return view(memories.store().database, memories.being(given.being))


def _map(memories: OpenedMemories, given: BeingParameters) -> object:
    return memories.map(given.being)


def _list(memories: OpenedMemories, given: PageParameters) -> object:
    with memories.unit(given.being) as unit:
        topic = clusters.by_id(unit, given.topic) if given.topic else None
        found = nodes.page(
            unit,
            cluster=topic.n if topic is not None else None,
            contains=given.contains,
            order="created DESC, seq DESC",
            offset=given.offset,
            limit=given.limit + 1,
        )
    return {"memories": found[: given.limit], "more": len(found) > given.limit}


def _timeline(memories: OpenedMemories, given: PageParameters) -> object:
    with memories.unit(given.being) as unit:
        return timeline(unit, given.offset, given.limit, given.until)


def _facts(memories: OpenedMemories, given: PageParameters) -> object:
    with memories.unit(given.being) as unit:
        found = ended_facts(unit, given.offset, given.limit + 1)
    return {"facts": found[: given.limit], "more": len(found) > given.limit}


class HistoryLine(Struct, frozen=True):
    """An entry of the history in words; `undone_by` is the entry that took it back."""

    n: int
    at: float
    kind: str
    text: str
    why: str
    by: str
    undone_by: int | None


def _history(memories: OpenedMemories, given: PageParameters) -> object:
    found = memories.memory(given.being).ledger(given.limit, given.before or None)
    with memories.unit(given.being) as unit:
        words = MemoryHistory(unit)
        lines = [_history_line(words, entry) for entry in found]
    return {"entries": lines, "more": bool(found) and found[-1].n > 1}


def _history_line(words: MemoryHistory, entry: LedgerEntry) -> HistoryLine:
    text, by = words.told(entry), words.by(entry.token)
    return HistoryLine(entry.n, entry.at, entry.kind, text, entry.why, by, entry.undone_by)


def _search(memories: OpenedMemories, given: SearchParameters) -> object:
    store, memory = memories.store(), memories.memory(given.being)
    model = store.embedder.name if store.embedder is not None else ""
    if model and lacks_few_vectors(store.database, memory.being, model):
        memory.embed_missing()
    as_of = given.as_of or None
    told = memory.recall(given.query, _YOU, explain=True, as_of=as_of, counts=False)
    found = memory.search(given.query, _YOU, limit=_HITS, explain=True, as_of=as_of)
    first = {hit.node.seq: hit for hit in (*told.hits, *told.beside)}
    nearest = [hit for hit in found.hits if hit.node.seq not in first]
    return {"kind": found.kind, "told": list(first.values()), "nearest": nearest[:_NEAREST]}


def _node(memories: OpenedMemories, given: NodeParameters) -> object:
    with memories.unit(given.being) as unit:
        return story(unit, node_called(unit, given.id))


def _restate(memories: OpenedMemories, given: RestateBody) -> object:
    memory = memories.memory(given.being)
    with memories.unit(given.being) as unit:
        old = node_called(unit, given.id)
    secret_filter = memory.secret_filter()
    new = memory.restate(old, given.text, _YOU, secret_filter, given.why)
    return {"node": new, "removed": secret_filter.said(), "entry": memory.ledger(1)[0].n}


def _forget(memories: OpenedMemories, given: ForgetBody) -> object:
    memory = memories.memory(given.being)
    memory.retract([given.id], _YOU, given.why)
    return {"entry": memory.ledger(1)[0].n}


def _pin(memories: OpenedMemories, given: PinBody) -> object:
    return memories.memory(given.being).pin(given.id, given.on, _YOU)


def _undo(memories: OpenedMemories, given: UndoBody) -> object:
    memory = memories.memory(given.being)
    memory.undo(given.entry, _YOU)
    return {"entry": memory.ledger(1)[0].n}


def _tokens(memories: OpenedMemories, given: BeingParameters) -> object:
    store = memories.store()
    known = _of_being(store, memories.being(given.being))
    newest = sorted(known, key=lambda one: one.created, reverse=True)[: api.MOST_ROWS]
    now = store.clock()
    return [{**msgspec.to_builtins(one), "good": tokens.is_good(one, now)} for one in newest]


def _create_token(memories: OpenedMemories, given: TokenBody) -> object:
    store = memories.store()
    until = tokens.parse_expires(given.expires, store.clock()) if given.expires else None
    secret, info = tokens.issue(
        store,
        memories.being(given.being),
        oauth=given.kind == "bto",
        scope=given.scope,
        expires=until,
        label=given.label,
        person=given.person,
        owner=given.owner,
    )
    return {"token": secret, "info": info}


def _revoke_token(memories: OpenedMemories, given: RevokeBody) -> object:
    store = memories.store()
    mine = {one.id for one in _of_being(store, memories.being(given.being))}
    if given.token not in mine:
        raise ApiError(f"This Being has no token {given.token[:60]!r}: load the page again", 404)
    with store.database.registry(write=True) as connection:
        ended = tokens.revoke(connection, given.token, store.clock())
    return {"revoked": ended}


def _of_being(store: BeingStore, being: Being) -> list[Token]:
    with store.database.registry() as connection:
        return tokens.of_being(connection, being.n)
