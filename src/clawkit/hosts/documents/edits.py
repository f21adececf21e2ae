"""Changes, adds and removes an entry of a document; every other byte stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.json5 import Json5
from clawkit.hosts.documents.nodes import (
    Dialect,
    Field,
    Format,
    KeyPath,
    ValueNode,
    data_at,
    past,
)
from clawkit.hosts.documents.toml import Toml, TomlDocument
from clawkit.hosts.documents.yaml import Yaml

_HABIT = re.compile(r"[ \t]*[:=][ \t]*")
_COMMA_HABIT = re.compile(r",[ \t]*")
_REST_OF_LINE = re.compile(r"[ \t]*(?=\r?\n|\Z)")
_REST_WITH_COMMENT = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_BLANKS = re.compile(r"[\s\ufeff]*")

Data = dict[str, Any]


_DIALECTS: dict[Format, Dialect] = {"json": Json5(), "toml": Toml(), "yaml": Yaml()}


def dialect_of(format: Format) -> Dialect:
    """How documents of this format are read and written; `json` covers JSONC and JSON5."""
    return _DIALECTS[format]


class Edited(msgspec.Struct, frozen=True):
    """A document after a change, the entry's own text before and after it, and its first line."""

    text: str
    before: str
    after: str
    line: int


def edit_entry(dialect: Dialect, text: str, file: str, keys: KeyPath, new: Data) -> Edited:
    """The document with the entry under `keys` saying `new`."""
    document = dialect.open(text, file)
    start, end = document.span(keys)
    old = cast("Data", data_at(document.data, keys))
    newline = "\r\n" if "\r\n" in text else "\n"
    after = _Editor(dialect, file, newline).mapping(text[start:end], (), old, new)
    return replace_entry(dialect, text, file, keys, after, new)


def replace_entry(
    dialect: Dialect, text: str, file: str, keys: KeyPath, after: str, meaning: Data
) -> Edited:
    """The document with the entry's text replaced; refused unless the new document then means
    just that, and its entry is found where it was put."""
    document = dialect.open(text, file)
    start, end = document.span(keys)
    changed = text[:start] + after + text[end:]
    written = dialect.open(changed, file)
    first, last = written.span(keys)
    if (first, last) != (start, start + len(after)):
        # Blanks and comments at the edges that left the entry; unwrapping brings them back.
        after = changed[first:last]
        changed = text[:start] + after + text[end:]
        written = dialect.open(changed, file)
        first, last = written.span(keys)
    expected = _with(document.data, keys, meaning)
    if changed[first:last] != after or not _equal(written.data, expected, file):
        raise _refused(file, keys, "changed", "write the entry in a plainer form")
    return Edited(changed, text[start:end], after, text.count("\n", 0, start) + 1)


def _equal(one: Any, other: Any, file: str) -> bool:
    try:
        return one == other
    except RecursionError:
        raise HostError(f"{file}: is nested too deeply. The file was left as it is") from None


class _Editor:
    """One change after the other; the text is read again between them, so spans are never stale."""

    def __init__(self, dialect: Dialect, file: str, newline: str = "\n") -> None:
        self.dialect = dialect
        self.file = file
        self.newline = newline

    def mapping(self, text: str, path: KeyPath, old: Data, new: Data) -> str:
        for key in old:
            if key in new and old[key] != new[key]:
                text = self._changed(text, (*path, key), old[key], new[key])
        gone = [key for key in old if key not in new]
        added = {key: value for key, value in new.items() if key not in old}
        if added:
            place = self._place(text, path, gone)
            if place is not None:
                text = self._put(text, path, place, added, instead=True)
            else:
                text = self._put(text, path, _before(new, added), added, instead=False)
        for key in gone:
            while (field := self._at(text, path).field(key)) is not None:
                text = _without_field(self.dialect, text, self._at(text, path), field)
        return text

    def _place(self, text: str, path: KeyPath, gone: list[str]) -> str | None:
        """The first of the fields that go away whose line new fields can take."""
        node = self._at(text, path)
        fields = (node.field(key) for key in gone)
        return next((field.key for field in fields if field and not field.section), None)

    def _at(self, text: str, path: KeyPath) -> ValueNode:
        node = self.dialect.block(text, self.file)
        for key in path:
            field = node.field(key)
            if field is None:
                raise HostError(
                    f"{self.file}: `{key}` is not written out in its place: write it in the entry"
                )
            node = field.node
        return node

    def _changed(self, text: str, path: KeyPath, old: Any, new: Any) -> str:
        node = self._at(text, path)
        if isinstance(old, dict) and isinstance(new, dict) and node.fields:
            return self.mapping(text, path, cast("Data", old), cast("Data", new))
        if isinstance(old, list) and isinstance(new, list) and node.items and new:
            old_items, new_items = cast("list[Any]", old), cast("list[Any]", new)
            if new_items[-len(old_items) :] == old_items:
                return self._prepend(text, node, new_items[: -len(old_items)])
            if old_items[-len(new_items) :] == new_items:
                dropped = len(old_items) - len(new_items)
                return text[: node.items[0].start] + text[node.items[dropped].start :]
        rendered = self.dialect.render(new, text[node.start : node.end])
        apart = "" if text[node.start - 1 : node.start] in " \t\n" or node.end > node.start else " "
        return text[: node.start] + apart + rendered + text[node.end :]

    def _prepend(self, text: str, node: ValueNode, values: list[Any]) -> str:
        first = cast("tuple[ValueNode, ...]", node.items)[0]
        like, joint = text[first.start : first.end], _member_separator(text, node)
        rendered = "".join(self.dialect.render(value, like) + joint for value in values)
        return text[: first.start] + rendered + text[first.start :]

    def _put(
        self, text: str, path: KeyPath, place: str | None, added: Data, *, instead: bool
    ) -> str:
        """New fields after the field called `place`, or in its stead; at the front without one."""
        node = self._at(text, path)
        if not node.fields and not node.flow:
            return text[: node.end] + self._below_header(added) + text[node.end :]
        if not node.fields:
            return text[: node.start] + self.dialect.render(added) + text[node.end :]
        field = node.field(place) if place is not None else None
        model = field or node.fields[0]
        joint = _member_separator(text, node)
        rendered = joint.join(self._field(text, model, key, added[key]) for key in added)
        if field is None:
            return text[: model.start] + rendered + joint + text[model.start :]
        if instead:
            return text[: field.start] + rendered + text[field.end :]
        return text[: field.end] + joint + rendered + text[field.end :]

    def _below_header(self, added: Data) -> str:
        """The first lines of a TOML table."""
        assign, render = self.dialect.assign, self.dialect.render
        lines = (self.dialect.key(key) + assign + render(item) for key, item in added.items())
        return "".join(self.newline + line for line in lines)

    def _field(self, text: str, model: Field, key: str, value: Any) -> str:
        between = text[model.key_end : model.node.start]
        habit = between if _HABIT.fullmatch(between) else self.dialect.assign
        name = self.dialect.key(key, text[model.start : model.key_end])
        return name + habit + self.dialect.render(value, text[model.node.start : model.end])


def _without_field(dialect: Dialect, text: str, node: ValueNode, field: Field) -> str:
    """The document without one field of a table in it."""
    if not node.flow:
        return _without_lines(text, field)
    fields = cast("tuple[Field, ...]", node.fields)
    index = fields.index(field)
    comma = _comma(dialect, text, field.end)
    if comma is not None and index + 1 < len(fields):
        return text[: field.start] + text[past(_BLANKS, text, comma + 1) :]
    end = field.end if comma is None else comma + 1
    start = _line_break_before(text, field.start, end)
    before = _comma(dialect, text, fields[index - 1].end) if index and comma is None else None
    if before is None:
        return text[:start] + text[end:]
    return text[:before] + text[before + 1 : start] + text[end:]


def _comma(dialect: Dialect, text: str, end: int) -> int | None:
    """Where the comma stands that follows, if one does."""
    position = past(dialect.gap, text, end)
    return position if text[position : position + 1] == "," else None


def _member_separator(text: str, node: ValueNode) -> str:
    """What stands between two members here: a comma or none, and a line break or none."""
    members = cast("Sequence[ValueNode | Field]", node.items or node.fields)
    first = members[0].start
    margin = text[text.rfind("\n", 0, first) + 1 : first]
    newline = "\r\n" if "\r\n" in text else "\n"
    if not node.flow:
        return newline + margin
    if "\n" in text[node.start : first] and not margin.strip():
        return "," + newline + margin
    between = text[members[0].end : members[1].start] if len(members) > 1 else ""
    return between if _COMMA_HABIT.fullmatch(between) else ", "


def _without_lines(text: str, field: Field) -> str:
    start = text.rfind("\n", 0, field.start) + 1
    end = field.end
    if text[end - 1] == "\n":
        end -= 1
    else:
        end = past(_REST_WITH_COMMENT, text, end)
    if start:
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
        return text[:start] + text[end:]
    return text[end:].removeprefix("\r").removeprefix("\n")


def _line_break_before(text: str, start: int, end: int) -> int:
    """Where the blanks before `start` begin; a line break too, if nothing follows on the line."""
    start = len(text[:start].rstrip(" \t"))
    if _REST_OF_LINE.match(text, end) and text[start - 1 : start] == "\n":
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    return start


def _before(new: Data, added: Data) -> str | None:
    """The key that stands before the first added one."""
    previous = None
    for key in new:
        if key in added:
            break
        previous = key
    return previous


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


def add_entry(dialect: Dialect, text: str, file: str, keys: KeyPath, value: Data) -> Added:
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


def take_entry(dialect: Dialect, text: str, file: str, keys: KeyPath, depth: int) -> str:
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


def _depth(data: Any, keys: KeyPath, file: str) -> int:
    """How many of the keys lead to tables that are there."""
    for depth, key in enumerate(keys):
        if not isinstance(data, dict):
            where = ".".join(keys[:depth]) or "its outermost value"
            raise HostError(f"{file}: {where} is no table of values. The file was left as it is")
        if cast("Data", data).get(key) is None:
            return depth
        data = cast("Data", data)[key]
    raise HostError(f"{file}: {'.'.join(keys)} is there already. The file was left as it is")


def _root(dialect: Dialect, text: str, file: str) -> ValueNode:
    """An empty document has a table of no length at its end."""
    rest = text.removeprefix(_BOM)
    match = dialect.gap.match(rest)
    if match is None or match.end() < len(rest):
        return dialect.block(text, file)
    return ValueNode(len(text), len(text), fields=(), flow=not isinstance(dialect, Yaml))


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

    def insertions(
        self, root: ValueNode, keys: KeyPath, depth: int, value: Data
    ) -> list[tuple[int, str]]:
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

    def _instead_of_nothing(
        self, node: ValueNode, field: Field, value: Data
    ) -> list[tuple[int, str]]:
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

    def _in_brackets(self, node: ValueNode, name: str, value: Data) -> list[tuple[int, str]]:
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
        comma = _comma(self.dialect, self.text, last.end)
        if comma is not None:
            return [(_line_end(self.text, comma + 1), body + ",")]
        return [(last.end, ","), (_line_end(self.text, last.end), body)]

    def _in_empty_brackets(self, node: ValueNode, name: str, value: Data) -> tuple[int, str]:
        inside = self.text[node.start + 1 : node.end - 1]
        at = node.start + 1 + len(inside.rstrip())
        outer = self._margin(node.start)
        margin = outer + self.unit
        body = self.newline + margin + self._member(name, value, margin, "", "")
        closed = "\n" in self.text[at : node.end]
        return at, body + ("" if closed else self.newline + outer)

    def _in_block(self, node: ValueNode, name: str, value: Data) -> tuple[int, str]:
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
        """The first string inside, which shows the quotes that are used here."""
        node = field.node
        while node.fields or node.items:
            node = (
                node.fields[0].node if node.fields else cast("tuple[ValueNode, ...]", node.items)[0]
            )
        return self.text[node.start : node.end] if isinstance(node.value, str) else ""

    def _margin(self, position: int) -> str:
        start = self.text.rfind("\n", 0, position) + 1
        start += self.text.startswith(_BOM, start)
        return self.text[start : past(_MARGIN, self.text, start)]


def _in_toml(
    document: TomlDocument, text: str, keys: KeyPath, value: Data
) -> list[tuple[int, str]]:
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


def _taken(dialect: Dialect, text: str, file: str, keys: KeyPath) -> str:
    if isinstance(dialect, Toml):
        start, end = dialect.open(text, file).span(keys)
        if text[start : start + 1] == "[":
            return _without_table(text, start, end)
        raise _refused(file, keys, "taken out")
    node = dialect.block(text, file).at(keys[:-1])
    field = None if node is None else node.field(keys[-1])
    if node is None or field is None:
        raise _refused(file, keys, "taken out")
    if not node.flow and len(node.fields or ()) == 1 and len(keys) > 1:
        # A YAML table whose last line goes would be nothing, and not an empty table.
        return text[: node.start] + "{}" + text[node.end :]
    return _without_field(dialect, text, node, field)


def _without_table(text: str, start: int, end: int) -> str:
    """Removes a table with the blank line before it."""
    end = _line_end(text, end)
    start = len(text[:start].rstrip("\r\n"))
    rest = text[end:]
    return text[:start] + rest if start else rest.lstrip("\r\n")


def _line_end(text: str, position: int) -> int:
    """The end of the line, if only blanks and a comment are left on it."""
    return past(_TO_LINE_END, text, position)


def _with(data: Any, keys: KeyPath, value: Data) -> Data:
    if not keys:
        return value
    table = cast("Data", data or {})
    return {**table, keys[0]: _with(table.get(keys[0]), keys[1:], value)}


def _without(data: Any, keys: KeyPath) -> Data:
    table = dict(cast("Data", data))
    if len(keys) == 1:
        del table[keys[0]]
    else:
        table[keys[0]] = _without(table[keys[0]], keys[1:])
    return table


def _refused(file: str, keys: KeyPath, what: str, advice: str = "do it by hand") -> HostError:
    return HostError(
        f"{file}: {'.'.join(keys)} cannot be {what} without disturbing what is around it: "
        f"{advice}. The file was left as it is"
    )
