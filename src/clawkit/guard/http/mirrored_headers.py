"""HTTP headers that mirror the body: checked against it, or made from it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from clawkit.errors import HeaderMismatchError, InvalidRequestError, PinError
from clawkit.guard.pins import Pins
from clawkit.wire.http.request_checks import from_header, to_header
from clawkit.wire.jsonrpc import Message, as_object
from clawkit.wire.revisions import META_VERSION, NAME_PARAMETER

VERSION, METHOD, NAME, PARAMETER = (
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-param-",
)
_PLAIN = re.compile(r"[ -~]*")

Mirrors = Mapping[str, tuple[str, ...]]
"""Header names in lower case, and the path of the argument that each repeats."""


def modern_version(message: Message) -> str | None:
    """The revision that a request of the modern era names in its `_meta`."""
    meta = as_object((as_object(message.get("params")) or {}).get("_meta")) or {}
    version = meta.get(META_VERSION)
    return version if isinstance(version, str) else None


def check_agreement(headers: Mapping[str, str], message: Message, pins: Pins) -> None:
    """Raise HeaderMismatchError if a header says something else than the body.

    What is missing is for the server to miss: it cannot mislead anybody.
    """
    params = as_object(message.get("params")) or {}
    method = message.get("method")
    version = modern_version(message)
    if version is not None:
        _compare("MCP-Protocol-Version", headers.get(VERSION), version)
    _compare("Mcp-Method", headers.get(METHOD), method)
    if (parameter := NAME_PARAMETER.get(method or "")) is not None:
        _compare("Mcp-Name", from_header("Mcp-Name", headers.get(NAME)), params.get(parameter))
    repeated = [name for name in headers if name.startswith(PARAMETER)]
    if repeated:
        mirrors = _pinned_mirrors(pins, message)
        for name in repeated:
            sent = from_header(name, headers[name])
            said = _repeated_by(name, params.get("arguments"), mirrors)
            if not said or any(_text(value) != sent for value in said):
                raise HeaderMismatchError(f"Header mismatch: {name} does not match the body")


def headers_for(message: Message, mirrors: Mirrors | None) -> dict[str, str]:
    """What HTTP wants to be said in headers about a request of the modern era.

    Raises InvalidRequestError for a version that no header can say.
    """
    params = as_object(message.get("params")) or {}
    method: str = message["method"]
    version = modern_version(message) or ""
    if not _PLAIN.fullmatch(version):
        raise InvalidRequestError(
            f"Invalid request: the protocol version {ascii(version)[:80]} is not plain ASCII"
        )
    headers = {VERSION: version, METHOD: method}
    name = params.get(NAME_PARAMETER.get(method, ""))
    if isinstance(name, str):
        headers[NAME] = to_header(name)
    for header, path in (mirrors or {}).items():
        text = _text(_at(path, params.get("arguments")))
        if text is not None:
            headers[header] = to_header(text)
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


def _pinned_mirrors(pins: Pins, message: Message) -> Mirrors:
    """What the accepted definition of a tool wants to be repeated; nothing if it is not known."""
    if message.get("method") != "tools/call" or "name" not in message.get("params", {}):
        return {}
    try:
        pin = pins.tools().get(str(message["params"]["name"]))
    except PinError:  # A server that was never listed. If they cannot be read, no call passes.
        return {}
    return mirrors_of(pin.accepted.get("inputSchema")) if pin and pin.accepted else {}


def _repeated_by(header: str, arguments: object, mirrors: Mirrors) -> list[object]:
    """The arguments that a header claims to repeat: the one of the schema, or those of its name."""
    if header in mirrors:
        return [_at(mirrors[header], arguments)]
    wanted = header.removeprefix(PARAMETER)
    return [v for name, v in (as_object(arguments) or {}).items() if name.lower() == wanted]


def _at(path: tuple[str, ...], value: object) -> object:
    for step in path:
        value = (as_object(value) or {}).get(step)
    return value


def _compare(header: str, sent: str | None, said: object) -> None:
    if sent is not None and sent != said:
        raise HeaderMismatchError(f"Header mismatch: {header} does not match the body")


def _text(value: object) -> str | None:
    """A value as a header says it, if one can."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None
