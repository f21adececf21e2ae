"""Whether a long text can match at all: a quick look for a name that each pattern needs.

To read a long text in every way that a rule must hold against takes milliseconds, and most have
nothing in them that any rule speaks of. Readings are made of a text's own segments, some left out,
in other letters: so a name that a pattern needs is in the gist of the text, or in no reading of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from clawkit.guard import anchors
from clawkit.guard.policy.folding import bare, fold, has_hidden, look_alike
from clawkit.guard.policy.globs import Glob
from clawkit.guard.policy.pathtext import is_file_url, normal, slashed
from clawkit.guard.policy.urls import has_host, scheme

_SHORTEST_NAME = 3
_MOST_NAMES = 100
_CONTROLS = b"\t\r\n"
_ESCAPE = re.compile(rb"%(?:[0-9a-fA-F]{2}|[uU][0-9a-fA-F]{4})")
_HOME = re.compile(rb"\$\{?home")
_SAMPLE = 4096
_TRY = 128
"""To try a pattern at one place costs as much as to look for a name in so many characters."""


class Screen:
    """The names of which a text must have one, or no glob of these matches any reading of it."""

    __slots__ = ("_groups",)

    def __init__(self, globs: Iterable[Glob], inserted: str) -> None:
        """`inserted` is what a reading can have that the text has not: the server's directory."""
        known = _plain(f"/{inserted}/")
        names = {_rarest(glob, known) for glob in globs}
        self._groups = None if None in names or len(names) > _MOST_NAMES else _grouped(names)

    def may_match(self, gists: Iterable[bytes]) -> bool:
        """Whether to read the text with these gists in every way."""
        if self._groups is None:
            return True
        return any(holds(gist) for gist in gists for holds in self._groups)


def gists(text: str, longest_link: int) -> tuple[bytes, ...] | None:
    """The texts of which one has every name that a reading has; None if there is no telling.

    Links are followed in readings of up to `longest_link` characters: they lead anywhere.
    """
    content = _plain_content(text)
    if content is None or b"\0" in content or anchors.holds(content, b"%", _ESCAPE):
        return None
    content = content.lower().replace(b"\\", b"/").strip()
    if content.startswith((b"~", b"//")) or anchors.holds(content, b"$", _HOME):
        return None
    if not _stays_long(content, text.strip(), longest_link):
        return None
    found = b"/%b/" % content
    start = content[:_SAMPLE].decode("utf-8", "replace")
    if not (scheme(text) or scheme(start)):
        return (found,)
    if any(has_host(each) or is_file_url(each) for each in (text[:_SAMPLE], start)):
        return None
    return found, found.translate(None, _CONTROLS)


def _plain_content(text: str) -> bytes | None:
    """A text in its plainest letters, if each of them can be changed by itself."""
    if text.isascii() and not has_hidden(text):
        return text.encode()
    from clawkit.guard.strange import change_each_encoded

    return change_each_encoded(text, lambda sign: sign if sign == "\0" else _plain(sign))


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return fold(look_alike(bare(text)))


def _stays_long(content: bytes, text: str, length: int) -> bool:
    """Whether a text is longer than this even as a path, in its plain letters and its own."""
    own = text[: 2 * length]
    if b"/" in content and b"/../" in b"/%b/" % content:
        paths = (text, slashed(text), content.decode("utf-8", "replace"))
        return all(len(normal(path)) > length for path in paths)
    starts = [own] if own.isascii() else [own, content[: 4 * length].decode("utf-8", "replace")]
    return all(len(start) - sum(map(start.count, "/\\.")) > length for start in starts)


def _rarest(glob: Glob, known: str) -> bytes | None:
    """The name that is likely to be in the fewest texts, between slashes if it ends there."""
    found = [_framed(*name) for name in glob.names()]
    usable = [name for name in found if len(name) > _SHORTEST_NAME and name not in known]
    return max(usable, key=len).encode("utf-8", "surrogatepass") if usable else None


def _framed(name: str, begins: bool, ends: bool) -> str:
    """White space at its ends may be gone from a text, or be between it and its end."""
    plain = _plain(name)
    begin = "/" if begins and plain == plain.lstrip() else ""
    end = "/" if ends and plain == plain.rstrip() else ""
    return f"{begin}{plain.strip()}{end}"


def _grouped(names: Iterable[bytes | None]) -> list[Callable[[bytes], bool]]:
    groups: dict[bytes, list[bytes]] = {}
    for name in sorted(name for name in names if name):
        groups.setdefault(name[:1], []).append(name)
    return [_holding(sign, group) for sign, group in groups.items()]


def _holding(sign: bytes, names: list[bytes]) -> Callable[[bytes], bool]:
    """What looks for names that begin with the same sign: all at once where that is rare."""
    pattern = re.compile(b"|".join(map(re.escape, names)))

    def holds(text: bytes) -> bool:
        if sign not in text:
            return False
        gap = _SAMPLE / (text.count(sign, 0, _SAMPLE) + 1)
        if len(names) * gap < _TRY:
            return any(name in text for name in names)
        return anchors.holds(text, sign, pattern)

    return holds
