"""Every message against its revision: the official package's types, and the published JSON Schemas.

The schemas lie in `../shared/mcp-schema`, beside the project. A clone elsewhere has none: there the
types alone decide, and no test is left out.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for
from mcp_types import methods
from mcp_types.jsonrpc import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import BaseModel

Message = dict[str, Any]
Sender = Literal["client", "server"]

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LEGACY, MODERN = REVISIONS[:-1], REVISIONS[-1]
SCHEMAS = Path(__file__).parent.parent.parent / "shared" / "mcp-schema"

# The tasks extension is in no revision's schema; its own shapes are checked by TASK_SHAPES below.
TASK_METHODS = ("tasks/get", "tasks/update", "tasks/cancel", "notifications/tasks")
# JSON-RPC 2.0 answers with a null id what was too damaged to have one. MCP's schemas have no such
# reply, though every revision refers to JSON-RPC for it.
DAMAGE = (-32700, -32600)

_TASK = {
    "type": "object",
    "required": ["taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs"],
    "properties": {
        "taskId": {"type": "string", "minLength": 1},
        "status": {"enum": ["working", "input_required", "completed", "failed", "cancelled"]},
        "statusMessage": {"type": "string"},
        "createdAt": {"type": "string", "format": "date-time"},
        "lastUpdatedAt": {"type": "string", "format": "date-time"},
        "ttlMs": {"type": ["integer", "null"]},
        "pollIntervalMs": {"type": "integer"},
        "inputRequests": {"type": "object"},
        "result": {"type": "object"},
        "error": {"type": "object", "required": ["code", "message"]},
    },
    "allOf": [
        {
            "if": {"properties": {"status": {"const": status}}},
            "then": {"required": [field]},
            "else": {"properties": {field: False}},
        }
        for status, field in (
            ("input_required", "inputRequests"),
            ("completed", "result"),
            ("failed", "error"),
        )
    ],
}
_ENDED_WELL = {"required": ["resultType"], "properties": {"resultType": {"const": "complete"}}}
# What ext-tasks says, as far as a client relies on it.
TASK_SHAPES: dict[tuple[Sender, str], dict[str, Any]] = {
    ("client", "tasks/get"): {"required": ["taskId", "_meta"]},
    ("client", "tasks/update"): {"required": ["taskId", "inputResponses", "_meta"]},
    ("client", "tasks/cancel"): {"required": ["taskId", "_meta"]},
    ("server", "tools/call"): {
        "allOf": [_TASK],
        "required": ["resultType"],
        "properties": {"resultType": {"const": "task"}},
    },
    ("server", "tasks/get"): {"allOf": [_TASK, _ENDED_WELL]},
    ("server", "tasks/update"): _ENDED_WELL,
    ("server", "tasks/cancel"): _ENDED_WELL,
    ("server", "notifications/tasks"): _TASK,
}


def check_message(version: str, sender: Sender, message: Message, method: str) -> None:
    """Raise unless `message` is one that `sender` may send in this revision.

    `method` is the message's own, or for a response that of the request that it answers.
    """
    assert version in REVISIONS
    if "method" in message:
        assert message["method"] == method
        _check_call(version, sender, message)
    elif "error" in message:
        _check_error(version, message)
    else:
        _check_result(version, sender, message, method)


def _check_call(version: str, sender: Sender, message: Message) -> None:
    method, params = message["method"], message.get("params")
    asks = "id" in message
    _check_envelope(version, message, JSONRPCRequest if asks else JSONRPCNotification)
    if method in TASK_METHODS:
        assert version == MODERN
        Draft202012Validator(TASK_SHAPES[sender, method]).validate(params)
        return
    match sender, asks:
        case "client", True:
            methods.parse_client_request(method, version, params)
        case "client", False:
            methods.parse_client_notification(method, version, params)
        case "server", True:
            methods.parse_server_request(method, version, params)
        case _:
            methods.parse_server_notification(method, version, params)
    _validate(version, _definitions(version).get(method), message)


def _check_error(version: str, message: Message) -> None:
    if message.get("id", 0) is None:
        assert message["error"]["code"] in DAMAGE
        message = {**message, "id": 0}
    _check_envelope(version, message, JSONRPCError)
    named = _NAMED_ERRORS.get(message["error"]["code"])
    if version == MODERN and named is not None:
        _validate(version, named, message)


# Errors that the modern revision describes as whole replies; the plain ones as the `error` alone.
_NAMED_ERRORS = {
    -32020: "HeaderMismatchError",
    -32021: "MissingRequiredClientCapabilityError",
    -32022: "UnsupportedProtocolVersionError",
}


def _check_result(version: str, sender: Sender, message: Message, method: str) -> None:
    _check_envelope(version, message, JSONRPCResponse)
    result = message["result"]
    if method in TASK_METHODS or result.get("resultType") == "task":
        assert version == MODERN
        Draft202012Validator(TASK_SHAPES[sender, method]).validate(result)
        if result.get("status") == "completed":
            ended = {"resultType": "complete", **result["result"]}
            methods.parse_server_result("tools/call", version, ended)
        return
    if sender == "server":
        methods.parse_server_result(method, version, result)
    else:
        methods.parse_client_result(method, version, result)
    _validate(version, _result_definition(version, method, result), result)


def _result_definition(version: str, method: str, result: Message) -> str | None:
    if result.get("resultType") == "input_required":
        return "InputRequiredResult"
    found = _definitions(version).get(method, "").replace("Request", "Result")
    return found if found in _definitions(version).values() or not found else "EmptyResult"


def _check_envelope(version: str, message: Message, kind: type[BaseModel]) -> None:
    """A union of all four kinds would take a request with a bad id for a notification."""
    kind.model_validate(message)
    name = kind.__name__
    if version >= "2025-11-25":
        name = _RENAMED.get(name, name)
    _validate(version, name, message)


_RENAMED = {"JSONRPCResponse": "JSONRPCResultResponse", "JSONRPCError": "JSONRPCErrorResponse"}


def _validate(version: str, definition: str | None, value: Any) -> None:
    if SCHEMAS.is_dir():
        assert definition is not None, "the schema of this revision has no such message"
        _validator(version, definition).validate(value)


@cache
def _schema(version: str) -> dict[str, Any]:
    return json.loads((SCHEMAS / f"{version}.json").read_text())


@cache
def _definitions(version: str) -> dict[str, str]:
    """The name of the definition of each method, and of each other definition by its own name."""
    if not SCHEMAS.is_dir():
        return {}
    schema = _schema(version)
    found: dict[str, str] = {}
    for name, definition in schema[_place(schema)].items():
        method = definition.get("properties", {}).get("method", {}).get("const", name)
        # `ClientNotification` of the modern revision is a second description of its only member.
        if method not in found or name != "ClientNotification":
            found[method] = name
    return found


@cache
def _validator(version: str, definition: str) -> Validator:
    schema = _schema(version)
    place = _place(schema)
    chosen = {"allOf": [{"$ref": f"#/{place}/{definition}"}], place: schema[place]}
    return validator_for(schema)(chosen)


def _place(schema: dict[str, Any]) -> str:
    return "definitions" if "definitions" in schema else "$defs"


class Exchange:
    """The messages of one connection, each checked as it passes."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._asked: dict[tuple[Sender, Any], str] = {}

    def passes(self, sender: Sender, message: Message) -> Message:
        """Check a message and give it back. A request makes known what its response answers."""
        if "method" in message:
            method = message["method"]
            if "id" in message:
                self._asked[sender, message["id"]] = method
        else:
            other: Sender = "client" if sender == "server" else "server"
            method = self._asked.pop((other, message.get("id")), "unknown")
        try:
            check_message(self.version, sender, message, method)
        except Exception as problem:
            problem.add_note(f"{self.version}: the {sender} sent {json.dumps(message)[:2000]}")
            raise
        return message

    def expect(self, request: Message) -> None:
        """Make a request known without checking it: one that is meant to be refused."""
        self._asked["client", request["id"]] = request["method"]
