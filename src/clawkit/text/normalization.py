"""Normalizes text: hidden characters stripped or escaped, look-alike letters folded."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache

from clawkit.text.keyword_search import decoded, encoded, has_controls

_C0 = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f"  # but not tab and the ends of lines
_SHORT = 512  # up to here one pass that knows all letters is faster than a search for controls

# Escape sequences go as a whole. What they carry never contains another control character, so
# that each is read once.
_TEXT = r"[^\x07\x1b\x80-\x9f]*(?:\x07|\x1b\\|\x9c)"
_SEQUENCE = rf"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_]{_TEXT}|[ -/]*[0-~])"
_SEQUENCE_C1 = rf"\x9b[0-?]*[ -/]*[@-~]|[\x90\x98\x9d-\x9f]{_TEXT}"
_HIDDEN = (
    f"{_C0}\x80-\x9f"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # direction
    "\u200b\u2060-\u2065\u206a-\u206f\ufeff\u180e\u034f"  # no width
    "\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # letters without a shape
    "\ud800-\udfff\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff"  # no characters
    "\xad\u180b-\u180d\u180f\u200c\u200d\ufe00-\ufe0f"  # what belongs to some neighbours
)
# Tags and selectors among planes that are empty; formats of shorthand and music.
_HIDDEN_FAR = (
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U0001fffe\U0001ffff\U0002fffe\U0002ffff"
    "\U0003fffe-\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff"
)

_EMOJI = (
    "[\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf"
    "\u2900-\u297f\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Arabic and its kin, the Indic scripts, Tibetan, Myanmar, Khmer, Mongolian.
_JOINING = (
    "[\u0600-\u0604\u0610-\u061a\u0620-\u07ff\u0840-\u109f\u1780-\u18af\u1a20-\u1cff"
    "\ua840-\ua8ff\ua980-\uaaff\ufb50-\ufdcf\ufe70-\ufefc\U00010a00-\U00011fff]"
)
_VIRAMAS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u103a\u17d2"
_IDEOGRAPH = "[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_MONGOLIAN = "[\u1820-\u18aa]"
_BLACK_FLAG = "\U0001f3f4"
_FLAG_TAGS = "[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"
_ENDS_OF_LINES = "[\t\n\r\u2028\u2029]"


@cache
def _run(kind: str) -> re.Pattern[str]:
    # Made when first needed. Apart, because a class is slow with characters beyond U+FFFF in it.
    return re.compile(f"[{kind}]+")


def _kinds(text: str) -> tuple[str, ...]:
    """What could be hidden in a text, by the characters it is made of."""
    if text.isascii():
        return (_C0,)
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    return (_HIDDEN,) if units == len(text) else (_HIDDEN_FAR, _HIDDEN)


def has_hidden(text: str) -> bool:
    """Whether there may be anything to strip: never False when there is."""
    if text.isascii():
        return not (len(text) < _SHORT and text.isprintable()) and has_controls(text.encode())
    from clawkit.text.non_ascii import non_ascii

    found = non_ascii(text)
    return any(_run(kind).search(found) for kind in _kinds(found))


def strip_hidden(text: str) -> tuple[str, int]:
    """A text without its hidden characters, and how many there were."""
    if not has_hidden(text):
        return text, 0
    stripped = re.sub(_SEQUENCE, "", text) if "\x1b" in text else text
    if not stripped.isascii() and any(start in stripped for start in "\x90\x98\x9b\x9d\x9e\x9f"):
        stripped = re.sub(_SEQUENCE_C1, "", stripped)
    stripped = _replace_hidden(stripped, lambda _: "")
    return (stripped, len(text) - len(stripped)) if len(stripped) != len(text) else (text, 0)


def drop_hidden(text: str) -> str:
    """A text without any character that can be hidden, needed or not: to compare, not to show."""
    if has_hidden(text):
        for kind in _kinds(text):
            text = _run(kind).sub("", text)
    return text


def visible(text: str, limit: int = 2000) -> str:
    """A text as it may be shown to a person: on one line, what is hidden in it escaped."""
    rest = len(text) - limit
    text = text[:limit]
    if not (text.isascii() and text.isprintable()):
        text = _replace_hidden(text, _escape)
        text = re.sub(_ENDS_OF_LINES, lambda found: _escape(found[0]), text)
    return f"{text}…({rest} more characters)" if rest > 0 else text


def shortened(text: str, longest: int) -> str:
    """A text of at most so many characters, with an ellipsis where something is left out."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _escape(hidden: str) -> str:
    return hidden.encode("unicode_escape", "surrogatepass").decode("ascii")


def _replace_hidden(text: str, replace: Callable[[str], str]) -> str:
    for kind in _kinds(text):
        text = _run(kind).sub(lambda run: _judge(run, replace), text)
    return text


def _judge(run: re.Match[str], replace: Callable[[str], str]) -> str:
    text, (start, end) = run.string, run.span()
    kept = _needed(run[0], text[start - 1 : start] if start else "", text[end : end + 1])
    return run[0][:kept] + replace(run[0][kept:])


def _needed(run: str, before: str, after: str) -> int:
    """How many characters at the start of a run belong to the visible ones around it."""
    first = run[0]
    if "\ufe00" <= first <= "\ufe0f":
        return _needed_variation(run, before, after)
    if first in "\u200c\u200d":
        return int(len(run) == 1 and _joins(first, before, after))
    if first == "\xad":
        return int(len(run) == 1 and before.isalpha() and after.isalpha())
    if before == _BLACK_FLAG and (tags := re.match(_FLAG_TAGS, run)):
        return tags.end()
    if "\U000e0100" <= first <= "\U000e01ef":
        return _is(_IDEOGRAPH, before)
    return _is(_MONGOLIAN, before) if first in "\u180b\u180c\u180d\u180f" else 0


def _needed_variation(run: str, before: str, after: str) -> int:
    if run[0] not in "\ufe0e\ufe0f":
        return int(not before.isascii())
    if before.isascii():
        return int(before.isdigit() or before in "#*") if run[1:] + after == "\u20e3" else 0
    if not _is(_EMOJI, before):
        return 0
    return 1 + int(run[1:] == "\u200d" and _is(_EMOJI, after))


def _joins(joiner: str, before: str, after: str) -> bool:
    if _is(_JOINING, before):
        return bool(_is(_JOINING, after)) or before in _VIRAMAS
    return joiner == "\u200d" and bool(_is(_EMOJI, before) and _is(_EMOJI, after))


def _is(kind: str, character: str) -> int:
    return int(re.match(kind, character) is not None)


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

    from clawkit.text.non_ascii import look_alike

    return look_alike(unicodedata.normalize("NFKC", drop_hidden(text))).casefold()
