"""People: whom a Being knows by name, who of them says "I", and their names in texts.

The one whom a Being belongs to is known by the name of their token, by an introduction ("I'm
Margaret Holloway"), or as the one whom most notes are about.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cached_property, lru_cache

import msgspec

from clawkit.memory.records import USER, Note
from clawkit.store.database import Unit, written

NAMES = "names"
"""The mark that has the names of all who take part."""

_SELF, _SPEAKERS, _ACTORS = "self", "speakers", "actors"
_NOBODY = frozenset(("", USER, "assistant", "system", "tool", "human", "me", "i"))
_MOST_KNOWN, _MOST_OWN = 2000, 200
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
    rf"|\b[Ss]ou [oa]|\b[Ii]k heet|\b[Mm]ijn naam is|\b[Мм]еня зовут|\b[Aa]d\u0131m"
    rf"|\b[Nn]azywam si\u0119|\b[Mm]am na imi\u0119|\b[Jj]estem|\b[Jj]ag heter) {_NAME}"
    rf"|(?:^|[.!,:] )(?:ben|[Яя]) {_NAME}(?=[.,!]|$)"
    rf"|(?:私の名前は|私は)([\u3040-\u30ff\u4e00-\u9fff]{{2,8}}?)(?:です|と申します|といいます)"
    rf"|(?:我叫|我的名字是)([\u4e00-\u9fff]{{2,4}})"
    rf"|(?:我是)([王李张刘陈杨赵吴徐孙][\u4e00-\u9fff]{{1,2}})(?=[,\uff0c。!\uff01]|$)"
    rf"|[제내] 이름은 ([\uac00-\ud7af]{{2,5}}?)(?:입니다|이에요|예요|이야|야)"
    rf"|(?:나는|난|저는) ([\uac00-\ud7af]{{2,5}}?)이?라고 (?:해|합니다)"
    rf"|(?:나는|난|저는) ([김박최윤](?!사)[\uac00-\ud7af]{{2}})(?:입니다|이에요|예요|이야|야)"
)
_MAYBE = re.compile(r"(?:I\b|[Ii]ch bin|[Ss]oy|[Ss]ou|[Jj]estem|(?:[.!,:] )?(?:ben|[Яя]) )")
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
    r"|моё|мои|меня|мной|мы|нас|нам|наш|наша|наше|наши|нашу|нашей|benim|bana|beni|bende|benden|bizim|bize)\b|j['’]|私|僕|俺|我"
    r"|(?<![가-힣])(?:나|저|내|제|우리)(?:는|도|를|의|가|랑|한테|에게|한테서)?(?![가-힣])",
    re.IGNORECASE,
)


class KnownPeople(msgspec.Struct, frozen=True, dict=True):
    """The people whom one Being knows by name."""

    names: frozenset[str]
    """Everybody who takes part in what it remembers."""

    own: frozenset[str]
    """What the person is called whom it belongs to."""

    speakers: frozenset[str] | None
    """Everybody who has told it something; None in a store that never counted them."""

    @cached_property
    def everybody(self) -> frozenset[str]:
        return self.names | self.own

    @cached_property
    def voices(self) -> frozenset[str]:
        """The names that stand for "I" in what is remembered."""
        found = self.names if self.speakers is None else self.speakers
        return frozenset(name for name in found if name.casefold() not in _NOBODY) | self.own


def known(unit: Unit) -> KnownPeople:
    sql = "SELECT name, value FROM marks WHERE being = $being AND name IN (?, ?, ?)"
    return _read_people(*unit.rows(sql, NAMES, _SELF, _SPEAKERS))


@lru_cache(maxsize=64)
def _read_people(*marks: tuple[str, str]) -> KnownPeople:
    """The same for the same marks, which change when somebody new comes."""
    found = {mark: frozenset(msgspec.json.decode(value, type=list[str])) for mark, value in marks}
    none = frozenset[str]()
    return KnownPeople(found.get(NAMES, none), found.get(_SELF, none), found.get(_SPEAKERS))


def meet(unit: Unit, people: Collection[str], speakers: Collection[str] = ()) -> None:
    """Remember that these take part in what is remembered, and that these speak here."""
    there = known(unit)
    _add(unit, NAMES, there.names, people, _MOST_KNOWN)
    heard = there.speakers
    if heard is None:
        rows = unit.rows("SELECT DISTINCT speaker FROM nodes WHERE being = $being")
        speakers, heard = {*speakers, *(speaker for (speaker,) in rows)}, frozenset[str]()
        unit.set_mark(_SPEAKERS, written([]))
    _add(unit, _SPEAKERS, heard, speakers, _MOST_KNOWN)


def _add(unit: Unit, mark: str, there: frozenset[str], new: Iterable[str], most: int) -> None:
    more = {name for name in new if name} - there
    if more and len(there) < most:
        unit.set_mark(mark, written(sorted(there | more)[:most]))


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
        unit.set_mark(_SELF, written([]))
    if named or not known(unit).own:
        called = {name.strip() for name in (own - {""}) or _most_noted(unit, actors)}
        _add(unit, _SELF, frozenset(), called, _MOST_OWN)


def speaks_of_self(text: str) -> bool:
    """Whether a text says "I", "my" or "we"."""
    return _FIRST_PERSON.search(text) is not None


def _most_noted(unit: Unit, new: Counter[str]) -> set[str]:
    """The one whom most notes are about, once there are enough to tell."""
    if not new:
        return set()
    there = unit.mark(_ACTORS)
    counts = Counter(msgspec.json.decode(there, type=dict[str, int]) if there else {}) + new
    unit.set_mark(_ACTORS, written(dict(counts.most_common(_MOST_OWN))))
    notes = counts.pop("", 0)
    for name, times in counts.most_common(1):
        if times >= _ENOUGH_NOTES and times >= _SHARE * notes:
            return {name}
    return set()


_CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_HONORIFIC = "(?:さん|ちゃん|くん|君|様|さま|先生|씨|님)?"
# As names they have a capital letter.
_CAPITALISED = """
art bill chance chase daisy dawn faith frank grace grant hope hunter iris ivy jack joy june
april august mark may mercy miles pat rich rob rose ruby sandy sky summer sunny violet will
wade drew chip gene holly olive pearl penny robin dean
"""
_ALSO_WORDS = frozenset(_CAPITALISED.split())
_NO_NAMES = frozenset(("i", "me", "we", "you", "user", "assistant", "system", "human", "ai"))
_SHORTEST = 2


class ParticipantNames:
    """The names of people as they stand in texts.

    A name says who, and not what. Left in a text it draws its vector towards everything else that
    person ever did, so in memories and in questions a participant becomes "I".
    """

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


@lru_cache(maxsize=4096)
def first_name(name: str) -> str:
    """By which somebody is recognised, whether they are named in full or not; casefolded."""
    return name.strip().casefold().split(" ")[0]


def is_same(named: Iterable[str], person: str) -> bool:
    """Whether somebody is among those who were named, by whole or by first name."""
    return first_name(person) in {name.split(" ")[0] for name in named}


def _forms(name: str) -> list[str]:
    if name.casefold() in _NO_NAMES or len(name) < _SHORTEST:
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
