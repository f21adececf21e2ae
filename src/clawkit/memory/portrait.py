"""What is known of a person: who they are, home, work, people, health, what they like, what holds.

No model writes it. Standing questions, asked as a person would ask them, each find their best
memories by meaning and by words that tell of it; a memory stands under the one heading that it is
nearest to, if it is near enough. What only asks, thanks or agrees tells nothing. Where something
newer says that a matter has changed, it comes first, and what was so before is told after it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta
from itertools import zip_longest
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory import people
from clawkit.memory.recall.index_text import day_terms, days_of
from clawkit.memory.records import Node
from clawkit.memory.store import nodes
from clawkit.text.calendar.named_days import day_of
from clawkit.text.cues import only_asks, says_cancelled, says_change, wants_done
from clawkit.text.spoken_secrets import has_removed
from clawkit.text.tokenizer import sentences, telling_words, terms

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.store.arrays import Floats
    from clawkit.store.database import Unit


class StandingQuestion(msgspec.Struct, frozen=True):
    """A question to know a person by, with keywords."""

    title: str
    question: str
    words: tuple[str, ...]


WHO, AHEAD = "Who", "Ahead"
_TABLE = (
    ("Home", "Where do I live?", "live home address street town"),
    ("Home", "Which flat or house did I move into?", "house flat apartment rent landlord moved"),
    ("Work", "What is my job, and where do I work now?", "job work profession retired employed"),
    ("Work", "Who is my boss?", "boss manager supervisor"),
    ("Work", "What does our company do?", "company firm business customers"),
    ("Work", "When do we open?", "open closed hours"),
    ("People", "Who is my husband, wife or partner?", "husband wife partner married"),
    ("People", "What are my children called?", "son daughter child grandchild"),
    ("People", "How are my parents?", "mother father parents"),
    ("People", "Who is my friend, my brother or my sister?", "friend brother sister"),
    ("People", "Is somebody pregnant or ill?", "pregnant baby ill dementia"),
    ("People", "Which animals do I have?", "dog cat horse pet"),
    ("Health", "What am I allergic to?", "allergic allergy intolerance"),
    ("Health", "Which medicine do I take now, and how much?", "medicine tablet dose milligrams"),
    ("Health", "Which illness do I have?", "illness diagnosis pain doctor"),
    ("Health", "When is my operation?", "operation surgery hospital"),
    ("Likes", "What do I like?", "like love favourite hobby"),
    ("Likes", "What do I not eat?", "hate dislike vegetarian"),
    ("Decided", "What did we decide?", "decided agreed rule"),
    ("Decided", "Which code opens the door?", "code password key"),
    ("Decided", "How much may it cost?", "limit budget deadline"),
)
QUESTIONS = tuple(
    StandingQuestion(title, question, tuple(words.split())) for title, question, words in _TABLE
)
_TITLES = tuple(dict.fromkeys(one.title for one in QUESTIONS))
MORE = "More"
_NEAREST = 30
"""How many memories are looked at for each question."""

_EACH = 3
_LEAST_WORDS, _LEAST_MORE = 2, 4
"""How many telling words a memory has, and one that stands under no heading."""

_BAR, _BAR_ALONE, _HEADED = 0.21, 0.15, 0.45
"""How near a memory is to a question, with what its words mean and without, and to its heading."""

_BY_WORDS, _HEADED_BY_WORDS = 0.15, 0.5
_IMPORTANT, _OWN, _RECENT, _EARLY, _LONG = 0.35, 0.15, 0.2, 0.1, 0.15
_OF_ANOTHER = 0.2
"""Weights beside relevance, tuned on the synthetic lives."""

_MONTH = 30 * 86_400.0
_TYPICAL_LENGTH = 4.0
_FIRST, _MOST_FIRST, _MOST_INTRODUCED = 16, 4, 8
_FIRST_TOLD = 40
_AHEAD_DAYS = 45
_MOST_AHEAD = 8
_BESIDE = 12
_MOST_CHANGES = 4
_SAME_MATTER, _SHARED = 0.53, 0.08
_RARE, _FEW = 0.04, 5
"""The largest document frequency, as a share and as a count, of a word that identifies a topic."""


_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Told(msgspec.Struct, frozen=True):
    """A memory that holds now, and the one that it replaced."""

    node: Node
    before: Node | None = None


class Part(msgspec.Struct, frozen=True):
    """One side of a person, and the memories that tell of it, the most telling first."""

    title: str
    told: tuple[Told, ...]


def portrait(unit: Unit, embedder: Embedder | None, now: float, asker: str = "") -> list[Part]:
    """The parts for which something is known; where many speak, rather of the one who asks."""
    changes = _Changes(unit, embedder)
    ahead, over = _ahead(unit, now, changes)
    seen = {node.seq for told in ahead for node in (told.node, told.before) if node is not None}
    seen |= over
    parts: dict[str, list[Told]] = {title: [] for title in (WHO, *_TITLES, AHEAD, MORE)}

    def tell(title: str, told: Told) -> bool:
        new = told.node.seq not in seen
        seen.update(node.seq for node in (told.node, told.before) if node is not None)
        if new:
            parts[title].append(told)
        return new

    known = _Candidates(unit, embedder, now, asker)
    for node in _introductions(unit, asker):
        if people.introduced(node.scene.action):
            tell(WHO, Told(node))
        else:
            tell(known.heading(node) if parts[WHO] else WHO, changes.since(node))
    for ranked in known.answers():
        left = _EACH
        for place in ranked:
            left -= tell(known.titles[place], changes.since(known.found[place]))
            if not left:
                break
    parts[AHEAD] = ahead
    return [Part(title, tuple(told)) for title, told in parts.items() if told]


def tells(node: Node) -> bool:
    """Whether a memory tells something that holds; small talk, questions and requests do not,
    nor what was about a secret that is not kept.
    """
    text = node.scene.action
    return (
        node.ended is None
        and not only_asks(text)
        and not wants_done(text)
        and not has_removed(text)
        and len(telling_words(text)) >= _LEAST_WORDS
    )


def best_of(parts: Sequence[Part], asker: str, count: int) -> list[Told]:
    """The most telling of all parts, of one of many only what is of them."""
    rows = zip_longest(*(part.told for part in parts if part.title != MORE))
    every = [told for row in rows for told in row if told is not None]
    return [told for told in every if not asker or is_of(told.node, asker)][:count]


def is_of(node: Node, person: str) -> bool:
    """Whether a person told it of themselves, or it names them and is of nobody else."""
    if people.is_same((person.casefold(),), node.source.speaker):
        return True
    text = node.scene.action
    named = people.names_of(frozenset((person,))).named(text)
    return bool(named) and not people.speaks_of_self(text)


def _introductions(unit: Unit, asker: str) -> list[Node]:
    """What people said first, when they say who they are, and where each of them is first named."""
    voices = [asker] * bool(asker) + sorted(people.known(unit).voices - {asker})
    named = [_first_of(unit, name) for name in voices[:_MOST_INTRODUCED]]
    early = filter(tells, nodes.page(unit, order="seq", limit=_FIRST))
    own = [node for node in early if people.speaks_of_self(node.scene.action)]
    own.sort(key=lambda node: not people.introduced(node.scene.action))
    first = [*named[: bool(asker)], *own[:_MOST_FIRST], *named[bool(asker) :]]
    return list({node.seq: node for node in first if node is not None}.values())


def _first_of(unit: Unit, name: str) -> Node | None:
    """Where somebody says who they are, else where they are first named."""
    seqs = [int(seq) for seq in nodes.having_all(unit, list(terms(name)))[:_FIRST]]
    found = [node for node in nodes.fetch(unit, seqs).values() if tells(node)]
    return min(found, key=lambda node: not people.introduced(node.scene.action), default=None)


class _Candidates:
    """The memories that may answer a standing question; none where there are no vectors."""

    def __init__(self, unit: Unit, embedder: Embedder | None, now: float, asker: str) -> None:
        self.found: list[Node] = []
        self.titles: list[str] = []
        if embedder is None or not unit.vectors.counts().get(embedder.name):
            return
        asked = getattr(embedder, "ask", embedder.embed)([one.question for one in QUESTIONS])
        about = embedder.embed([" ".join(one.words) for one in QUESTIONS])
        hidden = {int(seq) for seq in nodes.hidden(unit)}
        near: set[int] = set()
        for vector in (*asked, *about):
            near.update(unit.vectors.nearest(embedder.name, vector, _NEAREST, hidden)[0])
        there = nodes.fetch(unit, sorted(near)).values()
        self.found = [node for node in there if tells(node) and not _is_over(node, now)]
        if not self.found:
            return
        vectors = unit.vectors.fetch(embedder.name, [node.seq for node in self.found])
        fit: Floats = np.stack([vectors[node.seq] for node in self.found]) @ asked.T
        words = getattr(embedder, "words", None)
        by_words: Floats = np.zeros_like(fit) if words is None else _by_words(self.found, words)
        self._fit = _sum(fit, _BY_WORDS, by_words)
        self._bar = _BAR_ALONE if words is None else _BAR
        own = people.known(unit).own
        self._worth = np.array([_worth(node, own, now, asker) for node in self.found], np.float32)
        self.titles = _headings(_sum(fit, _HEADED_BY_WORDS, by_words))
        for place, node in enumerate(self.found):
            if self.titles[place] == MORE and len(telling_words(node.scene.action)) < _LEAST_MORE:
                self._fit[place] = 0.0

    def heading(self, node: Node) -> str:
        """Where it belongs; who somebody is, where it has no heading."""
        titles = [title for one, title in zip(self.found, self.titles, strict=True) if one == node]
        return next((title for title in titles if title != MORE), WHO)

    def answers(self) -> list[list[int]]:
        """For each question, the indexes of the candidates above the bar, the best first."""
        if not self.found:
            return []
        scores = np.where(self._fit >= self._bar, self._fit + self._worth[:, None], -np.inf)
        ranked = np.argsort(-scores, axis=0, kind="stable").T
        return [
            [int(place) for place in order if scores[place, at] > -np.inf]
            for at, order in enumerate(ranked)
        ]


def _sum(fit: Floats, weight: float, by_words: Floats) -> Floats:
    return (fit + weight * by_words).astype(np.float32)


def _headings(fit: Floats) -> list[str]:
    """The heading that each is nearest to, if it is near enough."""
    best = [int(at) for at in fit.argmax(axis=1)]
    return [
        QUESTIONS[at].title if row[at] >= _HEADED else MORE
        for at, row in zip(best, fit, strict=True)
    ]


def _by_words(found: Sequence[Node], words: Callable[[list[str]], Floats]) -> Floats:
    """For each memory and question, the best cosine of any word with any keyword."""
    texts = [list(telling_words(node.scene.action)) for node in found]
    every = list(dict.fromkeys(word for text in texts for word in text))
    places = {word: at for at, word in enumerate(every)}
    vectors = words(every)
    near = np.stack([(vectors @ words(list(one.words)).T).max(axis=1) for one in QUESTIONS], axis=1)
    return np.stack([near[[places[word] for word in text]].max(axis=0) for text in texts])


def _worth(node: Node, own: Collection[str], now: float, asker: str) -> float:
    """A memory's score beside relevance: whose it is, how important, how new, how long."""
    text = node.scene.action
    mine = people.speaks_of_self(text) or any(is_of(node, name) for name in own)
    of_another = bool(asker and node.source.speaker) and not is_of(node, asker)
    recent = 1 / (1 + max(0.0, now - node.created) / _MONTH)
    length = min(1.5, math.log1p(len(text.encode())) - _TYPICAL_LENGTH)
    return (
        _IMPORTANT * node.scene.importance
        + _OWN * mine
        + _RECENT * recent
        + _EARLY * (node.seq <= _FIRST_TOLD)
        + _LONG * length
        - _OF_ANOTHER * of_another
    )


def _is_over(node: Node, now: float) -> bool:
    """Whether it announced a day that has passed, and nothing that began then."""
    text = node.scene.action
    told, today = day_of(node.created), day_of(now)
    days = [day for day in days_of(node.scene.when) if day > told]
    passed = bool(days) and max(days) < today
    return passed and len(sentences(text)) == 1 and not says_change(text)


class _Changes:
    """Follows a memory to newer ones that say what has changed since."""

    def __init__(self, unit: Unit, embedder: Embedder | None) -> None:
        self._unit = unit
        self._model = embedder.name if embedder is not None else ""
        self._hidden = {int(seq) for seq in nodes.hidden(unit)}
        there = people.known(unit)
        self._names = set(terms(" ".join(there.names | there.voices)))
        self._common = max(_FEW, _RARE * nodes.top(unit))

    def since(self, node: Node, *, of_anybody: bool = False) -> Told:
        """What became of it; `of_anybody`, also as others tell it, where neither tells of self."""
        newest = node
        for _ in range(_MOST_CHANGES):
            later = self._later(newest, of_anybody=of_anybody)
            if later is None:
                break
            newest = later
        return Told(newest, None if newest is node else node)

    def _later(self, node: Node, *, of_anybody: bool) -> Node | None:
        vector = self._unit.vectors.fetch(self._model, [node.seq]).get(node.seq)
        if vector is None:
            return None
        near, cosines = self._unit.vectors.nearest(self._model, vector, _BESIDE, self._hidden)
        cosine = dict(zip(near, cosines, strict=True))
        matter = self._matter(node)

        def alike(other: Node) -> float:
            shared = len(matter & set(telling_words(other.scene.action).values()))
            return cosine[other.seq] + _SHARED * shared if shared else 0.0

        later = [
            other
            for other in nodes.fetch(self._unit, near).values()
            if other.told_at > node.told_at
            and (
                other.source.voice == node.source.voice or (of_anybody and _of_others(node, other))
            )
            and says_change(other.scene.action)
            and tells(other)
        ]
        best = max(later, key=alike, default=None)
        return best if best is not None and alike(best) >= _SAME_MATTER else None

    def _matter(self, node: Node) -> set[str]:
        """The words that say what it is about: no names of those who speak, no days, nothing
        common.
        """
        text = _DAY.sub(" ", node.scene.action)
        stems = set(telling_words(text).values()) - self._names
        there = nodes.word_frequencies(self._unit, list(stems))
        return {stem for stem in stems if there.get(stem, 0) <= self._common}


def _of_others(*told: Node) -> bool:
    return not any(people.speaks_of_self(node.scene.action) for node in told)


def _ahead(unit: Unit, now: float, changes: _Changes) -> tuple[list[Told], set[int]]:
    """What is to come, the next first, what was moved as it is now; and which plans are over."""
    today = day_of(now)
    days = [today + timedelta(step) for step in range(_AHEAD_DAYS)]
    found = nodes.fetch(unit, nodes.having_any(unit, day_terms(days)))

    def coming(node: Node) -> list[date]:
        """Days to come that it names; the day on which it was told is none of them."""
        told = day_of(node.created)
        return [day for day in days_of(node.scene.when) if day >= today and day != told]

    ahead = [node for node in found.values() if coming(node) and tells(node)]
    ahead.sort(key=lambda node: (min(coming(node)), -node.created))
    plans: dict[int, Told] = {}
    over: set[int] = set()
    for node in ahead:
        told = changes.since(node, of_anybody=True)
        if told.before is not None:
            over.add(node.seq)
        if told.before is None or coming(told.node) or not says_cancelled(told.node.scene.action):
            plans.setdefault(told.node.seq, told)
    return [told for seq, told in plans.items() if seq not in over][:_MOST_AHEAD], over
