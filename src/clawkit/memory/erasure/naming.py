"""Finds one person in texts: by the whole name, by its parts where nobody else has them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.memory.store.texts import folded

PERSON = "[erased person]"
"""Stands where a name was, in sentences that are about others too."""

OWNER = frozenset(("user", "assistant", "i", "me", "myself", "we", "you", "human", "ai", "system"))
"""Who is nobody else: the memory's own person, and the assistant."""

_CJK = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_CJK}]")
_LETTER = rf"[^\W_{_CJK}]"  # a Japanese particle may follow a name at once
_GENITIVE = "(?:['’]s?|s)?"
_SHORTEST_PART = 2
# As names they have a capital letter.
_CAPITALISED = """
april art august autumn baker ball banks bauer baum bell berg best bill bird bishop black blum
bond braun brown bush busch butler carter chance chase chip christian cliff cook cross daisy dawn
day dean drew engel faith field fischer fisher ford fox frank frei french fuchs gene german gold
grace grant green gross hall hand herbst hill holly hope house hunter iris ivy jack joy june jung
kaiser kern king klein knight koch kurz lake lamb lang law lily little long love mark mason max
may mercy miles moon north olive page parker pat pearl penny price reich rice rich rob robin rose
ruby sandy schneider schwarz sharp short silver sky small snow sommer star stark stein stone
street strong summer sunny swift taylor violet vogel wade wald walker weiss west white will winter
wise wolf wood young
"""
_WORDS_TOO = frozenset(_CAPITALISED.split())


class Person(Struct, frozen=True):
    """Who is meant: `whole` are names that are nobody else's word, `parts` belong to this name.

    `shared` has the parts that are not looked for, with the people who have them too.
    """

    name: str
    whole: tuple[str, ...]
    parts: tuple[str, ...] = ()
    shared: dict[str, tuple[str, ...]] = {}

    @property
    def forms(self) -> tuple[str, ...]:
        return (*self.whole, *self.parts)


def person(name: str, also: Collection[str], known: Collection[str]) -> Person:
    """The person of a name among those who are known; an error where several could be meant."""
    name = " ".join(name.split())
    if not _forms_something(name):
        raise BeingError("say whose: a name, such as `claw memory person 'Ben Whitaker'`")
    name = _whole_name(name, known)
    nicknames = tuple(" ".join(one.split()) for one in also if _forms_something(one))
    own = {folded(one) for one in (name, *nicknames)}
    parts = _parts(name)
    others = [one for one in known if folded(one) not in own | {folded(part) for part in parts}]
    shared = {part: tuple(sorted(o for o in others if _has(o, part))) for part in parts}
    free = tuple(part for part in parts if not shared[part] and folded(part) not in own)
    taken = {part: them for part, them in shared.items() if them and folded(part) not in own}
    return Person(name, (name, *nicknames), free, taken)


def _forms_something(name: str) -> bool:
    return any(one.isalnum() for one in name)


def _whole_name(name: str, known: Collection[str]) -> str:
    """The whole name of somebody who is known by it and named by the first name alone."""
    if " " in name:
        return name
    longer = [one for one in known if " " in one and folded(one).split()[0] == folded(name)]
    if len({folded(one) for one in longer}) > 1:
        raise BeingError(f"several people are called {name}: say whom: {', '.join(sorted(longer))}")
    return longer[0] if longer else name


def _parts(name: str) -> list[str]:
    """The first and the last name."""
    words = name.split()
    if len(words) < 2:
        return []
    ends = dict.fromkeys((words[0], words[-1]))
    return [word for word in ends if len(word.strip(".")) >= _SHORTEST_PART]


def _has(name: str, part: str) -> bool:
    return folded(part) in folded(name).split()


class Matcher:
    """Finds names in texts; those of `others` that have such a name in them are left alone."""

    def __init__(self, forms: Iterable[str], others: Iterable[str] = ()) -> None:
        ways = [_way(form) for form in _longest_first(forms)]
        apart = [_way(name) for name in _longest_first(others)] if ways else []
        ways = [f"(?P<other>{'|'.join(apart)})", *ways] if apart else ways
        self._pattern = re.compile("|".join(ways), re.IGNORECASE) if ways else None

    def mentions(self, text: str) -> bool:
        return any(True for _ in self._found(text))

    def is_name(self, text: str) -> bool:
        """Whether a text is such a name and nothing else."""
        text = text.strip()
        return any(match.span() == (0, len(text)) for match in self._found(text))

    def without(self, text: str, instead: str = PERSON) -> str:
        """A text with something else in the place of each name."""
        parts: list[str] = []
        end = 0
        for match in self._found(text):
            parts += (text[end : match.start()], instead)
            end = match.end()
        return "".join(parts) + text[end:] if parts else text

    def _found(self, text: str) -> Iterable[re.Match[str]]:
        if self._pattern is None:
            return
        for match in self._pattern.finditer(text):
            if match.groupdict().get("other") is not None:
                continue
            said = match[0]
            name = said.removesuffix("'").removesuffix("’").removesuffix("'s").removesuffix("’s")
            capital = said[0] == said[0].upper()
            if capital or (name.casefold() not in _WORDS_TOO and not _plural(match)):
                yield match


def _longest_first(forms: Iterable[str]) -> list[str]:
    return sorted({form for form in forms if form}, key=len, reverse=True)


def _plural(match: re.Match[str]) -> bool:
    """Whether an s is all that tells it from a name: jeans is nothing of Jean's."""
    return any(one == "s" for one in match.groups() if one)


def _way(form: str) -> str:
    variants = dict.fromkeys(unicodedata.normalize(kind, form) for kind in ("NFC", "NFD"))
    if _UNSPACED.search(form):
        return "|".join(re.escape(one) for one in variants)
    joined = (r"[\s._\-]*".join(map(re.escape, one.split())) for one in variants)
    return rf"(?<!{_LETTER})(?:{'|'.join(joined)})({_GENITIVE})(?!{_LETTER})"
