"""Facts in what people say, found by the form of their sentences: no model, no key.

People state things about themselves and others, decide, and ask to be remembered. What they ask,
request, paste or quote says nothing about them. Sentences are kept as they were said; a sentence
that goes on about the one before stays with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from clawkit.memory.patrol import forms
from clawkit.memory.patrol.conversation import own_words
from clawkit.memory.patrol.dates import day_of, resolved
from clawkit.memory.patrol.weighing import USUAL, importance
from clawkit.memory.records import Said, Scene

_LONGEST_MESSAGE = 20_000
_LONGEST = 600
_FEWEST_WORDS = 3
_FEWEST_CHARACTERS = 6
_MOST_SCENES = 20
_LINK = re.compile(r"https?://\S+")
_LOOKS_LIKE_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:def|class|import|from|return|const|let|var|function|SELECT|INSERT|\$|>>>)\s"
    r"|=>|==|\(\)|\w\.\w+\(|^\s*\w+ = |</?\w+>|^\s*at \w|Traceback|Error:"
)


class Fact(msgspec.Struct, frozen=True):
    """A scene, and whether its day was named; else it is the day when it was said."""

    scene: Scene
    dated: bool
    message: str


def facts(said: Said, speaker: str, people: Collection[str]) -> list[Fact]:
    """The facts in one message, in their order."""
    if said.role != "user":
        return []
    found: list[Fact] = []
    day = day_of(said.at)
    text = own_words(said.text[:_LONGEST_MESSAGE])
    for statement in _statements(text, people)[:_MOST_SCENES]:
        action, days = resolved(statement, day)
        scene = Scene(
            action=action,
            actors=_actors(statement, speaker, people),
            when=days or (day.isoformat(),),
            importance=importance(statement),
        )
        found.append(Fact(scene, bool(days), said.id))
    return found


def _statements(text: str, people: Collection[str]) -> list[str]:
    """The sentences that state a fact, each with those that go on about it."""
    found: list[str] = []
    joined = False
    for sentence in _sentences(text):
        if forms.JOKE.search(sentence):
            found, joined = found[:-1] if joined else found, False
            continue
        goes_on = joined and forms.GOES_ON.match(sentence) and _is_statement(sentence)
        if goes_on and len(found[-1]) + len(sentence) < _LONGEST:
            found[-1] = f"{found[-1]} {sentence}"
        else:
            joined = _is_fact(sentence, people)
            found += [sentence] * joined
    return found


def _sentences(text: str) -> list[str]:
    parts = forms.SENTENCE_END.split(text)
    cleaned = (" ".join(forms.BULLET.sub("", part).split()) for part in parts if part)
    return [part for part in cleaned if part]


def _is_statement(sentence: str) -> bool:
    """Whether it says something at all, and neither asks, requests nor greets."""
    if len(sentence) > _LONGEST or _LOOKS_LIKE_CODE.search(sentence):
        return False
    if forms.JAPANESE.search(sentence):
        enough = len(sentence) >= _FEWEST_CHARACTERS
    else:
        enough = len(_LINK.sub("", sentence).split()) >= _FEWEST_WORDS
    enough = enough or bool(forms.INTRODUCED.match(sentence))
    if not enough or forms.SMALL_TALK.search(sentence) or forms.QUESTION.search(sentence):
        return False
    if forms.TOLD_TO_KEEP.search(sentence):
        return True
    return not forms.REQUEST.search(sentence) and not forms.OF_THE_MOMENT.search(sentence)


def _is_fact(sentence: str, people: Collection[str]) -> bool:
    if not _is_statement(sentence):
        return False
    sentence = forms.OTHERS_WORDS.sub(" ", sentence)
    if forms.TOLD_TO_KEEP.search(sentence) or forms.DECIDED.search(sentence):
        return True
    if forms.JAPANESE.search(sentence):
        states = forms.JAPANESE_STATEMENT.search(sentence)
        return bool(states and forms.JAPANESE_FACT.search(sentence))
    if forms.ABOUT_SELF.search(sentence):
        return True
    somebody = forms.ABOUT_SOMEBODY.match(sentence)
    if not somebody:
        return False
    known = somebody[1] in people or importance(sentence) > USUAL
    return known or not somebody["does"]


def _actors(sentence: str, speaker: str, people: Collection[str]) -> tuple[str, ...]:
    """Who takes part: the speaker, people who are known, and those who are introduced."""
    named = [name for name in sorted(people) if _names(name, sentence)]
    named += [match[1] for match in forms.RELATION.finditer(sentence)]
    return tuple(dict.fromkeys((speaker, *named)))


def _names(name: str, sentence: str) -> bool:
    if len(name) < 2 or name not in sentence:
        return False
    edge = r"\b" if name.isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{edge}", sentence) is not None
