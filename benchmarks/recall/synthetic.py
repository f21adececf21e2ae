"""Conversations that are made, to fit weights on: two people, sessions with dates, questions.

The dialogues in `data/` were written for this. A conversation draws some of them, with different
fillers, told by either of the two, and puts small talk in between. Some dialogues come twice, told
by both, so that it matters who is asked about. The same seed gives the same conversations.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from benchmarks.recall.pools import Asked, Memory, Pool

DATA = Path(__file__).parent / "data"
NAMES = {
    "en": "Nora Felix Amara Jonas Priya Owen Leila Marcus Ingrid Tariq Sophie Diego",
    "ja": "美咲 健太 由美 翔 彩花 直樹 千尋 大輔",
}
_CHOICE = re.compile(r"\[([^\[\]:]*\|[^\[\]:]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")
_LINE = re.compile(r"^([AB]): (.*)$")
_QUESTION = re.compile(r"^Q([\d,]+): (.*)$")
_TWICE = 0.25
_DIARIES = 0.3
"""The share of pools that are one person's own notes, asked about without a name."""

_AS_ONESELF = {"en": (("{A}'s", "my"), ("{A}", "I")), "ja": (("{A}さんは", ""), ("{A}さん", "私"))}
_DATED = 0.15
MIXED_UP = "mixed up"
"""The kind of question that takes one for the other: what it means is there, its answer is not."""

_MIXED_UP = 0.25


@dataclass
class Dialogue:
    """A few lines with slots, and what can be asked about them."""

    name: str
    slots: dict[str, list[str]] = field(default_factory=dict)
    lines: list[tuple[str, str]] = field(default_factory=list)
    questions: list[tuple[tuple[int, ...], str]] = field(default_factory=list)


def dialogues(language: str) -> list[Dialogue]:
    """All dialogues of a language."""
    found: list[Dialogue] = []
    for line in (DATA / f"dialogues.{language}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            found.append(Dialogue(line[3:]))
        elif match := _LINE.match(line):
            found[-1].lines.append((match[1], match[2]))
        elif match := _QUESTION.match(line):
            places = tuple(int(place) - 1 for place in match[1].split(","))
            found[-1].questions += [(places, text.strip()) for text in match[2].split(" / ")]
        elif " = " in line and not line.startswith("#"):
            name, _, fillers = line.partition(" = ")
            found[-1].slots[name] = [each.strip() for each in fillers.split("|")]
    return found


def pools(language: str, count: int, seed: int) -> list[Pool]:
    """So many conversations."""
    random_ = random.Random(f"{language} {seed}")
    every = dialogues(language)
    talk = [
        (match[1], match[2])
        for line in (DATA / f"talk.{language}.txt").read_text(encoding="utf-8").splitlines()
        if (match := _LINE.match(line))
    ]
    made = [_Conversation(random_, language, every, talk, n).pool() for n in range(count)]
    return made + [_diary(random_, language, every, n) for n in range(round(count * _DIARIES))]


def _diary(random_: random.Random, language: str, every: list[Dialogue], number: int) -> Pool:
    """One person's own notes: nobody is named, and half of what is asked was never written."""
    day = date(2022, 1, 1)
    memories: list[Memory] = []
    questions: list[Asked] = []
    written = random_.sample(every, len(every) // 2)
    for dialogue in every:
        slots = {name: random_.choice(some) for name, some in dialogue.slots.items()}
        slots |= dict.fromkeys("AB", NAMES[language].split()[number])
        day += timedelta(random_.randrange(1, 9))
        places: dict[int, int] = {}
        for at, (who, text) in enumerate(dialogue.lines):
            if who == "A" and dialogue in written:
                memories.append(Memory(_filled(random_, text, slots), when=day.isoformat()))
                places[at] = len(memories)
        for asked, text in dialogue.questions:
            if all(dialogue.lines[at][0] == "A" for at in asked):
                asking = text
                for name, instead in _AS_ONESELF[language]:
                    asking = asking.replace(name, instead)
                evidence = tuple(places[at] for at in asked if at in places)
                questions.append(Asked(_filled(random_, asking, slots), evidence, "diary"))
    now = datetime.combine(day, datetime.min.time(), UTC).timestamp()
    return Pool(f"{language} diary {number}", tuple(memories), tuple(questions), now)


def _filled(random_: random.Random, text: str, slots: dict[str, str]) -> str:
    text = _CHOICE.sub(lambda match: random_.choice(match[1].split("|")), text)
    text = _SLOT.sub(lambda match: slots[match[1]], text)
    return text[:1].upper() + text[1:]


class _Conversation:
    """One conversation in the making."""

    def __init__(
        self,
        random_: random.Random,
        language: str,
        every: list[Dialogue],
        talk: list[tuple[str, str]],
        number: int,
    ) -> None:
        self._random = random_
        self._language = language
        self._every = every
        self._talk = talk
        self._name = f"{language} {number}"
        self._people = random_.sample(NAMES[language].split(), 2)
        self._day = date(2021, 1, 1) + timedelta(random_.randrange(900))
        self._memories: list[Memory] = []
        self._questions: list[Asked] = []
        self._mixed_up: dict[str, list[Asked]] = defaultdict(list)
        self._session = 0

    def pool(self) -> Pool:
        share = self._random.uniform(0.55, 0.8)
        drawn = self._random.sample(self._every, int(len(self._every) * share))
        told = [(each, self._random.random() < 0.5) for each in drawn]
        told += [(each, not who) for each, who in told if self._random.random() < _TWICE]
        self._random.shuffle(told)
        while told:
            self._sit_down(told[:4])
            told = told[4:]
        self._ask_in_vain(drawn)
        now = datetime.combine(self._day, datetime.min.time(), UTC).timestamp()
        return Pool(self._name, tuple(self._memories), tuple(self._questions), now)

    def _sit_down(self, told: list[tuple[Dialogue, bool]]) -> None:
        """One session: small talk, then what there is to tell."""
        self._session += 1
        self._day += timedelta(self._random.randrange(2, 20))
        self._chat(2)
        for dialogue, first in told:
            self._tell(dialogue, first)
            self._chat(self._random.randrange(4, 14))
        self._chat(2)

    def _chat(self, count: int) -> None:
        start = self._random.randrange(len(self._talk))
        for at in range(count):
            who, text = self._talk[(start + at) % len(self._talk)]
            self._say(who, text, {"A": self._people[0], "B": self._people[1]})

    def _tell(self, dialogue: Dialogue, first: bool) -> None:
        a, b = self._people if first else reversed(self._people)
        slots = {"A": a, "B": b}
        slots |= {name: self._random.choice(some) for name, some in dialogue.slots.items()}
        start = len(self._memories) + 1
        for who, text in dialogue.lines:
            self._say(who, text, slots)
        for places, text in dialogue.questions:
            asked = self._filled(text, slots)
            if self._random.random() < _DATED:
                asked = self._dated(asked)
            kind = f"{dialogue.name}/{a}"
            evidence = tuple(start + place for place in places)
            self._questions.append(Asked(asked, evidence, kind))
            if dialogue.lines[places[0]][0] == "A":
                mixed = self._filled(text, slots | {"A": b, "B": a})
                self._mixed_up[f"{dialogue.name}/{b}"].append(Asked(mixed, evidence, MIXED_UP))

    def _say(self, who: str, text: str, slots: dict[str, str]) -> None:
        speaker = slots[who]
        others = tuple(name for name in self._people if name != speaker)
        when = self._day.isoformat()
        said = self._filled(text, slots)
        session = f"session {self._session}"
        self._memories.append(Memory(said, speaker, (speaker, *others), when, session))

    def _filled(self, text: str, slots: dict[str, str]) -> str:
        return _filled(self._random, text, slots)

    def _dated(self, question: str) -> str:
        if self._language == "ja":
            return f"{self._day.year}年{self._day.month}月に、{question}"
        return f"{question.rstrip('?')} in {self._day:%B %Y}?"

    def _ask_in_vain(self, drawn: list[Dialogue]) -> None:
        """What was never told, and what was told by the other one."""
        told = {question.kind for question in self._questions}
        for dialogue in self._every:
            for who in self._people:
                kind = f"{dialogue.name}/{who}"
                if kind in told or (dialogue not in drawn and self._random.random() < 0.5):
                    continue
                self._questions += self._mixed(kind) or self._vain(dialogue, who)

    def _mixed(self, kind: str) -> list[Asked]:
        """For ranking, some of them have an answer: who asks for the wrong one means the thing."""
        return [
            each if self._random.random() < _MIXED_UP else Asked(each.text, (), MIXED_UP)
            for each in self._mixed_up.get(kind, ())
        ]

    def _vain(self, dialogue: Dialogue, who: str) -> Iterator[Asked]:
        other = next(name for name in self._people if name != who)
        slots = {"A": who, "B": other}
        slots |= {name: self._random.choice(some) for name, some in dialogue.slots.items()}
        for places, text in dialogue.questions:
            if all(dialogue.lines[place][0] == "A" for place in places):
                yield Asked(self._filled(text, slots), ())
