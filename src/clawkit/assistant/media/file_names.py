"""Makes file names that others chose safe on every system, and unique."""

from __future__ import annotations

import re
import unicodedata

MAX_NAME = 180
"""In bytes of UTF-8. Systems take 255; the rest is for what is added to tell files apart."""
_MAX_SUFFIX = 24
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of characters that have no shape of their own: controls, bidi marks, line breaks."""
_UNSAFE = re.compile(r'[<>:"|?*]')
_SEPARATORS = re.compile(r"[/\\]")
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE
)
_DOUBLE = re.compile(r"(?:\.tar)?\.[^.]+$", re.IGNORECASE)


def safe_name(name: str, fallback: str = "file") -> str:
    """The last part of a path as a name that any directory may hold; `fallback` if none is left."""
    last = _SEPARATORS.split(name)[-1]
    shown = "".join(c for c in last if unicodedata.category(c) not in _HIDDEN)
    shown = _UNSAFE.sub("_", unicodedata.normalize("NFC", shown)).strip().rstrip(". ")
    if not shown.strip("."):
        return fallback
    if _DEVICE.fullmatch(shown):
        shown = f"_{shown}"
    return _cut(shown)


def split_suffix(name: str) -> tuple[str, str]:
    """A name in front of its suffix and the suffix: `.tar.gz` is one, a leading dot begins none."""
    found = _DOUBLE.search(name, 1)
    if found is None or len(found[0].encode()) > _MAX_SUFFIX:
        return name, ""
    return name[: found.start()], found[0]


def with_suffix(name: str, suffix: str) -> str:
    """A name that ends as its type demands, for programs that look at nothing else."""
    stem, now = split_suffix(name)
    return name if now.lower() == suffix else f"{stem}{suffix}"


class UniqueNames:
    """Names that are given out once; the second `cat.png` is `cat-2.png`."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def give(self, name: str) -> str:
        stem, suffix = split_suffix(name)
        given, number = name, 1
        # Some file systems do not tell capitals from small letters.
        while given.casefold() in self._taken:
            number += 1
            given = f"{stem}-{number}{suffix}"
        self._taken.add(given.casefold())
        return given


def _cut(name: str) -> str:
    if len(name.encode()) <= MAX_NAME:
        return name
    stem, suffix = split_suffix(name)
    room = MAX_NAME - len(suffix.encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + suffix
