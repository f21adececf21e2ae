"""Other ways to write the same text: case, width, look-alikes, hidden characters, percent signs.

Patterns that deny or ask are compared with all of them; a pattern that allows must fit each of
those that a server could mistake for the boundary of a path.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_LOOKALIKES = {
    "-": "\u02d7\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2212",
    "A": "\u0391\u0410",
    "B": "\u0392\u0412",
    "C": "\u0421",
    "E": "\u0395\u0415",
    "G": "\u050c",
    "H": "\u0397\u041d",
    "I": "\u0130\u0399\u0406",
    "J": "\u0408",
    "K": "\u039a\u041a",
    "M": "\u039c\u041c",
    "N": "\u039d",
    "O": "\u039f\u041e",
    "P": "\u03a1\u0420",
    "Q": "\u051a",
    "S": "\u0405",
    "T": "\u03a4\u0422",
    "W": "\u051c",
    "X": "\u03a7\u0425",
    "Y": "\u03a5\u0423\u04ae",
    "Z": "\u0396",
    "_": "\u02cd\u2017",
    "a": "\u0251\u03b1\u0430\u1d00",
    "b": "\u0299",
    "c": "\u0441\u1d04",
    "d": "\u0501\u1d05",
    "e": "\u025b\u03b5\u0435\u1d07",
    "f": "\ua730",
    "g": "\u0261\u0262\u0581",
    "h": "\u029c\u04bb\u0570",
    "i": "\u0131\u0269\u026a\u03b9\u0456",
    "j": "\u0458\u1d0a",
    "k": "\u03ba\u043a\u1d0b",
    "l": "\u029f\u04cf",
    "m": "\u043c\u1d0d",
    "n": "\u0274\u03b7\u0578",
    "o": "\u03bf\u043e\u0585\u1d0f",
    "p": "\u03c1\u0440\u1d18",
    "q": "\u051b\u0566",
    "r": "\u0280\u0433",
    "s": "\u0455\ua731",
    "t": "\u03c4\u1d1b",
    "u": "\u03c5\u057d\u1d1c",
    "v": "\u03bd\u0475\u1d20",
    "w": "\u03c9\u051d\u1d21",
    "x": "\u03c7\u0445",
    "y": "\u028f\u03b3\u0443",
    "z": "\u1d22",
}
_SIGNS = {
    "%": "\u066a\u2052",
    ".": "\u06d4\u0701\u0702\u2024\ua4f8",
    "/": "\u1735\u2044\u2215\u2571\u27cb\u29f8",
    ":": "\u2236\ua789",
    "\\": "\u2216\u2572\u29f5\u29f9",
    "~": "\u02dc\u2053\u223c",
}


def _by_letter(table: dict[str, str]) -> dict[str, str]:
    return {letter: plain for plain, letters in table.items() for letter in letters}


_LOOKS = _by_letter(_LOOKALIKES)
_LOOKS_LIKE = re.compile(f"[{''.join(_LOOKS)}]")
_STANDS_FOR = _by_letter(_SIGNS)
_SIGN_LIKE = re.compile(f"[{''.join(_STANDS_FOR)}]")
# Characters that show nothing: controls but not white space, joiners, direction marks, fillers,
# variation selectors, tags, halves of pairs.
_HIDDEN_FOREIGN = (
    "\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN_BYTES = bytes({*range(32), 127} - set(b"\t\n\r"))
_HIDDEN = re.compile(f"[{re.escape(_HIDDEN_BYTES.decode())}{_HIDDEN_FOREIGN}]")
_FOREIGN = re.compile(r"[^\x00-\x7f]+")
_COMBINING = re.compile("[\u0300-\u036f]")
_ESCAPED = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_WIDE_ESCAPE = re.compile(r"%[uU]([0-9a-fA-F]{4})")
_ESCAPED_PERCENT = re.compile(r"%(?:25)+")
# "/", "." and "\" in more bytes than they need: decoders that do not mind are old but alive.
_OVERLONG = {b"\xc0\xaf": b"/", b"\xe0\x80\xaf": b"/", b"\xc0\xae": b".", b"\xc1\x9c": b"\\"}
_MOST_STAGES = 12
_FEW_STAGES = 4
_LARGE = 1_000_000
_BOUNDARIES = "/\\.%~:"


def has_hidden(text: str) -> bool:
    """Whether there are characters in a text that a reader does not see; white space is no such."""
    if not text.isascii():
        return _HIDDEN.search(text) is not None
    content = text.encode()
    return len(content) != len(content.translate(None, _HIDDEN_BYTES))


def fold(text: str) -> str:
    """A text without its case."""
    return text.lower() if text.isascii() else text.casefold()


def folded(text: str) -> tuple[str, ...]:
    """A name in all the ways that deny and prompt compare it."""
    if text.isascii():
        return (text.strip().lower(),)
    plain = bare(text).strip()
    return tuple(dict.fromkeys((fold(text), fold(plain), fold(look_alike(plain)))))


def bare(text: str) -> str:
    """A text in its plainest characters: without hidden ones, signs as ASCII has them."""
    if text.isascii():
        return _HIDDEN.sub("", text) if has_hidden(text) else text
    if _is_bare(_foreign(text)):
        return text
    import unicodedata

    plain = unicodedata.normalize("NFKC", _HIDDEN.sub("", unicodedata.normalize("NFKC", text)))
    return _SIGN_LIKE.sub(lambda sign: _STANDS_FOR[sign[0]], plain)


def _foreign(text: str) -> str:
    """What is not ASCII: texts are long, and most of them have little of it."""
    return "".join(_FOREIGN.findall(text))


def _is_bare(foreign: str) -> bool:
    import unicodedata

    return not (
        _HIDDEN.search(foreign)
        or _SIGN_LIKE.search(foreign)
        or _COMBINING.search(foreign)
        or not unicodedata.is_normalized("NFKC", foreign)
    )


def look_alike(text: str) -> str:
    """A text with the ASCII letters that its letters look like."""
    return text if text.isascii() else _LOOKS_LIKE.sub(lambda letter: _LOOKS[letter[0]], text)


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
    foreign = _foreign(text)
    if foreign and _is_bare(foreign):
        return (look_alike(text),) if _LOOKS_LIKE.search(foreign) else ()
    plain = bare(text)
    return plain, look_alike(plain)


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
        found.extend(each for each in dict.fromkeys(following) if each not in found)
        if len(found) > most:
            return found, False
    return found, True
