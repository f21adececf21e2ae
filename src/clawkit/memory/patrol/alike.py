"""Whether a scene is already remembered, in these or nearly these words.

A scene that repeats a memory, and one that a conversation writes down again after recall has told
it, is not new. Case and punctuation do not count; a word more, another number, another tense or
another order of words does, because then something else is said.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from clawkit.memory.records import Node, Scene
from clawkit.memory.store import nodes, postings, touches
from clawkit.memory.store.database import Unit
from clawkit.text.words import folded, terms

_WORD = re.compile(r"\w+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_RAREST = 3
_MOST_COMPARED = 50
_FEWEST_WORDS_OF_NEWS = 4


class Known:
    """What a Being remembers, asked for many scenes at once."""

    def __init__(self, unit: Unit, scenes: Sequence[Scene]) -> None:
        self._unit = unit
        self._told: dict[str, frozenset[int]] = {}
        self._same = nodes.same_words(unit, scenes)
        words = {word for scene in scenes for word in terms(scene.action)}
        self._frequencies = postings.frequencies(unit, sorted(words))

    def find(self, scene: Scene, conversation: str = "", *, talk: bool = False) -> Node | None:
        """The current memory that says this already; a phrase of talk is never news."""
        same = self._same.get(nodes.fingerprint(scene))
        if same is not None:
            return same
        told = self._told_to(conversation)
        for node in self._candidates(scene):
            if not _says(node.scene, scene):
                continue
            if node.seq in told:
                # Also one that has ended: to repeat it is no way to bring it back.
                return node
            if node.ended is not None:
                continue
            same_day = not scene.when or scene.when == node.scene.when
            same_day = same_day or (talk and is_phrase(scene))
            if same_day and _same_people(scene, node.scene):
                return node
        return None

    def _told_to(self, conversation: str) -> frozenset[int]:
        if not conversation:
            return frozenset()
        if conversation not in self._told:
            self._told[conversation] = touches.told(self._unit, conversation)
        return self._told[conversation]

    def _candidates(self, scene: Scene) -> list[Node]:
        """Memories that have the scene's rarest words; a word that no memory has makes it new."""
        # What came out of recall may begin with a day, and days are not among the indexed words.
        words = list(terms(_DAY.sub(" ", scene.action)))
        if not words or any(word not in self._frequencies for word in words):
            return []
        rarest = sorted(words, key=lambda word: (self._frequencies[word], word))[:_RAREST]
        if self._frequencies[rarest[0]] > _MOST_COMPARED * 20:
            return []
        seqs = postings.having_all(self._unit, rarest)[-_MOST_COMPARED:]
        found = nodes.fetch(self._unit, [int(seq) for seq in seqs])
        return sorted(found.values(), key=lambda node: (node.ended is not None, node.seq))


class Seen:
    """What was already among the scenes of one batch."""

    def __init__(self) -> None:
        self._places: dict[tuple[object, ...], int] = {}

    def place(self, scene: Scene, at: int) -> int:
        """Where the same was said first; `at` if that is here."""
        key = _words(scene.action) or scene.action, scene.setting, _folded(scene.actors)
        return self._places.setdefault((*key, scene.when), at)


def _says(old: Scene, new: Scene) -> bool:
    """Whether the new one says what happened in the same order, and nothing the old one does not.

    What surrounds it may be a date or a place, as an answer of recall has them.
    """
    said, known = _words(new.action), _words(old.action)
    around = (*old.when, old.setting, old.feeling, *old.actors, *old.themes)
    if not said or not set(said) <= {*known, *_words(" ".join(around))}:
        return False
    starts = range(len(said) - len(known) + 1)
    return any(said[start : start + len(known)] == known for start in starts)


def is_phrase(scene: Scene) -> bool:
    """Whether it is too short to be news on another day, such as "ok, thanks"."""
    return len(_words(scene.action)) < _FEWEST_WORDS_OF_NEWS


def _same_people(new: Scene, old: Scene) -> bool:
    return not new.actors or _folded(new.actors) == _folded(old.actors)


def _folded(names: Collection[str]) -> frozenset[str]:
    return frozenset(folded(name).strip() for name in names)


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(folded(text)))
