"""Prompt injections: text that gives orders to the model which reads it, found and removed.

The phrases, in `tables/injections.toml`, are patterns over folded text, in which words are small
letters and every white space is one space. A phrase is only looked for around a word that each of
its wordings has, and only where others of its words are near: ordinary text costs little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from clawkit.text.keyword_search import KeywordSearch
from clawkit.text.normalization import plain_content
from clawkit.text.tables import expanded, listed, table, unbroken

_GAP = r"\W{0,4}"
_TAGS = ("role-tag", "order-tag")
NAMES = ("override", "conceal", "new-role", "exfiltrate", "prompt-leak", *_TAGS)


@cache
def phrase(name: str) -> re.Pattern[str]:
    """All wordings of a phrase. Compiled when first needed: most processes never do."""
    found = table("injections")
    if name in _TAGS:
        return re.compile("|".join(found["tags"][name]))
    wordings = (expanded(wording, found["parts"]) for wording in found["phrases"][name])
    return re.compile("|".join(wordings).replace(" ", _GAP))


_SEAM = 4
_AROUND = 320
_MOST_BYTES = 4  # to a character
_FEW_CHECKS = 16
_MOST_CHECKS = 512  # in a text that is full of such words it is cheaper to read all of it
_SENTENCE = r".+?(?:(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|[\u3002\uff01\uff1f]|\n+|\Z)"

_SHORT_WORD = b"<|"


class _Near(msgspec.Struct, frozen=True):
    """One of the words must be so many characters before or behind."""

    words: tuple[bytes, ...]
    before: int = 0
    after: int = 0


_Hints = tuple[tuple[str, tuple[_Near, ...]], ...]  # the phrase, and all that must be near


@cache
def _hinting() -> list[tuple[bytes, _Hints]]:
    """Words in small letters, of which each phrase has one, and what they hint at."""
    found: dict[bytes, _Hints] = {}
    for hint in table("injections")["hints"]:
        near = tuple(
            _Near(
                tuple(unbroken(one["words"]).encode().split(b"|")),
                one.get("before", 0),
                one.get("after", 0),
            )
            for one in hint.get("near", ())
        )
        for word in listed(hint["at"]):
            hints = ((phrase, near) for phrase in hint["phrases"])
            found[word.encode()] = (*found.get(word.encode(), ()), *hints)
    return [*found.items()]


_FOLLOWED = {b"user": re.compile(rb"s?(?![a-z0-9_])"), b"you": re.compile(rb"[^a-z]")}


def _places(content: bytes) -> list[tuple[int, int, int]]:
    """Where the words are in a text in small letters."""
    found = _words().places(content)
    if b"|" in content:
        last = len(_hinting()) - 1
        found += [(last, start, end) for _, start, end in _short_word().places(content)]
    return found


@cache
def _words() -> KeywordSearch:
    return KeywordSearch(word for word, _ in _hinting() if word != _SHORT_WORD)


@cache
def _short_word() -> KeywordSearch:
    # Among the others, it would make the search for all of them take four times as long.
    return KeywordSearch([_SHORT_WORD])


def may_hold_injection(line: bytes) -> bool:
    """Whether to look closer: never False for a line of ASCII JSON with a phrase in it."""
    # In JSON a character may be written with two, of which the first is a backslash.
    prose = b" " in line or b"\\" in line
    low = line.lower()
    found = _places(low)
    return bool(found) and next(_candidates(low, found, 2, prose=prose), None) is not None


def find_injections(text: str, content: bytes | None = None) -> tuple[str, ...]:
    """The names of the patterns that a text contains; `content` is its plain content, if known."""
    if content is None:
        content = plain_content(text)
    found = _places(content)
    if not found:
        return ()
    scale = 1 if content.isascii() else _MOST_BYTES
    candidates = list(_candidates(content, found, scale, prose=_is_prose(text)))
    return tuple(
        name
        for name in NAMES
        if any(
            phrase(name).search(part)
            for part in _parts(content, [at for of, at in candidates if of == name], scale)
        )
    )


def remove_injections(text: str) -> str:
    """A text without the sentences in which there is a pattern; nothing, if it cannot be had."""
    kept = "".join(_purge(re.findall(_SENTENCE, text, re.DOTALL)))
    return "" if find_injections(kept) else kept


def _purge(sentences: list[str]) -> list[str]:
    if not find_injections("".join(sentences)):
        return sentences
    if len(sentences) < 2:
        return []
    middle = len(sentences) // 2
    left, right = _purge(sentences[:middle]), _purge(sentences[middle:])
    while left and right and find_injections("".join((*left[-_SEAM:], *right[:_SEAM]))):
        left, right = left[:-1], right[1:]
    return left + right


def _is_prose(text: str) -> bool:
    """Words that nothing holds apart, seen or unseen, are a name or data."""
    return " " in text or not (text.isascii() and text.isprintable())


def _candidates(
    content: bytes, found: list[tuple[int, int, int]], scale: int, *, prose: bool
) -> Iterator[tuple[str, int]]:
    """The phrases that could be in a text in small letters with these words, and where."""
    likely = _Likely(content)
    hinting = _hinting()
    for number, start, end in found:
        word, hints = hinting[number]
        if not prose and hints[0][0] not in _TAGS:
            continue
        if (rest := _FOLLOWED.get(word)) is not None and not rest.match(content, end):
            continue
        for name, needed in likely.hints(number):
            if likely.are_many or all(_is_near(content, start, end, scale, n) for n in needed):
                yield name, start


class _Likely:
    """What the words of a text hint at; if they are many, only what all words are there for."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._checked = 0
        self._kept: dict[int, _Hints] = {}

    @property
    def are_many(self) -> bool:
        return self._checked > _MOST_CHECKS

    def hints(self, word: int) -> _Hints:
        hints = _hinting()[word][1]
        self._checked += 1
        if self._checked <= _FEW_CHECKS:
            return hints
        if word not in self._kept:
            self._kept[word] = tuple(hint for hint in hints if all(map(self._has, hint[1])))
        return self._kept[word]

    def _has(self, near: _Near) -> bool:
        return any(word in self._content for word in near.words)


def _is_near(content: bytes, start: int, end: int, scale: int, near: _Near) -> bool:
    around = content[max(0, start - near.before * scale) : end + near.after * scale]
    return any(word in around for word in near.words)


def _parts(content: bytes, places: list[int], scale: int) -> Iterator[str]:
    """What stands around these places, with one space between words; overlapping, it is one."""
    around = _AROUND * scale
    start = end = 0
    for at in sorted(places):
        if at - around > end:
            yield _spaced(content[start:end])
            start = at - around
        end = at + around
    if end:
        yield _spaced(content[start:end])


def _spaced(content: bytes) -> str:
    return " ".join(content.decode("utf-8", "ignore").split())
