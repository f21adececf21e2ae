"""Memories as text: when, whose, what, and safe to show, without hidden characters, tags or orders.

What is remembered may have been written by anybody. A guard must not flag what servers write in
good faith, so it knows only what overrides, conceals and steals. What is remembered is read again
in every later session: there a sentence that has no person who does something, only "always run …"
or "you must never …", is taken for an order too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from clawkit.memory.records import USER, Node
from clawkit.store.database import keepable
from clawkit.text.injections import find_injections
from clawkit.text.keyword_search import KeywordSearch, decoded
from clawkit.text.normalization import plain_content
from clawkit.text.tables import expanded, listed, table

if TYPE_CHECKING:
    from clawkit.memory.portrait import Told

_NEXT = " · "
_AROUND = 200
"""Characters of what was said before and after a memory."""

_PLAIN = 300
_SITTING = 3600.0
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
EARLIER = "earlier"
"""Marks what was said before something else on the same matter said that it has changed."""

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


class MemoryTexts:
    """Memories as they are told: when, whose, what, and what was said around it."""

    def __init__(
        self,
        own: Collection[str],
        around: Mapping[int, Node] | None = None,
        earlier: Collection[int] = (),
    ) -> None:
        """`own` are the person's names; `around` are neighbours of memories, by their numbers;
        `earlier` are the numbers of those whose matter has changed since.
        """
        self._own = min(own, key=len, default="")
        self._earlier = earlier
        self._timed: frozenset[str] = frozenset()
        self._around = around or {}

    def block(
        self, message: str, matters: Sequence[Sequence[Node]], best: Collection[int] = ()
    ) -> str:
        """The fragments of memories, shuffled; the same for the same message and memories.

        What was said around the `best` is told with them.
        """
        self._timed = _several_a_day([node for matter in matters for node in matter])
        fragments = [self._matter(nodes, best) for nodes in matters]
        random.Random(f"{message}{[nodes[0].id for nodes in matters]}").shuffle(fragments)
        return f"<memory-recall>\n{' / '.join(fragments)}\n</memory-recall>"

    def _matter(self, told: Sequence[Node], best: Collection[int]) -> str:
        """The memories on one matter, the newest first: what is so now, then what was so before."""
        ordered = sorted(told, key=lambda node: node.told_at, reverse=True)
        return _NEXT.join(
            self.fragment(node) if node is told[0] or node.seq in best else self.plain(node)
            for node in ordered
        )

    def fragment(self, node: Node) -> str:
        """One memory, in one line."""
        scene = node.scene
        place = f"{scene.setting}: " if scene.setting else ""
        feeling = f" ({scene.feeling})" if scene.feeling else ""
        said = told(f"{place}{scene.action}{feeling}")
        before, after = told(self._before(node), _AROUND), told(self._after(node), _AROUND)
        parts = (f"({before})" if before else "", said, f"({after})" if after else "")
        return self._headed(node, " ".join(part for part in parts if part))

    def plain(self, node: Node) -> str:
        """One memory without what was said around it."""
        return self._headed(node, told(node.scene.action, _PLAIN))

    def told(self, one: Told) -> str:
        """What holds, and what held before it."""
        if one.before is None:
            return self.plain(one.node)
        return f"{self.plain(one.node)}{_NEXT}before: {self.plain(one.before)}"

    def _headed(self, node: Node, said: str) -> str:
        days = _days(node, timed=self._timed)
        if days and node.ended is None and node.seq in self._earlier:
            days += f" ({EARLIER})"
        head = ", ".join(part for part in (days, self._whose(node)) if part)
        return f"{told(head, 200)}: {said}" if head else said

    def _whose(self, node: Node) -> str:
        speaker = node.source.speaker
        return self._own if speaker in ("", USER) else speaker

    def _before(self, node: Node) -> str:
        """What it goes on about; a model may have said it better than what was said before."""
        other = self._around.get(node.seq - 1)
        if other is None or not _in_one_sitting(node, other):
            return node.scene.context
        if other.ended is not None:
            return ""
        return node.scene.context or other.scene.action

    def _after(self, node: Node) -> str:
        other = self._around.get(node.seq + 1)
        if other is None or other.ended is not None or not _in_one_sitting(node, other):
            return ""
        return other.scene.action


def _in_one_sitting(one: Node, other: Node) -> bool:
    mine, its = one.source, other.source
    same = mine.speaker == its.speaker and mine.conversation == its.conversation
    talk = bool(mine.conversation or (mine.message and its.message))
    return same and talk and abs(one.created - other.created) < _SITTING


def _several_a_day(found: Sequence[Node]) -> frozenset[str]:
    """The days on which several of these were told, at times that tell them apart."""
    times: dict[str, set[str]] = {}
    for node in found:
        minute = _minute(node)
        if minute[:10] in node.scene.when[:1]:
            times.setdefault(minute[:10], set()).add(minute)
    return frozenset(day for day, minutes in times.items() if len(minutes) > 1)


def _minute(node: Node) -> str:
    return datetime.fromtimestamp(node.created, UTC).isoformat(" ")[: len("2026-01-01 12:00")]


def _days(node: Node, timed: Collection[str] = ()) -> str:
    """From when it is, on some days with the time, and until when it was so."""
    since = node.scene.when[0] if node.scene.when else ""
    if since in timed and _minute(node).startswith(since):
        since = _minute(node)
    return f"{since} {until(node)}".rstrip() if since else ""


def until(node: Node) -> str:
    """Until when it was so; empty for what still is."""
    if node.ended is None:
        return ""
    return f"until {datetime.fromtimestamp(node.ended, UTC).date().isoformat()}"
