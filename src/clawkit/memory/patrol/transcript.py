"""The messages that a patrol is given: which are new, and which words are people's own.

A message is known by its words, its speaker and when it was said, or, if nobody knows, by how often
the same was said before it. So the same history can be sent again, whole or its last part, and each
message is kept and looked at once.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Sequence

import msgspec

from clawkit.memory.records import HistoryMessage
from clawkit.store.database import Unit, keepable

_BETWEEN = 0.001
_DAY = 86_400.0
_LATEST = 1e11  # the year 5138; what is later was no time in seconds
# What may repeat is bounded: a megabyte of half a tag must not take for ever.
_RECALL = re.compile(
    r"<\s{0,9}memory-recall\b[^>]{0,200}>.*?(?:<\s{0,9}/\s{0,9}memory-recall\s{0,9}>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r"^[ \t]*[>\uff1e].*$", re.MULTILINE)


class ConversationMessage(msgspec.Struct, frozen=True):
    """One message as a client gives it; `at` and `speaker` where it knows them."""

    role: str
    content: str
    at: float | None = None
    speaker: str = ""


def as_history(
    messages: Sequence[ConversationMessage],
    conversation: str,
    now: float,
    person: str = "",
    *,
    anew: bool = False,
) -> list[HistoryMessage]:
    """The messages as they are kept; those without a time follow one another up to now.

    With `anew` they are known by that time: the same words, said once more.
    """
    before: Counter[tuple[str, str]] = Counter()
    conversation = keepable(conversation)
    found: list[HistoryMessage] = []
    for at, message in enumerate(messages):
        role, text = _role(message.role), keepable(message.content)
        moment = message.at
        timed = moment is not None and abs(moment) < _LATEST
        if moment is None or not timed:
            moment = now - (len(messages) - at) * _BETWEEN
        which = f"at {moment!r}" if timed or anew else f"number {before[role, text]}"
        before[role, text] += 1
        identity = _identity(conversation, role, which, text, *filter(None, (person,)))
        found.append(HistoryMessage(identity, moment, role, text, conversation))
    return found


def is_said_anew(unit: Unit, said: Sequence[HistoryMessage], conversation: str, now: float) -> bool:
    """Whether all of it was heard before, but days ago: who repeats it means it now.

    A named conversation is sent again as a whole, and one with a marker is no repetition.
    """
    if conversation or not said or not_kept(unit, said):
        return False
    sql = "SELECT max(at) FROM messages WHERE being = $being AND id IN (??)"
    return all(now - last > _DAY for (last,) in unit.among(sql, [one.id for one in said]))


def after_marker(said: Sequence[HistoryMessage], marker: str | None) -> Sequence[HistoryMessage]:
    """What was said after the message where the last patrol ended; all, where that is not here."""
    ids = [one.id for one in said]
    return said[ids.index(marker) + 1 :] if marker in ids else said


def not_kept(unit: Unit, said: Sequence[HistoryMessage]) -> frozenset[str]:
    """The ids of the messages that are not stored yet."""
    sql = "SELECT id FROM messages WHERE being = $being AND id IN (??)"
    ids = [one.id for one in said]
    return frozenset(ids) - {found for (found,) in unit.among(sql, ids)}


def without_recall(text: str) -> str:
    """A text without what recall has put into it."""
    return _RECALL.sub(" ", text) if "<" in text else text


def own_words(text: str) -> str:
    """What the sender says: no recalled memories, no code, nothing quoted."""
    return _QUOTED.sub(" ", _FENCED.sub(" ", without_recall(text)))


def _role(role: str) -> str:
    """The role as it is kept; clients also call people "User" or "human"."""
    plain = keepable(role).strip().casefold()
    return "user" if plain == "human" else plain


def _identity(*parts: str) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "big") + data)
    return str(uuid.UUID(bytes=digest.digest()))
