"""What becomes of a text when one person is taken out of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.memory.erasure.naming import OWNER, PERSON, Matcher, Person, Span, is_common
from clawkit.memory.people import speaks_of_self
from clawkit.memory.records import Scene
from clawkit.memory.store.texts import folded
from clawkit.text.sentences import sentence_spans

ERASED = "[erased]"
"""Stands where sentences were, in a message or an entry of which other sentences stay."""

_GOES_ON = re.compile(
    r"\W*(?:(?:he|she|it|they|his|her|hers|their|him|them|er|sie|es|ihr|ihm|ihn|sein|seine[rnms]?"
    r"|ihre[rnms]?|il|elle|son|sa|ses|lui|él|ella|su|sus|lei|ele|ela|seu|sua|hij|zij|он|она)\b"
    r"|彼|それ|他|她)",
    re.IGNORECASE,
)
_LINKED = re.compile(
    r"(?:and|but|or|so|too|then|because|und|aber|oder|sondern|denn|weil|dann|et|mais|ou|y|pero|ma"
    r"|e|mas|en|maar|и|но)\b",
    re.IGNORECASE,
)
_CLAUSE_END = re.compile(r";\s+")
_WORD = re.compile(r"\w+")
_SPELLED = re.compile(r"[^\W\d_][\w'’]*")
_AFTER_SUBJECTS = "is was are were has had will can hat hatte ist war wird kann est a è es"
_VERBS = frozenset(_AFTER_SUBJECTS.split())
_END_MARKS = ".!?…"
_SHORTEST_SENTENCE = 12
_ENOUGH_OF_IT = 60  # characters; what is put together from memories is cut


class Judged(Struct, frozen=True):
    """A scene as it stays; `gone` where nothing of it does."""

    scene: Scene
    speaker: str
    conversation: str
    gone: bool = False


class Editor:
    """Takes one person out of texts: sentences that name them, and that go on about it."""

    def __init__(
        self, person: Person, known: Collection[str], owners: Collection[str] = ()
    ) -> None:
        self._own = Matcher(person.forms)
        self._owners = frozenset(word for name in owners for word in words_of(name))
        others = {word for name in known if not self._own.is_name(name) for word in words_of(name)}
        own = {word for form in person.forms for word in words_of(form)}
        self._others = others.difference(own, OWNER, words_of(PERSON), self._owners)
        self._gone: set[str] = set()

    def forget(self, text: str) -> None:
        """The sentences of a text that is erased: they go wherever they stand."""
        said = (folded(text[start:end].strip()) for start, end in sentence_spans(text))
        self._gone.update(one for one in said if len(one) >= _SHORTEST_SENTENCE)

    def is_in(self, text: str) -> bool:
        """Whether a text names this person, or has something of what is erased in it."""
        if self.mentions(text):
            return True
        plain = folded(text) if self._gone else ""
        return any(one[:_ENOUGH_OF_IT] in plain for one in self._gone)

    def mentions(self, text: str) -> bool:
        return self._own.mentions(text)

    def maybe(self, text: str) -> list[str]:
        """The names in a text that may be this person's or somebody else's."""
        return self._own.maybe(text)

    def is_person(self, name: str) -> bool:
        return self._own.is_name(name)

    def names_others(self, text: str) -> bool:
        """Whether a text names somebody who is known here."""
        return bool(words_of(text) & self._others)

    def without(self, text: str) -> str:
        """A text with the name taken out of it."""
        return self._own.without(text)

    def edited(self, text: str) -> str | None:
        """A text with a mark in the place of what is about this person; None if nothing stays."""
        return self._cut(text, ERASED)

    def data(self, value: Any) -> Any:
        """Plain data with the name taken out of its texts."""
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {self.without(name): self.data(one) for name, one in items}
        if isinstance(value, list):
            return [self.data(one) for one in cast("list[Any]", value)]
        return value

    def judged(self, scene: Scene, speaker: str, conversation: str, *, own: bool) -> Judged:
        """What becomes of a scene; `own` where this person said it, whoever it names."""
        said = own or self.is_person(speaker)
        rest = self._rest(scene, said=said)
        if rest is None:
            return Judged(scene, speaker, conversation, gone=True)
        return Judged(rest, PERSON if said else self.without(speaker), self.without(conversation))

    def _rest(self, scene: Scene, *, said: bool) -> Scene | None:
        """What stays of a scene; None where that is nothing, or nothing about anybody else."""
        beside = (scene.setting, scene.feeling, *scene.themes)
        named = said or self.mentions(scene.action) or any(map(self.mentions, beside))
        takes_part = any(map(self.mentions, scene.actors))
        if not named and not takes_part:
            return self._without_context(scene)
        if takes_part and not self.mentions(scene.action):
            return None
        action = self._cut(scene.action, "", said=said)
        if action is None or not self._is_of_others(action):
            return None
        return msgspec.structs.replace(
            scene,
            action=action,
            actors=tuple(name for name in scene.actors if not self.mentions(name)),
            setting="" if self.mentions(scene.setting) else scene.setting,
            feeling="" if self.mentions(scene.feeling) else scene.feeling,
            themes=tuple(theme for theme in scene.themes if not self.mentions(theme)),
            context="" if self.mentions(scene.context) else scene.context,
        )

    def _without_context(self, scene: Scene) -> Scene | None:
        """A scene that only what was said before it names: "She is ill" is about that person."""
        if not self.mentions(scene.context):
            return scene
        if _GOES_ON.match(scene.action) and not self.names_others(scene.context):
            return None
        return msgspec.structs.replace(scene, context="")

    def _cut(self, text: str, mark: str, *, said: bool = False) -> str | None:
        """A text without what is about this person; None where no sentence is left of it."""
        about = list(self._pieces(text, said=said))
        if not any(goes for _, goes in about):
            return text
        kept = ""
        dropped = False
        for piece, goes in about:
            if goes:
                kept = _closed(kept, piece) if not mark else kept
                kept += mark + _space_after(piece) if mark and not dropped else ""
            else:
                kept += _capital(piece) if dropped else piece
            dropped = goes
        rest = "".join(piece for piece, goes in about if not goes)
        return kept.strip() if _says_something(rest) else None

    def _pieces(self, text: str, *, said: bool) -> Iterator[tuple[str, bool]]:
        """The sentences and clauses of a text, and whether each is about this person."""
        names = self._own.spans(text)
        dropped = False
        for start, end in sentence_spans(text):
            whole = folded(text[start:end].strip()) in self._gone
            for at, (first, last) in enumerate(_clauses(text, start, end)):
                piece = text[first:last]
                goes = whole or any(here < last and first < there for here, there in names)
                goes = goes or (said and speaks_of_self(piece))
                goes = goes or (dropped and _follows(piece, within=at > 0))
                yield piece, goes
                dropped = goes or (dropped and not piece.strip())

    def _is_of_others(self, text: str) -> bool:
        """Whether a text is about the memory's own person, or names somebody."""
        if speaks_of_self(text) or words_of(text) & (self._others | self._owners):
            return True
        return any(_names_somebody(text[start:end]) for start, end in sentence_spans(text))


def words_of(text: str) -> set[str]:
    """The words of a text, in small letters."""
    return set(_WORD.findall(folded(text)))


def _clauses(text: str, start: int, end: int) -> Iterable[Span]:
    for match in _CLAUSE_END.finditer(text, start, end):
        yield start, match.end()
        start = match.end()
    if start < end:
        yield start, end


def _follows(piece: str, *, within: bool) -> bool:
    """Whether words make no sense, or go on about the same person, without those before them."""
    return bool(_GOES_ON.match(piece) or (within and _LINKED.match(piece)))


def _closed(kept: str, dropped: str) -> str:
    """What is kept before a clause that goes, with the end that its sentence had."""
    if not kept.rstrip().endswith(";") or _CLAUSE_END.search(dropped):
        return kept
    end = dropped.rstrip()[-1:]
    end = end if end in _END_MARKS else ""
    return kept.rstrip().removesuffix(";") + end + _space_after(dropped)


def _space_after(piece: str) -> str:
    return piece[len(piece.rstrip()) :]


def _capital(piece: str) -> str:
    return piece[:1].upper() + piece[1:]


def _says_something(text: str) -> bool:
    """Whether a text can be a sentence: two words, or a script without spaces between them."""
    return len(_WORD.findall(text)) > 1 or (bool(text.strip()) and not text.isascii())


def _names_somebody(sentence: str) -> bool:
    """Whether a word in a sentence can be a name; "Due in May" has none, "Tom baked" has one."""
    words: list[str] = _SPELLED.findall(sentence)
    for at, word in enumerate(words):
        if not word[0].isupper() or is_common(word):
            continue
        following = words[at + 1] if at + 1 < len(words) else ""
        if at > 0 or (following and (following in _VERBS or not is_common(following))):
            return True
    return False
