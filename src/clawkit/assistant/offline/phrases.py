"""The words around what is told, in the language of the message where a table has them.

A language is known by the words that every text in it has; a table has each one's. Those that have
no answers are known, too: what is written in them is answered in English, not in one that is alike.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import Any

from msgspec import Struct, convert

from clawkit.text.tables import listed, table
from clawkit.text.tokenizer import folded

ENGLISH = "en"


class Phrases(Struct, frozen=True, forbid_unknown_fields=True):
    """One language's words, as `answers.toml` has them."""

    language: str
    got: str
    more: str
    said: str
    said_on: str
    said_by: str
    said_by_on: str
    noted: str
    noted_on: str
    on: str
    aside_on: str
    earlier: str
    later: str
    closest: str
    from_then: str
    nothing_of_day: str
    not_found: str
    lists: str
    connects: str
    needs_a_model: str
    introduction: str
    able: str
    hello: str
    goodbye: str
    all_right: str
    fine: str
    welcome: str
    known: str
    known_more: str
    nothing_yet: str
    only_this: str
    unused: str
    still_kept: str
    said_here: str
    nothing_to_forget: str
    retract: str
    says: str
    forgotten: str
    undo: str
    too_many: str
    elsewhere: str
    on_hello: str
    on_goodbye: str
    on_agreement: str
    on_how_are_you: str
    on_help: str
    on_who_are_you: str
    on_everything: str
    on_thanks: str

    def small_talk(self, bare: str) -> str:
        """The answer to a greeting and the like; empty for everything else."""
        answers = (
            (self.on_hello, self.hello),
            (self.on_goodbye, self.goodbye),
            (self.on_agreement, self.all_right),
            (self.on_how_are_you, self.fine),
            (self.on_help, self.able),
            (self.on_who_are_you, self.introduction.strip("()")),
        )
        return next((said for form, said in answers if re.fullmatch(form, bare)), "")


_ENGLISH = (
    "like likes live lives love loves work works i'm i've i'll i'd we're we've don't can't it's"
)
_FOREIGN = "mi me la ha han ik mijn een het en van met naar zijn ben heb niet je bin meine unser ja"
_LISTED = {
    "de": "german", "fr": "french", "es": "spanish",
    "it": "italian", "pt": "portuguese", "nl": "dutch", "tr": "turkish",
}  # fmt: skip
"""The lists of words that say little, by the languages they are of."""
_IN_OTHERS_TOO = frozenset(("i", "a", "me", "no", "so", "do", "in", "am", "an", "we"))
"""English words that do not make a sentence English: `I figli`, `a Leonor`, `we gaan`."""


_FOREIGN_WORD = re.compile(r"\b[a-z]*[^\W\d_a-zA-Z]\w*")
"""A word, and no name, with a letter that English has not."""


def phrases_for(text: str, *before: str) -> Phrases:
    """Those of the language that most words of a message are in; in doubt the one of what the
    person said before, the nearest first, else English.
    """
    may_be = _likeliest(text)
    if len(may_be) > 1 and not _in_english().isdisjoint(_words(text.casefold())):
        may_be |= {ENGLISH}
    for said in before:
        if len(may_be) == 1:
            break
        may_be = may_be & _likeliest(said) or may_be
    (language, *others) = may_be
    return phrases_in(language if not others and language in table("answers") else ENGLISH)


def every_language(first: Phrases) -> list[Phrases]:
    """The phrases of all languages, one of them first."""
    return [first, *(phrases_in(name) for name in table("answers") if name != first.language)]


def _likeliest(text: str) -> frozenset[str]:
    """The languages that most words of a text are in; all of them where none is.

    A word of many languages says little about which it is.
    """
    words = _words(text.casefold())
    words |= {word.partition("'")[0] for word in words}
    english, _ = _telling_words()
    if words & english:
        words -= _in_english() - english
    scores = {
        name: sum((_share(word) for word in words & known), Fraction())
        for name, known in _words_of_languages().items()
    }
    most = max(scores.values())
    return frozenset(name for name in scores if scores[name] == most)


@cache
def _share(word: str) -> Fraction:
    """The weight of a word: one divided by the number of languages that have it."""
    return Fraction(1, sum(word in known for known in _words_of_languages().values()))


@cache
def phrases_in(language: str) -> Phrases:
    return convert({"language": language, **table("answers")[language]}, Phrases)


def is_english(text: str) -> bool:
    words = _words(folded(text))
    own, others = map(words.intersection, _telling_words())
    return len(own) > 2 * len(others) + len(_FOREIGN_WORD.findall(text))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[\w'-]+", text.replace("’", "'")))


@cache
def _words_of_languages() -> dict[str, frozenset[str]]:
    """Words that each language has in most of its texts, also where others have them."""
    little = table("words")["words_that_say_little"]
    found = {
        name: frozenset((*listed(of["common"]), *little.get(_LISTED.get(name), "").split()))
        | (_of_days(of) - _in_english())
        for name, of in table("days").items()
    }
    for name, words in table("words")["words_of_others"].items():
        found[name] = found.get(name, frozenset()) | frozenset(words.split())
    return found | {ENGLISH: _telling_words()[0]}


def _of_days(language: dict[str, Any]) -> frozenset[str]:
    """One language's words for days, and its verbs, of those that are written out."""
    tense = language["tense"]
    written = [
        *(language["words"].get(name, "").replace("|", ",") for name in ("weekdays", "months")),
        *language["relative"].values(),
        *(tense.get(name, "") for name in ("past", "present", "perfect")),
    ]
    words = (word for text in written for word in listed(text))
    return frozenset(word for word in words if " " not in word and not word.startswith("?"))


@cache
def _in_english() -> frozenset[str]:
    return frozenset(table("words")["words_that_say_little"]["english"].split())


@cache
def _telling_words() -> tuple[frozenset[str], frozenset[str]]:
    """Words by which English is known, and those by which another language is."""
    lists = table("words")["words_that_say_little"]
    others = frozenset(" ".join(lists[name] for name in lists if name != "english").split())
    own = (_in_english() - others - _IN_OTHERS_TOO) | frozenset(_ENGLISH.split())
    return own, (others | frozenset(_FOREIGN.split())) - _in_english()
