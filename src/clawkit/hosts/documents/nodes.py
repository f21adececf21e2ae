"""What every document format is read into: values with the span of text they stand in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal, NoReturn, Protocol, TypeVar

import msgspec

from clawkit.errors import HostError

Format = Literal["json", "toml", "yaml"]
KeyPath = tuple[str, ...]
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

    def at(self, keys: KeyPath) -> ValueNode | None:
        """What stands under the keys, if anything does."""
        node: ValueNode | None = self
        for key in keys:
            field = None if node is None else node.field(key)
            node = None if field is None else field.node
        return node


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

    def span(self, keys: KeyPath) -> tuple[int, int]:
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

    def renamed(self, text: str, old: KeyPath, new: KeyPath) -> str:
        """An entry's text as it is written under other keys."""
        ...

    def render(self, value: Any, like: str = "") -> str:
        """A value on one line; a string in the quotes that `like` starts with."""
        ...

    def key(self, name: str, like: str = "") -> str: ...


_Member = TypeVar("_Member", ValueNode, Field)


class BracketScanner:
    """Reads values in brackets: members with commas between them, blanks and comments anywhere."""

    def __init__(self, text: str, file: str, gap: re.Pattern[str]) -> None:
        self.text = text
        self.file = file
        self._gap = gap

    def skip(self, position: int) -> int:
        return past(self._gap, self.text, position)

    def table(self, start: int, read: Callable[[int], Field]) -> ValueNode:
        fields, end = self._members(start, "}", read)
        return ValueNode(start, end, fields=fields)

    def list(self, start: int, read: Callable[[int], ValueNode]) -> ValueNode:
        items, end = self._members(start, "]", read)
        return ValueNode(start, end, items=items)

    def _members(
        self, start: int, closer: str, read: Callable[[int], _Member]
    ) -> tuple[tuple[_Member, ...], int]:
        members: list[_Member] = []
        position = self.skip(start + 1)
        while self.text[position : position + 1] != closer:
            members.append(read(position))
            position = self.skip(members[-1].end)
            found = self.text[position : position + 1]
            if found == ",":
                position = self.skip(position + 1)
            elif found != closer:
                self.fail(position, f"expected `,` or `{closer}`, found {self.shown(position)}")
        return tuple(members), position + 1

    def shown(self, position: int) -> str:
        """What stands there, short, and never a whole value: it may be a secret."""
        return f"`{self.text[position]}`" if position < len(self.text) else "the end of the file"

    def fail(self, position: int, reason: str) -> NoReturn:
        unreadable(self.file, self.text, position, reason)


def past(pattern: re.Pattern[str], text: str, position: int) -> int:
    """Where the pattern ends that begins there; the same place if it does not."""
    match = pattern.match(text, position)
    return match.end() if match else position


LEFT = "The file was left as it is: correct it there, or move it away"
"""What to do about a file that cannot be read."""


def unreadable(file: str, text: str, position: int, reason: str) -> NoReturn:
    line = text.count("\n", 0, position) + 1
    raise HostError(f"{file}:{line}: {reason}. {LEFT}")


def data_at(data: Any, keys: KeyPath) -> Any:
    """What stands under the keys, or None."""
    for key in keys:
        if not isinstance(data, dict) or key not in data:
            return None
        data = data[key]  # pyright: ignore[reportUnknownVariableType] - parsed data of any shape
    return data  # pyright: ignore[reportUnknownVariableType] - parsed data of any shape
