"""Text as the bytes it is looked through in: many words at once, whatever their number."""

from __future__ import annotations

from collections.abc import Iterable

# Never in UTF-8. With them, words begin with enough different bytes to be looked for many bytes at
# a time; without, the search may stop at every "/".
_NO_WORDS = (b"\xf8\xf9\xfa\xfb", b"\xf9\xfa\xfb\xfc", b"\xfa\xfb\xfc\xfd", b"\xfb\xfc\xfd\xfe")


class Words:
    """Words in UTF-8. None may end as another begins: where they overlap, only one is found."""

    def __init__(self, words: Iterable[bytes]) -> None:
        # Imported for the first message: nothing else of the guard needs it.
        from ahocorasick_rs import BytesAhoCorasick, MatchKind

        # The longest, because the first would be looked for byte by byte.
        found = BytesAhoCorasick((*words, *_NO_WORDS), matchkind=MatchKind.LeftmostLongest)
        self._places = found.find_matches_as_indexes

    def places(self, text: bytes) -> list[tuple[int, int, int]]:
        """The number of each word in a text, where it begins and where it ends."""
        return self._places(text)


def encoded(text: str) -> bytes:
    """In UTF-8, with whatever is in it: JSON can hold halves of characters."""
    return text.encode("utf-8", "surrogatepass")


def decoded(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")
