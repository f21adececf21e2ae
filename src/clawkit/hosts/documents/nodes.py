"""What every document format is read into: values with the span of text they stand in."""

from __future__ import annotations

import re
from typing import Any, NoReturn, Protocol

import msgspec

from clawkit.errors import HostError

REMEMBERED = 3
"""How many documents a dialect keeps in mind: each step of a change reads the last one's text."""
# Each part can end in one place only, so that a text is read once, whatever is in it.
HASH_GAP = re.compile(r"(?:\s+(?!\s)|#[^\r\n]*(?![^\r\n]))*")
"""Blanks and comments in TOML and YAML."""


class ValueNode(msgspec.Struct, frozen=True):
    """A value at `text[start:end]`.

    `flow` tells values in brackets, with commas, from those that lines hold together.
    """

    start: int
    end: int
    value: Any = None
    fields: tuple[Field, ...] | None = None
    items: tuple[ValueNode, ...] | None = None
    flow: bool = True

    def field(self, key: str) -> Field | None:
        """The field of this name; the last one where a document repeats it, as clients do."""
        found = (field for field in reversed(self.fields or ()) if field.key == key)
        return next(found, None)


class Field(msgspec.Struct, frozen=True):
    """A key and its value; the key stands at `text[start:key_end]`."""

    key: str
    start: int
    key_end: int
    node: ValueNode
    section: bool = False
    """A TOML table of its own, with a header."""

    @property
    def end(self) -> int:
        return self.node.end


class Document(Protocol):
    """A whole file: its data, and where in the text an entry stands."""

    @property
    def data(self) -> Any: ...

    @property
    def file(self) -> str: ...

    def span(self, keys: tuple[str, ...]) -> tuple[int, int]:
        """Where the entry stands; `Dialect.block` reads the text of the span on its own."""
        ...


class Dialect(Protocol):
    """How one format is read and written."""

    @property
    def gap(self) -> re.Pattern[str]:
        """Blanks and comments between two members of a bracketed value; matches nothing, too."""
        ...

    @property
    def assign(self) -> str:
        """What stands between a key and its value where the text shows no other habit."""
        ...

    def open(self, text: str, file: str) -> Document: ...

    def block(self, text: str, file: str) -> ValueNode:
        """The entry whose text this is."""
        ...

    def renamed(self, text: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
        """An entry's text as it is written under other keys."""
        ...

    def render(self, value: Any, like: str = "") -> str:
        """A value on one line; a string in the quotes that `like` starts with."""
        ...

    def key(self, name: str, like: str = "") -> str: ...


def unreadable(file: str, text: str, position: int, reason: str) -> NoReturn:
    line = text.count("\n", 0, position) + 1
    raise HostError(f"{file}:{line}: {reason}. The file was left as it is")


def data_at(data: Any, keys: tuple[str, ...]) -> Any:
    """What stands under the keys, or None."""
    for key in keys:
        if not isinstance(data, dict) or key not in data:
            return None
        data = data[key]  # pyright: ignore[reportUnknownVariableType] - parsed data of any shape
    return data  # pyright: ignore[reportUnknownVariableType] - parsed data of any shape
