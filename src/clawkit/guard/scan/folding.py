"""Text as a reader takes it: one form for all the ways to write the same letters."""

from __future__ import annotations

from clawkit.guard.scan.hidden import drop_hidden


def plain(text: str) -> str:
    """Without hidden characters, in small letters, look-alikes as the letters they pass for."""
    text = drop_hidden(text)
    if text.isascii():
        return text.lower()
    import unicodedata

    from clawkit.guard.policy.folding import look_alike

    return look_alike(unicodedata.normalize("NFKC", text)).casefold()
