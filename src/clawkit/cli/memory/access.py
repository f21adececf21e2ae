"""The memory that a command is about: in a store of this machine, or on another server.

Both are asked and answer alike. A server that is not ours, or an older one, tells no records behind
its text.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import msgspec

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.options import ProgressLine, make_few_vectors, missing_vectors
from clawkit.cli.commands import CommandFailure
from clawkit.errors import UNREADABLE_JSON
from clawkit.memory.details import DetailsRequest, FoundMemories
from clawkit.memory.tokens import Caller
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.history_text import MemoryHistory
    from clawkit.memory.memory import Memory
    from clawkit.memory.records import Node
    from clawkit.memory.remote_being import RemoteBeing
    from clawkit.memory.statistics import BeingView

T = TypeVar("T")
TOKEN_VARIABLE = "CLAW_BEING_TOKEN"


class SearchRequest(msgspec.Struct, frozen=True):
    """A search as it was typed."""

    text: str
    limit: int
    explain: bool = False
    as_of: str = ""
    mode: Literal["or", "and"] = "or"


class MemoryAnswer(msgspec.Struct, Generic[T], frozen=True):
    """What a memory answers: its text, and the records behind it where they are told."""

    text: str
    records: T | None
    hint: str = ""
    """What the person is to know beside it."""


class ShownNode(msgspec.Struct, frozen=True):
    """One memory, and what it has become where that is known."""

    node: Node
    now: Node | None = None


class Changed(msgspec.Struct, frozen=True):
    """What a change is about: the memory as it was taken back, or as it is now."""

    node: Node
    removed: str = ""
    """Which secrets were left out."""

    entry: int | None = None
    """The number in the history that can be undone."""


class Remembered(msgspec.Struct, frozen=True):
    """What was kept, for a person and for programs, and which secrets were left out."""

    line: str
    record: Node | str
    removed: str


class LocalAccess:
    """A Being in a store of this machine."""

    def __init__(self, store: BeingStore, memory: Memory) -> None:
        self.store = store
        self.memory = memory

    def view(self, recent: int) -> MemoryAnswer[BeingView]:
        """Topics, so many recent memories, new notes."""
        from clawkit.memory.statistics import view

        return MemoryAnswer("", view(self.store.database, self.memory.being, recent))

    def search(self, asked: SearchRequest) -> MemoryAnswer[FoundMemories]:
        """The memories that fit best, whatever they are worth."""
        make_few_vectors(self.store, self.memory.being)
        with ProgressLine("Searching").begin():
            found = self.memory.search(
                asked.text,
                limit=asked.limit,
                mode=asked.mode,
                explain=asked.explain,
                as_of=asked.as_of or None,
            )
        hint = missing_vectors(self.store, self.memory.being, found.kind)
        return MemoryAnswer("", FoundMemories(found.kind, found.hits), hint)

    def recall(self, asked: SearchRequest) -> MemoryAnswer[FoundMemories]:
        """What is worth telling, as the assistant would recall it."""
        make_few_vectors(self.store, self.memory.being)
        with ProgressLine("Recalling").begin():
            found = self.memory.recall(
                asked.text,
                Caller(),
                explain=asked.explain,
                as_of=asked.as_of or None,
                limit=asked.limit,
            )
        hint = missing_vectors(self.store, self.memory.being, found.kind)
        return MemoryAnswer(found.text, FoundMemories(found.kind, found.hits), hint)

    def show(self, called: str) -> MemoryAnswer[ShownNode]:
        """The memory of an id, or of the beginning of one."""
        from clawkit.memory.store import nodes

        found = self.node(called)
        with self.store.database.read(self.memory.being.n) as unit:
            return MemoryAnswer("", ShownNode(found, nodes.latest(unit, found)))

    def remember(self, said: str, scene: dict[str, Any]) -> Remembered:
        """Keep a sentence, with the other parts of its scene."""
        with ProgressLine("Remembering").begin():
            secret_filter = self.memory.secret_filter()
            node = self.memory.remember(said, Caller(), **scene, secret_filter=secret_filter)
        return Remembered(
            f"Remembered: {visible(node.text)} ({node.id[:8]})", node, secret_filter.said()
        )

    def retract(self, called: str, why: str) -> Changed:
        """Take a memory back."""
        found = self.node(called)
        self.memory.retract([found.id], Caller(), why)
        return Changed(found, entry=self._last_entry())

    def replace(self, called: str, text: str) -> Changed:
        """Say what is so now in place of a memory."""
        old, secret_filter = self.node(called), self.memory.secret_filter()
        new = self.memory.restate(old, text, Caller(), secret_filter)
        return Changed(new, secret_filter.said(), self._last_entry())

    def node(self, called: str) -> Node:
        """The memory of an id, or of the beginning of one."""
        from clawkit.memory.statistics import node_called

        with self.store.database.read(self.memory.being.n) as unit:
            return node_called(unit, called)

    def told(self, tell: Callable[[MemoryHistory], Iterable[str]]) -> list[str]:
        """Lines about changes, with the texts of what they changed."""
        from clawkit.memory.history_text import MemoryHistory

        with self.store.database.read(self.memory.being.n) as unit:
            return list(tell(MemoryHistory(unit)))

    def _last_entry(self) -> int | None:
        return next((entry.n for entry in self.memory.ledger(1)), None)


class RemoteAccess:
    """A Being on another server."""

    def __init__(self, being: RemoteBeing) -> None:
        self._being = being

    def view(self, recent: int) -> MemoryAnswer[BeingView]:
        from clawkit.memory.statistics import BeingView

        return MemoryAnswer(
            *self._being.details("get_context", {}, DetailsRequest(recent), BeingView)
        )

    def search(self, asked: SearchRequest) -> MemoryAnswer[FoundMemories]:
        with ProgressLine("Searching").begin():
            return self._found("search_memory", asked, query=asked.text, mode=asked.mode)

    def recall(self, asked: SearchRequest) -> MemoryAnswer[FoundMemories]:
        with ProgressLine("Recalling").begin():
            return self._found("recall", asked, user_message=asked.text)

    def _found(
        self, tool: str, asked: SearchRequest, **arguments: Any
    ) -> MemoryAnswer[FoundMemories]:
        from clawkit.memory.recall.search import Hit

        if asked.as_of:
            arguments["as_of"] = asked.as_of
        if asked.explain:
            arguments["explain"] = True
        # Hits load numpy, which nobody else who needs these records does.
        kind = msgspec.defstruct("Found", [("kind", str), ("hits", tuple[Hit, ...])], frozen=True)
        text, found = self._being.details(tool, arguments, DetailsRequest(asked.limit), kind)
        told: Any = found
        return MemoryAnswer(text, None if told is None else FoundMemories(told.kind, told.hits))

    def show(self, called: str) -> MemoryAnswer[ShownNode]:
        text, node = self._details(called)
        return MemoryAnswer(text, None if node is None else ShownNode(node))

    def remember(self, said: str, scene: dict[str, Any]) -> Remembered:
        from clawkit.text.calendar.named_days import resolved_on

        said, days = resolved_on(said, scene["when"], datetime.now().astimezone().date())
        whole = {**scene, "action": said, "when": list(days)}
        answer = self._being.call("update_notes", {"scenes": [whole]})
        told = _decoded(answer)
        removed = _left_out(told)
        ids = "".join(f" ({visible(str(one))[:8]})" for one in told.get("node_ids", ()))
        kept = "." if removed else f": {visible(said)}"
        return Remembered(f"Noted at {visible(self._being.url)}{kept}{ids}", answer, removed)

    def retract(self, called: str, why: str) -> Changed:  # noqa: ARG002 - its tools take no reason
        node = self._node(called)
        self._change(node, notes=[])
        return Changed(node)

    def replace(self, called: str, text: str) -> Changed:
        node = self._node(called)
        today = datetime.now().astimezone().date().isoformat()
        scene: dict[str, Any] = {"actors": [], **msgspec.to_builtins(node.scene)}
        scene.pop("context", None)
        self._change(node, scenes=[{**scene, "action": text, "when": [today]}])
        return Changed(self._node(node.id))

    def _change(self, node: Node, **given: Any) -> None:
        arguments = {"action": "update", "scene_ids": [node.id], **given}
        answer = self._being.call("update_notes", arguments)
        if node.id in msgspec.json.decode(answer)["not_found"]:
            raise CommandFailure(f"the memory {node.id[:8]} is replaced or taken back already")

    def _node(self, called: str) -> Node:
        """The memory of an id or of the beginning of one, as it is now."""
        text, found = self._details(called)
        if found is None:
            raise CommandFailure(f"{self._being.url} does not say which memory {called} is: {text}")
        return found

    def _details(self, called: str) -> tuple[str, Node | None]:
        from clawkit.memory.records import Node

        wanted = DetailsRequest(node=called)
        return self._being.details("recall_memory", {"node_id": called}, wanted, Node)


def _decoded(answer: str) -> dict[str, Any]:
    """What a Being elsewhere answers; nothing where it is another kind of server."""
    try:
        return msgspec.json.decode(answer, type=dict[str, Any])
    except UNREADABLE_JSON:
        return {}


def _left_out(told: dict[str, Any]) -> str:
    """What a Being elsewhere says that it has left out."""
    removed, how = told.get("removed"), told.get("to_keep_them")
    return (
        f"Not kept: {', '.join(map(str, removed))} (`{how}` lets it keep them)." if removed else ""
    )


@contextmanager
def memory_access(place: MemoryPlace, being: str) -> Generator[LocalAccess | RemoteAccess]:
    """The memory that is meant, wherever it is."""
    if url := place.address_of(being):
        with _remote_access(place, url) as there:
            yield there
        return
    with opened(place) as store:
        yield LocalAccess(store, store.open(place.own(store, being)))


@contextmanager
def _remote_access(place: MemoryPlace, url: str) -> Generator[RemoteAccess]:
    """The Being at an address, with the token that the config or the environment has for it."""
    from clawkit.memory.remote_being import RemoteBeing

    variable = place.config.memory.token_env or TOKEN_VARIABLE
    found = Keys(place.config).find(variable)
    if found is None:
        raise CommandFailure(f"the Being at {url} needs a token: set {variable}")
    with closing(RemoteBeing(url, found.value)) as being:
        yield RemoteAccess(being)


@contextmanager
def local_access(being: str, address: str, embedder: str = "none") -> Generator[LocalAccess]:
    """The memory that is meant, where it can only be one of this machine.

    What needs no vectors loads no embedder.
    """
    place = MemoryPlace(address, embedder)
    if there := place.address_of(being):
        raise CommandFailure(
            f"this is done where the memories are kept, and these are at {there}: run it there, "
            "or name a Being of this machine with --being"
        )
    with memory_access(place, being) as mine:
        assert isinstance(mine, LocalAccess)
        yield mine
