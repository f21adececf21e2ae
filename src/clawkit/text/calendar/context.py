"""What the words around a day say of it.

The verbs of its sentence tell whether it was or is to come. The words beside it make of it each
such day, the last of all, or no day.

Some verbs look the same in past and present: "I cut my thumb", "le plombier répara". Somebody who
does it right before the verb tells that it is one. With a bare day it is then rather past, unless
its clause looks ahead or tells what comes back.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from datetime import date
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, Literal

import msgspec

from clawkit.text.tables import listed, table, unbroken

Token = tuple[int, str]
Time = Literal["past", "present", "future"]

_WORD = re.compile(r"[^\W\d_]+")
_END = re.compile(r"(?<!\d)[.!?](?=\s)|[;\n。\uff01\uff1f]")
_LONGEST = 400
_CLAUSE_END = re.compile(
    r"[,:()]|(?<!\w)(?:and|but|und|aber|y|pero|et|mais|e|ma|mas|en|maar|и|но|ve|ama)(?!\w)"
)

# "Between 8 and 12. The quote was high", which is no German ordinal: "am 12. Mai".
_NUMBER_END = re.compile(r"(?<!\w)(?:[^\W\d_]+\s+)?\d+(?P<dot>\.)(?=\s+[A-Z])(?:\s+[A-Z][a-zä]{2})")
_ORDINAL = re.compile(
    r"(?:a[bmn]|i[mn]|zu[mr]|vom|bis|de[rnm]|die|das|seit|nach|vor)\s"
    r"|.*\s(?:Jan|Feb|M[äa]r|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)$",
    re.IGNORECASE,
)

# "What did I have": the verb after it is no present.
_ASKED_PAST = frozenset({"did", "didn"})
_BASE = frozenset({"have", "do", "need", "must", "can", "should"})

_WAS = frozenset({"was", "were", "wasn", "weren"})
_HAVE = frozenset({"ve", "have", "has", "s"})
_BORN = frozenset(
    {"born", "geboren", "nací", "nació", "né", "née", "nato", "nata", "nasci", "nasceu", "doğdum"}
    | {"родился", "родилась", "doğdu"}
)


class Evidence(msgspec.Struct, frozen=True):
    """What a sentence says about whether a day in it was or is to come."""

    time: Time | None
    own: bool = True
    """Whether the verb is of the day's own clause, and is about that day."""

    ahead: bool = False
    """Whether it tells of what was done for a day to come, such as "booked" or "until"."""

    subject: bool = False
    """Whether its own clause has a subject, and a verb that is not known as past."""

    toward: bool = False
    """Whether the word before it means a day to come, as in "moved to Friday"."""

    bare: bool = False
    """Whether no verb is seen, and no subject that would have one."""

    doubtful: bool = False
    """Whether its words mean what was as often as what is to come."""

    apart: bool = False
    """Whether a comma or colon parts it from the only verbs, which may be about something else."""

    reports: bool = False
    """Whether the verb only tells that something was said."""

    def choose(self, earlier: date, later: date, day: date) -> date | None:
        """The one of two days around that day which is meant; None where it may be either."""
        if earlier == later:
            return earlier
        passed = (day - earlier) / (later - earlier)
        until, since = self._limits()
        return earlier if passed <= until else later if passed >= since else None

    def _limits(self) -> tuple[float, float]:
        """How much of the time between them has passed if the earlier, or the later, is meant."""
        if self.doubtful:
            return 0.5, 0.75
        if self.time != "past":
            return -1, 0.25 if self.bare else 0
        if self.toward or self.subject:
            return -1, 0.25
        if self.ahead:
            return 0.2, 0.5
        return (0.67, 2) if self.own else (0.6, 0.75)


class _Cue(msgspec.Struct, frozen=True):
    at: int
    time: Time
    reports: bool = False


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
    ahead: frozenset[str] = frozenset()
    arranged: frozenset[str] = frozenset()
    was: frozenset[str] = frozenset()
    said: frozenset[str] = frozenset()
    habits: frozenset[str] = frozenset()
    subjects: frozenset[str] = frozenset()
    base: frozenset[str] = frozenset()
    before_base: frozenset[str] = frozenset()
    modals: frozenset[str] = frozenset()
    moves: frozenset[str] = frozenset()
    two_times: re.Pattern[str] | None = None
    same_form: SameForms | None = None


class _Sentence:
    """One sentence, of which is found out only what a day depends on."""

    def __init__(self, begin: int, text: str) -> None:
        self.begin = begin
        self.text = text
        self._cues: dict[str, list[_Cue]] = {}

    def cues(self, language: str) -> list[_Cue]:
        if language not in self._cues:
            self._cues[language] = _cues(self, _words(language))
        return self._cues[language]

    @cached_property
    def breaks(self) -> list[tuple[int, int]]:
        found = [match.span() for match in _CLAUSE_END.finditer(self.text)]
        ends = _NUMBER_END.finditer(self.text)
        found += [match.span("dot") for match in ends if not _ORDINAL.match(match[0])]
        return sorted(found)

    @cached_property
    def scores(self) -> dict[str, int]:
        scores = dict.fromkeys(table("days"), 0)
        for _, word in self.words:
            for name in _common().get(word, ()):
                scores[name] += 1
        return scores

    @cached_property
    def words(self) -> list[tuple[int, str]]:
        return [(match.start(), match[0]) for match in _WORD.finditer(self.text.lower())]

    def is_apart(self, clause: int) -> bool:
        """Whether a sign, and no word such as "and", begins the clause at that place."""
        return any(end == clause and end - start == 1 for start, end in self.breaks) and (
            clause > 0 and self.text[clause - 1] in ",:("
        )

    def has(self, words: frozenset[str], first: int = 0, last: int = _LONGEST * 2) -> bool:
        """Whether one of these words is there."""
        return any(first <= at < last and word in words for at, word in self.words)


class Sentences:
    """The sentences of a text, which are looked at only where a day depends on them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: dict[int, _Sentence] = {}

    def evidence(self, start: int, end: int, language: str, *, ahead: bool = False) -> Evidence:
        """What is known of a day at that place, from its own clause before others.

        `ahead` is whether a word before it looks ahead.
        """
        sentence = self._at(start)
        begin = sentence.begin
        words = _words(language)
        cues = [c for c in sentence.cues(language) if not start <= begin + c.at < end]
        clause = _clause(sentence.breaks, start - begin, end - begin)
        own = [cue for cue in cues if clause[0] <= cue.at < clause[1]]
        if own:
            cue = _nearest(own, start - begin)
            if sentence.has(words.was, *clause):
                return Evidence(cue.time, not cue.reports)
            about_it = not (cue.reports or sentence.has(words.arranged, *clause))
            ahead = ahead or sentence.has(words.ahead, *clause)
            return Evidence(cue.time, about_it, ahead, reports=cue.reports)
        if not cues:
            return Evidence(None, bare=not sentence.has(words.subjects))
        subject = sentence.has(words.subjects, *clause)
        return Evidence(
            _overall(cues, start - begin),
            own=False,
            ahead=ahead or sentence.has(words.ahead | words.arranged),
            subject=subject,
            apart=not subject and sentence.is_apart(clause[0]),
        )

    def clause(self, start: int, end: int) -> str:
        """The clause of a day at that place."""
        sentence = self._at(start)
        first, last = _clause(sentence.breaks, start - sentence.begin, end - sentence.begin)
        return sentence.text[first:last]

    def is_moved(self, start: int, language: str) -> bool:
        """Whether the sentence at that place tells that something was moved to another day."""
        return self._at(start).has(_words(language).moves)

    def is_habit(self, start: int, language: str) -> bool:
        """Whether the sentence at that place is about what comes back every week."""
        return self._at(start).has(_words(language).habits)

    def scores(self, start: int) -> dict[str, int]:
        """How many words of each language are in the sentence at that place."""
        return self._at(start).scores

    def are_in(self, language: str, start: int) -> bool:
        """Whether the sentence at that place is rather in this language than in any other."""
        scores = self.scores(start)
        return 0 < scores[language] >= max(scores.values())

    def born(self, start: int) -> bool:
        """Whether the sentence at that place tells a birthday, whose year nobody knows."""
        return self._at(start).has(_BORN)

    def tells_what_happened(self, start: int) -> bool:
        """Whether the sentence at that place is about what nobody plans, such as an outage."""
        return bool(_anywhere("happened").search(self._at(start).text))

    def has_two_times(self, start: int, language: str) -> bool:
        """Whether the only verb we see there is the same in present and past, as in "quit"."""
        sentence = self._at(start)
        verb = _words(language).two_times
        return bool(verb and verb.search(sentence.text) and not sentence.cues(language))

    def sentence(self, start: int) -> str:
        return self._at(start).text

    def begins(self, start: int) -> bool:
        """Whether the sentence begins there."""
        return not self.text[self._at(start).begin : start].strip(" \t\n\"'«“„(-*")

    @cached_property
    def _starts(self) -> list[int]:
        """Where sentences begin; what goes on for too long is cut."""
        found = [0]
        for end in (*(match.end() for match in _END.finditer(self.text)), len(self.text)):
            found += range(found[-1] + _LONGEST, end - _LONGEST, _LONGEST)
            found.append(end)
        return found[:-1]

    def _at(self, place: int) -> _Sentence:
        number = bisect_right(self._starts, place) - 1
        if number not in self._known:
            begin, *following = self._starts[number : number + 2]
            end = following[0] if following else len(self.text)
            self._known[number] = _Sentence(begin, self.text[begin:end])
        return self._known[number]


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


def _overall(cues: list[_Cue], at: int) -> Time:
    times = {cue.time for cue in cues}
    if "past" in times and len(times) > 1:
        return _nearest(cues, at).time
    return "past" if "past" in times else "future" if "future" in times else "present"


def _cues(sentence: _Sentence, words: _Words) -> list[_Cue]:
    tokens = [(match.start(), match[0]) for match in _WORD.finditer(sentence.text)]
    lower = [word.lower() for _, word in tokens]
    found: list[_Cue] = []
    asked_past = not _ASKED_PAST.isdisjoint(lower)
    for number, (at, word) in enumerate(tokens):
        if asked_past and lower[number] in _BASE | words.base:
            continue
        before = lower[max(0, number - 2) : number]
        time = _time(word.lower(), before, words)
        if time is None and lower[number] in words.base and _is_said_of(before[-1:], words):
            time = "present"
        if time == "present" and (missed := _was_to_be(lower, number, words)):
            time = missed if lower[number] in words.modals else None
        if time == "past" and lower[number] in words.plans and "to" in lower[number : number + 4]:
            time = "future"
        if time == "present" and lower[number] in words.perfect:
            time = _perfect(tokens, number, sentence.breaks, words)
        if time:
            found.append(_Cue(at, time, time == "past" and _reports(lower, number, words)))
    found += _same_forms(sentence, tokens, found, words)
    if not found and words.participle and not words.near:  # "Am Freitag Ana getroffen."
        found = [_Cue(at, "past") for at, word in tokens if _is_participle(word, words)]
    return found


def _same_forms(
    sentence: _Sentence, tokens: list[tuple[int, str]], found: list[_Cue], words: _Words
) -> list[_Cue]:
    """The verbs that are rather past, in clauses without another."""
    if words.same_form is None or not any(words.same_form.verbs.fullmatch(w) for _, w in tokens):
        return []
    more: list[_Cue] = []
    ends = [0, *(end for _, end in sentence.breaks), len(sentence.text)]
    for first, last in pairwise(ends):
        if any(first <= cue.at < last for cue in found):
            continue
        clause = [token for token in tokens if first <= token[0] < last]
        at = past_verb(clause, words.same_form, words.future, words.habits)
        if at is not None:
            more.append(_Cue(at, "past"))
    return more


def _is_said_of(before: list[str], words: _Words) -> bool:
    """Whether the word before a verb is whoever does it: "they", or "the results"."""
    return any(
        one in words.subjects or (one.endswith("s") and one not in words.before_base)
        for one in before
    )


def _was_to_be(lower: list[str], number: int, words: _Words) -> Time | None:
    """ "Should have come": what was to be, and was not."""
    modal = number if lower[number] in words.modals else number - 1
    if modal < 0 or lower[modal] not in words.modals or lower[modal + 1 : modal + 2] != ["have"]:
        return None
    done = lower[modal + 2 : modal + 4]
    ending = words.past_ending
    is_past = any(
        one in words.past or one in words.base or (ending and ending.fullmatch(one)) for one in done
    )
    return "past" if is_past else None


def _reports(lower: list[str], number: int, words: _Words) -> bool:
    """Whether a verb tells no more than that something was said: "hat gesagt", "told me"."""
    if lower[number] in words.perfect:
        return not words.said.isdisjoint(lower[number + 1 :])
    return lower[number] in words.said


def _time(word: str, before: list[str], words: _Words) -> Time | None:
    if word == "got" and not _HAVE.isdisjoint(before[-1:]):
        return "present"
    if word in words.past and words.after.isdisjoint(before[-1:]):
        return "past"
    if word in words.future:
        return "future" if _WAS.isdisjoint(before[-1:]) else "past"
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
    written: dict[str, str | int | dict[str, str]] = table("days")[language]["tense"]
    return _Words(**{name: _meant(name, value) for name, value in written.items()})


def _meant(name: str, value: str | int | dict[str, str]) -> Any:
    if isinstance(value, int):
        return value
    if isinstance(value, dict):
        return same_forms(value)
    is_pattern = name == "participle" or name.endswith("_ending")
    if name == "two_times":
        return re.compile(rf"(?<!\w)(?:{unbroken(value)})(?!\w)", re.IGNORECASE)
    return re.compile(unbroken(value)) if is_pattern else frozenset(listed(value))


_LONGEST_BEFORE = 30


class Neighbours:
    """The words right before and after a place in a text; their kinds are in `days_around.toml`."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._before = text[max(0, start - _LONGEST_BEFORE) : start]
        self._end = end

    def are_not_counted(self) -> bool:
        """Whether no noun follows that it counts; who has a birthday then is not that old."""
        if _END_OF_PHRASE.match(self._text, self._end) or self.follow("after_day"):
            return True
        return self.follow("birthday") and self.precede("has")

    def follow(self, kind: str) -> bool:
        """Whether words of this kind stand right behind."""
        return bool(_after(kind).match(self._text, self._end))

    def precede(self, kind: str) -> bool:
        """Whether words of this kind stand right before."""
        return bool(_before(kind).search(self._before))


def has(kind: str, text: str) -> bool:
    """Whether words of this kind are in a text."""
    return bool(_anywhere(kind).search(text))


def is_yearly(clause: str) -> bool:
    """Whether it tells a day that comes back every year, and not how that is celebrated."""
    if not clause.isascii() and re.search(_around("yearly_without_spaces"), clause):
        return True
    return has("yearly", clause) and not has("feast", clause)


def has_in(language: str, kind: str, words: str) -> bool:
    """Whether words of this kind, as one language has them, are in a text."""
    pattern = table("days_around")[kind].get(language)
    return bool(pattern and re.search(pattern, words))


_END_OF_PHRASE = re.compile(r"\s*(?:[.,;:!?)(–—]|-\s|$)")


@cache
def _after(kind: str) -> re.Pattern[str]:
    """What follows; a capital begins another sentence there, or is a noun."""
    flags = re.NOFLAG if kind == "after_day" else re.IGNORECASE
    return re.compile(rf",?\s+(?:{_around(kind)})\b", flags)


@cache
def _before(kind: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|\W)(?:{_around(kind)})\s+$", re.IGNORECASE)


@cache
def _anywhere(kind: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{_around(kind)})\b", re.IGNORECASE)


def _around(kind: str) -> str:
    return unbroken(table("days_around")[kind])


_LONGEST_SUBJECT = 4


class SameForms(msgspec.Struct, frozen=True):
    """The words of one language that tell them from nouns and from infinitives."""

    verbs: re.Pattern[str]
    alone: frozenset[str]
    """Who does it, in a word that is no noun: "he", "qui"."""

    singular: frozenset[str]
    """Of these, whose verb has another form in the present: then it can only be past."""

    of_noun: frozenset[str]
    """Before a noun that does it: "the", "my"."""

    between: frozenset[str]
    """Between who does it and the verb: "just", "never"."""

    nobody: frozenset[str]
    """What begins a sentence and is nobody: "please", "on"."""

    not_past: frozenset[str]
    """What makes an infinitive or future of any verb of its clause."""

    timetable: re.Pattern[str]
    """The verb with the next word, where a present as often tells what is to come."""

    object: frozenset[str]
    """What follows a verb rather than a noun of that form."""


def same_forms(words: dict[str, str]) -> SameForms:
    """From a table, where patterns are texts and sets are lists."""
    kinds = {"verbs", "timetable"}
    return SameForms(
        **{
            name: re.compile(unbroken(value)) if name in kinds else frozenset(listed(value))
            for name, value in words.items()
        }  # pyright: ignore[reportArgumentType] - one struct of both kinds
    )


def past_verb(
    clause: Sequence[Token], words: SameForms, ahead: frozenset[str], habits: frozenset[str]
) -> int | None:
    """The place of a verb in the clause that is rather past; None where it is in doubt."""
    lower = [word.lower() for _, word in clause]
    for number, (at, word) in enumerate(clause):
        if not word.islower() or not words.verbs.fullmatch(word):
            continue
        subject = _subject(clause, lower, number, words)
        if subject is None or not words.not_past.isdisjoint(lower[:number]):
            continue
        if not ahead.isdisjoint(lower):
            continue
        next_word = "".join(lower[number + 1 : number + 2])
        if subject in words.singular:
            return at
        if habits.isdisjoint(lower) and not words.timetable.fullmatch(f"{word} {next_word}"):
            return at
    return None


def _subject(
    clause: Sequence[Token], lower: Sequence[str], number: int, words: SameForms
) -> str | None:
    """Who does it; a name, and a noun that is no plural, is a "he"."""
    at = number - 1
    while at >= 0 and lower[at] in words.between:
        at -= 1
    if at < 0 or lower[at] in words.nobody:
        return None
    if lower[at] in words.alone:
        return lower[at]
    before = lower[max(0, at - _LONGEST_SUBJECT) : at]
    has_object = bool(words.object.intersection(lower[number + 1 : number + 2]))
    if clause[at][1][0].isupper() and (at or has_object):
        several = bool(before) and before[-1] in ("and", "et")
        return "" if several else next(iter(words.singular), "")
    if not words.of_noun.isdisjoint(before) or (at == 0 and has_object):
        return "" if lower[at].endswith("s") else next(iter(words.singular), "")
    return None
