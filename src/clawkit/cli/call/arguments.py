"""Arguments of a tool as they are typed in a shell, with the types that its schema says.

`name=text`   a value, read as the parameter's type; again for each item of a list
`name:=JSON`  a value as JSON: objects, lists of lists, null
`name=@file`  the content of a file, or of stdin for `@-`; `name:=@file` for JSON in a file
`{…}`         all arguments as one JSON object; what stands behind it counts more
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from clawkit.errors import ClawError
from clawkit.tools.parameters import alternatives, kind_of_schema, properties, resolved
from clawkit.tools.schema.converter import either
from clawkit.wire.jsonrpc import as_object

_ASSIGNED = re.compile(r"(?P<name>[^-=:{\[][^=]*?)(?P<how>:?=)(?P<value>.*)", re.DOTALL)
_OPTION = re.compile(r"--?(?P<name>[A-Za-z][\w-]*)(?:=(?P<value>.*))?", re.DOTALL)
_TRUE, _FALSE = ("true", "yes", "on", "1", "y"), ("false", "no", "off", "0", "n")
_NARROW_FIRST = ("null", "boolean", "integer", "number", "array", "object")
"""In which order the types of a union are tried; what fits none of these is text."""

Schema = dict[str, Any]


class ArgumentError(ClawError):
    """What was typed is not how this tool is called."""


def read_arguments(words: Sequence[str], schema: Schema, first: str = "") -> dict[str, Any]:
    """The arguments of a call. `first` names a file with a JSON object to begin with."""
    reading = _Reading(schema)
    if first:
        reading.add_all(_decoded(_file(first, "--input"), "--input", first), first)
    for word in words:
        reading.add(word)
    return reading.close()


class _Reading:
    """The words of one command line, one by one."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._known = properties(schema)
        self._given: dict[str, Any] = {}
        self._typed: set[str] = set()
        """Names that were written out, of which a second one is a mistake or an item of a list."""

    def add(self, word: str) -> None:
        if word.startswith("{"):
            self.add_all(word, "the arguments")
            return
        found = _ASSIGNED.fullmatch(word)
        if found is None:
            raise ArgumentError(self._no_argument(word))
        name = self._name(found["name"])
        part = self._known.get(name, {})
        if found["how"] == ":=":
            self._put(name, _json(name, found["value"]))
            return
        text = found["value"]
        if text.startswith("@"):
            text = _text_of_file(name, text[1:], part, self._schema)
        self._put_text(name, text, part)

    def add_all(self, text: str, called: str) -> None:
        value = as_object(_parsed(text, called))
        if value is None:
            raise ArgumentError(f'{called}: must be a JSON object, such as {{"city": "Oslo"}}')
        self._given.update(value)

    def close(self) -> dict[str, Any]:
        required: list[Any] = self._schema.get("required") or []
        missing = [name for name in required if name not in self._given]
        if missing:
            raise ArgumentError(f"missing: {', '.join(missing)}")
        return self._given

    def _put_text(self, name: str, text: str, part: Schema) -> None:
        lists = [one for one in alternatives(part, self._schema) if one.get("type") == "array"]
        if name in self._typed and lists and isinstance(self._given[name], list):
            item = as_object(lists[0].get("items")) or {}
            self._given[name] = [*self._given[name], typed(name, text, item, self._schema)]
            return
        self._put(name, typed(name, text, part, self._schema))

    def _put(self, name: str, value: Any) -> None:
        if name in self._typed:
            raise ArgumentError(f"{name} is given twice, and takes one value")
        self._typed.add(name)
        self._given[name] = value

    def _name(self, name: str) -> str:
        """A name that the tool knows; one that it does not is almost always a slip."""
        open_ended = not self._known or self._schema.get("additionalProperties")
        if name in self._known or open_ended:
            return name
        raise ArgumentError(f"there is no argument {name!r}{_near(name, self._known)}")

    def _no_argument(self, word: str) -> str:
        option = _OPTION.fullmatch(word)
        if option is not None:
            name = option["name"]
            known = name if name in self._known else name.replace("-", "_")
            if known in self._known:
                value = "VALUE" if option["value"] is None else option["value"]
                return f"{word}: arguments of a tool are written {known}={value}"
            return f"there is no option {word}"
        required: list[Any] = self._schema.get("required") or list(self._known)
        name = required[0] if len(required) == 1 or len(self._known) == 1 else "NAME"
        return f"{word!r} has no name: write {name}={word}"


def typed(name: str, text: str, part: Schema, root: Schema) -> Any:
    """A text as a value of the type that a schema says; the narrowest one of several."""
    choices = alternatives(part, root)
    if len(choices) > 1:
        choices = sorted(choices, key=_breadth)
    for choice in choices:
        value, fits = _as(name, text, choice, root, choices)
        if fits:
            return value
    raise ArgumentError(f"{name}={text}: expected {_expected(choices, part, root)}")


def _as(
    name: str, text: str, choice: Schema, root: Schema, choices: Sequence[Schema]
) -> tuple[Any, bool]:
    """A text as one type of several, and whether it is one of it."""
    alone = len(choices) == 1
    no_text = all(one.get("type") in _NARROW_FIRST for one in choices)
    values: list[Any] = [choice["const"]] if "const" in choice else choice.get("enum") or []
    if values:
        return next(((one, True) for one in values if text in (one, _plain(one))), (None, False))
    match choice.get("type"):
        case "string":
            return text, True
        case "null":
            return None, text == "null"
        case "boolean":
            return _boolean(text, _TRUE if alone else _TRUE[:1], _FALSE if alone else _FALSE[:1])
        case "integer":
            return _converted(text, r"[+-]?\d+", int)
        case "number":
            whole = _converted(text, r"[+-]?\d+", int)
            return (
                whole if whole[1] else _converted(text, r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?", float)
            )
        case "array" if not text.lstrip().startswith("["):
            items = as_object(choice.get("items")) or {}
            return ([typed(name, text, items, root)], True) if no_text else (None, False)
        case "array":
            return _parsed_as(name, text, list, alone=alone)
        case "object":
            return _parsed_as(name, text, dict, alone=alone)
        case _:
            return _anything(text), True


def _breadth(choice: Schema) -> int:
    if "enum" in choice or "const" in choice:
        return -1
    kind = choice.get("type")
    return _NARROW_FIRST.index(kind) if kind in _NARROW_FIRST else len(_NARROW_FIRST)


def _boolean(text: str, true: Sequence[str], false: Sequence[str]) -> tuple[bool, bool]:
    said = text.lower()
    return said in true, said in true or said in false


def _converted(text: str, pattern: str, kind: Callable[[str], Any]) -> tuple[Any, bool]:
    return (kind(text), True) if re.fullmatch(pattern, text) else (None, False)


def _parsed_as(name: str, text: str, kind: type, *, alone: bool) -> tuple[Any, bool]:
    value = _parsed(text, name) if alone else _anything(text)
    return value, isinstance(value, kind)


def _anything(text: str) -> Any:
    """JSON if it is some, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _expected(choices: Sequence[Schema], part: Schema, root: Schema) -> str:
    if len(choices) == 1 and (choices[0].get("enum") or "const" in choices[0]):
        return f"one of {kind_of_schema(part, root).replace(' | ', ', ')}"
    words = {
        "object": "an object as JSON, with :=",
        "array": "a list",
        "boolean": "yes or no",
        "integer": "an integer",
    }
    kinds = [str(one.get("type")) for one in choices]
    return either([words.get(kind, "null" if kind == "null" else f"a {kind}") for kind in kinds])


def _json(name: str, text: str) -> Any:
    if text.startswith("@"):
        return _parsed(_decoded(_file(text[1:], name), name, text[1:]), name)
    return _parsed(text, name)


def _parsed(text: str, called: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        reason = str(error).partition(": line")[0]
        raise ArgumentError(f"{called}: is not JSON: {reason}") from None


def _text_of_file(name: str, file: str, part: Schema, root: Schema) -> str:
    data = _file(file, name)
    if resolved(part, root).get("contentEncoding") == "base64":
        return base64.b64encode(data).decode()
    # As in a shell's $(…), the newline that ends a file is not part of the value.
    return _decoded(data, name, file).removesuffix("\n").removesuffix("\r")


def _decoded(data: bytes, name: str, file: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ArgumentError(f"{name}: {file} is not UTF-8 text") from None


def _file(file: str, name: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).expanduser().read_bytes()
    except OSError as error:
        literal = "" if name == "--input" else f"; for the text itself: {name}:='\"@{file}\"'"
        raise ArgumentError(f"{name}: {file}: {error.strerror}{literal}") from None


def _near(name: str, known: dict[str, Any]) -> str:
    if not known:
        return ": it takes none"
    near = get_close_matches(name.lower(), [one.lower() for one in known], n=3)
    meant = [one for one in known if one.lower() in near]
    return f": did you mean {either(meant)}?" if meant else f": it takes {', '.join(known)}"


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
