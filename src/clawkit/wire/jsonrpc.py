"""JSON-RPC 2.0 as MCP uses it: decodes bytes into checked messages and encodes messages."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any, cast

import msgspec

from clawkit.errors import InternalError, InvalidRequestError, ParseError, ProtocolError

Message = dict[str, Any]
RequestId = str | int

ADVISORY = ("notifications/progress", "notifications/message")
"""Notifications that may be dropped when a client does not read."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
# Unicode line separators end a line for some readers, but not in JSON. They occur only inside of
# strings, where they can be escaped.
_LINE_SEPARATORS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def decode(data: bytes | str) -> Message:
    """Decode one message; raises ParseError for invalid JSON, InvalidRequestError otherwise."""
    return check(_parse(data))


def _parse(data: bytes | str) -> Any:
    try:
        return _decode(data)
    except RecursionError:
        raise ParseError("Parse error: nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        problem = ParseError(f"Parse error: {_lone_surrogate(data) or error}")
    # Some clients send a byte order mark. Looking for it only now costs the others nothing.
    rest = data.removeprefix("\ufeff") if isinstance(data, str) else data.removeprefix(BOM_UTF8)
    try:
        if rest is not data:
            return _decode(rest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    raise problem


def _lone_surrogate(data: bytes | str) -> str:
    """Describes the first lone surrogate: JavaScript clients send one when they cut a text."""
    import re

    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    found = re.search(
        r"\\u[dD](?:[89abAB]..(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..\\u[dD])[c-fC-F]..)", text
    )
    return f"{found[0]} is half of a character" if found else ""


def as_object(value: object) -> dict[str, Any] | None:
    """`value` if it is a JSON object, else None."""
    return cast("dict[str, Any]", value) if type(value) is dict else None


def as_list(value: object) -> list[Any]:
    """`value` if it is a JSON array, else an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def check(value: object) -> Message:
    """Return `value` as a message; raises InvalidRequestError if it is not a valid one."""
    message = as_object(value)
    if message is None:
        what = "a batch" if type(value) is list else "not an object"
        raise InvalidRequestError(f"Invalid request: {what}; send one JSON-RPC object")
    if message.get("jsonrpc") != "2.0":
        raise InvalidRequestError('Invalid request: "jsonrpc" must be "2.0"')
    if "method" in message:
        _check_call(message)
    elif not _is_response(message):
        raise InvalidRequestError('Invalid request: neither "method" nor a response')
    return message


def _is_response(message: Message) -> bool:
    """Whether it is a result with an id, or an error, which may have none."""
    if "error" in message:
        return "result" not in message
    return "result" in message and valid_id(message.get("id"))


def _check_call(message: Message) -> None:
    if type(message["method"]) is not str:
        raise InvalidRequestError('Invalid request: "method" must be a string')
    if "id" in message and not valid_id(message["id"]):
        raise InvalidRequestError('Invalid request: "id" must be a string or an integer')
    if type(message.get("params", {})) is not dict:
        raise InvalidRequestError('Invalid request: "params" must be an object')


def valid_id(value: object) -> bool:
    """Whether `value` may identify a request: MCP allows strings and integers only."""
    return type(value) is str or type(value) is int


def reply_id(value: object) -> RequestId | None:
    """The id to use in the error reply to an invalid message, if it has a valid one."""
    message = as_object(value)
    if message is not None and valid_id(message.get("id")):
        return message["id"]
    return None


def decode_or_error(data: bytes | str) -> tuple[Message | None, Message | None]:
    """Decode one message: returns it and None, or None and the error reply to send."""
    try:
        value = _parse(data)
    except ParseError as error:
        return None, failure(readable_id(data), error)
    try:
        return check(value), None
    except InvalidRequestError as error:
        return None, failure(reply_id(value), error)


def readable_id(data: bytes | str) -> RequestId | None:
    """The id of a request that is not valid JSON, if it can be read: its sender waits for a reply.

    It can be read despite lone surrogates, invalid UTF-8, or errors after it. Without a method it
    is a response, and the id is one of ours.
    """
    import json

    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    read = json.JSONDecoder(strict=False).raw_decode
    found: Message = {}
    try:
        position = _skip(text, 0, "{")
        while True:
            name, position = read(text, position)
            value, position = read(text, _skip(text, position, ":"))
            found.setdefault(str(name), value)
            position = _skip(text, position, ",")
    except (ValueError, RecursionError):
        request_id = reply_id(found) if isinstance(found.get("method"), str) else None
    try:
        str(request_id).encode()
    except UnicodeEncodeError:  # a lone surrogate in the id itself
        return None
    return request_id


def _skip(text: str, position: int, sign: str) -> int:
    """The position of the token after `sign`; raises ValueError if something else is there."""
    start = _skip_spaces(text, position)
    return _skip_spaces(text, text.index(sign, start, start + 1) + 1)


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n\r":
        position += 1
    return position


def encode(message: Message) -> bytes:
    """Encode as one line, without the newline at its end."""
    return _escape_separators(_encode(message))


def one_line(message: bytes) -> bytes:
    """Put valid JSON on one line. There, line ends are white space between tokens."""
    if b"\r" in message or b"\n" in message:
        message = message.translate(None, b"\r\n")
    return _escape_separators(message)


def _escape_separators(message: bytes) -> bytes:
    if not message.isascii():
        for raw, escaped in _LINE_SEPARATORS:
            # One byte is found much faster than two, and most texts lack one of them.
            if raw[:1] in message and raw[-1:] in message:
                message = message.replace(raw, escaped)
    return message


def encode_reply(message: Message) -> bytes:
    """Like `encode`, but a reply that is not JSON-serializable becomes an error reply.

    For a notification the error is raised: its sender has to know.
    """
    try:
        return encode(message)
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        if "id" not in message:
            raise
        reason = InternalError(f"Internal error: the result is not JSON: {error}")
        return encode(failure(message.get("id"), reason))


def success(request_id: RequestId, result: Any) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "result": result}


def failure(request_id: RequestId | None, error: ProtocolError) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "error": error_object(error)}


def error_object(error: ProtocolError) -> dict[str, Any]:
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.data is not None:
        body["data"] = error.data
    return body


def notification(method: str, params: dict[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def request(request_id: RequestId, method: str, params: dict[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def cancelled(request_id: RequestId) -> Message:
    """The error reply to a cancelled request, for transports where each request gets a reply."""
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": -32800, "message": "Request cancelled"},
    }
