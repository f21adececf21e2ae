"""Text as a reader takes it: one form for all the ways to write the same letters."""

from __future__ import annotations

from functools import lru_cache

from clawkit.text.hidden import drop_hidden
from clawkit.text.keyword_search import decoded, encoded


def plain(text: str) -> str:
    """Without hidden characters, in small letters, look-alikes as the letters they pass for."""
    if text.isascii() and text.isprintable():
        return text.lower()
    return decoded(plain_content(text))


def plain_content(text: str) -> bytes:
    """The same, in UTF-8: what is looked through, not shown."""
    if text.isascii():
        return drop_hidden(text).encode().lower()
    from clawkit.text.non_ascii import change_each_encoded

    changed = change_each_encoded(text, _plain_letter)
    return encoded(_plain(text)) if changed is None else changed.lower()


@lru_cache(maxsize=4096)
def _plain_letter(letter: str) -> str:
    return _plain(letter)


def _plain(text: str) -> str:
    import unicodedata

    from clawkit.text.letters import look_alike

    return look_alike(unicodedata.normalize("NFKC", drop_hidden(text))).casefold()
