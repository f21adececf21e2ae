"""What becomes of a text when one person is taken out of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

from clawkit.memory.erasure.naming import OWNER, PERSON, Matcher, Person
from clawkit.memory.records import Scene
from clawkit.memory.store.texts import folded

ERASED = "[erased]"
"""Stands where sentences were, in a text of which other sentences stay."""

_BETWEEN = re.compile(
    "((?<=[.!?…])[\"'”’»)\\]]*\\s+|(?<=[。\uff01\uff1f])[」』\uff09]*|\\s*\\n\\s*)"
)
_GOES_ON = re.compile(
    r"(?:he|she|it|they|his|her|hers|their|him|them|er|sie|es|ihr|ihm|ihn|sein|seine[rnms]?"
    r"|ihre[rnms]?|il|elle|son|sa|ses|lui|él|ella|su|sus|lei|ele|ela|seu|sua|hij|zij|он|она)\b"
    r"|彼|それ|他|她",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_SHORTEST_SENTENCE = 12
_ENOUGH_OF_IT = 60  # characters; what is put together from memories is cut


class Judged(Struct, frozen=True):
    """A scene as it stays; `gone` where nothing of it does."""

    scene: Scene
    speaker: str
    conversation: str
    gone: bool = False


class Editor:
    """Takes one person out of texts; what is about others too stays, without the name.

    With `whole`, what is about others too goes as well.
    """

    def __init__(
        self, person: Person, known: Collection[str], owners: Collection[str] = (), *, whole: bool
    ) -> None:
        self.person = person
        self.whole = whole
        own = Matcher(person.forms)
        self._owner = Matcher(part for name in owners for part in (name, *name.split()))
        others = [name for name in known if not own.is_name(name) and self._is_other(name)]
        self._own = Matcher(person.forms, [name for name in others if own.mentions(name)])
        self._others = Matcher(_forms_of_others(others, self._own))
        self._gone: set[str] = set()

    def forget(self, text: str) -> None:
        """The sentences of a text that is erased: they go wherever they stand."""
        sentences = (folded(one) for one in _BETWEEN.split(text)[::2])
        self._gone.update(one for one in sentences if len(one) >= _SHORTEST_SENTENCE)

    def is_in(self, text: str) -> bool:
        """Whether a text names this person, or has something of what is erased in it."""
        if self.mentions(text):
            return True
        plain = folded(text) if self._gone else ""
        return any(one[:_ENOUGH_OF_IT] in plain for one in self._gone)

    def mentions(self, text: str) -> bool:
        return self._own.mentions(text)

    def is_person(self, name: str) -> bool:
        return self._own.is_name(name)

    def names_others(self, text: str) -> bool:
        return self._others.mentions(text)

    def without(self, text: str) -> str:
        """A text with the name taken out of it."""
        return self._own.without(text)

    def edited(self, text: str) -> str | None:
        """A text without the sentences about this person alone; None where nothing is left."""
        if not self.mentions(text) and not self._says_again(text):
            return text
        parts = _BETWEEN.split(text)
        kept: list[str] = []
        dropped = stays = False
        for sentence, after in zip(parts[::2], [*parts[1::2], ""], strict=True):
            about = self._is_about(sentence) or (dropped and bool(_GOES_ON.match(sentence)))
            if about and (self.whole or not self._others.mentions(sentence)):
                kept += () if dropped else (ERASED, after)
                dropped = True
            else:
                kept += (self.without(sentence), after)
                stays = stays or bool(sentence.strip())
                dropped = dropped and not sentence.strip()
        return "".join(kept).strip() if stays else None

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
        place = self.without(conversation)
        if not said and not self._is_in(scene):
            if not self.mentions(scene.context):
                return Judged(scene, self.without(speaker), place)
            if not _GOES_ON.match(scene.action):
                kept = msgspec.structs.replace(scene, context="")
                return Judged(kept, self.without(speaker), place)
        rest = self._rest(scene, "" if said else speaker, said=said)
        if rest is None:
            return Judged(scene, speaker, conversation, gone=True)
        return Judged(rest, PERSON if said else speaker, place)

    def _rest(self, scene: Scene, speaker: str, *, said: bool) -> Scene | None:
        """What stays of a scene that is about this person; None where that is nothing."""
        if self.whole:
            return None
        if self._has_others(scene, speaker):
            return self._anonymous(scene)
        # One memory can be several sentences of a message; those about something else stay.
        kept = None if said else self.edited(scene.action)
        kept = (kept or "").replace(ERASED, "").strip()
        if not kept or kept == scene.action:
            return None
        return self._anonymous(msgspec.structs.replace(scene, action=" ".join(kept.split())))

    def _is_in(self, scene: Scene) -> bool:
        texts = (scene.action, scene.setting, scene.feeling, *scene.actors, *scene.themes)
        return any(map(self.mentions, texts))

    def _has_others(self, scene: Scene, speaker: str) -> bool:
        people = [name for name in (*scene.actors, speaker) if name and not self.mentions(name)]
        texts = (scene.action, scene.setting, scene.feeling, *scene.themes)
        return any(map(self._is_other, people)) or any(map(self._others.mentions, texts))

    def _is_other(self, name: str) -> bool:
        """Whether a name is neither the owner's nor nobody's."""
        return folded(name) not in OWNER and name != PERSON and not self._owner.is_name(name)

    def _anonymous(self, scene: Scene) -> Scene:
        if self.mentions(scene.context):
            scene = msgspec.structs.replace(scene, context="")
        plain = msgspec.to_builtins(scene)
        plain["actors"] = [name for name in scene.actors if not self.is_person(name)]
        return msgspec.convert(self.data(plain), Scene)

    def _is_about(self, sentence: str) -> bool:
        return self.mentions(sentence) or folded(sentence) in self._gone

    def _says_again(self, text: str) -> bool:
        return bool(self._gone) and any(folded(one) in self._gone for one in _BETWEEN.split(text))


def words_of(text: str) -> set[str]:
    """The words of a text, in small letters."""
    return set(_WORD.findall(folded(text)))


def _forms_of_others(others: Collection[str], own: Matcher) -> Iterable[str]:
    for name in others:
        yield name
        first = name.split()[0]
        if len(first) > 1 and not own.is_name(first):
            yield first
