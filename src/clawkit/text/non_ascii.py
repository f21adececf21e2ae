"""Characters beyond ordinary ASCII: found and replaced; which hide, which look like others.

Texts are long and most have few such characters, the same ones again and again. To find out which,
and to change each of them everywhere, takes a fraction of the time of a pass over all letters.
Imported when the first such character comes by: the tables would cost every start.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache

from clawkit.text.keyword_search import decoded, encoded, has_controls
from clawkit.text.tables import table

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


def _by_letter(kind: str) -> dict[str, str]:
    found: dict[str, str] = table("look_alikes")[kind]
    return {letter: plain for plain, letters in found.items() for letter in letters}


_LOOKS = _by_letter("letters")
_LOOKS_LIKE = re.compile(f"[{''.join(_LOOKS)}]")
# Dashes and the letters of Turkish are what they are.
_PASSING = re.compile(f"[{''.join(one for one in _LOOKS if one.isalpha() and one not in 'İı')}]")
_SEGMENT = re.compile(r'[^"]+')
_WORD = re.compile(r"[^\W_]+")
_STANDS_FOR = _by_letter("signs")
_SIGN_LIKE = re.compile(f"[{''.join(_STANDS_FOR)}]")
# Characters that show nothing: controls but not white space, joiners, direction marks, fillers,
# variation selectors, tags, halves of pairs.
_HIDDEN_FOREIGN = (
    "\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_HIDDEN = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f{_HIDDEN_FOREIGN}]")


def has_hidden(text: str) -> bool:
    return _HIDDEN.search(non_ascii(text)) is not None


def fold(text: str) -> str:
    """`casefold`, in a fraction of its time where only ASCII letters have a case."""
    letters = non_ascii(text)
    if letters.casefold() != letters:
        return text.casefold()
    return decoded(encoded(text).lower())


def bare(text: str) -> str:
    """A text in its plainest letters: without hidden ones, signs as ASCII has them."""
    changed = change_each(text, _bare_letter)
    return _bare(text) if changed is None else changed


def look_alike(text: str) -> str:
    """A text with the ASCII letters that its letters look like."""
    changed = change_each(text, lambda letter: _LOOKS.get(letter, letter))
    return _LOOKS_LIKE.sub(lambda letter: _LOOKS[letter[0]], text) if changed is None else changed


def spell_look_alikes(text: str, spell: Callable[[str], str]) -> str:
    """A text in which the letters are spelled that nobody tells from ASCII ones.

    Those in a word with ASCII letters, and those of a script of which no other letter stands
    between the same quotation marks: "\u0430" alone, but not in a Russian sentence.
    """
    if not _PASSING.search(text):
        return text
    return _SEGMENT.sub(lambda found: _spell_in(found[0], spell), text)


def _spell_in(segment: str, spell: Callable[[str], str]) -> str:
    rest = _PASSING.sub("", segment)
    scripts = {_script(letter) for letter in set(rest) if letter.isalpha()}

    def spell_in_word(word: re.Match[str]) -> str:
        mixed = any(letter.isascii() and letter.isalpha() for letter in word[0])
        return _PASSING.sub(
            lambda one: spell(one[0]) if mixed or _script(one[0]) not in scripts else one[0],
            word[0],
        )

    return _WORD.sub(spell_in_word, segment)


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    return unicodedata.name(letter, "").partition(" ")[0]


@lru_cache(maxsize=4096)
def _bare_letter(letter: str) -> str:
    return _bare(letter)


def _bare(text: str) -> str:
    plain = unicodedata.normalize("NFKC", _HIDDEN.sub("", unicodedata.normalize("NFKC", text)))
    return _SIGN_LIKE.sub(lambda sign: _STANDS_FOR[sign[0]], plain)
