"""Splits text into sentences, and into words, stems and pairs for the word index.

`pieces` leaves nothing out: each is one sentence or several that belong together. A sentence that
goes on about the one before ("it", "she") stays with it, and a date such as "11. November" ends no
sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cache, lru_cache

from clawkit.text.tables import table

USUAL = 220
"""Characters up to which sentences are put together."""

LONGEST = 1_000
"""Characters of one piece; a sentence that is longer is cut at a space."""

_END = re.compile(r"(?<=[.!?…])[\"'”’»)\]]*\s+|(?<=[。\uff01\uff1f])[」』\uff09]*|\s*\n\s*")
_BULLET = re.compile(r"^\s*[-*•・#]+\s+")


def pieces(text: str) -> list[str]:
    """The pieces of a message, in their order; together they are all of its words."""
    found: list[str] = []
    for sentence in sentences(text):
        most = 2 * USUAL if _goes_on().match(sentence) else USUAL
        if found and len(found[-1]) + len(sentence) < most:
            found[-1] = f"{found[-1]} {sentence}"
        else:
            # One without an end, such as a pasted list, in parts that a search can take.
            found += cut(sentence, LONGEST)
    return found


def sentences(text: str) -> list[str]:
    """The sentences of a text, without line breaks and list marks."""
    parts = (text[start:end] for start, end in sentence_spans(text))
    cleaned = (" ".join(_BULLET.sub("", part).split()) for part in parts)
    return [part for part in cleaned if part]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Where the sentences of a text are, with what is between them; together all of it."""
    found: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(text):
        if "\n" not in end[0] and _shortened().search(
            text[max(start, end.start() - 9) : end.start()]
        ):
            continue
        found.append((start, end.end()))
        start = end.end()
    return [*found, (start, len(text))]


@cache
def _shortened() -> re.Pattern[str]:
    """A word with the dot that belongs to it."""
    words = "|".join(table("words")["abbreviations"].split())
    return re.compile(
        rf"(?:\b(?:{words}|[^\W\d]|[ei]\.[ge]|[zduos]\.\s?[abdhuo])|\d)\.$", re.IGNORECASE
    )


@cache
def _goes_on() -> re.Pattern[str]:
    """The beginning of a sentence about the one before."""
    words = table("words")["goes_on"]
    spaced, unspaced = ("|".join(words[kind].split()) for kind in ("spaced", "unspaced"))
    return re.compile(rf"(?:{spaced})(?!\w)|(?:{unspaced})", re.IGNORECASE)


def cut(text: str, longest: int) -> list[str]:
    """A text in parts of at most so many characters, cut at spaces where there are any."""
    found: list[str] = []
    while len(text) > longest:
        at = text.rfind(" ", longest // 2, longest)
        at = at if at > 0 else longest
        found.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*found, text] if text else found


LONGEST_INDEXED = 100_000
"""Characters of one text that can be found by their words."""

MOST_ASKED = 64
_LONGEST_WORD = 48
_LITTLE = 0.05
_KANA_PAIR = 0.35
_MIXED_PAIR = 0.7
_SINGLE = 0.45

UNSPACED = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks of scripts where they are part of the word; `\w` has none of them.
_MARKS = "\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0966-\u0e3e\u0e40-\u109f\u1780-\u17d3"
_LETTERS = re.compile(r"\w+")
_ASCII_LETTERS = {
    code: chr(code).lower() if _LETTERS.match(chr(code)) else " " for code in range(128)
}
_WORD = re.compile(rf"(?:[^\W_]|[{_MARKS}])+|[^\w\s\x00-\x7f]")
_ASCII_WORD = re.compile(
    "[0-9A-Za-z]+"
)  # the same where there is nothing else, three times as fast
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_CLITIC = re.compile(r"(?<=\w)[’'](?:s|t|m|re|ve|ll|d)\b|(?<=\w)n[’']t\b")
_ORDINAL = re.compile(r"^(\d+)(?:st|nd|rd|th)$")
_HIRAGANA = re.compile("^[\u3041-\u309f\u30fc]+$")
_KANJI = re.compile("[\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# ァ to ヶ, 96 code points above ぁ to ゖ.
_TO_HIRAGANA = {code: code - 0x60 for code in range(0x30A1, 0x30F7)}


def terms(text: str) -> Counter[str]:
    """What a text can be found by, with how often it is there."""
    found: Counter[str] = Counter()
    for word, unspaced in _words(text[:LONGEST_INDEXED]):
        if not unspaced:
            found[stem(word)] += 1
            continue
        run = word.translate(_TO_HIRAGANA)
        found.update(run)
        found.update(pairs(run))
    return found


def asked(text: str) -> dict[str, float]:
    """What is looked for, with its weight between 0 and 1; of a long text, the first words."""
    found: dict[str, float] = {}
    words = list(_words(text[:LONGEST_INDEXED]))
    little = _little_in(word for word, _ in words)
    for word, unspaced in words:
        weight = _LITTLE if word in little else 1.0
        weights = _asked_run(word) if unspaced else {stem(word): weight}
        for term, weight in weights.items():
            found[term] = max(weight, found.get(term, 0.0))
        if len(found) >= MOST_ASKED:
            break
    return found


def content(text: str) -> list[list[str]]:
    """The words that carry what is asked, each as the terms that must all be in a text."""
    found: dict[tuple[str, ...], None] = {}
    words = list(_words(text[:LONGEST_INDEXED]))
    little = _little_in(word for word, _ in words)
    for word, unspaced in words:
        if unspaced:
            for run in _runs_of_content(word):
                plain = run.translate(_TO_HIRAGANA)
                found[tuple(pairs(plain)) or (plain,)] = None
        elif word not in little:
            found[(stem(word),)] = None
    return [list(word) for word in found][:MOST_ASKED]


def telling_words(text: str) -> dict[str, str]:
    """The words that say something, as they are written in lower case, each with its stem."""
    found: dict[str, str] = {}
    spaced: list[tuple[str, str]] = []
    for word, unspaced in split(_without_clitics(text[:LONGEST_INDEXED].lower())):
        if unspaced:
            found.update((run, run.translate(_TO_HIRAGANA)) for run in _runs_of_content(word))
        else:
            spaced.append((word[:_LONGEST_WORD], _plain(folded(word))))
    little = _little_in(plain for _, plain in spaced)
    found.update((word, stem(plain)) for word, plain in spaced if plain not in little)
    return found


def folded(text: str) -> str:
    """A text without what does not matter to its words: case, accents, width."""
    if text.isascii():
        return text.lower()
    text = unicodedata.normalize("NFKD", text).casefold()
    text = unicodedata.normalize("NFC", _ACCENTS.sub("", text))
    return text.encode("utf-8", "ignore").decode()


def folded_words(text: str) -> tuple[str, ...]:
    """The words and numbers of a text, folded."""
    if text.isascii():
        return tuple(text.translate(_ASCII_LETTERS).split())
    return tuple(_LETTERS.findall(folded(text)))


def split(folded_text: str) -> Iterator[tuple[str, bool]]:
    """The words of a text that is `folded` already, and whether their script has no spaces.

    `第2回go` is four of them; an emoji is one.
    """
    if folded_text.isascii():
        yield from ((word, False) for word in _ASCII_WORD.findall(folded_text))
        return
    for match in _WORD.finditer(folded_text):
        word, end = match[0], 0
        if word.isascii():
            yield word, False
            continue
        if len(word) == 1 and not word.isalnum() and unicodedata.category(word)[0] != "S":
            continue
        for run in UNSPACED_RUN.finditer(word):
            if run.start() > end:
                yield word[end : run.start()], False
            yield run[0], True
            end = run.end()
        if end < len(word):
            yield word[end:], False


def _words(text: str) -> Iterator[tuple[str, bool]]:
    for word, unspaced in split(_without_clitics(folded(text))):
        yield word if unspaced else _plain(word), unspaced


def _without_clitics(text: str) -> str:
    return _CLITIC.sub(" ", text) if "'" in text or "’" in text else text


def _plain(word: str) -> str:
    if word[0].isdigit():
        ordinal = _ORDINAL.match(word)
        word = (ordinal[1] if ordinal else word).lstrip("0") or "0"
    return word[:_LONGEST_WORD]


@cache
def words_that_say_little() -> frozenset[str]:
    """Those of all languages; which of them count depends on the text."""
    return frozenset[str]().union(*_lists_that_say_little())


@cache
def _lists_that_say_little() -> tuple[frozenset[str], ...]:
    return tuple(
        frozenset(words.split()) for words in table("words")["words_that_say_little"].values()
    )


_A_FEW = 2
"""How many words of a second language make a text one of that language, too."""


def _little_in(words: Iterable[str]) -> AbstractSet[str]:
    """The words that say little in the languages of a text.

    A `son` is one in English, and `les` is a lesson in Dutch: a list counts if most words are of
    it, or some beside those.
    """
    there = words_that_say_little().intersection(words)
    if len(there) < _A_FEW:
        return there
    lists = _lists_that_say_little()
    most = max(lists, key=lambda one: len(there & one))
    others = there - most
    more = (one & others for one in lists)
    return (there & most).union(*(one for one in more if len(one) >= _A_FEW))


@cache
def _pairs_that_say_little() -> frozenset[str]:
    return frozenset(table("words")["pairs_that_say_little"].split())


def _asked_run(run: str) -> dict[str, float]:
    """Kanji and katakana carry the sense of a sentence, hiragana mostly its grammar."""
    found: dict[str, float] = {}
    for at, character in enumerate(run):
        if _KANJI.match(character) or len(run) == 1:
            found[character.translate(_TO_HIRAGANA)] = _SINGLE
        pair = run[at : at + 2]
        if len(pair) == 2:
            term = pair.translate(_TO_HIRAGANA)
            found[term] = max(_pair_weight(pair), found.get(term, 0.0))
    return found


def _pair_weight(pair: str) -> float:
    if pair in _pairs_that_say_little():
        return _LITTLE
    kana = sum(bool(_HIRAGANA.match(character)) for character in pair)
    return (1.0, _MIXED_PAIR, _KANA_PAIR)[kana]


def _runs_of_content(run: str) -> list[str]:
    """The parts of a run without hiragana; the run itself where there is nothing else."""
    parts = [part for part in re.split("[\u3041-\u309f]+", run) if part]
    return parts or ([run] if run not in _pairs_that_say_little() else [])


def pairs(run: str) -> list[str]:
    """Every two characters that follow each other."""
    return [run[at : at + 2] for at in range(len(run) - 1)]


_VOWELS = frozenset("aeiouy")
_SHORTEST = 4


@cache
def _irregular() -> dict[str, str]:
    """Each form as the first of its group."""
    found: dict[str, str] = {}
    for group in table("words")["same"].replace("\n", "|").split("|"):
        forms = group.split()
        for form in forms:
            found.setdefault(form, _regular(forms[0]))
    return found


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """What a word has in common with its other forms."""
    irregular = _irregular()
    known = irregular.get(word)
    if known is not None:
        return known
    if len(word) < _SHORTEST or not word.isascii() or word[0].isdigit():
        return word
    return irregular.get(_without_plural(word)) or _regular(word)


def _regular(word: str) -> str:
    word = _without_plural(word)
    word = _without_tense(word)
    for ending, left in (("ly", 4), ("ness", 4), ("ful", 4), ("ment", 5), ("ation", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= left:
            word = word.removesuffix(ending)
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return word[:-1] + "i" if word.endswith("y") and len(word) > 2 else word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3:
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if not word.endswith(ending):
            continue
        left = word.removesuffix(ending)
        if len(left) < 3 or not _VOWELS.intersection(left):
            return word
        if left[-1] == left[-2] and left[-1] not in "lsz":
            left = left[:-1]
        return left
    return word
