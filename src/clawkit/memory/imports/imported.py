"""What file readers return: memories, messages, relations, and lines that could not be read."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from clawkit.errors import BeingError
from clawkit.memory.records import Scene

LONGEST_ACTION = 20_000
_MILLISECONDS = 1e11
"""Numbers above this are times in milliseconds: in seconds they would be after the year 5000."""


class ImportedMemory(Struct, frozen=True):
    """A memory as it was kept elsewhere; `place` says in which file, or in which conversation.

    One that is not `dated` has the day on which its file was last changed.
    """

    scene: Scene
    place: str
    speaker: str = ""
    dated: bool = True


class ImportedMessage(Struct, frozen=True):
    """A message of a conversation that was had elsewhere."""

    role: str
    text: str
    at: float
    conversation: str
    speaker: str = ""


class ImportedRelation(Struct, frozen=True):
    """How one entity stands to others, each in a line."""

    entity: str
    kind: str
    lines: tuple[str, ...]


class ImportProblem(Struct, frozen=True):
    """A line that could not be read."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.what}"


class ImportedFiles(Struct, frozen=True):
    """All that was found in a file or a folder."""

    memories: tuple[ImportedMemory, ...] = ()
    messages: tuple[ImportedMessage, ...] = ()
    relations: tuple[ImportedRelation, ...] = ()
    problems: tuple[ImportProblem, ...] = ()
    files: int = 1


def read_bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BeingError(f"{file} cannot be read: {error.strerror}") from None


def changed_at(file: Path) -> float:
    """When a file was last changed: the only date of what has no other."""
    try:
        return file.stat().st_mtime
    except OSError as error:
        raise BeingError(f"{file} cannot be read: {error.strerror}") from None


def day_of(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")


def moment_of(value: str | float) -> float:
    """Seconds since 1970 of an ISO time, or of a number; raises ValueError."""
    if isinstance(value, str):
        found = datetime.fromisoformat(value.strip())
        value = (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    seconds = value / 1000 if value > _MILLISECONDS else float(value)
    datetime.fromtimestamp(seconds, UTC)
    return seconds


def pieces(text: str) -> list[str]:
    """A text in parts that are short enough to be one memory each."""
    found: list[str] = []
    while len(text) > LONGEST_ACTION:
        at = text.rfind(" ", LONGEST_ACTION // 2, LONGEST_ACTION)
        at = LONGEST_ACTION if at < 0 else at
        found.append(text[:at].rstrip())
        text = text[at:].lstrip()
    return [*found, text] if text else found
