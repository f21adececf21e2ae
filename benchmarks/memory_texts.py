"""Memories and questions for measuring: sentences that somebody might note, made from a seed.

A few thousand distinct sentences are put together from parts; a memory is two of them. Names of
places, projects and things are made of syllables, so that there are frequent and rare words, as in
real notes. The same numbers give the same texts in every run.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

SENTENCES = 4000
_SEED = 20
_FIRST_DAY = date(2021, 1, 1)
_DAYS = 1800


def _choices(words: str) -> list[str]:
    """The words of a list, or what stands between slashes."""
    return words.split("/") if "/" in words else words.split()


PEOPLE = _choices(
    "Mara Jonas Amina Pedro Yuki Tomas Leila Oskar Priya Felix Nadia Henrik Rosa Milan Chloe Samir "
    "Greta Anton Ines Kofi Daria Luca Hanna Emil Zoe Marek Alma Viktor Noor Simon"
)
_STARTS = _choices(
    "Bra Kel Tav Mor Lin Ost Var Hel Nor Sil Dun Fen Gar Wes Pel Ro Al Stro Quin Zan"
)
_MIDDLES = _choices("a e i o u an en or el il ar os um")
_ENDS = _choices("brook ford mark stad dale wick ton vik berg low field haven port moor gate")
_FORMS = (
    "{who} is allergic to {food} and always carries tablets",
    "{who} moved to {place} to work as {job}",
    "{who} bought a {colour} {thing} at the market in {place}",
    "We agreed with {who} to finish the {topic} for {project} by {month}",
    "{who} prefers {food} to {food2} for breakfast",
    "The meeting with {who} about the {topic} was put off until {month}",
    "{who} broke the {thing} while cleaning the {room} and felt awful",
    "{who} started learning {skill} with a teacher from {place}",
    "The server of {project} runs out of {resource} every {day}",
    "{who} found a {animal} near {place} and named it {name}",
    "For the {topic} of {project} we decided to use {tool} instead of {tool2}",
    "{who} will give a talk on {skill} in {place} in {month}",
    "The landlord in {place} raised the rent, so {who} is looking for a new {room}",
    "{who} repaired the {thing} with parts from an old {thing2}",
    "My doctor in {place} told me to eat less {food} and to take up {skill}",
    "{who} and I cooked {food} with {food2} on {day} evening",
    "The password of the {thing} in the {room} was changed on {day}",
    "{who} lost the keys to the {room} on the train to {place}",
    "{project} lost its largest customer, {name}, over the {topic}",
    "{who} wants a {colour} {thing} as a birthday present in {month}",
)
_ASKED = (
    "What is {who} allergic to?",
    "Where did {who} move to, and to do what?",
    "What did {who} buy in {place}?",
    "When must the {topic} for {project} be finished?",
    "What does {who} like for breakfast?",
    "Until when was the meeting with {who} put off?",
    "What did {who} break while cleaning the {room}?",
    "Who started learning {skill}?",
    "What does the server of {project} run out of?",
    "Which animal did {who} find near {place}?",
    "Which tool did we decide on for the {topic} of {project}?",
    "Where will {who} talk about {skill}?",
    "Why is {who} looking for a new {room}?",
    "How did {who} repair the {thing}?",
    "What did my doctor tell me about {food}?",
    "What did I cook with {who}?",
    "When was the password of the {thing} changed?",
    "Where did {who} lose the keys to the {room}?",
    "Which customer did {project} lose?",
    "What does {who} want for the birthday?",
)
_WORDS = {
    "food": "peanuts mushrooms rye pears lentils mackerel ginger cheese barley figs celery honey "
    "noodles spinach walnuts dumplings olives porridge",
    "job": "a nurse/a carpenter/an engineer/a translator/a gardener/a pilot/a baker/an architect/"
    "a librarian/a welder/a teacher/a photographer",
    "colour": "red green blue yellow grey violet orange white brown turquoise",
    "thing": "bicycle lamp kettle guitar telescope printer carpet mirror radio camera ladder "
    "suitcase sofa projector scooter typewriter",
    "topic": "budget contract migration audit release design prototype insurance survey backup "
    "invoice translation inventory onboarding",
    "month": "January February March April May June July August September October November "
    "December",
    "room": "kitchen cellar attic office garage studio workshop bathroom greenhouse library",
    "skill": "pottery Portuguese sailing welding chess knitting photography tango beekeeping "
    "calligraphy juggling climbing",
    "resource": "memory/disk space/connections/file handles/licences/certificates",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "animal": "hedgehog kitten tortoise parrot puppy lizard squirrel rabbit heron ferret",
    "tool": "PostgreSQL Kafka Terraform Blender Excel Figma Rust Airflow Redis Grafana Ansible "
    "Jenkins",
}


@dataclass(frozen=True)
class Sentence:
    """One thing to remember, who it is about, and what it answers."""

    text: str
    who: str
    question: str


@dataclass(frozen=True)
class Noted:
    """A memory: two sentences, by their numbers, on a day."""

    first: int
    second: int
    day: str

    @property
    def text(self) -> str:
        """What is noted."""
        some = sentences()
        return f"{some[self.first].text}. {some[self.second].text}."

    @property
    def actors(self) -> tuple[str, ...]:
        """Who took part."""
        some = sentences()
        return tuple(dict.fromkeys((some[self.first].who, some[self.second].who)))


@cache
def sentences() -> tuple[Sentence, ...]:
    """The distinct sentences that all memories are made of."""
    source = random.Random(_SEED)
    found: dict[str, Sentence] = {}
    while len(found) < SENTENCES:
        sentence = _sentence(source)
        found.setdefault(sentence.text, sentence)
    return tuple(found.values())


def memories(count: int) -> Iterator[Noted]:
    """So many memories; the first ones are the same whatever the count."""
    source = random.Random(_SEED + 1)
    for _ in range(count):
        first, second = source.sample(range(SENTENCES), 2)
        day = _FIRST_DAY + timedelta(source.randrange(_DAYS))
        yield Noted(first, second, day.isoformat())


def questions(count: int, among: int) -> list[str]:
    """Distinct questions, each of which one of the first `among` memories answers."""
    source = random.Random(_SEED + 2)
    some = sentences()
    chosen = source.sample(list(itertools.islice(memories(among), among)), min(among, 20 * count))
    asked = dict.fromkeys(some[memory.first].question for memory in chosen)
    return list(itertools.islice(asked, count))


def _sentence(source: random.Random) -> Sentence:
    kind = source.randrange(len(_FORMS))
    parts = {name: source.choice(_choices(words)) for name, words in _WORDS.items()}
    for twice in ("food", "thing", "tool"):
        others = [word for word in _choices(_WORDS[twice]) if word != parts[twice]]
        parts[f"{twice}2"] = source.choice(others)
    parts |= {"place": _name(source), "project": _name(source), "name": _name(source)}
    parts["who"] = source.choice(PEOPLE)
    return Sentence(_FORMS[kind].format(**parts), parts["who"], _ASKED[kind].format(**parts))


def _name(source: random.Random) -> str:
    return source.choice(_STARTS) + source.choice(_MIDDLES) + source.choice(_ENDS)
