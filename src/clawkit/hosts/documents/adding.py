"""Adds an entry to a document, and takes one out: nothing is disturbed but the place it takes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.editing import Data, Path, without_field
from clawkit.hosts.documents.nodes import Dialect, Field, Node, data_at
from clawkit.hosts.documents.toml import Toml, TomlDocument
from clawkit.hosts.documents.yaml import Yaml

_TO_LINE_END = re.compile(r"[ \t]*(?://[^\r\n]*|#[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*)?(?=\r?\n|\Z)")
_MARGIN = re.compile(r"[ \t]*")
_INDENTED = re.compile(r"\n([ \t]+)\S")
_BOM = "\ufeff"


class Piece(msgspec.Struct, frozen=True):
    """Text that was put in, and where it stands in the document now."""

    at: int
    text: str


class Added(msgspec.Struct, frozen=True):
    """A document with an entry more: the pieces it consists of, and how many keys were there."""

    text: str
    pieces: tuple[Piece, ...]
    depth: int
    line: int


def add_entry(dialect: Dialect, text: str, file: str, keys: Path, value: Data) -> Added:
    """The document with `value` under `keys`, where nothing stands yet."""
    document = dialect.open(text, file)
    depth = _depth(document.data, keys, file)
    if isinstance(document, TomlDocument):
        insertions = _in_toml(document, text, keys, value)
    else:
        root = _root(dialect, text, file)
        insertions = _Layout(dialect, text, file).insertions(root, keys, depth, value)
    added = _inserted(text, insertions, depth)
    if dialect.open(added.text, file).data != _with(document.data, keys, value):
        raise _refused(file, keys, "added")
    return added


def take_pieces(text: str, pieces: Iterable[Piece]) -> str:
    """The document as it was before these pieces were put in."""
    for piece in sorted(pieces, key=lambda piece: piece.at, reverse=True):
        text = text[: piece.at] + text[piece.at + len(piece.text) :]
    return text


def take_entry(dialect: Dialect, text: str, file: str, keys: Path, depth: int) -> str:
    """The document without the entry, and without the tables above it that are empty then, but
    for the outermost `depth` of them, which were there before it."""
    expected = _without(dialect.open(text, file).data, keys)
    text = _taken(dialect, text, file, keys)
    left = dialect.open(text, file).data
    for end in range(len(keys) - 1, 0, -1):
        above = keys[:end]
        if data_at(expected, above):
            break
        if data_at(left, above) is None:  # a TOML table that only a longer header named
            expected = _without(expected, above)
        elif end > depth:
            expected = _without(expected, above)
            text = _taken(dialect, text, file, above)
    if dialect.open(text, file).data != expected:
        raise _refused(file, keys, "taken out")
    return text


def _depth(data: Any, keys: Path, file: str) -> int:
    """How many of the keys lead to tables that are there."""
    for depth, key in enumerate(keys):
        if not isinstance(data, dict):
            where = ".".join(keys[:depth]) or "its outermost value"
            raise HostError(f"{file}: {where} is no table of values. The file was left as it is")
        if cast("Data", data).get(key) is None:
            return depth
        data = cast("Data", data)[key]
    raise HostError(f"{file}: {'.'.join(keys)} is there already. The file was left as it is")


def _root(dialect: Dialect, text: str, file: str) -> Node:
    """An empty document has a table of no length at its end."""
    rest = text.removeprefix(_BOM)
    match = dialect.gap.match(rest)
    if match is None or match.end() < len(rest):
        return dialect.block(text, file)
    return Node(len(text), len(text), fields=(), flow=not isinstance(dialect, Yaml))


def _inserted(text: str, insertions: list[tuple[int, str]], depth: int) -> Added:
    pieces: list[Piece] = []
    for at, new in sorted(insertions, key=lambda one: one[0]):
        pieces.append(Piece(at + sum(len(piece.text) for piece in pieces), new))
    for piece in pieces:
        text = text[: piece.at] + piece.text + text[piece.at :]
    last = pieces[-1]
    first = last.at + len(last.text) - len(last.text.lstrip())
    return Added(text, tuple(pieces), depth, text.count("\n", 0, first) + 1)


class _Layout:
    """How a JSON or YAML document is laid out, so that what comes in looks like its neighbours."""

    def __init__(self, dialect: Dialect, text: str, file: str) -> None:
        self.dialect = dialect
        self.file = file
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        found = _INDENTED.search(text)
        self.unit = "\t" if found and found[1][0] == "\t" else found[1] if found else "  "

    def insertions(self, root: Node, keys: Path, depth: int, value: Data) -> list[tuple[int, str]]:
        """What to put where: `keys[:depth]` lead to a table that is there."""
        node, field = root, None
        for key in keys[:depth]:
            field = node.field(key)
            if field is None:
                raise self._no_table(key)
            node = field.node
        for key in reversed(keys[depth + 1 :]):
            value = {key: value}
        name = keys[depth]
        empty = node.field(name)
        if empty is not None:
            return self._instead_of_nothing(node, empty, value)
        if not node.flow:
            return [self._in_block(node, name, value)]
        if node.start == node.end:
            return [self._as_whole(name, value)]
        return self._in_brackets(node, name, value)

    def _instead_of_nothing(self, node: Node, field: Field, value: Data) -> list[tuple[int, str]]:
        """A YAML key without a value; `null` is a value that somebody wrote."""
        if node.flow or field.end != field.node.start:
            raise self._no_table(field.key)
        end = _line_end(self.text, field.node.end)
        margin = self._margin(field.start) + self.unit
        return [(end, self.newline + self._block(value, margin))]

    def _no_table(self, key: str) -> HostError:
        return HostError(
            f"{self.file}: `{key}` is not written as a table: write it so, or take it out. "
            "The file was left as it is"
        )

    def _as_whole(self, name: str, value: Data) -> tuple[int, str]:
        ends = not self.text.removeprefix(_BOM) or self.text.endswith("\n")
        body = self._member(name, value, self.unit, "", "")
        lines = self.newline.join(("{", self.unit + body, "}"))
        return len(self.text), ("" if ends else self.newline) + lines + self.newline

    def _in_brackets(self, node: Node, name: str, value: Data) -> list[tuple[int, str]]:
        fields = node.fields or ()
        if not fields:
            return [self._in_empty_brackets(node, name, value)]
        first, last = fields[0], fields[-1]
        like = self.text[first.start : first.key_end], self._string_like(first)
        margin = self.text[self.text.rfind("\n", 0, first.start) + 1 : first.start]
        if "\n" not in self.text[node.start : first.start] or margin.strip():
            body = self.dialect.key(name, like[0]) + self.dialect.assign + self._line(value, *like)
            return [(last.end, ", " + body)]
        body = self.newline + margin + self._member(name, value, margin, *like)
        comma = self._comma(last.end)
        if comma is not None:
            return [(_line_end(self.text, comma + 1), body + ",")]
        return [(last.end, ","), (_line_end(self.text, last.end), body)]

    def _in_empty_brackets(self, node: Node, name: str, value: Data) -> tuple[int, str]:
        inside = self.text[node.start + 1 : node.end - 1]
        at = node.start + 1 + len(inside.rstrip())
        outer = self._margin(node.start)
        margin = outer + self.unit
        body = self.newline + margin + self._member(name, value, margin, "", "")
        closed = "\n" in self.text[at : node.end]
        return at, body + ("" if closed else self.newline + outer)

    def _in_block(self, node: Node, name: str, value: Data) -> tuple[int, str]:
        fields = node.fields or ()
        margin = self._margin(fields[0].start) if fields else ""
        body = self._block({name: value}, margin)
        end = node.end if fields else len(self.text)
        if self.text[end - 1 : end] in ("", "\n", _BOM):
            return end, body + self.newline
        return _line_end(self.text, end), self.newline + body

    def _member(self, name: str, value: Data, margin: str, key_like: str, like: str) -> str:
        """A key and its table, over several lines; lists stay on one."""
        key = self.dialect.key(name, key_like) + self.dialect.assign
        deeper = self.newline + margin + self.unit
        parts = [
            self._member(inner, cast("Data", item), margin + self.unit, key_like, like)
            if isinstance(item, dict)
            else self.dialect.key(inner, key_like)
            + self.dialect.assign
            + self.dialect.render(item, like)
            for inner, item in value.items()
        ]
        return key + "{" + deeper + f",{deeper}".join(parts) + self.newline + margin + "}"

    def _line(self, value: Any, key_like: str, like: str) -> str:
        if not isinstance(value, dict):
            return self.dialect.render(value, like)
        pairs = cast("Data", value).items()
        parts = (
            self.dialect.key(key, key_like) + self.dialect.assign + self._line(item, key_like, like)
            for key, item in pairs
        )
        return "{" + ", ".join(parts) + "}"

    def _block(self, value: Data, margin: str) -> str:
        lines: list[str] = []
        for key, item in value.items():
            start = margin + self.dialect.key(key)
            if isinstance(item, dict):
                lines += [start + ":", self._block(cast("Data", item), margin + self.unit)]
            else:
                lines.append(start + self.dialect.assign + self.dialect.render(item, "k"))
        return self.newline.join(lines)

    def _string_like(self, field: Field) -> str:
        """Some string inside, to see which quotes are used here."""
        node = field.node
        while node.fields or node.items:
            node = node.fields[0].node if node.fields else cast("tuple[Node, ...]", node.items)[0]
        return self.text[node.start : node.end] if isinstance(node.value, str) else ""

    def _margin(self, position: int) -> str:
        start = self.text.rfind("\n", 0, position) + 1
        start += self.text.startswith(_BOM, start)
        match = _MARGIN.match(self.text, start)
        return match.group() if match else ""

    def _comma(self, end: int) -> int | None:
        match = self.dialect.gap.match(self.text, end)
        position = match.end() if match else end
        return position if self.text[position : position + 1] == "," else None


def _in_toml(document: TomlDocument, text: str, keys: Path, value: Data) -> list[tuple[int, str]]:
    """A table with a header of its own, behind its kin or at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    toml = Toml()
    lines = [f"[{'.'.join(toml.key(key) for key in keys)}]"]
    lines += [f"{toml.key(key)} = {toml.render(item)}" for key, item in value.items()]
    kin = [part for part in document.sections if part.path and part.path[0] == keys[0]]
    if kin:
        end = _line_end(text, kin[-1].end)
        return [(end, newline * 2 + newline.join(lines))]
    before = newline if text.removeprefix(_BOM).strip() else ""
    if text.removeprefix(_BOM) and not text.endswith("\n"):
        before += newline
    return [(len(text), before + newline.join(lines) + newline)]


def _taken(dialect: Dialect, text: str, file: str, keys: Path) -> str:
    if isinstance(dialect, Toml):
        start, end = dialect.open(text, file).span(keys)
        if text[start : start + 1] == "[":
            return _without_table(text, start, end)
        raise _refused(file, keys, "taken out")
    node = dialect.block(text, file)
    for key in keys[:-1]:
        field = node.field(key)
        node = field.node if field else node
    field = node.field(keys[-1])
    if field is None:
        raise _refused(file, keys, "taken out")
    if not node.flow and len(node.fields or ()) == 1 and len(keys) > 1:
        # A YAML table whose last line goes would be nothing, and not an empty table.
        return text[: node.start] + "{}" + text[node.end :]
    return without_field(dialect, file, text, node, field)


def _without_table(text: str, start: int, end: int) -> str:
    """Also without the blank line that set it apart."""
    end = _line_end(text, end)
    start = len(text[:start].rstrip("\r\n"))
    rest = text[end:]
    return text[:start] + rest if start else rest.lstrip("\r\n")


def _line_end(text: str, position: int) -> int:
    """The end of the line, if only blanks and a comment are left on it."""
    match = _TO_LINE_END.match(text, position)
    return match.end() if match else position


def _with(data: Any, keys: Path, value: Data) -> Data:
    if not keys:
        return value
    table = cast("Data", data or {})
    return {**table, keys[0]: _with(table.get(keys[0]), keys[1:], value)}


def _without(data: Any, keys: Path) -> Data:
    table = dict(cast("Data", data))
    if len(keys) == 1:
        del table[keys[0]]
    else:
        table[keys[0]] = _without(table[keys[0]], keys[1:])
    return table


def _refused(file: str, keys: Path, what: str) -> HostError:
    return HostError(
        f"{file}: {'.'.join(keys)} cannot be {what} without disturbing what is around it: "
        "do it by hand. The file was left as it is"
    )
