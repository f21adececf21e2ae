"""Rejects any message that two JSON parsers might interpret differently.

A decision about one reading is worth nothing if the server acts on another. So duplicate keys,
keys that look like the protocol's and are not, numbers that do not fit and characters that do
not exist are refused, besides everything that is not JSON-RPC.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn, cast

import msgspec

from clawkit.errors import InvalidRequestError, ParseError, ProtocolError
from clawkit.text.normalization import plain
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message


def _spelled(*names: str) -> dict[str, str]:
    """Names by their lower case, for which a case-insensitive parser would take them."""
    return {name.lower(): name for name in names}


_ENVELOPE = _spelled("jsonrpc", "id", "method", "params", "result", "error")
_PARAMETERS = _spelled(
    "name", "arguments", "uri", "_meta", "requestState", "inputResponses", "messages"
)
_RESULTS = _spelled("tools", "inputRequests", "requestState", "resultType", "content", "contents")
_METHODS = _spelled(
    *("tools/call", "tools/list", "prompts/get", "prompts/list", "completion/complete"),
    *("resources/read", "resources/list", "resources/templates/list"),
    *("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"),
    *("sampling/createMessage", "elicitation/create", "roots/list", "initialize"),
    *("tasks/get", "tasks/result", "tasks/update", "tasks/cancel", "tasks/list"),
)
_METHOD = re.compile(r"[!-.0-~]+(/[!-.0-~]+)*")
_NAMES = ("name", "uri")
MOST_VALUES = 1_000_000
"""A limit because an empty list of three bytes takes seventy in memory."""
_LONG, _FEW = 4096, 64
_MOST_DIGITS = 17
_OUTSIDE_STRINGS = re.compile(rb'"[^"]*"?|([\[{,])')
_quick_decode = msgspec.json.Decoder().decode
_quick_encode = msgspec.json.Encoder().encode


def parse(line: bytes, depth: int, *, exact: bool = False) -> Message:
    """One message, nested at most `depth` levels. Raises ParseError or InvalidRequestError.

    With `exact` it has no fraction with digits that a float drops: nobody would be shown them.
    """
    if has_too_many_values(line):
        raise ParseError(f"Parse error: more than {MOST_VALUES} values in one message")
    try:
        value = _one_reading(line, _decode_exactly if exact else _decode)
    except RecursionError:
        raise ParseError("Parse error: nested too deeply") from None
    except ValueError as error:
        raise ParseError(f"Parse error: {_reason(error)}") from None
    if len(line) > 2 * depth and _deeper_than(value, depth):
        raise ParseError(f"Parse error: nested more than {depth} levels")
    message = jsonrpc.check(value)
    _refuse_other_spellings(message)
    if "method" in message:
        _refuse_odd_names(message)
    return message


def is_readable(line: bytes | None, depth: int) -> bool:
    """Whether it is a valid message."""
    try:
        return line is not None and bool(parse(line, depth))
    except ProtocolError:
        return False


def _one_reading(line: bytes, decode: Callable[[str], object]) -> object:
    """Parse quickly if encoding the value gives the same bytes again, else strictly."""
    try:
        value = _quick_decode(line)
        if _has_all_strings(value, line) or _quick_encode(value) == line.rstrip(b"\r"):
            return value
    except ValueError:
        pass  # The slow way finds the words for what is wrong.
    value = decode(line.decode())
    if b"\\ud" in line or b"\\uD" in line:
        json.dumps(value, ensure_ascii=False).encode()  # raises for a lone surrogate
    return value


def _has_all_strings(value: object, line: bytes) -> bool:
    """Whether a long line holds no more than its value, by counting quotes: a quick check.

    Without escapes, each quote begins or ends a string, and a duplicate key leaves a value with
    fewer strings than its line has. False if there are fractions, for which this does not hold.
    """
    if len(line) < _LONG or b"\\" in line:
        return False
    strings = 0
    todo: list[Any] = [value]
    while todo and strings + len(todo) <= _FEW:
        item = todo.pop()
        if type(item) is dict:
            members = cast("dict[str, Any]", item)
            strings += len(members)
            todo.extend(members.values())
        elif type(item) is list:
            todo.extend(cast("list[Any]", item))
        elif type(item) is float:
            return False
        else:
            strings += type(item) is str
    return not todo and not _has_more(line, (b'"',), 2 * strings)


def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise ValueError(f"the key {json.dumps(twice)} stands twice in one object")
    return found


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError("a number is too large")
    return number


def _exact(text: str) -> float:
    number = float(text)
    if repr(number) == text or _gives_back(_finite(text), text):
        return number
    raise ValueError("a number has more digits than a float keeps: send it as a string")


def _gives_back(number: float, text: str) -> bool:
    """Whether a float has all digits that were written: up to 17, which is what programs write."""
    digits = re.split("[eE]", text)[0].replace(".", "").strip("-0")
    shown = f"{number:.{len(digits) - 1}e}" if 0 < len(digits) <= _MOST_DIGITS else "0"
    return shown.partition("e")[0].replace(".", "").strip("-0") == digits


def _decoder(parse_float: Callable[[str], float]) -> Callable[[str], object]:
    return json.JSONDecoder(
        object_pairs_hook=refuse_duplicates,
        parse_constant=refuse_constant,
        parse_float=parse_float,
    ).decode


_decode, _decode_exactly = _decoder(_finite), _decoder(_exact)


def _reason(error: ValueError) -> str:
    """What was wrong, without the bytes: they may be a secret."""
    if isinstance(error, UnicodeDecodeError):
        return f"invalid UTF-8 at byte {error.start}"
    if isinstance(error, UnicodeEncodeError):
        return "a lone surrogate"
    return str(error)


def has_too_many_values(line: bytes) -> bool:
    """Whether there are more than `MOST_VALUES`, by counting brackets and commas.

    An empty list or object counts twice.
    """
    if len(line) < 2 * MOST_VALUES or not _has_more(line, (b"{", b"[", b","), MOST_VALUES):
        return False
    # Most of them may stand in strings, which end at the next quote once no escaped one is left.
    plain = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    values = strings = 0
    for found in _OUTSIDE_STRINGS.finditer(plain):
        if found.lastindex:
            values += 1
        else:
            strings += 1
        if values > MOST_VALUES or strings > 2 * MOST_VALUES:
            return True
    return False


def _has_more(line: bytes, signs: tuple[bytes, ...], most: int) -> bool:
    """Whether there are more than `most`; stops counting as soon as that is known."""
    count = 0
    for sign in signs:
        at = line.find(sign)
        while at >= 0 and count <= most:
            count += 1
            at = line.find(sign, at + 1)
    return count > most


def _deeper_than(value: object, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [item for outer in level for item in _containers(outer)]
        if not level:
            return False
    return True


def _containers(value: object) -> list[object]:
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value).values()
    else:
        inner = cast("list[object]", value) if isinstance(value, list) else ()
    return [item for item in inner if isinstance(item, (dict, list))]


def _refuse_odd_names(message: Message) -> None:
    """Refuse calls that are also answers or notifications, and names that a server might trim."""
    if "result" in message or "error" in message:
        raise InvalidRequestError("Invalid request: both a call and an answer")
    method = message["method"]
    known = _METHODS.get(method.lower(), method)
    if _METHOD.fullmatch(method) is None or method != known:
        raise InvalidRequestError(f"Invalid request: the method {json.dumps(method)}")
    if "id" in message and method.lower().startswith("notifications/"):
        raise InvalidRequestError(f"Invalid request: {json.dumps(method)} is a notification's name")
    params = message.get("params", {})
    for key in _NAMES:
        name = params.get(key, "")
        if isinstance(name, str) and not (name.isprintable() and name == name.strip()):
            problem = "has invisible characters, or white space around it"
            raise InvalidRequestError(f'Invalid request: "{key}" {problem}')


def _refuse_other_spellings(message: Message) -> None:
    """Refuse `Method` or `method ` for `method`: lenient parsers take one for the other."""
    for names, found in (
        (_ENVELOPE, message),
        (_PARAMETERS, message.get("params", {})),
        (_RESULTS, jsonrpc.as_object(message.get("result")) or {}),
    ):
        for key in found.keys() - names.values():
            if plain(key).strip() in names:
                raise InvalidRequestError(f"Invalid request: the key {json.dumps(key)}")
