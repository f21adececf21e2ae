"""Whether a sentence tells of what was, or of what is to come, by its verbs."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import Literal

import msgspec

from clawkit.text.calendar.languages import LANGUAGES, Language

Time = Literal["past", "present", "future"]

_WORD = re.compile(r"[^\W\d_]+")
_END = re.compile(r"(?<!\d)[.!?](?=\s)|[;\n。\uff01\uff1f]")
_LONGEST = 400
_CLAUSE_END = re.compile(
    r"[,:()]|(?<!\w)(?:and|but|und|aber|y|pero|et|mais|e|ma|mas|en|maar|и|но|ve|ama)(?!\w)"
)

# "What did I have": the verb after it is no present.
_ASKED_PAST = frozenset({"did", "didn"})
_BASE = frozenset({"have", "do", "need", "must", "can", "should"})

_ONE_FORM = re.compile(
    r"\b(?:put|cut|hit|hurt|let|quit|set|shut|cost|read|beat|bet|spread|split|burst|cast|shed)\b",
    re.IGNORECASE,
)
_HAVE = frozenset({"ve", "have", "has", "s"})
_BORN = frozenset(
    {"born", "geboren", "nací", "nació", "né", "née", "nato", "nata", "nasci", "nasceu", "doğdum"}
    | {"родился", "родилась", "doğdu"}
)


class _Cue(msgspec.Struct, frozen=True):
    at: int
    time: Time


class _Words(msgspec.Struct, frozen=True):
    past: frozenset[str]
    past_ending: re.Pattern[str] | None
    not_past: frozenset[str]
    after: frozenset[str]
    perfect: frozenset[str]
    participle: re.Pattern[str] | None
    near: int
    plans: frozenset[str]
    future: frozenset[str]
    future_ending: re.Pattern[str] | None
    present: frozenset[str]


class Sentences:
    """The sentences of a text, which are looked at only where a day depends on them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None
        self._cues: dict[tuple[int, str], list[_Cue]] = {}
        self._breaks: dict[int, list[tuple[int, int]]] = {}
        self._scores: dict[int, dict[str, int]] = {}
        self._born: dict[int, bool] = {}

    def time(self, start: int, end: int, language: str) -> Time | None:
        """The tense around a place in the text, that of its own clause before others."""
        number, sentence = self._sentence(start)
        begin = self._begin(number)
        key = (number, language)
        if key not in self._cues:
            self._cues[key] = _cues(sentence, _words(language))
        cues = [c for c in self._cues[key] if not start <= begin + c.at < end]
        if not cues:
            return None
        if number not in self._breaks:
            self._breaks[number] = _breaks(sentence)
        first, last = _clause(self._breaks[number], start - begin, end - begin)
        own = [cue for cue in cues if first <= cue.at < last]
        if own:
            return _nearest(own, start - begin).time
        times = {cue.time for cue in cues}
        if times >= {"past", "future"}:
            return _nearest(cues, start - begin).time
        return "past" if "past" in times else "future" if "future" in times else "present"

    def scores(self, start: int) -> dict[str, int]:
        """How many words of each language are in the sentence at that place."""
        number, sentence = self._sentence(start)
        if number not in self._scores:
            scores = dict.fromkeys((language.name for language in LANGUAGES), 0)
            common = _common()
            for word in _WORD.findall(sentence.lower()):
                for name in common.get(word, ()):
                    scores[name] += 1
            self._scores[number] = scores
        return self._scores[number]

    def born(self, start: int) -> bool:
        """Whether the sentence at that place tells a birthday, whose year nobody knows."""
        number, sentence = self._sentence(start)
        if number not in self._born:
            self._born[number] = not _BORN.isdisjoint(_WORD.findall(sentence.lower()))
        return self._born[number]

    def has_one_form(self, start: int) -> bool:
        """Whether the only verb we see there is the same in present and past, as in "I quit"."""
        sentence = self.sentence(start)
        return bool(_ONE_FORM.search(sentence)) and not _cues(sentence, _words("en"))

    def sentence(self, start: int) -> str:
        return self._sentence(start)[1]

    def begins(self, start: int) -> bool:
        """Whether the sentence begins there."""
        number, _ = self._sentence(start)
        return not self.text[self._begin(number) : start].strip(" \t\n\"'«“„(-*")

    def _sentence(self, at: int) -> tuple[int, str]:
        if self._starts is None:
            self._starts = _starts(self.text)
        number = bisect_right(self._starts, at) - 1
        following = self._starts[number + 1 : number + 2]
        end = following[0] if following else len(self.text)
        return number, self.text[self._starts[number] : end]

    def _begin(self, number: int) -> int:
        return self._starts[number] if self._starts else 0


def _starts(text: str) -> list[int]:
    """Where sentences begin; what goes on for too long is cut."""
    found = [0]
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        found += range(found[-1] + _LONGEST, end - _LONGEST, _LONGEST)
        found.append(end)
    return found[:-1]


def _breaks(sentence: str) -> list[tuple[int, int]]:
    return [match.span() for match in _CLAUSE_END.finditer(sentence)]


def _clause(breaks: list[tuple[int, int]], start: int, end: int) -> tuple[int, int]:
    first = 0
    for before, after in breaks:
        if after <= start:
            first = after
        elif before >= end:
            return first, before
    return first, _LONGEST * 2


def _nearest(cues: list[_Cue], at: int) -> _Cue:
    return min(cues, key=lambda cue: abs(cue.at - at))


def _cues(sentence: str, words: _Words) -> list[_Cue]:
    tokens = [(match.start(), match[0]) for match in _WORD.finditer(sentence)]
    lower = [word.lower() for _, word in tokens]
    breaks = _breaks(sentence)
    found: list[_Cue] = []
    asked_past = not _ASKED_PAST.isdisjoint(lower)
    for number, (at, word) in enumerate(tokens):
        if asked_past and lower[number] in _BASE:
            continue
        before = lower[max(0, number - 2) : number]
        time = _time(word.lower(), before, words)
        if time == "past" and lower[number] in words.plans and "to" in lower[number : number + 4]:
            time = "future"
        if time == "present" and lower[number] in words.perfect:
            time = _perfect(tokens, number, breaks, words)
        if time:
            found.append(_Cue(at, time))
    if not found and words.participle and not words.near:  # "Am Freitag Ana getroffen."
        found = [_Cue(at, "past") for at, word in tokens if _is_participle(word, words)]
    return found


def _time(word: str, before: list[str], words: _Words) -> Time | None:
    if word == "got" and not _HAVE.isdisjoint(before[-1:]):
        return "present"
    if word in words.past and words.after.isdisjoint(before[-1:]):
        return "past"
    if word in words.future:
        return "future"
    if word in words.present or word in words.perfect:
        return "present"
    ending = words.past_ending
    if ending and word not in words.not_past and ending.fullmatch(word):
        return "past" if words.after.isdisjoint(before) else None
    ending = words.future_ending
    return "future" if ending and ending.fullmatch(word) else None


def _perfect(
    tokens: list[tuple[int, str]], number: int, breaks: list[tuple[int, int]], words: _Words
) -> Time | None:
    """The time of an auxiliary verb, which the participle after it makes a past."""
    if words.participle is None:
        return "present"
    at = tokens[number][0]
    if words.near:
        others = [word for _, word in tokens[number + 1 : number + 1 + words.near]]
    else:
        first, last = _clause(breaks, at, at + 1)
        others = [word for place, word in tokens if first <= place < last and place != at]
    return "past" if any(_is_participle(word, words) for word in others) else "present"


def _is_participle(word: str, words: _Words) -> bool:
    """A word with a capital is a noun in German."""
    if words.participle is None or word in words.not_past or not word.islower():
        return False
    return bool(words.participle.fullmatch(word))


@cache
def _common() -> dict[str, tuple[str, ...]]:
    """The languages that each common word and verb is of."""
    found: dict[str, tuple[str, ...]] = {}
    for language in LANGUAGES:
        tense = language.tense
        for word in _set(f"{language.common},{tense.past},{tense.present},{tense.perfect}"):
            found[word] = (*found.get(word, ()), language.name)
    return found


@cache
def _words(name: str) -> _Words:
    language: Language = next(one for one in LANGUAGES if one.name == name)
    tense = language.tense
    return _Words(
        past=_set(tense.past),
        past_ending=_pattern(tense.past_ending),
        not_past=_set(tense.not_past),
        after=_set(tense.after),
        perfect=_set(tense.perfect),
        participle=_pattern(tense.participle),
        near=tense.near,
        plans=_set(tense.plans),
        future=_set(tense.future),
        future_ending=_pattern(tense.future_ending),
        present=_set(tense.present),
    )


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split(",")) - {""}


def _pattern(pattern: str) -> re.Pattern[str] | None:
    return re.compile(pattern) if pattern else None
