"""Writes out a whole call for a person, with every hidden character shown.

What is invisible is escaped, what would push the rest out of sight is counted, and the rest of a
long line cannot pass for a line of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from clawkit.guard.policy.call import Call
from clawkit.text.normalization import drop_hidden, visible

LONGEST_CALL = 128 * 1024
"""The largest call, as bytes of JSON, that a person is asked to read."""

_CONTINUED = "↳ "
_CONTINUED_WIDTH = 3
# Spaces that are no space, and characters that look like one or like nothing: blank patterns, heads
# and hieroglyphs, fillers, joiners, what stands for an object.
_BLANK = re.compile(
    "[\xa0\u1680\u2000-\u200a\u202f\u205f\u2800\u2d7f\u3000\u303f\ufffc"
    "\U0001107f\U00013441\U00013442\U00016fe4\U0001d159]"
)
# In JSON no backslash is followed by an s: nothing in a call can be taken for this.
_MANY_SPACES = re.compile(" {17,}")
_SPELLED_SPACES = re.compile(r"\\s\{(\d+)\}")
_RIGHT_TO_LEFT = ("R", "AL", "AN")
REORDERED = (
    "It has letters that are written from right to left: what stands beside them may be shown in "
    "another order than it is sent in."
)
"""What to say where somebody else draws a call."""
_MOST_MARKS = 3  # on one letter: more of them cover what stands around it


def call_fields(call: Call) -> dict[str, Any]:
    """A call as it travels to the view, with everything that an approval is bound to."""
    return msgspec.to_builtins(call.lasting())


def can_be_read(call: Call) -> bool:
    """Whether a person could read all of a call."""
    if len(msgspec.json.encode(call)) > LONGEST_CALL:
        return False
    try:
        call_lines(call_fields(call))
    except (RecursionError, ValueError):  # too deep, or a number too long, to be written out
        return False
    return True


def call_lines(call: Mapping[str, Any]) -> list[str]:
    """A call in lines of any length: its tool, its arguments, and whatever else belongs to it.

    Nothing in it can be taken for what is spelled out: backslashes of its own are doubled.
    """
    lines = [f"tool: {_doubled(call.get('tool'))}"]
    if call.get("method") != "tools/call":
        lines.append(f"method: {_doubled(call.get('method'))}")
    for name, value in call.items():
        if name == "arguments" or (value and name not in ("tool", "method")):
            text = f"{name}: {json.dumps(value, indent=2, ensure_ascii=False)}"
            lines.extend(spelled(line) for line in text.split("\n"))
    return lines


def _doubled(name: object) -> str:
    return spelled(str(name).replace("\\", "\\\\"))


def spelled(text: str) -> str:
    """A text on one line with all characters escaped that are invisible or taken for others."""
    text = visible(text, len(text))
    if not text.isascii():
        from clawkit.text.non_ascii import spell_look_alikes

        text = _spell_marks(_BLANK.sub(lambda found: _escaped(found[0]), text))
        text = spell_look_alikes(text, _escaped)
    return _MANY_SPACES.sub(lambda found: f"\\s{{{len(found[0])}}}", text)


def spelled_parts(text: str) -> tuple[str, ...]:
    """`spelled` in parts: what stands in the text so, and what is spelled out, in turn."""
    shown = spelled(text)
    parts: list[str] = []
    of_part = begun = at = place = 0
    while place < len(text):
        # A backslash of the text's own is shown as it is.
        is_spelled = shown[at] == "\\" != text[place]
        if is_spelled != bool(of_part):
            parts.append(shown[begun:at])
            of_part, begun = int(is_spelled), at
        many = _SPELLED_SPACES.match(shown, at) if is_spelled and text[place] == " " else None
        at += many.end() - at if many else len(_escaped(text[place])) if is_spelled else 1
        place += int(many[1]) if many else 1
    return (*parts, shown[begun:])


def _spell_marks(text: str) -> str:
    import unicodedata

    shown: list[str] = []
    marks = 0
    for letter in text:
        marks = marks + 1 if unicodedata.category(letter).startswith("M") else 0
        # Also what belongs to its neighbours in a text: in a path it makes another one.
        seen = marks <= _MOST_MARKS and letter.isprintable() and drop_hidden(letter)
        shown.append(letter if seen else _escaped(letter))
    return "".join(shown)


def has_right_to_left(lines: Iterable[str]) -> bool:
    """Whether there are letters by which a program that draws a text may change its order."""
    import unicodedata

    letters = (letter for line in lines if not line.isascii() for letter in line)
    return any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for letter in letters)


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode()


def rows(line: str, width: int) -> Iterator[str]:
    """A line cut into rows; where it goes on is marked.

    A letter beyond ASCII counts as two columns, the most that a terminal gives it.
    """
    end = _end_of_row(line, 0, max(4, width))
    yield line[:end]
    while end < len(line):
        start, end = end, _end_of_row(line, end, max(4, width) - _CONTINUED_WIDTH)
        yield _CONTINUED + line[start:end]


def _end_of_row(line: str, start: int, width: int) -> int:
    end = start
    while end < len(line):
        width -= 1 if line[end].isascii() else 2
        if width < 0 and end > start:
            break
        end += 1
    return end
