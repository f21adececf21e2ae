"""What is asked, what a memory says, and what speaks for it as an answer.

A question is read once: its words, the people and days it names, and what kind of question it is.
Whatever search, gate and recollection want to know of it they read here. For each candidate there
is one row of numbers, with one column for each signal. A remark in a conversation often answers the
one before it, so the words and the meaning of its neighbours count, too. Everything is computed
over the candidates at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from clawkit.memory.people import KnownPeople, first_name, names_of, speaks_of_self
from clawkit.memory.records import Node
from clawkit.text import cues
from clawkit.text.calendar import named_days
from clawkit.text.calendar.spans import Span
from clawkit.text.tokenizer import asked, content, telling_words, terms

if TYPE_CHECKING:
    from clawkit.store.arrays import Bools, Floats, Seqs

_ABOUT = frozenset(terms(cues.words_of_questions("about")))
"""Words of questions that ask for whatever is known about somebody."""

_HAPPENED = telling_words(cues.words_of_questions("happened")).keys()
"""Words of questions that ask for whatever there was on a day."""


class RecallQuestion(msgspec.Struct, frozen=True):
    """What is asked, and by whom."""

    text: str
    now: float
    people: KnownPeople
    """Whom the Being knows."""

    asker: str
    """Who says "I", casefolded; empty where the Being has one person."""

    named: frozenset[str]
    """Who is asked about, casefolded: those named, and the asker where others speak here, too."""

    days: tuple[Span, ...]
    """The days that it asks about."""

    masked: str
    """The text with "I" in place of every name that is known."""

    text_to_embed: str
    """The text with "I" in place of whoever speaks here, as memories are embedded."""

    terms: dict[str, float]
    """What is looked up in the index of words, with its weight between 0 and 1."""

    content: frozenset[str]
    """The terms of the words that carry what is asked."""

    telling_words: dict[str, str]
    """The words that say something, names apart, each with its stem."""

    is_about_past: bool
    """Whether it asks for what was so once."""

    is_about_somebody: bool
    """Whether it names a person or a day, or says "I"."""

    is_about_self_only: bool
    """Whether it says nothing but that it is about the one who asks."""

    asks_for_everything: bool
    """Whether it says nothing but whom it is about: somebody, or the one who asks."""

    asks_for_days: bool
    """Whether it says nothing but days, as "What happened last week?"."""

    asks_for_one_day: bool
    """Whether it says nothing but one day, which only what is of that day answers."""

    asks_when: bool
    asks_for_number: bool
    is_sum: bool
    """Whether it is only to be reckoned."""


def parse_question(text: str, now: float, asker: str, people: KnownPeople) -> RecallQuestion:
    """Read a question of `asker` to a Being that knows these people."""
    asker = asker.casefold()
    own = {name.casefold() for name in people.own}
    says_self = speaks_of_self(text)
    named = names_of(people.names).named(text) - own
    if asker and says_self:
        named |= {asker}
    masked = names_of(people.everybody).masked(text)
    text_to_embed = names_of(people.voices).masked(text)
    days = tuple(named_days.ranges(text, now))
    terms_of_content = frozenset(term for word in content(text) for term in word)
    topic = terms_of_content - _ABOUT
    about_self_only = says_self and all(map(speaks_of_self, topic))
    asks_for_days = bool(days) and masked == text and told_beside_days(text, now) <= _HAPPENED
    return RecallQuestion(
        text=text,
        now=now,
        people=people,
        asker=asker,
        named=named,
        days=days,
        masked=masked,
        text_to_embed=text_to_embed,
        terms=asked(text),
        content=terms_of_content,
        telling_words=telling_words(masked),
        is_about_past=cues.is_about_past(text),
        is_about_somebody=masked != text or says_self or bool(days),
        is_about_self_only=about_self_only,
        asks_for_everything=(
            topic <= terms(" ".join(named)).keys() if named and topic else about_self_only
        ),
        asks_for_days=asks_for_days,
        asks_for_one_day=asks_for_days and all(first == last for first, last in days),
        asks_when=cues.asks_when(text),
        asks_for_number=cues.asks_for_number(text),
        is_sum=cues.is_sum(text),
    )


def told_beside_days(text: str, now: float) -> frozenset[str]:
    """The words of a question that say something, and are not of the days that it names."""
    rest, end = "", 0
    for day in named_days.mentions(text, named_days.day_of(now), asking=True):
        rest += f"{text[end : day.start]} "
        end = day.end
    return frozenset(telling_words(rest + text[end:]))


SIGNALS = (
    *("words", "words_before", "words_after", "words_around"),
    *("meaning", "meaning_top", "meaning_before", "meaning_after", "meaning_around"),
    *("rank_words", "rank_meaning", "both"),
    *("speaker", "other_speaker"),
    *("session_words", "session_meaning", "session_spread"),
    *("time", "length", "asks", "answers_words", "answers_meaning"),
    *("tells_when", "tells_number", "importance"),
    *("mentioned", "recent", "question", "another_self"),
)

_TYPICAL_LENGTH = 4.0
_MONTH = 30 * 86_400.0


class Candidates(msgspec.Struct, frozen=True):
    """Memories that may answer, in the order of their numbers, and what the indexes say of them."""

    nodes: tuple[Node, ...]
    words: Floats
    """The BM25 score of each."""

    meaning: Floats
    """The cosine of each with the question."""

    best_words: float
    """The best BM25 score of all memories."""


def matrix(
    question: RecallQuestion, candidates: Candidates, wanted: Iterable[str] = SIGNALS
) -> Floats:
    """A row for each candidate, a column for each of `SIGNALS`; what is not `wanted` is 0."""
    nodes = candidates.nodes
    words: Floats = candidates.words / np.float32(max(candidates.best_words, 1e-6))
    meaning: Floats = np.maximum(candidates.meaning, np.float32(0.0))
    near = _Neighbours(nodes)
    above: Floats = meaning / np.float32(max(float(meaning.max(initial=0.0)), 1e-6))
    sessions = near.conversations

    @cache
    def asks() -> Floats:
        return np.array([cues.ends_asking(node.scene.action) for node in nodes], np.float32)

    @cache
    def spoken() -> Floats:
        return _spoken_by(nodes, question.named)

    columns: Mapping[str, Callable[[], Floats]] = {
        "words": lambda: words,
        "words_before": lambda: near.at(words, -1),
        "words_after": lambda: near.at(words, 1),
        "words_around": lambda: np.maximum(near.at(words, -2), near.at(words, 2)),
        "meaning": lambda: meaning,
        "meaning_top": lambda: above,
        "meaning_before": lambda: near.at(above, -1),
        "meaning_after": lambda: near.at(above, 1),
        "meaning_around": lambda: np.maximum(near.at(above, -2), near.at(above, 2)),
        "rank_words": lambda: _by_rank(words),
        "rank_meaning": lambda: _by_rank(meaning),
        "both": lambda: words * above,
        "speaker": spoken,
        "other_speaker": lambda: 1 - spoken() if question.named else spoken(),
        "session_words": lambda: _best_of(words, sessions),
        "session_meaning": lambda: _best_of(above, sessions),
        "session_spread": lambda: _mean_of_best(words + above, sessions),
        "time": lambda: _in_time(nodes, question.days),
        "length": lambda: _lengths(nodes),
        "asks": asks,
        "answers_words": lambda: near.at(asks(), -1) * near.at(words, -1),
        "answers_meaning": lambda: near.at(asks(), -1) * near.at(above, -1),
        "tells_when": lambda: _tells(nodes, question.asks_when, cues.tells_when),
        "tells_number": lambda: _tells(nodes, question.asks_for_number, cues.tells_number),
        "importance": lambda: np.array([one.scene.importance - 0.5 for one in nodes]),
        "mentioned": lambda: mentioned(nodes, question.named),
        "recent": lambda: _recent(nodes, question.now),
        "another_self": lambda: _of_another(nodes, question),
        "question": lambda: np.array([cues.only_asks(one.scene.action) for one in nodes]),
    }
    found = np.zeros((len(nodes), len(SIGNALS)), np.float32)
    for name in wanted:
        found[:, SIGNALS.index(name)] = columns[name]()
    return found


class _Neighbours:
    """Who stands next to whom in the same conversation."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        numbers: dict[str, int] = {}
        # What was said in no conversation stands alone.
        names = [node.source.conversation or f"\x00{at}" for at, node in enumerate(nodes)]
        self.conversations = np.array([numbers.setdefault(name, len(numbers)) for name in names])
        self._seqs = np.array([node.seq for node in nodes])
        self._places: dict[int, tuple[Seqs, Bools]] = {}

    def at(self, values: Floats, step: int) -> Floats:
        """The value of the one so many steps away, 0 where nobody is."""
        if step not in self._places:
            wanted, own = self._seqs + step, self.conversations
            places = np.minimum(np.searchsorted(self._seqs, wanted), len(wanted) - 1)
            self._places[step] = places, (self._seqs[places] == wanted) & (own[places] == own)
        places, there = self._places[step]
        return values[places] * there


def _by_rank(values: Floats) -> Floats:
    """1 for the best, a half for the sixth, a third for the eleventh; 0 for a zero."""
    ranks = np.empty(len(values), np.float32)
    ranks[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.where(values > 0, 5.0 / (5.0 + ranks), 0.0).astype(np.float32)


def _best_of(values: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    best = np.zeros(int(groups.max(initial=-1)) + 1, np.float32)
    np.maximum.at(best, groups, values)
    return best[groups]


def _mean_of_best(values: Floats, groups: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """The mean of the three best of each conversation: one that speaks of it at length."""
    order = np.lexsort((-values, groups))
    ordered = groups[order]
    first = np.searchsorted(ordered, ordered)
    top = order[np.arange(len(order)) - first < 3]
    return (np.bincount(groups[top], values[top]) / 3).astype(np.float32)[groups]


def _spoken_by(nodes: Sequence[Node], named: Collection[str]) -> Floats:
    """Whether a memory is of somebody who was named.

    That is the one who told it, else those who take part in it, else whoever its words name.
    """
    first_names = {name.split(" ")[0] for name in named}
    return np.array([bool(named) and _is_of(node, first_names) for node in nodes], np.float32)


def _is_of(node: Node, first_names: set[str]) -> bool:
    if node.source.speaker and node.source.conversation:
        return first_name(node.source.speaker) in first_names
    if not first_names.isdisjoint(map(first_name, node.scene.actors)):
        return True
    words = node.scene.action.casefold()
    return any(name in words for name in first_names)


def mentioned(nodes: Sequence[Node], named: Collection[str]) -> Floats:
    """The share of those who were named whom a memory is about: told by them, or of them."""
    if not named:
        return np.zeros(len(nodes), np.float32)
    first_names = [name.split(" ")[0] for name in named]
    return np.array([_share_of(first_names, node) for node in nodes], np.float32)


def _share_of(first_names: Sequence[str], node: Node) -> float:
    people = {*map(first_name, node.scene.actors), first_name(node.source.speaker)}
    words = f"{node.scene.action} {node.scene.context}".casefold()
    return sum(name in people or name in words for name in first_names) / len(first_names)


def _of_another(nodes: Sequence[Node], question: RecallQuestion) -> Floats:
    """Whether somebody else said it, where the asker asks about themselves."""
    if not question.asker or question.named != frozenset((question.asker,)):
        return np.zeros(len(nodes), np.float32)
    others = [bool(one.source.speaker) and one.source.speaker.casefold() for one in nodes]
    return np.array([bool(one) and one != question.asker for one in others], np.float32)


def _recent(nodes: Sequence[Node], now: float) -> Floats:
    """1 for what was said today, a half for a month ago, towards 0 for years."""
    ages = np.array([max(0.0, now - node.created) / _MONTH for node in nodes], np.float32)
    return (1 / (1 + ages)).astype(np.float32)


def _in_time(nodes: Sequence[Node], asked: Sequence[Span]) -> Floats:
    if not asked:
        return np.zeros(len(nodes), np.float32)
    return np.array([named_days.fit(node.scene.when, asked) for node in nodes], np.float32)


def _lengths(nodes: Sequence[Node]) -> Floats:
    """0 for a remark of usual length, below for a short one; in bytes, as kanji say more."""
    sizes = np.array([len(node.scene.action.encode()) for node in nodes], np.float32)
    return np.clip(np.log1p(sizes) - _TYPICAL_LENGTH, -3.0, 1.5).astype(np.float32)


def _tells(nodes: Sequence[Node], is_asked: bool, tells: Callable[[str], bool]) -> Floats:
    if not is_asked:
        return np.zeros(len(nodes), np.float32)
    return np.array([tells(node.scene.action) for node in nodes], np.float32)
