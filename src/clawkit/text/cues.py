"""What a sentence does, told by cue words: it asks, wants something done, or says what changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from itertools import chain

from clawkit.text.tables import listed, table, unbroken
from clawkit.text.tokenizer import sentences

_ENDS_ASKING = re.compile(r"[?\uff1f]\s*(?:\[[^\]]*\]\s*)?$")
_SHORT = 80


def is_question(text: str) -> bool:
    """Whether it has the mark or the first word of a question."""
    return _pattern("question").search(text) is not None


def asks_when(text: str) -> bool:
    return _pattern("asks_when").search(text) is not None


def asks_for_number(text: str) -> bool:
    return _pattern("asks_for_number").search(text) is not None


def is_sum(text: str) -> bool:
    """Whether it is only to be reckoned; a number, a day or a telephone number is not."""
    return _pattern("sum").match(text) is not None


def ends_asking(text: str) -> bool:
    """Whether it ends with a question mark, but for what stands in brackets behind it."""
    return ("?" in text or "\uff1f" in text) and _ENDS_ASKING.search(text) is not None


def only_asks(text: str) -> bool:
    """Whether somebody asked this, or wanted it done, reckoned or forgotten, and told nothing."""
    unmarked = len(text) < _SHORT and (
        _pattern("asks_unmarked").match(text) or _pattern("command").match(text)
    )
    asks = unmarked or is_sum(text) or _asks_throughout(text)
    return bool(asks) and not tells_while_asking(text)


def tells_while_asking(text: str) -> bool:
    """Whether a question says something, too: "I'm diabetic, may I eat honey?"."""
    return _pattern("tells_while_asking").search(text) is not None


def wants_done(text: str) -> bool:
    """Whether it is an order to do something now, and not to remember it."""
    return _pattern("wants_done").match(text) is not None


def says_change(text: str) -> bool:
    """Whether it says that something is otherwise than it was."""
    return _has_word(text, "changes", "cancels")


def says_cancelled(text: str) -> bool:
    """Whether it says that something does not take place."""
    return _has_word(text, "cancels")


def tells_home(text: str) -> bool:
    """Whether its speaker says where they live, or that they moved."""
    return _has_word(text, "home")


def tells_when(text: str) -> bool:
    return _has_word(text, "time")


def tells_number(text: str) -> bool:
    return _has_word(text, "number")


def is_about_past(text: str) -> bool:
    """Whether it asks for what was so once."""
    return _has_word(text, "past")


def words_of_questions(about: str) -> str:
    """Words that say nothing in a question `about` a person, or about what has `happened`."""
    return table("cues")["words"][about]


def _asks_throughout(text: str) -> bool:
    return ends_asking(text) and text.count("?") + text.count("\uff1f") >= len(sentences(text))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(unbroken(table("cues")[name]), re.IGNORECASE)


def _has_word(text: str, *lists: str) -> bool:
    # In lower case, which takes a quarter of the time of re.IGNORECASE.
    return _words(*lists).search(text.lower()) is not None


@cache
def _words(*lists: str) -> re.Pattern[str]:
    """Finds the words of all languages of these lists."""
    languages = list(chain.from_iterable(table("cues")[name].items() for name in lists))
    spaced = chain.from_iterable(listed(words) for name, words in languages if name != "unspaced")
    unspaced = chain.from_iterable(listed(words) for name, words in languages if name == "unspaced")
    return re.compile("|".join((rf"\b(?:{_by_first_letter(spaced)})\b", *unspaced)))


def _by_first_letter(words: Iterable[str]) -> str:
    """Alternatives of which most are passed over by their first letter: eight times as fast."""
    found: dict[str, list[str]] = defaultdict(list)
    for word in words:
        simple = word[0].isalpha() and word[1:2] not in ("?", "*", "+", "{")
        found[word[0] if simple else ""].append(word[1:] if simple else word)
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in found.items())
