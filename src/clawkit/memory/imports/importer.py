"""Gives a Being what was read from files of others, each memory once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from msgspec import Struct

from clawkit.errors import QuotaError
from clawkit.memory.imports.readers import (
    ImportedFiles,
    ImportedMemory,
    ImportedMessage,
    ImportedRelation,
)
from clawkit.memory.patrol import PatrolContext
from clawkit.memory.patrol.new_memories import KnownScenes, cleaned, remember, remember_waiting
from clawkit.memory.patrol.scenes import extract, hear
from clawkit.memory.patrol.transcript import ConversationMessage, as_history, not_kept
from clawkit.memory.patrol.vectors import ahead
from clawkit.memory.records import USER, Being, MemorySource, Note, Scene
from clawkit.memory.relationships import RELATIONSHIP, relate
from clawkit.memory.secret_filter import SecretFilter
from clawkit.memory.store import entries, nodes
from clawkit.memory.tokens import Caller
from clawkit.store.database import Unit, folded
from clawkit.text.counts import counted

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore

TOKEN = "import"
"""Stands in the place of a token in the provenance of what was imported."""

_TOGETHER = 200
_BETWEEN = 0.001
_CALLER = Caller(token=TOKEN)

Advance = Callable[[int, int], object]
"""Told how much is done, and of how much."""


class ImportResult(Struct, frozen=True):
    """What an import has added, and how much was there already."""

    memories: int = 0
    messages: int = 0
    relations: int = 0
    known: int = 0
    removed: tuple[str, ...] = ()
    """The kinds of secrets that were left out."""


def bring(
    store: BeingStore,
    being: Being,
    reading: ImportedFiles,
    *,
    dry_run: bool = False,
    advance: Advance = max,
) -> ImportResult:
    """Give a Being what was read; some hundreds at a time, so that one can go on with it.

    What the Being knows is left as it is, and what it has taken back does not return.
    """
    importing = _Import(store, being, dry_run=dry_run)
    try:
        return importing.all(reading, advance)
    except QuotaError as error:
        raise QuotaError(f"{error}{importing.so_far()}") from None


class _Import:
    def __init__(self, store: BeingStore, being: Being, *, dry_run: bool) -> None:
        self._store = store
        self._database = store.limited
        self._being = being
        self._dry_run = dry_run
        with self._database.read(being.n) as unit:
            self._before = _KnownBefore(unit)
            self._first = nodes.top(unit)
        self._filter = SecretFilter(store.database, being)
        self._memories = self._messages = self._relations = self._known = 0

    def all(self, reading: ImportedFiles, advance: Advance) -> ImportResult:
        total, done = len(reading.memories) + len(reading.messages), 0
        conversations: dict[str, list[ImportedMessage]] = defaultdict(list)
        for one in reading.messages:
            conversations[one.conversation].append(one)
        for name, spoken in conversations.items():
            self._hear(name, spoken)
            done += len(spoken)
            advance(done, total)
        if reading.messages and not self._dry_run:
            remember_waiting(self._run(self._store.clock(), _CALLER))
            self._memories += self._top() - self._first
        for start in range(0, len(reading.memories), _TOGETHER):
            part = reading.memories[start : start + _TOGETHER]
            self._remember(part)
            done += len(part)
            advance(done, total)
        for relation in reading.relations:
            self._relate(relation)
        removed = tuple(self._filter.removed)
        return ImportResult(self._memories, self._messages, self._relations, self._known, removed)

    def so_far(self) -> str:
        """What an import has added that was refused in the middle, if anything."""
        made = self._top() - self._first
        if not made:
            return ""
        return (
            f". {counted(made, 'memory')} of this import came before and stayed: "
            "import the same again when there is room, and the rest comes"
        )

    def _top(self) -> int:
        with self._database.read(self._being.n) as unit:
            return nodes.top(unit)

    def _remember(self, kept: Sequence[ImportedMemory]) -> None:
        """Make memories of those that are new."""
        sift = self._filter.scene
        kept = [msgspec.structs.replace(one, scene=sift(one.scene)) for one in kept]
        with self._database.read(self._being.n) as unit:
            new = self._new(unit, kept)
        self._known += len(kept) - len(new)
        if self._dry_run:
            self._memories += len(new)
            return
        if not new:
            return
        now, embedder = self._store.clock(), self._store.embedder
        scenes, speakers = [one.scene for one in new], [one.speaker for one in new]
        embed = ahead(self._database, self._being.n, embedder, scenes, speakers)
        with self._database.write(self._being.n) as unit:
            sources = (MemorySource(one.speaker, TOKEN, one.place) for one in new)
            given = [
                Note(str(uuid4()), now, scene, "", source)
                for scene, source in zip(scenes, sources, strict=True)
            ]
            self._memories += len(remember(unit, given, embed, now, TOKEN))

    def _new(self, unit: Unit, kept: Sequence[ImportedMemory]) -> list[ImportedMemory]:
        scenes = [cleaned(one.scene) for one in kept]
        known = KnownScenes(unit, scenes)
        self._before.look(unit, scenes)
        found: list[ImportedMemory] = []
        for one, scene in zip(kept, scenes, strict=True):
            source = MemorySource(one.speaker)
            if self._before.has(one, scene, source) or known.find(scene, source) is not None:
                continue
            if scene.action:
                found.append(msgspec.structs.replace(one, scene=scene))
        return found

    def _hear(self, name: str, spoken: Sequence[ImportedMessage]) -> None:
        """Keep what was said in a conversation, and note what it tells."""
        now = self._store.clock()
        caller = Caller(token=TOKEN, conversation=name)
        given = self._filter.messages(list(_in_time(spoken)), caller, now)
        said = as_history(given, name, now)
        with self._database.read(self._being.n) as unit:
            new = not_kept(unit, said)
        self._messages += len(new)
        self._known += len(said) - len(new)
        if self._dry_run:
            speakers = {s.id: m.speaker or USER for s, m in zip(said, given, strict=True)}
            fresh = [one for one in said if one.id in new]
            self._memories += len(extract(fresh, speakers, (), None)[0])  # at most
        elif new:
            hear(self._run(now, caller), given)

    def _run(self, now: float, caller: Caller) -> PatrolContext:
        return PatrolContext(self._database, self._being.n, now, caller, self._store.embedder)

    def _relate(self, relation: ImportedRelation) -> None:
        """Add to what an entity is to this Being; what is there stays."""
        told = [self._filter.text(line) for line in relation.lines]
        with self._database.write(self._being.n) as unit:
            there = entries.found(unit, RELATIONSHIP, relation.entity)
            there = [one for one in there if one.data.get("type") == relation.kind]
            lines = there[-1].content.split("\n") if there else []
            new = [line for line in told if line not in lines]
            if not new:
                self._known += 1
                return
            self._relations += 1
            if not self._dry_run:
                content = "\n".join((*lines, *new))
                now = self._store.clock()
                relate(unit, relation.entity, relation.kind, content, "upsert", _CALLER, now)


class _KnownBefore:
    """What was imported before, or known at some time: also what has been taken back since."""

    def __init__(self, unit: Unit) -> None:
        # The day of a file is another one when the file has grown: such memories are known by
        # their file and words.
        rows = unit.rows(
            "SELECT conversation, action FROM nodes WHERE being = $being AND token = ?", TOKEN
        )
        self._actions = {(place, folded(action)) for place, action in rows}
        self._seen: set[tuple[str, str]] = set()

    def look(self, unit: Unit, scenes: Sequence[Scene]) -> None:
        """Find out which of these were ever known."""
        sql = "SELECT said, speaker FROM nodes WHERE being = $being AND said IN (??)"
        prints = list({nodes.fingerprint(scene) for scene in scenes})
        rows = unit.among(sql, prints)
        self._seen.update((said, MemorySource(speaker).voice) for said, speaker in rows)

    def has(self, one: ImportedMemory, scene: Scene, source: MemorySource) -> bool:
        """Whether this is known; from now on it is."""
        key = nodes.fingerprint(scene), source.voice
        known = key in self._seen
        self._seen.add(key)
        return known or (not one.dated and (one.place, folded(scene.action)) in self._actions)


def _in_time(spoken: Sequence[ImportedMessage]) -> Iterator[ConversationMessage]:
    """The messages of a conversation; those of one moment follow one another."""
    last = float("-inf")
    for one in spoken:
        last = one.at if one.at > last else last + _BETWEEN
        yield ConversationMessage(one.role, one.text, last, one.speaker)
