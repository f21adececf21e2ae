"""The headers that repeat what the body says: compared before they are believed, or made."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from clawkit.errors import HeaderMismatchError
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.revisions import META_VERSION

VERSION, METHOD, NAME, PARAMETER = (
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-param-",
)
# As in `wire.http.rules`, which would bring a whole HTTP server along.
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_PLAIN = re.compile(r"[ -~]*")
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")

Mirrors = Mapping[str, tuple[str, ...]]
"""Header names in lower case, and the path of the argument that each repeats."""


def modern_version(message: Message) -> str | None:
    """The revision that a request of the modern era names in its `_meta`."""
    meta = as_object((as_object(message.get("params")) or {}).get("_meta")) or {}
    version = meta.get(META_VERSION)
    return version if isinstance(version, str) else None


def check_agreement(headers: Mapping[str, str], message: Message) -> None:
    """Raise HeaderMismatchError if a header says something else than the body.

    What is missing is for the server to miss: it cannot mislead anybody.
    """
    params = as_object(message.get("params")) or {}
    method = message.get("method")
    version = modern_version(message)
    if version is not None:
        _compare("MCP-Protocol-Version", headers.get(VERSION), version)
    _compare("Mcp-Method", headers.get(METHOD), method)
    if method in NAMED_BY:
        _compare("Mcp-Name", _decoded("Mcp-Name", headers.get(NAME)), params.get(NAMED_BY[method]))
    repeated = [name for name in headers if name.startswith(PARAMETER)]
    if repeated:
        said = set(_scalars(params.get("arguments")))
        for name in repeated:
            if _decoded(name, headers[name]) not in said:
                raise HeaderMismatchError(f"Header mismatch: {name} is not in the body")


def headers_for(message: Message, mirrors: Mirrors | None) -> dict[str, str]:
    """What HTTP wants to be said in headers about a request of the modern era."""
    params = as_object(message.get("params")) or {}
    method: str = message["method"]
    headers = {VERSION: modern_version(message) or "", METHOD: method}
    name = params.get(NAMED_BY.get(method, ""))
    if isinstance(name, str):
        headers[NAME] = _encoded(name)
    for header, path in (mirrors or {}).items():
        value: Any = params.get("arguments")
        for step in path:
            value = (as_object(value) or {}).get(step)
        text = _text(value)
        if text is not None:
            headers[header] = _encoded(text)
    return headers


def mirrors_of(schema: object, path: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    """The arguments that a tool's schema wants to be repeated in headers."""
    found: dict[str, tuple[str, ...]] = {}
    properties = as_object((as_object(schema) or {}).get("properties")) or {}
    for name, value in properties.items():
        here = (*path, name)
        header = (as_object(value) or {}).get("x-mcp-header")
        if isinstance(header, str) and re.fullmatch(r"[!#$%&'*+.^_`|~\w-]+", header, re.ASCII):
            found[f"{PARAMETER}{header}".lower()] = here
        found.update(mirrors_of(value, here))
    return found


def _compare(header: str, sent: str | None, said: object) -> None:
    if sent is not None and sent != said:
        raise HeaderMismatchError(f"Header mismatch: {header} does not match the body")


def _decoded(header: str, value: str | None) -> str | None:
    wrapped = None if value is None else _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeError):
        raise HeaderMismatchError(f"Header mismatch: {header} is not valid base64") from None


def _encoded(value: str) -> str:
    if _PLAIN.fullmatch(value) and value == value.strip() and not _WRAPPED.fullmatch(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def _scalars(value: object) -> Iterator[str]:
    """Every value within, as a header would say it."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(cast("dict[str, object]", item).values())
        elif isinstance(item, list):
            waiting.extend(cast("list[object]", item))
        elif (text := _text(item)) is not None:
            yield text


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
