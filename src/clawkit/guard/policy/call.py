"""What rules look at: one message, whatever its method, as a tool with arguments."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any, cast

import msgspec

from clawkit.errors import InvalidParamsError
from clawkit.guard.policy.folding import folded
from clawkit.wire.jsonrpc import as_object

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
_KNOWN = frozenset(
    {
        *EVALUATED,
        *_UNJUDGED,
        *("completion/complete", "elicitation/create", "logging/setLevel", "roots/list"),
        *("resources/subscribe", "resources/unsubscribe", "subscriptions/listen"),
        *("tasks/cancel", "tasks/get", "tasks/result", "tasks/update"),
        "inputResponses",  # answers that a request carries, which are judged by themselves
    }
)
_NAMED = frozenset({"name", "arguments"})
_CARRIED = frozenset({"_meta", "task", "requestState", "inputResponses"})
"""What the protocol itself puts beside the arguments."""
_ROUND = frozenset({"requestState", "inputResponses"})
# What clients say of themselves, in every request of the modern era.
_CLIENT = frozenset(
    f"io.modelcontextprotocol/{name}"
    for name in ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel")
)
# Marks that clients give each request anew; they tell a server nothing to do.
_MARKS = frozenset(
    {
        *("progressToken", "traceparent", "tracestate", "baggage"),
        *("claudecode/toolUseId", "vscode.conversationId", "vscode.requestId"),
    }
)


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. Methods other than `tools/call` are a tool of the method's name.

    `outside` is what else the parameters and the message hold: rules that deny or ask look into
    it, and an approval is of exactly that too.
    """

    method: str
    tool: str
    arguments: dict[str, Any]
    outside: tuple[dict[str, Any], ...] = ()

    @property
    def has_extras(self) -> bool:
        """Whether a server could find arguments where the protocol has no place for them."""
        return any(key not in _CARRIED for part in self.outside for key in part)

    def lasting(self) -> Call:
        """The call without what differs in each of its rounds and whenever it is repeated."""
        kept = tuple(part for part in map(_lasting, self.outside) if part)
        return msgspec.structs.replace(self, outside=kept)


def is_judged(method: str) -> bool:
    """Whether all rules apply to a method; without the others no session would start.

    Those are stopped only by a rule that denies something which they have in them.
    """
    return method not in _UNJUDGED and not method.startswith("notifications/")


def is_known(method: str) -> bool:
    """Whether a revision of MCP has such a request."""
    return method in _KNOWN or method.startswith("notifications/")


def call_of(method: str, params: dict[str, Any], extras: dict[str, Any] | None = None) -> Call:
    """The call in a message, of which `extras` are the keys that JSON-RPC does not know.

    Raises InvalidParamsError where servers could read it differently.
    """
    if method == "tools/call":
        outside = _outside(params, _NAMED, extras)
        return Call(method, _text(params, "name", method), _arguments(params, method), outside)
    if method == "prompts/get":
        return Call(method, method, _prompt_arguments(params), _outside(params, _NAMED, extras))
    if method == "resources/read":
        _text(params, "uri", method)
    own = params.keys() - _CARRIED
    arguments = params if len(own) == len(params) else {k: params[k] for k in params if k in own}
    return Call(method, method, arguments, _outside(params, own, extras))


def _outside(
    params: dict[str, Any], own: AbstractSet[str], extras: dict[str, Any] | None
) -> tuple[dict[str, Any], ...]:
    rest = {key: value for key, value in params.items() if key not in own}
    for key in rest.keys() - _CARRIED:
        if not _NAMED.isdisjoint(folded(key)):
            raise InvalidParamsError(f"Invalid params: the key {key!r} could be taken for another")
    return tuple(part for part in (rest, extras) if part)


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


def _lasting(outside: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in outside.items() if key not in _ROUND}
    meta = as_object(kept.pop("_meta", None)) or {}
    own = {key: value for key, value in meta.items() if not _is_mark(key, value)}
    return {**kept, "_meta": own} if own else kept


def _is_mark(key: str, value: object) -> bool:
    return key in _CLIENT or (key in _MARKS and not isinstance(value, (dict, list)))
