"""The characters of a text that are not ordinary ASCII: controls, and letters from elsewhere.

Texts are long and most have few such characters, the same ones again and again. To find out which,
and to change each of them everywhere, takes a fraction of the time of a pass over all letters.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache

from clawkit.guard.words import decoded, encoded

_ORDINARY = bytes(set(range(128)) - ({*range(32), 127} - set(b"\t\n\r")))
_MOST_CHANGES = 24
_MOST = 4096


def strange(text: str) -> str:
    """The characters that are not ordinary, in their order."""
    return decoded(encoded(text).translate(None, _ORDINARY))


def change_each(text: str, change: Callable[[str], str]) -> str | None:
    """A text in which each strange character has become what `change` makes of it alone.

    None if that is not the same as to change the text as a whole, or not worth while.
    """
    changed = change_each_encoded(text, change)
    return None if changed is None else decoded(changed)


def change_each_encoded(text: str, change: Callable[[str], str]) -> bytes | None:
    """The same, in UTF-8."""
    content = encoded(text)
    found = decoded(content.translate(None, _ORDINARY))
    if len(found) > _MOST or any(map(_combines, signs := set(found))):
        return None
    changes = [(sign, plain) for sign in signs if (plain := change(sign)) != sign]
    if len(changes) > _MOST_CHANGES:
        return None
    for sign, plain in changes:
        content = content.replace(encoded(sign), encoded(plain))
    return content


@lru_cache(maxsize=4096)
def _combines(sign: str) -> bool:
    """Whether a sign makes one letter with the one before it, as it is or in its plain form."""
    first = unicodedata.normalize("NFKD", sign)[0]
    return unicodedata.category(first).startswith("M") or "\u1161" <= first <= "\u11ff"
