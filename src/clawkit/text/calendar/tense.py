"""Whether a sentence tells of what was, or of what is to come, by its verbs."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache, cached_property
from typing import Any, Literal

import msgspec

from clawkit.text.tables import listed, table, unbroken

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
    past: frozenset[str] = frozenset()
    past_ending: re.Pattern[str] | None = None
    not_past: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    perfect: frozenset[str] = frozenset()
    participle: re.Pattern[str] | None = None
    near: int = 3
    plans: frozenset[str] = frozenset()
    future: frozenset[str] = frozenset()
    future_ending: re.Pattern[str] | None = None
    present: frozenset[str] = frozenset()


class _Sentence:
    """One sentence, of which is found out only what a day depends on."""

    def __init__(self, begin: int, text: str) -> None:
        self.begin = begin
        self.text = text
        self._cues: dict[str, list[_Cue]] = {}

    def cues(self, language: str) -> list[_Cue]:
        if language not in self._cues:
            self._cues[language] = _cues(self.text, _words(language))
        return self._cues[language]

    @cached_property
    def breaks(self) -> list[tuple[int, int]]:
        return _breaks(self.text)

    @cached_property
    def scores(self) -> dict[str, int]:
        scores = dict.fromkeys(table("days"), 0)
        for word in _WORD.findall(self.text.lower()):
            for name in _common().get(word, ()):
                scores[name] += 1
        return scores

    @cached_property
    def born(self) -> bool:
        return not _BORN.isdisjoint(_WORD.findall(self.text.lower()))


class Sentences:
    """The sentences of a text, which are looked at only where a day depends on them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[int, _Sentence] = {}

    def time(self, start: int, end: int, language: str) -> Time | None:
        """The tense around a place in the text, that of its own clause before others."""
        sentence = self._at(start)
        begin = sentence.begin
        cues = [c for c in sentence.cues(language) if not start <= begin + c.at < end]
        if not cues:
            return None
        first, last = _clause(sentence.breaks, start - begin, end - begin)
        own = [cue for cue in cues if first <= cue.at < last]
        if own:
            return _nearest(own, start - begin).time
        times = {cue.time for cue in cues}
        if times >= {"past", "future"}:
            return _nearest(cues, start - begin).time
        return "past" if "past" in times else "future" if "future" in times else "present"

    def scores(self, start: int) -> dict[str, int]:
        """How many words of each language are in the sentence at that place."""
        return self._at(start).scores

    def born(self, start: int) -> bool:
        """Whether the sentence at that place tells a birthday, whose year nobody knows."""
        return self._at(start).born

    def has_one_form(self, start: int) -> bool:
        """Whether the only verb we see there is the same in present and past, as in "I quit"."""
        sentence = self._at(start)
        return bool(_ONE_FORM.search(sentence.text)) and not sentence.cues("en")

    def sentence(self, start: int) -> str:
        return self._at(start).text

    def begins(self, start: int) -> bool:
        """Whether the sentence begins there."""
        return not self.text[self._at(start).begin : start].strip(" \t\n\"'«“„(-*")

    @cached_property
    def _starts(self) -> list[int]:
        return _starts(self.text)

    def _at(self, place: int) -> _Sentence:
        number = bisect_right(self._starts, place) - 1
        if number not in self._known:
            begin, *following = self._starts[number : number + 2]
            end = following[0] if following else len(self.text)
            self._known[number] = _Sentence(begin, self.text[begin:end])
        return self._known[number]


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
    for name, language in table("days").items():
        words = _words(name)
        for word in words.past | words.present | words.perfect | set(listed(language["common"])):
            found[word] = (*found.get(word, ()), name)
    return found


@cache
def _words(language: str) -> _Words:
    written: dict[str, str | int] = table("days")[language]["tense"]
    return _Words(**{name: _meant(name, value) for name, value in written.items()})


def _meant(name: str, value: str | int) -> Any:
    if isinstance(value, int):
        return value
    is_pattern = name == "participle" or name.endswith("_ending")
    return re.compile(unbroken(value)) if is_pattern else frozenset(listed(value))
