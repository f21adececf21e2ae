"""What was read from files, given to a Being: each thing once, however often it is imported."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec
from msgspec import Struct

from clawkit.memory.caller import Caller
from clawkit.memory.imports.reading import Kept, Reading, Relation, Spoken
from clawkit.memory.patrol.alike import Known
from clawkit.memory.patrol.conversation import Message, numbered, unheard
from clawkit.memory.patrol.embedding import ahead
from clawkit.memory.patrol.remembering import cleaned, remember, remember_waiting
from clawkit.memory.patrol.scenes import extract, hear
from clawkit.memory.people import USER
from clawkit.memory.records import Being, Note, Said, Scene, Source
from clawkit.memory.relations import RELATIONSHIP, relate
from clawkit.memory.secrecy import Sieve
from clawkit.memory.store import entries, nodes
from clawkit.memory.store.database import Unit
from clawkit.memory.store.texts import folded

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper

TOKEN = "import"
"""Stands in the place of a token in the provenance of what was imported."""

_TOGETHER = 200
_BETWEEN = 0.001
_CALLER = Caller(token=TOKEN)

Advance = Callable[[int, int], object]
"""Told how much is done, and of how much."""


class Brought(Struct, frozen=True):
    """What an import has added, and how much was there already."""

    memories: int = 0
    messages: int = 0
    relations: int = 0
    known: int = 0
    removed: tuple[str, ...] = ()
    """The kinds of secrets that were left out."""


def bring(
    keeper: Keeper,
    being: Being,
    reading: Reading,
    *,
    dry_run: bool = False,
    advance: Advance = max,
) -> Brought:
    """Give a Being what was read; some hundreds at a time, so that one can go on with it.

    What the Being knows is left as it is, and what it has taken back does not return.
    """
    return _Bringing(keeper, being, dry_run=dry_run).all(reading, advance)


class _Bringing:
    def __init__(self, keeper: Keeper, being: Being, *, dry_run: bool) -> None:
        self._keeper = keeper
        self._database = keeper.limited
        self._being = being
        self._dry_run = dry_run
        with self._database.read(being.n) as unit:
            self._before = _Before(unit)
        self._sieve = Sieve(keeper.database, being)
        self._memories = self._messages = self._relations = self._known = 0

    def all(self, reading: Reading, advance: Advance) -> Brought:
        total, done = len(reading.memories) + len(reading.messages), 0
        for name, spoken in _conversations(reading.messages).items():
            self._hear(name, spoken)
            done += len(spoken)
            advance(done, total)
        if reading.messages and not self._dry_run:
            now, embedder = self._keeper.clock(), self._keeper.embedder
            made = remember_waiting(self._database, self._being.n, embedder, now, TOKEN)
            self._memories += made
        for start in range(0, len(reading.memories), _TOGETHER):
            part = reading.memories[start : start + _TOGETHER]
            self._remember(part)
            done += len(part)
            advance(done, total)
        for relation in reading.relations:
            self._relate(relation)
        removed = tuple(self._sieve.removed)
        return Brought(self._memories, self._messages, self._relations, self._known, removed)

    def _remember(self, kept: Sequence[Kept]) -> None:
        """Make memories of those that are new."""
        sift = self._sieve.scene
        kept = [msgspec.structs.replace(one, scene=sift(one.scene)) for one in kept]
        with self._database.read(self._being.n) as unit:
            new = self._new(unit, kept)
        self._known += len(kept) - len(new)
        if self._dry_run:
            self._memories += len(new)
            return
        if not new:
            return
        now, embedder = self._keeper.clock(), self._keeper.embedder
        scenes, speakers = [one.scene for one in new], [one.speaker for one in new]
        embed = ahead(self._database, self._being.n, embedder, scenes, speakers)
        model = embedder.name if embedder is not None else ""
        with self._database.write(self._being.n) as unit:
            made = remember(unit, [_note(one, now) for one in new], embed, model, now, TOKEN)
        self._memories += len(made)

    def _new(self, unit: Unit, kept: Sequence[Kept]) -> list[Kept]:
        scenes = [cleaned(one.scene) for one in kept]
        known = Known(unit, scenes)
        self._before.look(unit, scenes)
        found: list[Kept] = []
        for one, scene in zip(kept, scenes, strict=True):
            if self._before.has(one, scene) or known.find(scene) is not None:
                continue
            if scene.action:
                found.append(msgspec.structs.replace(one, scene=scene))
        return found

    def _hear(self, name: str, spoken: Sequence[Spoken]) -> None:
        """Keep what was said in a conversation, and note what it tells."""
        now = self._keeper.clock()
        given = self._sieve.messages(list(_in_time(spoken)))
        said = numbered(given, name, now)
        with self._database.read(self._being.n) as unit:
            new = unheard(unit, said)
        self._messages += len(new)
        self._known += len(said) - len(new)
        if self._dry_run:
            speakers = {s.id: m.speaker for s, m in zip(said, given, strict=True)}
            self._memories += _told([one for one in said if one.id in new], speakers)
        elif new:
            hear(
                self._database,
                self._being.n,
                given,
                llm=None,
                embedder=self._keeper.embedder,
                now=now,
                caller=Caller(token=TOKEN, conversation=name),
            )

    def _relate(self, relation: Relation) -> None:
        """Add to what an entity is to this Being; what is there stays."""
        told = [self._sieve.text(line) for line in relation.lines]
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
                now = self._keeper.clock()
                relate(unit, relation.entity, relation.kind, content, "upsert", _CALLER, now)


class _Before:
    """What was imported before, or known at some time: also what has been taken back since."""

    def __init__(self, unit: Unit) -> None:
        # The day of a file is another one when the file has grown: such memories are known by
        # their file and words.
        rows = unit.rows(
            "SELECT conversation, action FROM nodes WHERE being = $being AND token = ?", TOKEN
        )
        self._actions = {(place, folded(action)) for place, action in rows}
        self._seen: set[str] = set()

    def look(self, unit: Unit, scenes: Sequence[Scene]) -> None:
        """Find out which of these were ever known."""
        sql = "SELECT said FROM nodes WHERE being = $being AND said IN (??)"
        prints = list({nodes.fingerprint(scene) for scene in scenes})
        self._seen.update(said for (said,) in unit.among(sql, prints))

    def has(self, one: Kept, scene: Scene) -> bool:
        """Whether this is known; from now on it is."""
        key = nodes.fingerprint(scene)
        known = key in self._seen
        self._seen.add(key)
        return known or (not one.dated and (one.place, folded(scene.action)) in self._actions)


def _note(kept: Kept, now: float) -> Note:
    source = Source(kept.speaker, TOKEN, kept.place)
    return Note(str(uuid4()), now, kept.scene, "", source)


def _conversations(messages: Sequence[Spoken]) -> dict[str, list[Spoken]]:
    found: dict[str, list[Spoken]] = defaultdict(list)
    for one in messages:
        found[one.conversation].append(one)
    return found


def _in_time(spoken: Sequence[Spoken]) -> Iterator[Message]:
    """The messages of a conversation; those of one moment follow one another."""
    last = float("-inf")
    for one in spoken:
        last = one.at if one.at > last else last + _BETWEEN
        yield Message(one.role, one.text, last, one.speaker)


def _told(said: Sequence[Said], speakers: dict[str, str]) -> int:
    """How many memories messages would make, at most."""
    named = {one: speaker or USER for one, speaker in speakers.items()}
    return len(extract(said, named, (), None)[0])
