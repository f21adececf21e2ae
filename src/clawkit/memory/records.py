"""What a Being remembers, as frozen data: the same in every store and behind every door."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

USER = "user"
"""The speaker whose name nobody has said yet."""

Status = Literal["active", "dying", "dead"]
STATES = {"active": "remembered", "dying": "fading", "dead": "asleep"}
"""What people are told of each status."""

Scope = Literal["full", "read-only"]

# What a bundle may bring; both databases hold as much, and days can be told of such moments.
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Moment = Annotated[float, msgspec.Meta(gt=-1e11, lt=2.5e11)]


class MemorySource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a memory came from: who said it, by which token, in which conversation and message."""

    speaker: str = ""
    token: str = ""
    conversation: str = ""
    message: str = ""

    @property
    def voice(self) -> str:
        """Who says "I"; the one person without a name is the same by any door."""
        return "" if self.speaker == USER else self.speaker.strip().casefold()

    @property
    def is_talk(self) -> bool:
        """Whether something may have been said before and after it."""
        return bool(self.conversation or self.message)


class Scene(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that happened, as a client records it."""

    action: str
    actors: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    setting: str = ""
    feeling: str = ""
    themes: tuple[str, ...] = ()
    importance: float = 0.5
    context: str = ""
    """What was said just before, or how a model puts it: whom "she" and "it" mean."""

    @property
    def text(self) -> str:
        """What happened, without who says so: topics are about that."""
        return self.told_by("")

    def told_by(self, speaker: str) -> str:
        feeling = f"({self.feeling})" if self.feeling else ""
        when = ", ".join(part for part in (*self.when, speaker) if part)
        return " — ".join(part for part in (when, self.setting, self.action, feeling) if part)


class Node(msgspec.Struct, frozen=True):
    """A scene that is remembered. `seq` counts within its Being and never changes.

    What was said never changes either: an edit ends a node (`ended`, `ending`, `successor`) and
    begins another, so that it can be undone and asked about as of an earlier day.
    """

    seq: Count
    id: str
    scene: Scene
    created: Moment
    source: MemorySource = MemorySource()
    cluster: Count = 0
    status: Status = "active"
    fresh: bool = True
    pinned: bool = False
    session_count: Count = 0
    reactivation_count: Count = 0
    last_activated: Moment = 0.0
    ended: Moment | None = None
    ending: str = ""
    successor: Count | None = None

    @property
    def text(self) -> str:
        """`YYYY-MM-DD, speaker — setting — action — (feeling)`, with what there is of it.

        Whoever is called by a name says so, as "I" may be any of several people.
        """
        return self.scene.told_by(self.source.speaker if self.source.speaker != USER else "")

    @property
    def since(self) -> float:
        """From when it is so: when it was told, or the day that it is of, if that is earlier."""
        return since(self.scene.when, self.created)

    @property
    def told_at(self) -> tuple[float, float, int]:
        """Orders memories by when they are from."""
        return self.since, self.created, self.seq


def since(when: Sequence[str], created: float) -> float:
    """From when it is so what was told then, of these days."""
    try:
        return min(created, moment(when[0])) if when else created
    except (ValueError, OverflowError):  # a day that some client made up long ago
        return created


class Cluster(msgspec.Struct, frozen=True):
    """Memories that belong together; a root (Business, Private) has no parent and never splits."""

    n: Count
    id: str
    name: str
    parent: Count | None = None
    digest: str = ""


class Note(msgspec.Struct, frozen=True):
    """What waits for the next patrol (`scene`), or stays as it is (`note`)."""

    id: str
    created: Moment
    scene: Scene | None = None
    text: str = ""
    source: MemorySource = MemorySource()


class HistoryMessage(msgspec.Struct, frozen=True):
    """One message of a past conversation."""

    id: str
    at: Moment
    role: str
    text: str
    conversation: str = ""


class Entry(msgspec.Struct, frozen=True):
    """One entry of structured memory: a preference, a rule, a relationship, a day of the diary."""

    id: str
    target: str
    key: str
    content: str
    at: Moment
    data: dict[str, Any] = {}


class Being(msgspec.Struct, frozen=True):
    """One memory with its own walls: `n` is its number in this store, `id` what others know."""

    n: int
    id: str
    name: str
    created: float


class Token(msgspec.Struct, frozen=True):
    """What is known of a token; the token itself is kept nowhere."""

    id: str
    being: int
    kind: Literal["brt", "bto"]
    scope: Scope
    label: str
    created: float
    expires: float | None = None
    revoked: float | None = None
    used: float | None = None
    person: str = ""
    """Who says "I" through it; empty where the Being has one person."""

    owner: bool = True
    """Whether it may write what a client obeys: soul, rules, preferences, relationships."""


class Change(msgspec.Struct, frozen=True):
    """One row before and after; None where it was or is not there."""

    table: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class LedgerEntry(msgspec.Struct, frozen=True):
    """Something that was done to what is remembered, with all it takes to undo it."""

    n: Count
    at: Moment
    kind: str
    why: str
    token: str
    changes: tuple[Change, ...]
    undone_by: Count | None = None


@lru_cache(maxsize=4096)
def moment(text: str) -> float:
    """Seconds since 1970 of an ISO date or time; a date means the end of that day, UTC."""
    if len(text) == len("2026-01-01"):
        text += "T23:59:59.999999"
    return utc(text).timestamp()


def utc(text: str) -> datetime:
    """The moment of an ISO time, which is UTC where it names no zone."""
    found = datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def iso(at: float) -> str:
    """A moment as ISO time, UTC, to the millisecond."""
    found = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return found.replace("+00:00", "Z")


Target = Literal[
    "preferences",
    "knowledge",
    "relationship",
    "partner_tools",
    "partner_map",
    "diary",
    "notes",
    "party_message",
    "partner_rules",
    "souls",
]
EntryAction = Literal["get", "append", "update", "delete"]
REFLECTIONS = "reflections"
"""A target that only a patrol writes, for the next session."""
