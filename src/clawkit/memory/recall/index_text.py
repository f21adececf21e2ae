"""What of a memory is indexed as words or embedded, with participants' names masked.

A name says who, and not what. Left in a text it draws its vector towards everything else that
person ever did, so in memories and in questions a participant becomes "I".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from datetime import date
from functools import lru_cache

from clawkit.memory.records import MemorySource, Node, Scene
from clawkit.text.tokenizer import terms

_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HONORIFIC = "(?:さん|ちゃん|くん|君|様|さま|先生|씨|님)?"
# As names they have a capital letter.
_CAPITALISED = """
art bill chance chase daisy dawn faith frank grace grant hope hunter iris ivy jack joy june
april august mark may mercy miles pat rich rob rose ruby sandy sky summer sunny violet will
wade drew chip gene holly olive pearl penny robin dean
"""
_ALSO_WORDS = frozenset(_CAPITALISED.split())
_NOBODY = frozenset(("i", "me", "we", "you", "user", "assistant", "system", "human", "ai"))
_SHORTEST = 2


class ParticipantNames:
    """The people that one Being knows."""

    def __init__(self, names: Iterable[str]) -> None:
        self._owner: dict[str, str] = {}
        for name in sorted({name.strip() for name in names}):
            for form in _forms(name):
                self._owner.setdefault(_key(form), name.casefold())
        self._pattern = _pattern(self._owner)

    def named(self, text: str) -> frozenset[str]:
        """The names in a text, whole and casefolded."""
        if self._pattern is None:
            return frozenset()
        return frozenset(self._owner[_key(match["name"])] for match in self._found(text))

    def masked(self, text: str) -> str:
        """The text as its speaker would say it of himself."""
        if self._pattern is None:
            return text
        parts: list[str] = []
        end = 0
        for match in self._found(text):
            parts += (text[end : match.start()], _instead(match))
            end = match.end()
        return "".join(parts) + text[end:]

    def _found(self, text: str) -> Iterable[re.Match[str]]:
        assert self._pattern is not None
        for match in self._pattern.finditer(text):
            name = match["name"]
            if name.casefold() not in _ALSO_WORDS or name[0].isupper():
                yield match


@lru_cache(maxsize=64)
def names_of(people: frozenset[str]) -> ParticipantNames:
    """The same for the same people; to make it takes longer than to use it."""
    return ParticipantNames(people)


def is_same(named: Iterable[str], person: str) -> bool:
    """Whether somebody is among those who were named, by whole or by first name."""
    person = person.strip().casefold()
    return any(person == name or person.split(" ")[0] == name.split(" ")[0] for name in named)


def _forms(name: str) -> list[str]:
    if name.casefold() in _NOBODY or len(name) < _SHORTEST:
        return []
    first = name.split()[0]
    return [name, first] if len(first) > _SHORTEST and first != name else [name]


def _key(form: str) -> str:
    return form.casefold()


def _pattern(forms: Iterable[str]) -> re.Pattern[str] | None:
    ordered = sorted(forms, key=len, reverse=True)
    unspaced = [re.escape(form) for form in ordered if _CJK.search(form)]
    spaced = [re.escape(form) for form in ordered if not _CJK.search(form)]
    ways = [rf"(?<!\w)(?:{'|'.join(spaced)})(?!\w)"] if spaced else []
    # The name in the text may have Japanese right behind it, where `\w` goes on.
    ways += [rf"(?<![a-z])(?:{'|'.join(spaced)})(?=[\u3040-\u9fff])"] if spaced else []
    ways += [f"(?:{'|'.join(unspaced)})"] if unspaced else []
    if not ways:
        return None
    return re.compile(
        rf"(?P<name>{'|'.join(ways)})(?P<after>{_HONORIFIC}(?:['’]s\b)?)", re.IGNORECASE
    )


def _instead(match: re.Match[str]) -> str:
    if match["after"].endswith("s"):
        return "my"
    return "私" if _CJK.search(match[0]) or _CJK.match(match.string[match.end() :][:1]) else "I"


_DAY = "\x02"
"""Begins a term that stands for a day; no text has it."""


def words_of(scene: Scene, source: MemorySource) -> Counter[str]:
    """What a memory is found by: who, where, what, how it felt, what it is about, which days."""
    people = {source.speaker, *scene.actors}
    parts = (*sorted(people), scene.setting, scene.action, scene.feeling, *scene.themes)
    found = terms(" \n".join(part for part in parts if part))
    found.update(day_terms(days_of(scene.when)))
    return found


def day_terms(days: Iterable[date]) -> list[str]:
    """The terms by which memories of these days are found."""
    return [f"{_DAY}{day.isoformat()}" for day in days]


def days_of(when: Iterable[str]) -> list[date]:
    """The days that a memory is about, those that are written as such."""
    found: list[date] = []
    for text in when:
        try:
            found.append(date.fromisoformat(text[:10]))
        except ValueError:
            continue
    return found


def texts_to_embed(scene: Scene, voices: Collection[str]) -> tuple[str, str]:
    """What a memory means, alone and after what was said before it; speakers' names are "I"."""
    parts = (scene.setting, scene.action, scene.feeling)
    masked = names_of(frozenset(voices)).masked
    alone = masked(" — ".join(part for part in parts if part))
    return alone, f"{masked(scene.context)} {alone}" if scene.context else ""


def words_of_node(node: Node) -> Counter[str]:
    return words_of(node.scene, node.source)
