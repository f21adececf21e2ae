"""What the offline model was told: the later word counts, and what was taken back is gone."""

from __future__ import annotations

from msgspec import Struct

from clawkit.assistant.offline.facts import Fact, has_number, has_place, has_time
from clawkit.assistant.offline.sentences import Question
from clawkit.assistant.offline.words import WORD, content, key


class Told(Struct, frozen=True):
    """A fact that holds, and what was said in its place before, oldest first."""

    fact: Fact
    before: tuple[str, ...] = ()
    again: bool = False


class Found(Struct, frozen=True):
    """What answers a question; `close` is on the subject but has not what was asked for."""

    told: tuple[Told, ...]
    close: bool = False


class Memory:
    """Facts as they hold now, and every telling sentence as it was said."""

    def __init__(self) -> None:
        self._told: dict[int, Told] = {}
        self._slots: dict[tuple[str, ...], int] = {}
        self._cores: dict[frozenset[str], int] = {}
        self._said: dict[str, None] = {}
        self._next = 0

    @property
    def told(self) -> tuple[Told, ...]:
        return tuple(self._told.values())

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(self._said)

    def hear(self, sentence: str) -> None:
        """Keep a sentence word for word."""
        self._said.pop(sentence, None)
        self._said[sentence] = None

    def heard(self, sentence: str) -> bool:
        return sentence in self._said

    def tell(self, fact: Fact) -> Told:
        """Keep a fact; what it contradicts goes."""
        same = self._take(self._cores.get(fact.core))
        filled = self._take(self._slots.get(fact.slot)) if fact.slot else None
        before: tuple[str, ...] = ()
        again = False
        for earlier in (same, filled):
            if earlier is None:
                continue
            if earlier.fact.core == fact.core and earlier.fact.negative == fact.negative:
                before, again = earlier.before, True
            else:
                old = earlier.fact.value if fact.slot and not fact.negative else earlier.fact.text
                before = (*earlier.before, old or earlier.fact.text)
        told = Told(fact, before, again)
        self._told[self._next] = told
        self._cores[fact.core] = self._next
        if fact.slot:
            self._slots[fact.slot] = self._next
        self._next += 1
        return told

    def _take(self, at: int | None) -> Told | None:
        return None if at is None else self._told.pop(at, None)

    def forget(self, text: str) -> tuple[Told, ...]:
        """Take back what a text names; all of it for `everything`."""
        if text.lower().strip(" .!") in (
            "",
            "everything",
            "it all",
            "all",
            "all of it",
            "me",
            "alles",
            "tout",
            "todo",
        ):
            gone = self.told
            self._told.clear()
            self._said.clear()
            return gone
        words = content(text)
        found = {at: told for at, told in self._told.items() if words and words <= told.fact.words}
        for at in found:
            del self._told[at]
        self._said = {said: None for said in self._said if not words or not words <= content(said)}
        return tuple(found.values())

    def last(self) -> Told | None:
        return next(reversed(self._told.values()), None)

    def about(self, words: frozenset[str]) -> tuple[Told, ...]:
        return tuple(told for told in self._told.values() if words <= told.fact.words)

    def find(self, question: Question) -> Found | None:
        """The facts that answer a question, the newest first, or nothing."""
        if not question.needed:
            return None
        matches = [
            (extra, at)
            for at, told in self._told.items()
            if (extra := _distance(told.fact, question)) is not None
        ]
        if not matches:
            return None
        fitting = [
            (extra, at) for extra, at in matches if _has_asked(self._told[at].fact, question)
        ]
        nearest = min(extra for extra, _ in fitting or matches)
        chosen = [at for extra, at in fitting or matches if extra == nearest]
        told = tuple(self._told[at] for at in reversed(chosen))
        return Found(told[:5], close=not fitting)


def _has_asked(fact: Fact, question: Question) -> bool:
    text = fact.value or fact.text
    if fact.language == "cjk" or question.language != "en":
        return True
    match question.asks:
        case "when":
            return has_time(fact.text)
        case "where":
            return has_place(fact.text)
        case "count":
            return has_number(text)
        case _:
            return True


def _distance(fact: Fact, question: Question) -> int | None:
    """How many words of its subject nobody asked for; None where it is no answer."""
    if question.second_person and not (fact.second_person or question.first_person):
        return None
    if fact.language == "cjk" or question.language == "cjk":
        shared = len(question.needed & fact.words)
        return len(fact.about - question.words) if shared >= 0.6 * len(question.needed) else None
    if not _covers(fact, question):
        return None
    if not _is_about(fact, question):
        return None
    return len(fact.about - question.words)


def _covers(fact: Fact, question: Question) -> bool:
    missing = len(question.needed - fact.words)
    if missing == 0 or missing <= len(question.needed) // 4:
        return True
    # `Is my favorite color red?` is answered by what it is.
    return (
        question.yes_or_no and bool(fact.slot) and bool(fact.about) and fact.about <= question.words
    )


def _is_about(fact: Fact, question: Question) -> bool:
    if _asks_backwards(fact, question):
        return True
    if fact.of_speaker:
        return question.first_person
    if question.of_another and fact.about:
        return True
    if fact.head and fact.head not in question.words:
        return False
    # `The address` may be Anna's; `my address` is not.
    return fact.owners <= question.words or not question.first_person


def _asks_backwards(fact: Fact, question: Question) -> bool:
    """`Who is Miso?` asks for the cat by its name."""
    value = content(fact.value, fact.language)
    hit = value & question.words
    if not hit:
        return False
    if question.asks in ("when", "where", "count") and value <= question.words:
        return False
    if (fact.of_speaker and question.first_person) or question.asks == "who":
        return True
    return any(_is_name(word) for word in WORD.findall(fact.value) if key(word) in hit)


def _is_name(word: str) -> bool:
    return word[0].isupper() if not word[0].isdigit() else len(word) >= 3
