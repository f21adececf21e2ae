"""❶ Makes memories of scenes, each once: what is known already is not added again.

A scene that repeats a memory, and one that a conversation writes down again after recall has told
it, is not new. Case and punctuation do not count; a word more, another number, another tense or
another order of words does, because then something else is said. So does another speaker: "I" is
somebody else then.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import msgspec

from clawkit.memory import people
from clawkit.memory.patrol import PatrolContext, centroids
from clawkit.memory.patrol.transcript import without_recall
from clawkit.memory.patrol.vectors import ahead, texts_of, vectors_of
from clawkit.memory.recall.index_text import words_of_node
from clawkit.memory.records import USER, Change, MemorySource, Node, Note, Scene
from clawkit.memory.store import ledger, nodes, notes, reads
from clawkit.store.database import Unit, keepable
from clawkit.text.counts import counted
from clawkit.text.tokenizer import folded, folded_words, terms

if TYPE_CHECKING:
    from clawkit.memory.patrol.vectors import Embed

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_RAREST = 3
_MOST_COMPARED = 50
_TOO_FREQUENT = 1000
_FEWEST_WORDS_OF_NEWS = 4


class KnownScenes:
    """Looks up which of many scenes are remembered already."""

    def __init__(self, unit: Unit, scenes: Sequence[Scene]) -> None:
        self._unit = unit
        self._told: dict[str, frozenset[int]] = {}
        self._same = nodes.same_words(unit, scenes)
        words = {word for scene in scenes for word in terms(scene.action)}
        self._frequencies = nodes.word_frequencies(unit, sorted(words))

    def find(self, scene: Scene, source: MemorySource) -> Node | None:
        """The current memory that says this already; a phrase of talk is never news."""
        talk = bool(source.message)
        for same in self._same.get(nodes.fingerprint(scene), ()):
            if same.source.voice == source.voice:
                return same
        told = self._told_to(source)
        for node in self._candidates(scene):
            if not _says(node.scene, scene):
                continue
            if node.seq in told:
                # Also one that has ended: to repeat it is no way to bring it back.
                return node
            if node.ended is not None or node.source.voice != source.voice:
                continue
            same_day = not scene.when or scene.when == node.scene.when
            same_day = same_day or (talk and is_phrase(scene))
            if same_day and _same_people(scene, node.scene):
                return node
        return None

    def _told_to(self, source: MemorySource) -> frozenset[int]:
        """What the conversation was told in which this is said."""
        person = "" if source.speaker == USER else source.speaker
        conversation = reads.conversation_of(source.token, person, source.conversation)
        if not conversation:
            return frozenset()
        if conversation not in self._told:
            self._told[conversation] = reads.told(self._unit, conversation)
        return self._told[conversation]

    def _candidates(self, scene: Scene) -> list[Node]:
        # What came out of recall may begin with a day, and days are not among the indexed words.
        words = terms(_DAY.sub(" ", scene.action))
        found = sharing_rarest_words(self._unit, words, self._frequencies)
        return sorted(found, key=lambda node: node.ended is not None)


def sharing_rarest_words(
    unit: Unit, words: Collection[str], frequencies: Mapping[str, int], before: int | None = None
) -> list[Node]:
    """The newest memories with a text's rarest words, of those before a number; in their order.

    None where no memory has one of the words, or too many have all of them.
    """
    if not words or any(word not in frequencies for word in words):
        return []
    rarest = sorted(words, key=lambda word: (frequencies[word], word))[:_RAREST]
    if frequencies[rarest[0]] > _TOO_FREQUENT:
        return []
    seqs = [int(seq) for seq in nodes.having_all(unit, rarest) if before is None or seq < before]
    found = nodes.fetch(unit, seqs[-_MOST_COMPARED:])
    return [found[seq] for seq in sorted(found)]


class BatchScenes:
    """Detects duplicates among the scenes of one batch."""

    def __init__(self) -> None:
        self._places: dict[tuple[object, ...], int] = {}

    def place(self, scene: Scene, source: MemorySource, at: int) -> int:
        """The index of the first scene that says the same; `at` if this is the first."""
        key = folded_words(scene.action) or scene.action, scene.setting, folded_names(scene.actors)
        return self._places.setdefault((*key, scene.when, source.voice), at)


def _says(old: Scene, new: Scene) -> bool:
    """Whether the new one says what happened in the same order, and nothing the old one does not.

    What surrounds it may be a date or a place, as an answer of recall has them.
    """
    said, known = folded_words(new.action), folded_words(old.action)
    around = (*old.when, old.setting, old.feeling, *old.actors, *old.themes)
    if not said or not set(said) <= {*known, *folded_words(" ".join(around))}:
        return False
    starts = range(len(said) - len(known) + 1)
    return any(said[start : start + len(known)] == known for start in starts)


def is_phrase(scene: Scene) -> bool:
    """Whether it is too short to be news on another day, such as "ok, thanks"."""
    return len(folded_words(scene.action)) < _FEWEST_WORDS_OF_NEWS


def _same_people(new: Scene, old: Scene) -> bool:
    return not new.actors or folded_names(new.actors) == folded_names(old.actors)


def folded_names(names: Collection[str]) -> frozenset[str]:
    return frozenset(folded(name).strip() for name in names)


def union(*groups: Sequence[str]) -> tuple[str, ...]:
    """What is in any of them, each once, in order."""
    return tuple(dict.fromkeys(one for group in groups for one in group))


def keep(
    unit: Unit, drafts: Sequence[Node], embed: Embed | None
) -> tuple[list[Node], list[Change]]:
    """Store new nodes, assign their numbers, and put those without a cluster into the nearest."""
    if not drafts:
        return [], []
    scenes, speakers = [one.scene for one in drafts], [one.source.speaker for one in drafts]
    texts = texts_of(unit, scenes, speakers)
    vectors = vectors_of(embed, texts)
    near: list[int | None] = [None] * len(drafts)
    if embed is not None and vectors is not None:
        near = centroids.nearest(unit, embed.model, vectors)
    roots: dict[str, int] = {}
    first = nodes.reserve(unit, len(drafts))
    kept: list[Node] = []
    for at, one in enumerate(drafts):
        cluster = one.cluster or near[at]
        if not cluster:
            name = centroids.root_for(one.scene)
            if name not in roots:
                roots[name] = centroids.root(unit, name)
            cluster = roots[name]
        kept.append(msgspec.structs.replace(one, seq=first + at, cluster=cluster))
    nodes.add(unit, kept)
    nodes.index_words(unit, {node.seq: words_of_node(node) for node in kept})
    if embed is not None and vectors is not None:
        unit.vectors.put(embed.model, [node.seq for node in kept], vectors)
        centroids.recompute(unit, {node.cluster for node in kept}, embed.model)
    return kept, [ledger.created(node.seq for node in kept)]


_AT_ONCE = 1000
_ROUNDS = 1000
_ONCE, _FROM_THE_DEAD = 1, 2


def remember(
    unit: Unit, given: Sequence[Note], embed: Embed | None, now: float, token: str
) -> list[Node]:
    """Make memories of notes; gives the new ones.

    A scene that is remembered already makes its memory more alive instead; one that has no words
    of its own becomes nothing.
    """
    scenes = [cleaned(note.scene) for note in given if note.scene]
    known, seen = KnownScenes(unit, scenes), BatchScenes()
    drafts: list[Node] = []
    became: dict[str, int] = {}
    later: dict[str, int] = {}
    for note, scene in zip(given, scenes, strict=True):
        if not scene.action:
            became[note.id] = 0
            continue
        old = known.find(scene, note.source)
        if old is not None:
            became[note.id] = old.seq
            touch(unit, old, now)
            continue
        later[note.id] = seen.place(scene, note.source, len(drafts))
        if later[note.id] == len(drafts):
            # A clock that went back must not make a memory that is younger than now.
            drafts.append(draft(scene, min(note.created, now), note.source))
    people.learn(unit, given)
    kept, changes = keep(unit, drafts, embed)
    became |= {note: kept[at].seq for note, at in later.items()}
    notes.became(unit, became)
    if changes:
        why = counted(len(kept), "new memory")
        ledger.add(unit, now, "remembered", why, token, changes)
    return kept


def remember_waiting(run: PatrolContext) -> int:
    """Make memories of all notes that wait for a patrol; returns how many."""
    database, being = run.database, run.being
    for _ in range(_ROUNDS):
        with database.read(being) as unit:
            waiting = notes.without_node(unit, _AT_ONCE)
        if not waiting:
            break
        scenes = [cleaned(note.scene) for note in waiting if note.scene]
        speakers = [note.source.speaker for note in waiting]
        embed = ahead(database, being, run.embedder, scenes, speakers)
        with database.write(being) as unit:
            # Others may have seen to some of them meanwhile.
            still = {note.id for note in notes.without_node(unit, _AT_ONCE)}
            left = [note for note in waiting if note.id in still]
            remember(unit, left, embed, run.now, run.token)
    with database.write(being) as unit:
        return notes.take_waiting(unit)


def cleaned(scene: Scene) -> Scene:
    """The scene without what recall has put into it and what no store can hold."""
    weight = scene.importance
    return Scene(
        action=_cleaned_text(scene.action),
        actors=_cleaned_names(scene.actors),
        when=_cleaned_names(scene.when),
        setting=_cleaned_text(scene.setting),
        feeling=_cleaned_text(scene.feeling),
        themes=_cleaned_names(scene.themes),
        importance=min(1.0, max(0.0, weight)) if math.isfinite(weight) else 0.5,
        context=_cleaned_text(scene.context),
    )


def _cleaned_text(text: str) -> str:
    return keepable(without_recall(text)).strip()


def _cleaned_names(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(keepable(name).strip() for name in names if name.strip())


def touch(unit: Unit, node: Node, now: float) -> None:
    """Count a repetition as a use of the memory."""
    times = _FROM_THE_DEAD if node.status == "dead" else _ONCE
    nodes.touch(unit, {node.seq: times}, max(now, node.last_activated))


def draft(scene: Scene, created: float, source: MemorySource, **values: Any) -> Node:
    """A new node, which gets its number when it is kept."""
    return Node(0, str(uuid4()), scene, created, source, last_activated=created, **values)
