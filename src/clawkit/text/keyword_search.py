"""Finds many keywords in one pass over a text."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

# Never in UTF-8. With them, words begin with enough different bytes to be looked for many bytes at
# a time; without, the search may stop at every "/".
_NO_WORDS = (b"\xf8\xf9\xfa\xfb", b"\xf9\xfa\xfb\xfc", b"\xfa\xfb\xfc\xfd", b"\xfb\xfc\xfd\xfe")

_FIRST_PIECE, _PIECE = 4096, 256 * 1024


class KeywordSearch:
    """Words in UTF-8. None may end as another begins: where they overlap, only one is found."""

    def __init__(self, words: Iterable[bytes]) -> None:
        # Imported for the first message: nothing else of the guard needs it.
        from ahocorasick_rs import BytesAhoCorasick, MatchKind

        words = tuple(words)
        self._longest = max(map(len, words))
        if self._longest > 1:
            words = (*words, *_NO_WORDS)
        # The longest, because the first would be looked for byte by byte.
        found = BytesAhoCorasick(words, matchkind=MatchKind.LeftmostLongest)
        self.places: Callable[[bytes | memoryview], list[tuple[int, int, int]]]
        """The number of each word in a text, where it begins and where it ends."""
        self.places = found.find_matches_as_indexes

    def occur_in(self, text: bytes) -> bool:
        """Whether a text has one of them. It is read in pieces: all places may be a long list."""
        view = memoryview(text)
        start, end = 0, _FIRST_PIECE
        while start < len(text):
            if self.places(view[start : end + self._longest]):
                return True
            start, end = end, end + _PIECE
        return False


def has_controls(content: bytes) -> bool:
    """Whether a text in UTF-8 has controls of ASCII in it, but for white space."""
    return b"\x7f" in content or any(controls.occur_in(content) for controls in _controls())


@cache
def _controls() -> tuple[KeywordSearch, ...]:
    # Up to sixteen single bytes are looked for many bytes at a time, if they are of one row.
    rows = (range(16), range(16, 32))
    return tuple(
        KeywordSearch(bytes([code]) for code in row if code not in b"\t\n\r") for row in rows
    )


def encoded(text: str) -> bytes:
    """Encodes as UTF-8, with lone surrogates, which JSON can hold."""
    return text.encode("utf-8", "surrogatepass")


def decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")
