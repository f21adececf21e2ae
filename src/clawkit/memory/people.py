"""Who says "I": the people who speak to a Being, and the name of the one it belongs to.

A person is known by the name of their token, by an introduction ("I'm Margaret Holloway"), or as
the one whom most notes are about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

import msgspec

from clawkit.memory.records import Note
from clawkit.memory.store import marks
from clawkit.memory.store.database import Unit, written

USER = "user"
"""The speaker whose name nobody has said yet."""

_SELF, _ACTORS = "self", "actors"
_NOBODY = frozenset(("", USER, "assistant", "system", "tool", "human", "me", "i"))
_MOST_NAMES = 200
_ENOUGH_NOTES = 6
_SHARE = 0.4

_NAME = (
    r"([A-ZÀ-ÖØ-ÞА-ЯİŞÇĞ][\w’'-]+"
    r"(?: (?:(?:van|von|de|da|di|del|la|le|der|den) )*[A-ZÀ-ÖØ-ÞА-ЯİŞÇĞ][\w’'-]+)?)"
)
_INTRODUCED = re.compile(
    rf"(?:\b[Mm]y name(?:'s| is)|\bI(?: a|['’])m(?: called)?|\b[Cc]all me"
    rf"|\b[Mm]ein Name ist"
    rf"|\b[Ii]ch (?:heiße|heisse|bin(?: die| der)?)|\b[Mm]e llamo|\b[Mm]i nombre es|\b[Ss]oy"
    rf"|\b[Jj]e m['’]appelle|\b[Mm]oi,? c['’]est|\b[Mm]i chiamo|\b[Mm]e chamo|\b[Cc]hamo-me"
    rf"|\b[Ss]ou [oa]|\b[Ii]k heet|\b[Mm]ijn naam is|\b[Мм]еня зовут|\b[Aa]d\u0131m) {_NAME}"
    rf"|(?:私の名前は|私は)([\u3040-\u30ff\u4e00-\u9fff]{{2,8}}?)(?:です|と申します|といいます)"
    rf"|(?:我叫|我的名字是)([\u4e00-\u9fff]{{2,4}})"
    rf"|제 이름은 ([\uac00-\ud7af]{{2,5}}?)(?:입니다|이에요|예요)"
)
_MAYBE = re.compile(r"(?:I\b|[Ii]ch bin|[Ss]oy|[Ss]ou)")
_AND_AGE = re.compile(r", (?:aged )?\d{1,3}\b")
_OCCUPATION = re.compile(
    r"\b(?:manager|director|officer|engineer|president|assistant|consultant|designer|developer"
    r"|analyst|teacher|nurse|doctor|student|partner|owner|lead|head|chief|editor)$",
    re.IGNORECASE,
)
_FIRST_PERSON = re.compile(
    r"\b(?:i|me|my|mine|myself|we|us|our|ours|ich|mir|mich|mein(?:e[rsnm]?)?|wir|uns|unsere?[rsnm]?"
    r"|je|moi|mon|mes|nous|notre|nos|yo|mí|mi|mis|nosotros|nuestr[oa]s?|io|mio|mia|miei|noi"
    r"|nostr[oaie]|eu|meu|minha|meus|minhas|nós|nosso|nossa|ik|mij|mijn|wij|ons|onze|я|мне|мой|моя"
    r"|benim|bana)\b|j['’]|私|僕|俺|我|나|저|내",
    re.IGNORECASE,
)


def introduced(text: str) -> str:
    """The whole name by which a speaker introduces themselves; empty where they do not."""
    found = _INTRODUCED.search(text)
    if found is None:
        return ""
    name: str = next(filter(None, found.groups()))
    if not _MAYBE.match(found[0]):
        return name
    # "I'm Italian" is no name, and nobody can tell; a surname or an age behind it can.
    sure = (" " in name and not _OCCUPATION.search(name)) or _AND_AGE.match(text, found.end())
    return name if sure else ""


def names_oneself(text: str) -> bool:
    """Whether it says "my name is", which counts more than what was taken for a name before."""
    found = _INTRODUCED.search(text)
    return found is not None and not _MAYBE.match(found[0])


def learn(unit: Unit, given: Iterable[Note]) -> None:
    """Learn from notes what the person is called."""
    own, named = set[str](), False
    actors: Counter[str] = Counter()
    for note in given:
        if note.scene is None:
            continue
        if note.source.speaker == USER:
            own.add(introduced(note.scene.action))
            named = named or names_oneself(note.scene.action)
        elif not note.source.speaker:
            actors.update(name for name in note.scene.actors if name.casefold() not in _NOBODY)
            actors[""] += 1
    if named:
        marks.put(unit, _SELF, written([]))
    if not _names(unit, _SELF):
        _add(unit, _SELF, (own - {""}) or _most_noted(unit, actors))


def own_names(unit: Unit) -> frozenset[str]:
    """What the person is called whom this Being belongs to."""
    return _names(unit, _SELF)


def voices(unit: Unit) -> frozenset[str]:
    """The names that stand for "I" in what is remembered."""
    speakers = marks.speakers(unit)
    known = marks.names(unit) if speakers is None else speakers
    return frozenset(name for name in known if name.casefold() not in _NOBODY) | own_names(unit)


def speaks_of_self(text: str) -> bool:
    """Whether a text says "I", "my" or "we"."""
    return _FIRST_PERSON.search(text) is not None


def _names(unit: Unit, mark: str) -> frozenset[str]:
    found = marks.get(unit, mark)
    return frozenset(msgspec.json.decode(found, type=list[str])) if found else frozenset()


def _add(unit: Unit, mark: str, new: Iterable[str]) -> None:
    known = _names(unit, mark)
    more = sorted({name.strip() for name in new if name.strip()} - known)
    if more and len(known) < _MOST_NAMES:
        marks.put(unit, mark, written([*sorted(known), *more][:_MOST_NAMES]))


def _most_noted(unit: Unit, new: Counter[str]) -> set[str]:
    """The one whom most notes are about, once there are enough to tell."""
    if not new:
        return set()
    there = marks.get(unit, _ACTORS)
    counts = Counter(msgspec.json.decode(there, type=dict[str, int]) if there else {}) + new
    marks.put(unit, _ACTORS, written(dict(counts.most_common(_MOST_NAMES))))
    notes = counts.pop("", 0)
    for name, times in counts.most_common(1):
        if times >= _ENOUGH_NOTES and times >= _SHARE * notes:
            return {name}
    return set()
