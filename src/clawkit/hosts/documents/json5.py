"""JSON as people write it, with comments, trailing commas and what JSON5 adds, with spans."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.nodes import (
    REMEMBERED,
    BracketScanner,
    Field,
    KeyPath,
    ValueNode,
    past,
)

# Each part can end in one place only, so that a text is read once, whatever is in it.
_GAP = re.compile(
    r"(?:[\s\ufeff]+(?![\s\ufeff])|//[^\r\n]*(?![^\r\n])|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*"
)
_STRING = re.compile(
    r'"[^"\\\r\n]*(?:\\(?:\r\n|[\s\S])[^"\\\r\n]*)*"'
    r"|'[^'\\\r\n]*(?:\\(?:\r\n|[\s\S])[^'\\\r\n]*)*'"
)
_WORD = re.compile(r"[^\s\ufeff,:\[\]{}\"'/]+")
_NAME = re.compile(r"[^\W\d]\w*|\$[\w$]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|[\s\S])")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_HEX = re.compile(r"[+-]?0[xX][0-9a-fA-F]+")
# The same object each time, so that two readings of one document compare as equal.
_NAN = float("nan")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "null": None,
    "NaN": _NAN,
    "Infinity": float("inf"),
    "+Infinity": float("inf"),
    "-Infinity": float("-inf"),
}
_BLANKS = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(parse_constant=_WORDS.__getitem__)
_LONG = 10_000
# A change leaves most of a long file as it was, so what it leaves alone is not read again.
_long_values: deque[tuple[str, Any]] = deque(maxlen=REMEMBERED)


class JsonDocument(msgspec.Struct, frozen=True):
    """A JSON file, read."""

    root: ValueNode
    data: Any
    file: str

    def span(self, keys: KeyPath) -> tuple[int, int]:
        node = self.root.at(keys)
        if node is None:
            raise HostError(f"{self.file}: has no {'.'.join(keys)}")
        return node.start, node.end


class StrictDocument(msgspec.Struct, frozen=True):
    """A JSON file without anything that only people write: `json` reads it, much faster."""

    text: str
    data: Any
    file: str
    fields: dict[str, tuple[int, int]]
    """Where the values of the outermost object stand."""

    def span(self, keys: KeyPath) -> tuple[int, int]:
        start, end, fields = 0, len(self.text), self.fields
        for depth, key in enumerate(keys):
            if depth:
                fields = {name: place for name, _, place in _strict_fields(self.text, start)}
            if key not in fields:
                raise HostError(f"{self.file}: has no {'.'.join(keys)}")
            start, end = fields[key]
        return start, end


class Json5:
    gap = _GAP
    assign = ": "

    def open(self, text: str, file: str) -> JsonDocument | StrictDocument:
        return _open(text, file)

    def block(self, text: str, file: str) -> ValueNode:
        return _read(text, file)

    def renamed(self, text: str, old: KeyPath, new: KeyPath) -> str:
        del old, new  # the keys stand outside of the entry
        return text

    def render(self, value: Any, like: str = "") -> str:
        if isinstance(value, str) and like.startswith("'"):
            body = _quoted(value)[1:-1].replace('\\"', '"').replace("'", "\\'")
            return f"'{body}'"
        if isinstance(value, list) and like.startswith("'"):
            items = cast("list[Any]", value)
            return f"[{', '.join(self.render(item, like) for item in items)}]"
        return _quoted(value)

    def key(self, name: str, like: str = "") -> str:
        bare = like[:1] not in ("", '"', "'")
        return name if bare and _NAME.fullmatch(name) else self.render(name, like)


@lru_cache(REMEMBERED)
def _open(text: str, file: str) -> JsonDocument | StrictDocument:
    strict = _strict(text, file)
    if strict is not None:
        return strict
    if _GAP.fullmatch(text):
        return JsonDocument(ValueNode(0, 0, fields=()), {}, file)
    root = _read(text, file)
    return JsonDocument(root, plain(root), file)


def _strict(text: str, file: str) -> StrictDocument | None:
    """None where it takes more than `json` to read it, or to say what is wrong with it."""
    data: dict[str, Any] = {}
    fields: dict[str, tuple[int, int]] = {}
    start = end = _past_blanks(text, 0)
    try:
        for key, value, place in _strict_fields(text, start):
            data[key], fields[key] = value, place
            end = place[1]
    except (ValueError, RecursionError):
        return None
    rest = text[end:].split() if fields else []
    return StrictDocument(text, data, file, fields) if rest == ["}"] else None


def _strict_fields(text: str, start: int) -> Iterator[tuple[str, Any, tuple[int, int]]]:
    """The fields of the object at `start`: key, value, and where the value stands."""
    if text[start : start + 1] != "{":
        return
    position = _past_blanks(text, start + 1)
    while text[position : position + 1] == '"':
        key, end = _DECODER.raw_decode(text, position)
        colon = _past_blanks(text, end)
        value_start = _past_blanks(text, colon + 1)
        value, value_end = _strict_value(text, value_start)
        comma = _past_blanks(text, value_end)
        position = _past_blanks(text, comma + 1)
        follows = text[comma : comma + 1], text[position : position + 1]
        if text[colon] != ":" or (follows[0] != "}" and follows != (",", '"')):
            raise ValueError("not strict JSON")
        yield key, value, (value_start, value_end)
        if follows[0] == "}":
            return


def _strict_value(text: str, start: int) -> tuple[Any, int]:
    """The value at `start`, and where it ends: a closed bracket ends it whatever follows."""
    for known, value in tuple(_long_values):
        if text.startswith(known, start):
            return value, start + len(known)
    value, end = _DECODER.raw_decode(text, start)
    if end - start > _LONG and text[start] in "{[":
        _long_values.append((text[start:end], value))
    return value, end


def _past_blanks(text: str, position: int) -> int:
    return past(_BLANKS, text, position)


def _read(text: str, file: str) -> ValueNode:
    scanner = _Scanner(text, file, _GAP)
    try:
        node = scanner.value(scanner.skip(0))
    except RecursionError:
        raise HostError(f"{file}: is nested too deeply. The file was left as it is") from None
    end = scanner.skip(node.end)
    if end != len(text):
        scanner.fail(end, f"{scanner.shown(end)} after the end of the document")
    return node


class _Scanner(BracketScanner):
    def value(self, position: int) -> ValueNode:
        match self.text[position : position + 1]:
            case "{":
                return self.table(position, self._field)
            case "[":
                return self.list(position, self.value)
            case '"' | "'":
                value, end = self._string(position)
                return ValueNode(position, end, value)
            case _:
                return self._word(position)

    def _field(self, start: int) -> Field:
        key, end = self._key(start)
        colon = self.skip(end)
        if self.text[colon : colon + 1] != ":":
            self.fail(colon, f"expected `:` after a key, found {self.shown(colon)}")
        return Field(key, start, end, self.value(self.skip(colon + 1)))

    def _key(self, start: int) -> tuple[str, int]:
        if self.text[start : start + 1] in ('"', "'"):
            return self._string(start)
        match = _NAME.match(self.text, start)
        if match is None:
            self.fail(start, f"expected a key or `}}`, found {self.shown(start)}")
        return match.group(), match.end()

    def _string(self, start: int) -> tuple[str, int]:
        match = _STRING.match(self.text, start)
        if match is None:
            self.fail(start, "a string is not closed on its line")
        return _unescaped(match.group()[1:-1]), match.end()

    def _word(self, start: int) -> ValueNode:
        match = _WORD.match(self.text, start)
        if match is None:
            self.fail(start, f"expected a value, found {self.shown(start)}")
        word = match.group()
        if word in _WORDS:
            return ValueNode(start, match.end(), _WORDS[word])
        if _HEX.fullmatch(word):
            return ValueNode(start, match.end(), int(word, 16))
        if not _NUMBER.fullmatch(word):
            self.fail(start, f"expected a value, found {self.shown(start)}")
        return ValueNode(start, match.end(), _number(word))


def plain(node: ValueNode) -> Any:
    """The data of a node, as `json` would read it."""
    if node.fields is not None:
        return {field.key: plain(field.node) for field in node.fields}
    if node.items is not None:
        return [plain(item) for item in node.items]
    return node.value


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def _unescaped(body: str) -> str:
    if "\\" not in body:
        return body
    text = _ESCAPE.sub(_character, body)
    if any("\ud800" <= character <= "\udfff" for character in text):
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return text


def _character(match: re.Match[str]) -> str:
    escape = match.group(1)
    if len(escape) > 1 and escape[0] in "ux":
        return chr(int(escape[1:], 16))
    if escape in ("\n", "\r", "\r\n", "\u2028", "\u2029"):
        return ""
    return _ESCAPED.get(escape, escape)


def _number(word: str) -> int | float:
    try:
        return int(word)
    except ValueError:
        return float(word)
