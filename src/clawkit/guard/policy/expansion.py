"""Wildcards in a call's own values: `/e?c/shadow` is read as each name that the rules speak of.

A tool may hand a value to a shell, or look for files by it. A star that begins a name says nothing
about which one is meant, else every search for `*.json` would be a search for each secret one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice, product

from clawkit.guard.policy.globs import Glob, is_wild

_LONG, _LONGEST = 4096, 32768
_MOST = 64
_MOST_SIGNS = 16
_SIGN = re.compile(r"[*?\[{]")
_SPACE = re.compile(r"\s")
_ADDRESS = re.compile(r"\s*(?!file:)[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_CLASS = re.compile(r"\[[^\]/]+\]")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_FEWEST_LETTERS = 2
_LONGEST_NAME = 256


def is_remote(text: str) -> bool:
    """Whether a value is an address, in which a question mark is none of ours."""
    return _ADDRESS.match(text) is not None


def may_have_wildcards(text: str) -> bool:
    """Whether a reading of a value can be a pattern."""
    if text.isascii() and "%" not in text and _SIGN.search(text) is None:
        return False
    return not is_remote(text)


def has_wildcards(text: str) -> bool:
    """Whether a value is read as a pattern too: a long one if it is a single word."""
    if len(text) > _LONGEST or _SIGN.search(text) is None:
        return False
    if len(text) <= _LONG:
        return True
    return _SPACE.search(text.strip()) is None and len(_SIGN.findall(text)) <= _MOST_SIGNS


class Expansions:
    """The names in many globs, and what a value with wildcards can stand for by them."""

    def __init__(self, globs: Iterable[Glob]) -> None:
        self._names: set[str] = set()
        self._roots: set[str] = set()
        for glob in globs:
            for place, (name, begins, _) in enumerate(glob.names()):
                if name and begins and not is_wild(name):
                    self._names.add(name)
                    if place == 1 and glob.is_rooted:
                        self._roots.add(name)

    def of(self, reading: str) -> Iterator[str]:
        """Other texts, of which the value may be one when its wildcards are filled in."""
        for text in _braces(reading):
            if text != reading:
                yield text
            names = text.split("/")
            parts = [self._meant(part) for part in names]
            if len(names) > 2 and not names[0]:
                at_root = self._meant_at_the_root(names[1], named=not is_wild(names[-1]))
                parts[1] = list(dict.fromkeys((*parts[1], *at_root)))
            if any(len(each) > 1 for each in parts):
                yield from islice(map("/".join, product(*parts)), 1, _MOST)

    def _meant(self, part: str) -> list[str]:
        plain = _CLASS.sub("?", part)
        letters = len(plain) - plain.count("*") - plain.count("?")
        says_little = letters < _FEWEST_LETTERS or plain.startswith("*")
        return [part] if says_little else _filled(part, plain, self._names)

    def _meant_at_the_root(self, part: str, *, named: bool) -> list[str]:
        """Few folders are there: `/e*/x` says enough, and `/*/x` if what is in it is `named`."""
        plain = _CLASS.sub("?", part)
        says_nothing = plain == "**" or not (named or plain.strip("*?"))
        return [part] if says_nothing else _filled(part, plain, self._roots)


def _filled(part: str, plain: str, names: set[str]) -> list[str]:
    if not is_wild(plain) or len(plain) > _LONGEST_NAME:
        return [part]
    glob = Glob(plain)
    return [part, *sorted(name for name in names if glob.matches(name))]


def _braces(text: str) -> list[str]:
    """A text with each of the alternatives that its braces give."""
    found = [text]
    for each in found:
        braces = _BRACES.search(each)
        if braces is None:
            continue
        for choice in braces[1].split(","):
            filled = each[: braces.start()] + choice + each[braces.end() :]
            if filled not in found and len(found) < _MOST:
                found.append(filled)
    return found
