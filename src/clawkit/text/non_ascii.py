"""The characters of a text that are not ordinary ASCII: controls, and letters from elsewhere.

Texts are long and most have few such characters, the same ones again and again. To find out which,
and to change each of them everywhere, takes a fraction of the time of a pass over all letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache

from clawkit.text.keyword_search import decoded, encoded, has_controls

_ORDINARY = bytes(set(range(128)) - ({*range(32), 127} - set(b"\t\n\r")))
_MOST_CHANGES = 24
_MOST = 4096
_PIECE = 4096


def non_ascii(text: str) -> str:
    """The characters that are not ordinary, in their order."""
    return _not_ordinary([piece for piece, is_plain in _pieces(encoded(text)) if not is_plain])


def _not_ordinary(pieces: list[bytes]) -> str:
    return decoded(b"".join([piece.translate(None, _ORDINARY) for piece in pieces]))


def _pieces(content: bytes) -> list[tuple[bytes, bool]]:
    """A text in pieces of whole characters, and whether each is known to be ordinary.

    Where letters from elsewhere are few, most pieces need not be read letter by letter.
    """
    if has_controls(content):
        return [(content, False)]
    found: list[tuple[bytes, bool]] = []
    start = 0
    while start < len(content):
        end = start + _PIECE
        while end < len(content) and content[end] & 0xC0 == 0x80:  # within a character
            end += 1
        piece = content[start:end]
        found.append((piece, piece.isascii()))
        start = end
    return found


def change_each(text: str, change: Callable[[str], str]) -> str | None:
    """A text in which each such character has become what `change` makes of it alone.

    None if that is not the same as to change the text as a whole, or not worth while.
    """
    changed = change_each_encoded(text, change)
    return None if changed is None else decoded(changed)


def change_each_encoded(text: str, change: Callable[[str], str]) -> bytes | None:
    """The same, in UTF-8."""
    pieces = _pieces(encoded(text))
    found = _not_ordinary([piece for piece, is_plain in pieces if not is_plain])
    if len(found) > _MOST or any(map(_combines, signs := set(found))):
        return None
    changes = [(encoded(sign), encoded(plain)) for sign in signs if (plain := change(sign)) != sign]
    if len(changes) > _MOST_CHANGES:
        return None
    return b"".join([p if is_plain else _changed(p, changes) for p, is_plain in pieces])


def _changed(content: bytes, changes: list[tuple[bytes, bytes]]) -> bytes:
    for sign, plain in changes:
        content = content.replace(sign, plain)
    return content


@lru_cache(maxsize=4096)
def _combines(sign: str) -> bool:
    """Whether a sign makes one letter with the one before it, as it is or in its plain form."""
    first = unicodedata.normalize("NFKD", sign)[0]
    return unicodedata.category(first).startswith("M") or "\u1161" <= first <= "\u11ff"
