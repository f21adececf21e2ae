"""Other spellings of a text: case, width, look-alikes, hidden and percent-encoded characters.

Patterns that deny or ask are compared with all of them; a pattern that allows must fit each of
those that a server could mistake for the boundary of a path.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from clawkit.text.keyword_search import has_controls

_HIDDEN_BYTES = bytes({*range(32), 127} - set(b"\t\n\r"))
_HIDDEN = tuple(map(chr, _HIDDEN_BYTES))
_CONTROLS = re.compile(f"([{re.escape(''.join(_HIDDEN))}]+)")
# Written so that the search can jump from one "%" to the next.
_ESCAPED = re.compile(r"%[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*")
_WIDE_ESCAPE = re.compile(r"%[uU]([0-9a-fA-F]{4})")
_ESCAPED_PERCENT = re.compile(r"%(?:25)+")
# "/", "." and "\" in more bytes than they need: decoders that do not mind are old but alive.
_OVERLONG = {b"\xc0\xaf": b"/", b"\xe0\x80\xaf": b"/", b"\xc0\xae": b".", b"\xc1\x9c": b"\\"}
_MOST_STAGES = 12
_FEW_STAGES = 4
_LONG = 1024
_LARGE = 1_000_000
_BOUNDARIES = "/\\.%~:"


def has_hidden(text: str) -> bool:
    """Whether a text has characters that a reader does not see; white space is none of them."""
    if text.isascii():
        content = text.encode()
        if len(text) > _LONG:
            return has_controls(content)
        return len(content) != len(content.translate(None, _HIDDEN_BYTES))
    from clawkit.text import non_ascii

    return non_ascii.has_hidden(text)


def fold(text: str) -> str:
    """A text without its case."""
    if text.isascii():
        return text.lower()
    if len(text) < _LONG:
        return text.casefold()
    from clawkit.text import non_ascii

    return non_ascii.fold(text)


def folded(text: str) -> tuple[str, ...]:
    """A name in all the ways that deny and prompt compare it."""
    if text.isascii():
        return (bare(text).strip().lower(),)
    plain = bare(text).strip()
    return tuple(dict.fromkeys((fold(text), fold(plain), fold(look_alike(plain)))))


def bare(text: str) -> str:
    """A text in its plainest characters: without hidden ones, signs as ASCII has them."""
    if text.isascii():
        return text.encode().translate(None, _HIDDEN_BYTES).decode()
    from clawkit.text import non_ascii

    return non_ascii.bare(text)


def look_alike(text: str) -> str:
    """A text with the ASCII letters that its letters look like."""
    if text.isascii():
        return text
    from clawkit.text import non_ascii

    return non_ascii.look_alike(text)


def decode(text: str) -> str:
    """One round of percent decoding; `%2525…` counts as one."""
    text = _WIDE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text)
    text = _ESCAPED_PERCENT.sub("%25", text)
    return _ESCAPED.sub(lambda found: _unescape(found[0]), text)


def _unescape(escaped: str) -> str:
    content = bytes.fromhex(escaped.replace("%", ""))
    for long, short in _OVERLONG.items():
        content = content.replace(long, short)
    return content.decode("utf-8", "replace")


def every_stage(text: str) -> list[str]:
    """For deny and prompt: the text, decoded as often as it can be, plain, and as it looks."""
    return _stages(text, _as_shown)[0]


def boundary_stages(text: str) -> list[str] | None:
    """For allow: all that a server may make of a text's slashes and dots; None if it never ends."""
    stages, complete = _stages(text, _as_bounded)
    return stages if complete else None


def _as_shown(text: str) -> tuple[str, ...]:
    plain = bare(text)
    shown = (plain, look_alike(plain))
    if text.isascii():
        return shown
    # Controls may be dropped, or end a path: so they also stay, between letters that are plain.
    parts = _CONTROLS.split(text)
    if len(parts) == 1:
        return shown
    kept = "".join([part if part.isascii() else bare(part) for part in parts])
    return (*shown, kept, look_alike(kept))


def _as_bounded(text: str) -> tuple[str, ...]:
    plain = bare(text)
    moved = any(plain.count(sign) != text.count(sign) for sign in _BOUNDARIES)
    return (plain,) if moved else ()


def _stages(text: str, flatten: Callable[[str], tuple[str, ...]]) -> tuple[list[str], bool]:
    found = [text]
    most = _MOST_STAGES if len(text) < _LARGE else _FEW_STAGES
    for stage in found:
        following = flatten(stage) if not stage.isascii() or has_hidden(stage) else ()
        if "%" in stage:
            following = (*following, decode(stage))
        for each in following:
            if each not in found:
                found.append(each)
        if len(found) > most:
            return found, False
    return found, True
