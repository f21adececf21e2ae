"""Text that gives orders to the model which reads it: found by name, and taken out.

A phrase is only looked for around a word that each of its wordings has, and only where others of
its words are near: ordinary text costs little.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from clawkit.guard.anchors import places
from clawkit.guard.policy.folding import fold
from clawkit.guard.scan.folding import plain
from clawkit.guard.scan.phrases import NAMES, phrase

_SEAM = 4
_AROUND = 320
_FEW_CHECKS = 16
_MOST_CHECKS = 512  # in a text that is full of such words it is cheaper to read all of it
_SENTENCE = r".+?(?:(?<=[.!?])\s+|(?<=[.!?][\"')\]])\s+|[\u3002\uff01\uff1f]|\n+|\Z)"

_Near = tuple[int, int, tuple[str, ...]]  # so far before, so far after, one of these words
_Screens = tuple[tuple[str, re.Pattern[str]], ...]
_Hints = tuple[tuple[str, tuple[_Near, ...]], ...]  # the phrase, and all that must be near


def _near(before: int, after: int, words: str) -> _Near:
    return before, after, tuple(words.split("|"))


_ORDERS = (
    "instru|prompt|rule|guideline|directi|command|message|context|constraint|programming|training"
    "|told|said|taught|above|before|anweis|befehl|vorgabe|regel|aufforderung|consigne"
)
_OVERRIDE: _Hints = (("override", (_near(120, 200, _ORDERS),)),)
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
# By the first two letters of what was found.
_HINTS: dict[str, _Hints] = {
    "gn": _OVERRIDE,
    "ga": _OVERRIDE,
    "ge": _OVERRIDE,
    "gi": _OVERRIDE,
    "ub": (("override", (_near(0, 160, "instruction|consigne|directive"),)),),
    "uc": (("override", (_near(120, 0, "olvid"),)),),
    "us": (_CONCEAL, _EXFILTRATE),
    "um": (_CONCEAL,),
    "ur": (_EXFILTRATE, _PROMPT_LEAK),
}
_YOU: _Hints = (("new-role", (_near(60, 80, "now|longer"),)),)
_TAGS: _Hints = (("role-tag", ()), ("order-tag", ()))

# Classes instead of ignored case where they come first: that is what fails fast.
_DROP = r"(?:[nN](?i:or)(?<=(?i:ignor))|[aA](?i:rd)(?<=(?i:disregard))|[eE](?i:t)(?<=(?i:forget))"
_VERGISS = r"|[iIeE](?i:ss)(?<=(?i:verg).(?i:ss)))"
_SAID = (
    r"(?:[sS](?i:er)(?i:s?)(?![A-Za-z0-9_])|[mM](?i:an)(?<=(?i:human))|[rR](?<=(?i:your))"
    r"|[bB](?i:lie)(?<=(?i:oublie))|[cC](?i:ci)(?<=(?i:instrucci))|[^A-Za-z](?<=[yY][oO][uU].))"
)
_TAG = (
    r"(?:\||(?:\\?/)?(?i:system|assistant)|<(?:\\?/)?(?i:sys)"
    r"|(?i:important|critical|urgent|secret|hidden))"
)
_SCREENS: _Screens = tuple(
    (sign, re.compile(re.escape(sign) + rest, re.DOTALL))
    for sign, rest in (
        ("<", _TAG),
        ("[", r"(?:\\?/)?(?i:inst)\]"),
        ("g", _DROP + _VERGISS),
        ("G", _DROP + _VERGISS),
        ("u", _SAID),
        ("U", _SAID),
    )
)
_TAG_SCREENS = _SCREENS[:2]
_CHINESE = ("忽略", "无视", "無視", "忘记", "忘記", "忘掉", "不要理会", "不要理會")


def may_hold_injection(line: str) -> bool:
    """Whether to look closer: never False for a line of ASCII JSON with a phrase in it."""
    # In JSON a character may be written with two, of which the first is a backslash.
    screens = _SCREENS if " " in line or "\\" in line else _TAG_SCREENS
    return next(_candidates(line, screens, 2), None) is not None


def find_injections(text: str) -> tuple[str, ...]:
    """The names of the patterns that a text contains."""
    screens = _SCREENS if _is_prose(text) else _TAG_SCREENS
    text = plain(text)
    candidates = list(_candidates(text, screens, 1))
    if not text.isascii():
        candidates.extend(_chinese(text))
    return tuple(
        name
        for name in NAMES
        if any(
            phrase(name).search(part)
            for part in _parts(text, [at for of, at in candidates if of == name])
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
    return not (text.isascii() and text.isprintable()) or " " in text


def _candidates(text: str, screens: _Screens, scale: int) -> Iterator[tuple[str, int]]:
    """The phrases that could be in a text, and where."""
    likely = _Likely(text)
    for sign, pattern in screens:
        if sign not in text:
            continue
        for found in places(text, sign, pattern):
            start, end = found.span()
            for name, needed in likely.hints(text[start : start + 2].lower()):
                if likely.are_many or all(
                    _is_near(text, start, end, scale, near) for near in needed
                ):
                    yield name, start


class _Likely:
    """What the words of a text hint at; if they are many, only what all words are there for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._low = ""
        self._checked = 0
        self._kept: dict[str, _Hints] = {}

    @property
    def are_many(self) -> bool:
        return self._checked > _MOST_CHECKS

    def hints(self, start: str) -> _Hints:
        """What a word that begins so hints at."""
        hints = _TAGS if start[0] in "<[" else _HINTS.get(start, _YOU)
        self._checked += 1
        if self._checked <= _FEW_CHECKS:
            return hints
        if start not in self._kept:
            self._kept[start] = tuple(hint for hint in hints if all(map(self._has, hint[1])))
        return self._kept[start]

    def _has(self, near: _Near) -> bool:
        self._low = self._low or fold(self._text)
        return any(word in self._low for word in near[2])


def _is_near(text: str, start: int, end: int, scale: int, near: _Near) -> bool:
    before, after, words = near
    around = text[max(0, start - before * scale) : end + after * scale].lower()
    return any(word in around for word in words)


def _chinese(text: str) -> Iterator[tuple[str, int]]:
    from clawkit.guard.strange import strange

    letters = strange(text)
    for word in _CHINESE:
        if word not in letters:
            continue
        at = text.find(word)
        while at >= 0:
            yield "override", at
            at = text.find(word, at + 1)


def _parts(text: str, places: list[int]) -> Iterator[str]:
    """What stands around these places, with one space between words; overlapping, it is one."""
    start = end = 0
    for at in sorted(places):
        if at - _AROUND > end:
            yield " ".join(text[start:end].split())
            start = at - _AROUND
        end = at + _AROUND
    if end:
        yield " ".join(text[start:end].split())
