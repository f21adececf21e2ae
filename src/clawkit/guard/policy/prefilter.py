"""Prefilters long texts: whether any name that a pattern needs is in the text at all.

To read a long text in every way that a rule must hold against takes milliseconds, and most have
nothing in them that any rule speaks of. Readings are made of a text's own segments, some left out,
in other letters: so a name that a pattern needs is in the gist of the text, or in no reading of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from clawkit.guard.policy.globs import Glob, has_wildcards, is_remote
from clawkit.guard.policy.paths import is_file_url, normal, slashed
from clawkit.guard.policy.readings import is_wrapped
from clawkit.guard.policy.spellings import bare, fold, has_hidden, look_alike
from clawkit.guard.policy.urls import has_host, scheme
from clawkit.text.keyword_search import KeywordSearch, encoded

_SHORTEST_NAME = 3
_CONTROLS = b"\t\r\n"
_NO_CONTROLS = dict.fromkeys(_CONTROLS)
_ESCAPE = re.compile(rb"%(?:[0-9a-fA-F]{2}|[uU][0-9a-fA-F]{4})")
_UP = b"/../"
_MARKS = (_UP, b"$home", b"${home}")
_SAMPLE = 4096
_FEW = 16
_MOST_WORDS = 56  # With more than 64 a search reads byte by byte, ten times as long.
_LONGEST_WRAPPED = 4 * 32768  # bytes of the longest text that is read as more than it says


class Prefilter:
    """The names of which a text must have one, or no glob of these matches any reading of it."""

    __slots__ = ("_words",)

    def __init__(self, globs: Iterable[Glob], inserted: str) -> None:
        """`inserted` is what a reading can have that the text has not: the server's directories."""
        known = _plain(f"/{inserted}/")
        names = {_rarest(glob, known) for glob in globs}
        needed = sorted(name for name in names if name)
        self._words = None if None in names else _in_groups(needed)

    def may_match(self, gists: Iterable[bytes]) -> bool:
        """Whether to read the text with these gists in every way."""
        if self._words is None:
            return True
        return any(words.occur_in(gist) for gist in gists for words in self._words)


def _in_groups(names: list[bytes]) -> list[KeywordSearch]:
    """Few enough words in each search for it to read many bytes at a time."""
    starts = range(0, len(names), _MOST_WORDS)
    return [KeywordSearch(names[start : start + _MOST_WORDS]) for start in starts]


def gists(text: str, longest_link: int) -> tuple[bytes, ...] | None:
    """The texts of which one has every name that a reading has; None if there is no telling.

    Links are followed in readings of up to `longest_link` characters: they lead anywhere.
    """
    own = text.strip()
    plain = _plain_content(own)
    if plain is None or b"\0" in plain or _has_escapes(plain):
        return None
    plain = plain.lower().strip()
    content = plain.replace(b"\\", b"/")
    found = b"/%b/" % content
    marks = {_MARKS[number] for number, _, _ in _marks().places(found)}
    if content.startswith((b"~", b"//")) or not marks <= {_UP}:
        return None
    stays_long = _is_long if _UP in marks else _has_letters
    spellings = _spellings(own, plain)
    if not stays_long(spellings, longest_link):
        return None
    start = content[:_SAMPLE].decode("utf-8", "replace")
    is_address = bool(scheme(own) or scheme(start))
    # Addresses are read without their line ends, too, and may hold another value only then.
    read = (*spellings, *map(_in_one_line, spellings)) if is_address else spellings
    if len(plain) <= _LONGEST_WRAPPED and any(
        is_wrapped(each) or (has_wildcards(each) and not is_remote(each)) for each in read
    ):
        return None
    if not is_address:
        return (found,)
    if any(has_host(each) or is_file_url(each) for each in (own[:_SAMPLE], start)):
        return None
    return found, found.translate(None, _CONTROLS)


def _has_escapes(plain: bytes) -> bool:
    at = plain.find(b"%")
    for _ in range(_FEW):  # To find a byte is much quicker than to search for an expression.
        if at < 0 or _ESCAPE.match(plain, at):
            return at >= 0
        at = plain.find(b"%", at + 1)
    return at >= 0 and _ESCAPE.search(plain, at) is not None


def _spellings(own: str, plain: bytes) -> tuple[str, ...]:
    """A text and its plain form; one of them, if they differ only in the case of their letters."""
    if own.isascii() and len(own) == len(plain):
        return (own,)
    return own, plain.decode("utf-8", "replace")


def _in_one_line(text: str) -> str:
    return text.translate(_NO_CONTROLS)


@cache
def _marks() -> KeywordSearch:
    return KeywordSearch(_MARKS)


def _plain_content(text: str) -> bytes | None:
    """A text in its plainest letters, if each of them can be changed by itself."""
    if text.isascii() and not has_hidden(text):
        return text.encode()
    from clawkit.text.non_ascii import change_each_encoded

    return change_each_encoded(text, lambda sign: sign if sign == "\0" else _plain(sign))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    # The only space that is none when it is plain.
    return fold(look_alike(bare(text))).replace("\u1680", " ")


def _is_long(texts: Iterable[str], length: int) -> bool:
    """Whether each text is longer than this as a path, whichever slashes count."""
    return all(len(normal(path)) > length for text in texts for path in (text, slashed(text)))


def _has_letters(texts: Iterable[str], length: int) -> bool:
    """Whether so many characters stay in a path without `..`, which loses slashes and dots only."""
    starts = [text[: 2 * length] for text in texts]
    return all(len(start) - sum(map(start.count, "/\\.")) > length for start in starts)


def _rarest(glob: Glob, known: str) -> bytes | None:
    """The name that is likely to be in the fewest texts, between slashes if it ends there."""
    found = [_framed(*name) for name in glob.names()]
    usable = [name for name in found if len(name) > _SHORTEST_NAME and name not in known]
    return encoded(max(usable, key=len)) if usable else None


def _framed(name: str, begins: bool, ends: bool) -> str:
    """White space at its ends may be gone from a text, or be between it and its end."""
    plain = _plain(name)
    begin = "/" if begins and plain == plain.lstrip() else ""
    end = "/" if ends and plain == plain.rstrip() else ""
    return f"{begin}{plain.strip()}{end}"
