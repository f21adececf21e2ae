"""Text that gives orders to the model which reads it: found by name, and taken out.

A phrase is only looked for around a word that each of its wordings has, and only where others of
its words are near: ordinary text costs little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from clawkit.text.folding import plain_content
from clawkit.text.keyword_search import Words
from clawkit.text.phrases import NAMES, phrase

_SEAM = 4
_AROUND = 320
_MOST_BYTES = 4  # to a character
_FEW_CHECKS = 16
_MOST_CHECKS = 512  # in a text that is full of such words it is cheaper to read all of it
_SENTENCE = r".+?(?:(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|[\u3002\uff01\uff1f]|\n+|\Z)"

_Near = tuple[int, int, tuple[bytes, ...]]  # so far before, so far after, one of these words
_Hints = tuple[tuple[str, tuple[_Near, ...]], ...]  # the phrase, and all that must be near


def _near(before: int, after: int, words: str) -> _Near:
    return before, after, tuple(words.encode().split(b"|"))


_ORDERS = (
    "instru|prompt|rule|guideline|directi|command|message|context|constraint|programming|training"
    "|told|said|taught|above|before|anweis|befehl|vorgabe|regel|aufforderung|consigne"
)
_OVERRIDE: _Hints = (("override", (_near(120, 200, _ORDERS),)),)
_OVERRIDE_FR: _Hints = (("override", (_near(0, 160, "instruction|consigne|directive"),)),)
_OVERRIDE_ES: _Hints = (("override", (_near(120, 0, "olvid"),)),)
_OVERRIDE_ZH: _Hints = (("override", ()),)
_EXFILTRATE = (
    "exfiltrate",
    (
        _near(
            0, 120, "password|credential|key|secret|token|conversation|history|variable|prompt|.env"
        ),
        _near(160, 0, "send|post|upload|forward|transmit|submit|leak|exfiltrat|mail"),
        _near(0, _AROUND, "http|www|@"),
    ),
)
_CONCEAL = (
    "conceal",
    (
        _near(120, 0, "tell|mention|inform|reveal|disclos|notify|hid|conceal|secret"),
        _near(160, 0, "not|never|n't|n\u2019t|without|from"),
    ),
)
_PROMPT_LEAK = (
    "prompt-leak",
    (
        _near(0, 40, "prompt|instruction|message"),
        _near(100, 0, "reveal|print|repeat|output|show|display|leak|tell|give"),
    ),
)
_YOU: _Hints = (("new-role", (_near(60, 80, "now|longer"),)),)
_TAGS: _Hints = (("role-tag", ()), ("order-tag", ()))

# Words in small letters, of which each phrase has one, and what they hint at. In a line of JSON
# a slash may have a backslash before it.
_HINTS: tuple[tuple[str, _Hints], ...] = (
    ("ignor disregard forget vergiss vergess", _OVERRIDE),
    ("oublie", _OVERRIDE_FR),
    ("instrucci", _OVERRIDE_ES),
    ("忽略 无视 無視 忘记 忘記 忘掉 不要理会 不要理會", _OVERRIDE_ZH),
    ("user", (_CONCEAL, _EXFILTRATE)),
    ("human", (_CONCEAL,)),
    ("your", (_EXFILTRATE, _PROMPT_LEAK)),
    ("you", _YOU),
    ("<system </system <\\/system <assistant </assistant <\\/assistant", _TAGS),
    ("<<sys <</sys <<\\/sys [inst] [/inst] [\\/inst]", _TAGS),
    ("<important <critical <urgent <secret <hidden", _TAGS),
    ("<|", _TAGS),
)
_HINTING = [(word.encode(), hints) for words, hints in _HINTS for word in words.split()]
_FOLLOWED = {b"user": re.compile(rb"s?(?![a-z0-9_])"), b"you": re.compile(rb"[^a-z]")}


def _places(content: bytes) -> list[tuple[int, int, int]]:
    """Where the words are in a text in small letters."""
    found = _words().places(content)
    if b"|" in content:
        last = len(_HINTING) - 1
        found += [(last, start, end) for _, start, end in _short_word().places(content)]
    return found


@cache
def _words() -> Words:
    return Words(word for word, _ in _HINTING[:-1])


@cache
def _short_word() -> Words:
    # Among the others, it would make the search for all of them take four times as long.
    return Words([_HINTING[-1][0]])


def may_hold_injection(line: bytes) -> bool:
    """Whether to look closer: never False for a line of ASCII JSON with a phrase in it."""
    # In JSON a character may be written with two, of which the first is a backslash.
    prose = b" " in line or b"\\" in line
    low = line.lower()
    found = _places(low)
    return bool(found) and next(_candidates(low, found, 2, prose=prose), None) is not None


def find_injections(text: str) -> tuple[str, ...]:
    """The names of the patterns that a text contains."""
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
    for number, start, end in found:
        word, hints = _HINTING[number]
        if not prose and hints is not _TAGS:
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
        hints = _HINTING[word][1]
        self._checked += 1
        if self._checked <= _FEW_CHECKS:
            return hints
        if word not in self._kept:
            self._kept[word] = tuple(hint for hint in hints if all(map(self._has, hint[1])))
        return self._kept[word]

    def _has(self, near: _Near) -> bool:
        return any(word in self._content for word in near[2])


def _is_near(content: bytes, start: int, end: int, scale: int, near: _Near) -> bool:
    before, after, words = near
    around = content[max(0, start - before * scale) : end + after * scale]
    return any(word in around for word in words)


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
