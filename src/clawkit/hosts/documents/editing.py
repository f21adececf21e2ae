"""Changes what one entry says, and leaves every byte that need not change alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.nodes import Dialect, Document, Field, Node, data_at

_HABIT = re.compile(r"[ \t]*[:=][ \t]*")
_COMMA_HABIT = re.compile(r",[ \t]*")
_REST_OF_LINE = re.compile(r"[ \t]*(?=\r?\n|\Z)")
_REST_WITH_COMMENT = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=\r?\n|\Z)")
_BLANKS = re.compile(r"[\s\ufeff]*")

Data = dict[str, Any]
Path = tuple[str, ...]


class Edited(msgspec.Struct, frozen=True):
    """A document after a change, the entry's own text before and after it, and its first line."""

    text: str
    before: str
    after: str
    line: int


def edit_entry(dialect: Dialect, text: str, file: str, keys: Path, new: Data) -> Edited:
    """The document with the entry under `keys` saying `new`."""
    document = dialect.open(text, file)
    start, end = document.span(keys)
    old = cast("Data", data_at(document.data, keys))
    newline = "\r\n" if "\r\n" in text else "\n"
    after = _Editor(dialect, file, newline).mapping(text[start:end], (), old, new)
    return _replaced(dialect, text, document, keys, after, new)


def replace_entry(
    dialect: Dialect, text: str, file: str, keys: Path, after: str, meaning: Data
) -> Edited:
    """The document with the entry's text replaced, which then says `meaning`."""
    return _replaced(dialect, text, dialect.open(text, file), keys, after, meaning)


def without_field(dialect: Dialect, file: str, text: str, node: Node, field: Field) -> str:
    """The document without one field of a table in it."""
    return _Editor(dialect, file).without(text, node, field)


def _replaced(
    dialect: Dialect, text: str, document: Document, keys: Path, after: str, meaning: Data
) -> Edited:
    """Refused unless the new document means just that, and its entry is found where it was put."""
    start, end = document.span(keys)
    changed = text[:start] + after + text[end:]
    written = dialect.open(changed, document.file)
    first, last = written.span(keys)
    if (first, last) != (start, start + len(after)):
        # Blanks and comments at the edges that left the entry; unwrapping brings them back.
        after = changed[first:last]
        changed = text[:start] + after + text[end:]
        written = dialect.open(changed, document.file)
        first, last = written.span(keys)
    expected = _with_entry(document.data, keys, meaning)
    if changed[first:last] != after or not _equal(written.data, expected, document.file):
        raise HostError(
            f"{document.file}: {'.'.join(keys)} cannot be changed without disturbing what is "
            "around it: write the entry in a plainer form. The file was left as it is"
        )
    return Edited(changed, text[start:end], after, text.count("\n", 0, start) + 1)


def _equal(one: Any, other: Any, file: str) -> bool:
    try:
        return one == other
    except RecursionError:
        raise HostError(f"{file}: is nested too deeply. The file was left as it is") from None


def _with_entry(data: Any, keys: Path, entry: Data) -> Any:
    if not keys:
        return entry
    return {**data, keys[0]: _with_entry(data[keys[0]], keys[1:], entry)}


class _Editor:
    """One change after the other; the text is read again between them, so spans are never stale."""

    def __init__(self, dialect: Dialect, file: str, newline: str = "\n") -> None:
        self.dialect = dialect
        self.file = file
        self.newline = newline

    def mapping(self, text: str, path: Path, old: Data, new: Data) -> str:
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
                text = self.without(text, self._at(text, path), field)
        return text

    def _place(self, text: str, path: Path, gone: list[str]) -> str | None:
        """The first of the fields that go away whose line new fields can take."""
        node = self._at(text, path)
        fields = (node.field(key) for key in gone)
        return next((field.key for field in fields if field and not field.section), None)

    def _at(self, text: str, path: Path) -> Node:
        node = self.dialect.block(text, self.file)
        for key in path:
            field = node.field(key)
            if field is None:
                raise HostError(
                    f"{self.file}: `{key}` is not written out in its place: write it in the entry"
                )
            node = field.node
        return node

    def _changed(self, text: str, path: Path, old: Any, new: Any) -> str:
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

    def _prepend(self, text: str, node: Node, values: list[Any]) -> str:
        first = cast("tuple[Node, ...]", node.items)[0]
        like, joint = text[first.start : first.end], _joint(text, node)
        rendered = "".join(self.dialect.render(value, like) + joint for value in values)
        return text[: first.start] + rendered + text[first.start :]

    def _put(self, text: str, path: Path, place: str | None, added: Data, *, instead: bool) -> str:
        """New fields after the field called `place`, or in its stead; at the front without one."""
        node = self._at(text, path)
        if not node.fields and not node.flow:
            return text[: node.end] + self._below_header(added) + text[node.end :]
        if not node.fields:
            return text[: node.start] + self.dialect.render(added) + text[node.end :]
        field = node.field(place) if place is not None else None
        model = field or node.fields[0]
        joint = _joint(text, node)
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

    def without(self, text: str, node: Node, field: Field) -> str:
        if not node.flow:
            return _without_lines(text, field)
        fields = cast("tuple[Field, ...]", node.fields)
        index = fields.index(field)
        comma = self._comma(text, field.end)
        if comma is not None and index + 1 < len(fields):
            return text[: field.start] + text[_past(_BLANKS, text, comma + 1) :]
        end = field.end if comma is None else comma + 1
        start = _line_break_before(text, field.start, end)
        before = self._comma(text, fields[index - 1].end) if index and comma is None else None
        if before is None:
            return text[:start] + text[end:]
        return text[:before] + text[before + 1 : start] + text[end:]

    def _comma(self, text: str, end: int) -> int | None:
        position = _past(self.dialect.gap, text, end)
        return position if text[position : position + 1] == "," else None


def _joint(text: str, node: Node) -> str:
    """What stands between two members here: a comma or none, and a line break or none."""
    members = cast("Sequence[Node | Field]", node.items or node.fields)
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
        end = _past(_REST_WITH_COMMENT, text, end)
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


def _past(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position
