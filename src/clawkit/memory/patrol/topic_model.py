"""Finds topics without a model: distinctive words, and average-link clustering of memories.

Words of one family count together: other endings of a word, and for a German one the compounds
that begin or end with it. Scripts without spaces have no words to begin with, so each short run of
characters is one, and the longest that is as frequent as its parts is the one that is shown.

Average-link agglomeration: the two groups that are nearest to each other become one, until none
are near enough. It is exact and always the same; who calls it gives it no more than a sample.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.text.tables import word_lists
from clawkit.text.tokenizer import UNSPACED_RUN, folded, stem, words_that_say_little

if TYPE_CHECKING:
    from clawkit.store.arrays import Floats

WORDS_IN_A_NAME = 3

_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0e31-\u0e4e\u1780-\u17d3"
_WORD = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+(?:-(?:[^\W\d_]|[{_MARKS}])+)*")
_CLITIC = re.compile(
    r"(?<=\w)[’'](?:s|t|m|re|ve|ll|d)\b|(?<=\w)n[’']t\b|\b[ldjmnstcq][’'](?=\w)", re.IGNORECASE
)
_HANGUL = re.compile("[\uac00-\ud7af]+")
# Hiragana is mostly grammar, and so are these characters of Chinese.
_GRAMMAR = re.compile(
    "[\u3041-\u309f]+|[的了是在我你他她它们們这這那有和就不也都很会會要去说說吗嗎呢吧把被给給对對还還上下来來个個一天今昨明年月日]"
)
_SHORTEST, _SHORTEST_RUN, _LONGEST_RUN = 3, 2, 6
_LONGEST_TEXT = 2_000

_ENDINGS = ("e", "n", "en", "s", "es", "em", "a", "i", "o", "as", "os")
_SHORTEST_OF_FAMILY = 5
_SHORTEST_COMPOUND = 9

_COMMON = 0.15
"""The largest document frequency, as a share, of a word that is still distinctive."""

_FEW, _HALF = 20, 0.5
"""In small memories: half of the texts, up to so many."""

_DOUBT = 3.0
"""Smoothing: how many texts without evidence are added to a word's count."""

_LEAST_WEIGHT = 0.03
_WEIGHT_OF_NAMES = 0.08
_LEAST_LIFT = 3.0
_LEAST_TEXTS = 3
_LEAST_SHARE = 0.2
_LEAST_SHARE_OF_FURTHER = 0.15
_LEAST_COVERED = 0.5
_AS_FREQUENT = 0.75


def _keys(given: Iterable[str]) -> frozenset[str]:
    words = [folded(word) for word in given]
    return frozenset((*words, *map(stem, words), *(stem(f"{word}s") for word in words)))


_LITTLE = _keys(words_that_say_little().union(*word_lists("no_topics").values()))


class TopicWords(msgspec.Struct, frozen=True):
    """The words of many texts: an inverted index, spellings, and how distinctive each word is."""

    texts: list[frozenset[str]]
    having: dict[str, list[int]]
    spellings: dict[str, str]
    weights: dict[str, float]

    def name(self, members: Collection[int], without: Collection[str] = ()) -> str:
        """What a topic of these texts is called; nothing where no word tells it from the rest.

        `without` are words that may not be in the name, as they are written.
        """
        inside = Counter(word for at in members for word in self.texts[at])
        scores = {
            word: count
            * math.log(self._lift(word, count, len(members)))
            * (0.1 + self.weights[word])
            for word, count in inside.items()
            if word in self.weights
            and self.spellings[word] not in without
            and self._lift(word, count, len(members)) >= _LEAST_LIFT
        }
        best = sorted(scores, key=lambda word: (-scores[word], word))
        first = next(iter(best), "")
        if not first or inside[first] < max(_LEAST_TEXTS, _LEAST_SHARE * len(members)):
            return ""
        further = max(2.0, _LEAST_SHARE_OF_FURTHER * len(members))
        chosen = self._apart(word for word in best if inside[word] >= further)
        covered = sum(not self.texts[at].isdisjoint(chosen) for at in members)
        if covered < _LEAST_COVERED * len(members):
            return ""
        return ", ".join(self.spellings[word] for word in chosen)

    def _lift(self, word: str, inside: int, size: int) -> float:
        """How much more frequent a word is among so many texts than among the others."""
        outside = len(self.having[word]) - inside + 0.5
        return (inside / size) * (len(self.texts) - size + 1) / outside

    def _apart(self, words: Iterable[str]) -> list[str]:
        """The first few; none that is part of another."""
        found: list[str] = []
        for word in words:
            whole = self._whole(word)
            if any(whole in other or other in whole for other in found):
                continue
            found.append(whole)
            if len(found) == WORDS_IN_A_NAME:
                break
        return found

    def _whole(self, word: str) -> str:
        """In a script without spaces, the longest run that is nearly as frequent as this one."""
        if not UNSPACED_RUN.fullmatch(word):
            return word
        least = _AS_FREQUENT * len(self.having[word])
        longer = (
            other
            for other, having in self.having.items()
            if word in other and len(having) >= least and other in self.weights
        )
        return max(longer, key=lambda other: (len(other), len(self.having[other]), other))


def read(
    texts: Sequence[str], vectors: Floats, people: Collection[str], own: Collection[str]
) -> TopicWords:
    """The words of these texts; `people` are names that tell something, `own` those that do not.

    A word tells much when the texts that have it are near to each other; `vectors` are theirs.
    """
    nothing = {key for name in own for key in _written(name)}
    names = {key for name in people for key in _written(name)} - nothing
    found = [_written(text) for text in texts]
    spellings = _usual_spellings(found)
    families = _families(spellings.keys() - nothing)
    words = [
        frozenset(key for word in written for key in families.get(word, ())) for written in found
    ]
    having: dict[str, list[int]] = defaultdict(list)
    for at, keys in enumerate(words):
        for key in keys:
            having[key].append(at)
    most = max(_COMMON * len(texts), min(_FEW, _HALF * len(texts)))
    weights: dict[str, float] = {}
    for key in sorted(having):
        if 2 <= len(having[key]) <= most:
            weight = _nearness(vectors[having[key]])
            weight = max(weight, _WEIGHT_OF_NAMES) if key in names else weight
            if weight > _LEAST_WEIGHT:
                weights[key] = weight
    return TopicWords(words, dict(having), spellings, weights)


def _nearness(vectors: Floats) -> float:
    """The mean cosine of texts to each other; less where they are few."""
    count = len(vectors)
    total = vectors.sum(axis=0)
    return float((total @ total - count) / (count * (count - 1 + _DOUBT)))


def _written(text: str) -> dict[str, str]:
    """The words of a text that say something, each with one way it is written there."""
    found: dict[str, str] = {}
    for match in _WORD.finditer(_CLITIC.sub(" ", text[:_LONGEST_TEXT])):
        end = 0
        for run in UNSPACED_RUN.finditer(match[0]):
            _put(found, match[0][end : run.start()])
            for part in _parts(run[0]):
                found.setdefault(folded(part), part)
            end = run.end()
        _put(found, match[0][end:])
    return found


def _put(found: dict[str, str], word: str) -> None:
    word = word.strip("-")
    key = stem(folded(word))
    if len(word) < _SHORTEST or key in _LITTLE or folded(word) in _LITTLE:
        return
    # A capital letter may only be there because a sentence begins with it.
    if key not in found or word.islower():
        found[key] = word


def _parts(run: str) -> Iterator[str]:
    """What may be words of a run without spaces; of a Korean one, its beginnings."""
    if _HANGUL.fullmatch(run):
        longest = min(len(run), _LONGEST_RUN)
        yield from (run[:end] for end in range(_SHORTEST_RUN, longest + 1))
        return
    for part in _GRAMMAR.split(run):
        for start in range(len(part) - 1):
            longest = min(len(part), start + _LONGEST_RUN)
            yield from (part[start:end] for end in range(start + _SHORTEST_RUN, longest + 1))


def _usual_spellings(found: Sequence[dict[str, str]]) -> dict[str, str]:
    """Each word as it is written most often."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    for written in found:
        for key, spelling in written.items():
            counted[key][spelling] += 1
    return {
        key: max(forms, key=lambda form: (forms[form], form.islower(), form))
        for key, forms in counted.items()
    }


def _families(words: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Each word with the keys it counts under: its short form, and the parts of a compound."""
    known = frozenset(words)
    return {word: (_short(word, known), *_ends(word, known)) for word in words}


def _short(word: str, known: frozenset[str]) -> str:
    for ending in _ENDINGS:
        left = word.removesuffix(ending)
        if left != word and len(left) >= _SHORTEST_OF_FAMILY and left in known:
            return left
    return word


def _ends(word: str, known: frozenset[str]) -> list[str]:
    if len(word) < _SHORTEST_COMPOUND or UNSPACED_RUN.search(word):
        return []
    cuts = range(_SHORTEST_OF_FAMILY, len(word) - 2)
    first = next((word[:at] for at in reversed(cuts) if word[:at] in known), "")
    last = next((word[-at:] for at in reversed(cuts) if word[-at:] in known), "")
    return [part for part in (first, last) if part]


_OF_WORDS = 2.0
_MOST_OF_WORDS = 0.4
_DECIMALS = 5
_NEVER = -9.0


def similarity(vectors: Floats, words: TopicWords, at: Sequence[int]) -> Floats:
    """How near each of these texts is to each: the cosine, and more for the words they share."""
    columns = {word: column for column, word in enumerate(sorted(words.weights))}
    shared = np.zeros((len(at), len(columns)), np.float32)
    for row, text in enumerate(at):
        for word in words.texts[text]:
            if word in columns:
                shared[row, columns[word]] = math.sqrt(words.weights[word])
    rows = vectors[list(at)]
    near = rows @ rows.T + _OF_WORDS * np.minimum(shared @ shared.T, _MOST_OF_WORDS)
    return near.round(_DECIMALS).astype(np.float32)


def groups(near: Floats, least: float) -> list[list[int]]:
    """Groups whose members are `least` near to each other on average; the largest first."""
    members = {at: [at] for at in range(len(near))}
    state = _State(near)
    while (pair := state.nearest(least)) is not None:
        kept, gone = pair
        members[kept] += members.pop(gone)
        state.join(kept, gone)
    return sorted((sorted(group) for group in members.values()), key=lambda g: (-len(g), g[0]))


class _State:
    """The current groups, their similarities, and each one's nearest neighbour."""

    def __init__(self, near: Floats) -> None:
        self._near = near.copy()
        np.fill_diagonal(self._near, _NEVER)
        self._sizes = np.ones(len(near), np.float32)
        self._there = np.ones(len(near), bool)
        self._best = self._near.argmax(axis=1)
        self._how_near = self._near.max(axis=1)

    def nearest(self, least: float) -> tuple[int, int] | None:
        if not len(self._near):
            return None
        one = int(self._how_near.argmax())
        if self._how_near[one] < least:
            return None
        other = int(self._best[one])
        return min(one, other), max(one, other)

    def join(self, kept: int, gone: int) -> None:
        sizes, near = self._sizes, self._near
        both = sizes[kept] + sizes[gone]
        row = (sizes[kept] * near[kept] + sizes[gone] * near[gone]) / both
        self._there[gone] = False
        row[~self._there] = _NEVER
        row[kept] = _NEVER
        near[kept] = near[:, kept] = row
        near[gone] = near[:, gone] = _NEVER
        sizes[kept] = both
        stale = self._there & ((self._best == kept) | (self._best == gone))
        stale[kept] = True
        for at in np.flatnonzero(stale).tolist():
            self._best[at] = near[at].argmax()
            self._how_near[at] = near[at].max()
        nearer = self._there & (row > self._how_near)
        self._best[nearer] = kept
        self._how_near[nearer] = row[nearer]
        self._how_near[gone] = _NEVER
