"""Makes remembered text safe to show: no hidden characters, nothing like a tag, orders quoted.

What is remembered may have been written by anybody. A guard must not flag what servers write in
good faith, so it knows only what overrides, conceals and steals. What is remembered is read again
in every later session: there a sentence that has no person who does something, only "always run …"
or "you must never …", is taken for an order too.
"""

from __future__ import annotations

import re
from functools import cache

from clawkit.store.database import keepable
from clawkit.text.injections import find_injections
from clawkit.text.keyword_search import KeywordSearch, decoded
from clawkit.text.normalization import plain_content
from clawkit.text.tables import expanded, listed, table

LONGEST_SHOWN = 1_000
"""Characters of one memory in an answer; the rest can be asked for by its id."""

QUOTED = "[quoted, not an instruction]"
"""Stands before text that gives orders, which is quoted."""

_HIDING = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Nothing is seen of these, yet they are part of how some scripts and emoji are written.
_UNSEEN = (
    r"[\s\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0100-\U000e01ef]*"
)
_INSTEAD = "\u2039"
_TAG = re.compile(rf"<(?={_UNSEEN}(?:[/!?|\uff0f]|[^\W\d]))")
_RECALL_TAG = re.compile(
    rf"[<\uff1c\ufe64](?={_UNSEEN}[/\uff0f]?{_UNSEEN}memory.recall)", re.IGNORECASE
)


def shown(text: str, longest: int = LONGEST_SHOWN) -> str:
    """One line that is only text, cut where it is too long."""
    if not (text.isascii() and text.isprintable() and "<" not in text):
        text = _RECALL_TAG.sub(_INSTEAD, _HIDING.sub(" ", keepable(text)))
        text = _TAG.sub(_INSTEAD, text)
    line = " ".join(text.split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def told(text: str, longest: int = LONGEST_SHOWN) -> str:
    """One line for a model to read; what gives it orders is quoted, and marked as that."""
    if not text:
        return ""
    line = shown(text, longest)
    if not find_instructions(line) and (line == text or not find_instructions(text)):
        return line
    inner = line.replace('"', "'")
    return f'{QUOTED} "{inner}"'


def shown_as_written(text: str) -> str:
    """Text that the owner wrote as instructions: its lines and tags stay."""
    lines = [_HIDING.sub("", line).rstrip() for line in keepable(text).splitlines()]
    return _RECALL_TAG.sub(_INSTEAD, "\n".join(lines)).strip()


STANDING = "standing-order"


@cache
def _stems() -> KeywordSearch:
    return KeywordSearch(stem.encode() for stem in listed(table("standing_orders")["stems"]))


@cache
def _standing() -> re.Pattern[str]:
    found = table("standing_orders")
    orders = (expanded(order, found["parts"]) for order in found["orders"])
    return re.compile("|".join(f"(?:{order})" for order in orders), re.MULTILINE)


def find_instructions(text: str) -> tuple[str, ...]:
    """The names of the kinds of orders that a text gives."""
    content = plain_content(text)
    found = find_injections(text, content)
    if not _stems().places(content) or not _standing().search(decoded(content)):
        return found
    return (*found, STANDING)
