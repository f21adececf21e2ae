"""What rules look at: one message, whatever its method, as a tool with arguments."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Any, cast

import msgspec

from clawkit.errors import InvalidParamsError
from clawkit.guard.policy.spellings import folded
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
_NOTICES = frozenset(
    f"notifications/{name}"
    for name in (
        *("cancelled", "initialized", "message", "progress", "elicitation/complete"),
        *("prompts/list_changed", "resources/list_changed", "resources/updated"),
        *("roots/list_changed", "tools/list_changed", "subscriptions/acknowledged"),
        *("tasks", "tasks/status"),
    )
)
_NAMED = frozenset({"name", "arguments"})
_CARRIED = frozenset({"_meta", "task", "requestState", "inputResponses"})
"""What the protocol itself puts beside the arguments."""
ROUND = ("requestState", "inputResponses")
"""What a call brings along from its earlier rounds."""
# What clients say of themselves, in every request of the modern era.
CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
# Marks that clients give each request anew; they tell a server nothing to do.
_MARKS = frozenset(
    {
        *("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/logLevel"),
        *("progressToken", "tracestate", "baggage"),
        *("claudecode/toolUseId", "vscode.conversationId", "vscode.requestId"),
    }
)
_LONGEST_MARK = 512
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class CallSession(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the guard knows of the session that a call belongs to."""

    next_round: bool = False
    """Whether the call goes on with one that the guard has passed on, or has asked about."""
    tasks: bool = False
    """Whether the session's revision has a place for `task`."""
    client: dict[str, Any] = {}
    """What the client says of itself, by its key in `_meta`."""


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message. Methods other than `tools/call` are a tool of the method's name.

    `outside` is what else the parameters and the message hold: rules that deny or ask look into
    it, and an approval is of exactly that too. What the parameters hold comes first.
    """

    method: str
    tool: str
    arguments: dict[str, Any]
    outside: tuple[dict[str, Any], ...] = ()
    known: CallSession = CallSession()

    @property
    def has_extras(self) -> bool:
        """Whether a server could find arguments where the protocol has no place for them."""
        if not self.outside:
            return False
        params, *extras = self.outside
        return bool(extras) or not all(map(self._has_place, params))

    def _has_place(self, key: str) -> bool:
        if key in ROUND:
            return self.known.next_round
        return key == "_meta" or (key == "task" and self.known.tasks)

    def lasting(self) -> Call:
        """The call without what differs in each of its rounds and whenever it is repeated."""
        return Call(self.method, self.tool, self.arguments, self.unusual())

    def unusual(self) -> tuple[dict[str, Any], ...]:
        """What is outside the arguments, but for what clients put there in honest calls."""
        if not self.outside:
            return ()
        params, *extras = self.outside
        kept = _unusual(params, self.known)
        return (kept, *extras) if kept or extras else ()

    def round(self) -> dict[str, Any]:
        """What it brings along from earlier rounds, or says that it does."""
        params = self.outside[0] if self.outside else {}
        return {key: params[key] for key in ROUND if key in params}

    def following(self) -> Call:
        """The same call as a next round of itself: what it brings along is no part of it."""
        known = msgspec.structs.replace(self.known, next_round=True)
        return msgspec.structs.replace(self, known=known)

    def resumed(self, brought: dict[str, Any], *, next_round: bool) -> Call:
        """The call with this in place of what it brings along from an earlier round."""
        params, *extras = self.outside
        kept = {key: value for key, value in params.items() if key not in ROUND}
        known = msgspec.structs.replace(self.known, next_round=next_round)
        outside = ({**kept, **brought}, *extras)
        return msgspec.structs.replace(self, outside=outside, known=known)


def is_judged(method: str) -> bool:
    """Whether all rules apply to a method; without the others no session would start.

    Those are stopped only by a rule that denies something which they have in them.
    """
    return method not in _UNJUDGED and not method.startswith("notifications/")


def is_known(method: str) -> bool:
    """Whether a revision of MCP has such a request."""
    return method in _KNOWN or method.startswith("notifications/")


def is_invented(method: str) -> bool:
    """Whether no revision of MCP has such a request or notification."""
    return method not in _KNOWN and method not in _NOTICES


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
    if extras:
        return rest, extras
    return (rest,) if rest else ()


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


def _unusual(params: dict[str, Any], known: CallSession) -> dict[str, Any]:
    kept = {
        k: v for k, v in params.items() if k != "_meta" and not (known.next_round and k in ROUND)
    }
    if "_meta" not in params:
        return kept
    meta = as_object(params["_meta"])
    if meta is None:
        return {**kept, "_meta": params["_meta"]}
    own = {key: value for key, value in meta.items() if not _is_mark(key, value, known)}
    return {**kept, "_meta": own} if own else kept


def _is_mark(key: str, value: object, known: CallSession) -> bool:
    """Whether it is what clients put there anew each time, and too plain to say anything else."""
    if key in (CLIENT_INFO, CLIENT_CAPABILITIES):
        return key in known.client and known.client[key] == value
    if key == "traceparent":
        return isinstance(value, str) and _TRACEPARENT.fullmatch(value) is not None
    if key not in _MARKS or isinstance(value, (dict, list)):
        return False
    if isinstance(value, str):
        return len(value) <= _LONGEST_MARK
    return not isinstance(value, int) or abs(value) < 1 << 64
