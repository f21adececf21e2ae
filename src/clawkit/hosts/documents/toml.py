"""TOML with spans: `tomllib` says whether a document is good, a scan where its tables stand."""

from __future__ import annotations

import json
import math
import re
import tomllib
from functools import lru_cache
from typing import Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.nodes import (
    HASH_GAP,
    LEFT,
    REMEMBERED,
    BracketScanner,
    Field,
    KeyPath,
    ValueNode,
    past,
)

_STRING = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""(?:""(?!")|"(?!"))?'
    r"|'''[\s\S]*?'''(?:''(?!')|'(?!'))?"
    r'|"(?:[^"\\\r\n]|\\.)*"'
    r"|'[^'\r\n]*'"
)
_SCALAR = re.compile(r"[^,\]}#\r\n]*[^,\]}#\r\n\s]")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\r\n]|\\.)*\"|'[^'\r\n]*'")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_BLANK = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_WHERE = re.compile(r" \(at line (\d+), column \d+\)| \(at end of document\)")


class Section(msgspec.Struct, frozen=True):
    """A header and the lines below it, up to the next header."""

    path: KeyPath
    start: int
    header_end: int
    lines: tuple[tuple[KeyPath, Field], ...]

    @property
    def end(self) -> int:
        return self.lines[-1][1].end if self.lines else self.header_end


class TomlDocument(msgspec.Struct, frozen=True):
    """A TOML file, read."""

    sections: tuple[Section, ...]
    data: Any
    file: str

    def span(self, keys: KeyPath) -> tuple[int, int]:
        inline = self._inline(keys)
        if inline is not None:
            return inline.start, inline.end
        name = ".".join(keys)
        inside = [i for i, part in enumerate(self.sections) if part.path[: len(keys)] == keys]
        if not any(self.sections[i].path == keys for i in inside):
            raise HostError(
                f"{self.file}: {name} is spread over dotted keys: write it as a table [{name}]"
            )
        first, last = inside[0], inside[-1]
        if last - first + 1 != len(inside):
            raise HostError(
                f"{self.file}: other tables stand between the tables of {name}: put them together"
            )
        return self.sections[first].start, self.sections[last].end

    def _inline(self, keys: KeyPath) -> ValueNode | None:
        for section in self.sections:
            for path, field in section.lines:
                full = section.path + path
                if keys[: len(full)] == full:
                    found = field.node.at(keys[len(full) :])
                    return found if found is not None and found.fields is not None else None
        return None


class Toml:
    gap = HASH_GAP
    assign = " = "

    def open(self, text: str, file: str) -> TomlDocument:
        return _open(text, file)

    def block(self, text: str, file: str) -> ValueNode:
        if text.startswith("{"):
            return _Scanner(text, file, HASH_GAP).value(0)
        sections = [part for part in _sections(text, file) if part.path]
        main = min(sections, key=lambda part: len(part.path))
        depth = len(main.path)
        fields = [field for _, field in main.lines]
        fields += [_as_field(part, depth) for part in sections if part is not main]
        return ValueNode(sections[0].start, sections[-1].end, fields=tuple(fields), flow=False)

    def renamed(self, text: str, old: KeyPath, new: KeyPath) -> str:
        if text.startswith("{") or old == new:
            return text
        for part in reversed(_sections(text, "")):
            if part.path and part.path[: len(old)] == old:
                name = ".".join(self.key(key) for key in (*new, *part.path[len(old) :]))
                header = f"[[{name}]]" if text.startswith("[[", part.start) else f"[{name}]"
                text = text[: part.start] + header + text[part.header_end :]
        return text

    def render(self, value: Any, like: str = "") -> str:
        match value:
            case str():
                return _quoted(value, like)
            case bool():
                return "true" if value else "false"
            case int():
                return str(value)
            case float():
                return str(value) if math.isfinite(value) else str(value).replace("+", "")
            case list():
                items = cast("list[Any]", value)
                return f"[{', '.join(self.render(item, like) for item in items)}]"
            case dict():
                pairs = cast("dict[str, Any]", value).items()
                parts = (f"{self.key(key)} = {self.render(item, like)}" for key, item in pairs)
                return f"{{ {', '.join(parts)} }}"
            case _:
                raise HostError(f"cannot write a {type(value).__name__} in TOML")

    def key(self, name: str, like: str = "") -> str:
        return name if _BARE.fullmatch(name) else _quoted(name, like)


@lru_cache(REMEMBERED)
def _open(text: str, file: str) -> TomlDocument:
    try:
        data = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        reason = str(error)
        where = _WHERE.search(reason)
        line = int(where.group(1)) if where and where.group(1) else text.count("\n") + 1
        reason = f"{_WHERE.sub('', reason)}. {LEFT}"
        raise HostError(f"{file}:{line}: {reason}") from None
    return TomlDocument(_sections(text, file), data, file)


class _Scanner(BracketScanner):
    def key(self, position: int) -> tuple[KeyPath, int]:
        parts: list[str] = []
        while True:
            match = _KEY.match(self.text, position)
            if match is None:
                self.fail(position, "expected a key")
            parts.append(_key_text(match.group()))
            dot = _DOT.match(self.text, match.end())
            if dot is None:
                return tuple(parts), match.end()
            position = dot.end()

    def line(self, start: int) -> tuple[KeyPath, Field]:
        path, key_end = self.key(start)
        equals = self._blank(key_end)
        node = self.value(self._blank(equals + 1))
        return path, Field(path[0], start, key_end, node, section=len(path) > 1)

    def value(self, start: int) -> ValueNode:
        opener = self.text[start : start + 1]
        if opener == "[":
            return self.list(start, self.value)
        if opener == "{":
            return self.table(start, lambda position: self.line(position)[1])
        match = (_STRING if opener in "\"'" else _SCALAR).match(self.text, start)
        if match is None:
            self.fail(start, "expected a value")
        return ValueNode(start, match.end())

    def _blank(self, position: int) -> int:
        return past(_BLANK, self.text, position)

    def header(self, start: int) -> tuple[KeyPath, int]:
        brackets = 2 if self.text.startswith("[[", start) else 1
        path, end = self.key(self._blank(start + brackets))
        return path, self._blank(end) + brackets


def _sections(text: str, file: str) -> tuple[Section, ...]:
    scanner = _Scanner(text, file, HASH_GAP)
    sections: list[Section] = []
    path: KeyPath = ()
    start = header_end = 0
    lines: list[tuple[KeyPath, Field]] = []
    position = scanner.skip(1 if text.startswith("\ufeff") else 0)
    while position < len(text):
        if text[position] == "[":
            sections.append(Section(path, start, header_end, tuple(lines)))
            lines = []
            start = position
            path, header_end = scanner.header(position)
            position = scanner.skip(header_end)
        else:
            lines.append(scanner.line(position))
            position = scanner.skip(lines[-1][1].end)
    return (*sections, Section(path, start, header_end, tuple(lines)))


def _as_field(section: Section, depth: int) -> Field:
    fields = tuple(field for _, field in section.lines)
    node = ValueNode(section.start, section.end, fields=fields, flow=False)
    return Field(section.path[depth], section.start, section.header_end, node, section=True)


def _key_text(raw: str) -> str:
    return tomllib.loads(f"key = {raw}")["key"] if raw[0] in "\"'" else raw


def _quoted(value: str, like: str) -> str:
    if like.startswith("'") and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
