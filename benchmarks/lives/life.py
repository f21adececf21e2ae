"""One made-up life as a file has it: what was told, and what is asked."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).parent / "data"

Kind = Literal["now", "fact", "language", "time", "steps", "untold"]


class Input(msgspec.Struct, frozen=True):
    """Something that a person typed, or that an agent noted for them."""

    at: str
    kind: Literal["message", "note"]
    conversation: str
    text: str
    actors: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    speaker: str = ""

    @property
    def moment(self) -> float:
        return datetime.fromisoformat(self.at).replace(tzinfo=UTC).timestamp()


class Question(msgspec.Struct, frozen=True):
    """What is asked; told means that one of `accept` is in the answer."""

    kind: Kind
    text: str
    accept: tuple[str, ...] = ()
    outdated: tuple[str, ...] = ()
    by: str = ""


class Life(msgspec.Struct, frozen=True):
    """A person, or a team that shares a memory."""

    name: str
    about: str
    language: str
    asked: str
    inputs: tuple[Input, ...]
    questions: tuple[Question, ...]
    important: tuple[tuple[str, ...], ...]

    @property
    def now(self) -> float:
        return datetime.fromisoformat(f"{self.asked}T12:00").replace(tzinfo=UTC).timestamp()


def lives(folder: Path = DATA) -> list[Life]:
    """Every life of a folder, by name."""
    return [read(file) for file in sorted(folder.glob("*.json"))]


def read(file: Path) -> Life:
    return msgspec.json.decode(file.read_bytes(), type=Life)


def is_told(text: str, accept: tuple[str, ...]) -> bool:
    folded = text.casefold()
    return any(one.casefold() in folded for one in accept)
