"""What rules look at: one request, whatever its method, as a tool with arguments."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from clawkit.errors import InvalidParamsError

# The documented table: what no rule allows is denied here, and passes elsewhere.
EVALUATED = frozenset({"tools/call", "resources/read", "prompts/get", "sampling/createMessage"})

_UNJUDGED = frozenset(
    {
        "initialize",
        "ping",
        "server/discover",
        "tools/list",
        "resources/list",
        "resources/templates/list",
        "prompts/list",
        "tasks/list",
    }
)


class Call(msgspec.Struct, frozen=True):
    """One request. Methods other than `tools/call` are a tool of the method's name."""

    method: str
    tool: str
    arguments: dict[str, Any]


def is_judged(method: str) -> bool:
    """Whether rules apply to a method at all; without the others no session would start."""
    return method not in _UNJUDGED and not method.startswith("notifications/")


def call_of(method: str, params: dict[str, Any]) -> Call:
    """The call in a request. Raises InvalidParamsError where servers could read it differently."""
    if method == "tools/call":
        return Call(method, _text(params, "name", method), _arguments(params, method))
    if method == "prompts/get":
        return Call(method, method, _prompt_arguments(params))
    if method == "resources/read":
        _text(params, "uri", method)
    return Call(method, method, {key: params[key] for key in params if key != "_meta"})


def _prompt_arguments(params: dict[str, Any]) -> dict[str, Any]:
    """The prompt's arguments and its name; an argument that is called `name` too stays visible."""
    merged = {"name": _text(params, "name", "prompts/get")}
    for key, value in _arguments(params, "prompts/get").items():
        free = key
        while free in merged:
            free = f"arguments.{free}"
        merged[free] = value
    return merged


def _text(params: dict[str, Any], key: str, method: str) -> str:
    value = params.get(key)
    if not isinstance(value, str):
        raise InvalidParamsError(f'Invalid params: {method} needs "{key}", a string')
    return value


def _arguments(params: dict[str, Any], method: str) -> dict[str, Any]:
    value = params.get("arguments", {})
    if not isinstance(value, dict):
        raise InvalidParamsError(f'Invalid params: "arguments" of {method} must be an object')
    return cast("dict[str, Any]", value)
