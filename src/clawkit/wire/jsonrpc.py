"""JSON-RPC 2.0 as MCP uses it: bytes to a message that is known to be well formed, and back."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import Any, cast

import msgspec

from clawkit.errors import InternalError, InvalidRequestError, ParseError, ProtocolError

Message = dict[str, Any]
RequestId = str | int

ADVISORY = ("notifications/progress", "notifications/message")
"""What may be dropped when a client does not read."""

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
# Where some readers end a line, and JSON does not; inside its strings they can be escaped.
_SEPARATORS = (
    (b"\xc2\x85", b"\\u0085"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def decode(data: bytes | str) -> Message:
    """One message. Raises ParseError for what is not JSON, InvalidRequestError for the rest."""
    return check(_parse(data))


def _parse(data: bytes | str) -> Any:
    try:
        return _decode(data)
    except RecursionError:
        raise ParseError("Parse error: nested too deeply") from None
    except (msgspec.MsgspecError, UnicodeError) as error:
        problem = ParseError(f"Parse error: {_half(data) or error}")
    # Some clients put a byte order mark before a line. To look for one only now costs others none.
    rest = data.removeprefix("\ufeff") if isinstance(data, str) else data.removeprefix(BOM_UTF8)
    try:
        if rest is not data:
            return _decode(rest)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    raise problem


def _half(data: bytes | str) -> str:
    """Half a character, which a client in JavaScript sends when it cuts a text, and its reason."""
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
    """`value` as a message, if it is a request, a notification or a response."""
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
    """A result for a request of ours, or an error, which may be about something without an id."""
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
    """The id that an error about this malformed message can be sent to, if it has a usable one."""
    message = as_object(value)
    if message is not None and valid_id(message.get("id")):
        return message["id"]
    return None


def decode_or_error(data: bytes | str) -> tuple[Message | None, Message | None]:
    """The message, or the error reply that these bytes deserve."""
    try:
        value = _parse(data)
    except ParseError as error:
        return None, failure(readable_id(data), error)
    try:
        return check(value), None
    except InvalidRequestError as error:
        return None, failure(reply_id(value), error)


def readable_id(data: bytes | str) -> RequestId | None:
    """The id of a request that is not JSON, if it can be read: its sender waits for an answer.

    Half a character, invalid UTF-8 or what follows the id leave it readable. What has no method is
    no request, and its id one of ours.
    """
    import json

    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    text = text.removeprefix("\ufeff")
    read = json.JSONDecoder(strict=False).raw_decode
    found: Message = {}
    try:
        position = _after(text, 0, "{")
        while True:
            name, position = read(text, position)
            value, position = read(text, _after(text, position, ":"))
            found.setdefault(str(name), value)
            position = _after(text, position, ",")
    except (ValueError, RecursionError):
        request_id = reply_id(found) if isinstance(found.get("method"), str) else None
    try:
        str(request_id).encode()
    except UnicodeEncodeError:  # half a character in the id itself
        return None
    return request_id


def _after(text: str, position: int, sign: str) -> int:
    """Where the next token begins behind this sign; raises ValueError if another one is there."""
    return _spaces(text, text.index(sign, (start := _spaces(text, position)), start + 1) + 1)


def _spaces(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n\r":
        position += 1
    return position


def encode(message: Message) -> bytes:
    """One line's worth of bytes, without the newline: one line for every reader."""
    return _without_separators(_encode(message))


def one_line(message: bytes) -> bytes:
    """The same JSON as one line for every reader; only for bytes that are known to be valid JSON.

    There line ends stand between tokens, never in a string: nothing but white space goes.
    """
    if b"\r" in message or b"\n" in message:
        message = message.translate(None, b"\r\n")
    return _without_separators(message)


def _without_separators(message: bytes) -> bytes:
    if not message.isascii():
        for raw, escaped in _SEPARATORS:
            # One byte is found much faster than two, and most texts lack one of them.
            if raw[:1] in message and raw[-1:] in message:
                message = message.replace(raw, escaped)
    return message


def encode_reply(message: Message) -> bytes:
    """Like `encode`, but a reply that cannot be written as JSON becomes an error reply.

    A notification that cannot be written raises: that is for whoever sends it to know.
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
    """The answer to a cancelled request, where the caller has to get one."""
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": -32800, "message": "Request cancelled"},
    }
