"""The check that every message of the other tests goes through does find what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import ValidationError as SchemaProblem
from pydantic import ValidationError as TypeProblem

from tests.validation import LEGACY, MODERN, SCHEMAS, Exchange, Sender, check_message

REFUSED = (AssertionError, KeyError, SchemaProblem, TypeProblem)
TEXT = {"type": "text", "text": "hello"}
AUDIO = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
CACHED = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
TASK = {
    "taskId": "1",
    "status": "working",
    "createdAt": "2026-07-28T00:00:00Z",
    "lastUpdatedAt": "2026-07-28T00:00:00Z",
    "ttlMs": None,
}


def result(value: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": value}


def error(code: int, id: int | None = 1) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": "no"}}


def call(method: str, params: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {}), **more}


GOOD: list[tuple[str, Sender, dict[str, Any], str]] = [
    ("2024-11-05", "client", call("ping", id=1), "ping"),
    ("2025-03-26", "server", result({"content": [TEXT, AUDIO]}), "tools/call"),
    ("2025-06-18", "server", error(-32002), "resources/read"),
    ("2025-11-25", "server", error(-32700, None), "unknown"),
    (MODERN, "server", result({"tools": [], **CACHED}), "tools/list"),
    (MODERN, "server", result({"resultType": "task", **TASK}), "tools/call"),
    (MODERN, "server", call("notifications/tasks", TASK), "notifications/tasks"),
]
BAD: dict[str, tuple[str, Sender, dict[str, Any], str]] = {
    "a method that the revision has lost": (MODERN, "client", call("ping", id=1), "ping"),
    "a method that it does not have yet": (
        LEGACY[1],
        "server",
        call("elicitation/create", {"message": "?", "requestedSchema": {}}, id=1),
        "elicitation/create",
    ),
    "a modern request without its meta": (MODERN, "client", call("tools/list", id=1), "tools/list"),
    "a result without its content": (LEGACY[0], "server", result({}), "tools/call"),
    "a modern result without its type": (MODERN, "server", result({"content": []}), "tools/call"),
    "a modern list that cannot be cached": (
        MODERN,
        "server",
        result({"tools": [], "resultType": "complete"}),
        "tools/list",
    ),
    "an id that is neither text nor integer": (
        LEGACY[0],
        "client",
        call("ping", id=1.5),
        "ping",
    ),
    "a null id for what had one": (LEGACY[0], "server", error(-32602, None), "unknown"),
    "a task that is done without a result": (
        MODERN,
        "server",
        result({"resultType": "complete", **TASK, "status": "completed"}),
        "tasks/get",
    ),
    "a task in the handshake era": (LEGACY[3], "server", result(TASK), "tasks/get"),
}


@pytest.mark.parametrize("case", GOOD, ids=lambda case: f"{case[0]}-{case[3]}")
def test_what_the_revision_allows_is_let_through(
    case: tuple[str, Sender, dict[str, Any], str],
) -> None:
    check_message(*case)


@pytest.mark.parametrize("case", BAD)
def test_what_the_revision_does_not_allow_is_refused(case: str) -> None:
    with pytest.raises(REFUSED):
        check_message(*BAD[case])


def test_only_the_published_schema_knows_that_the_first_revision_had_no_audio() -> None:
    """The official types read every revision of the handshake era as if it were the last."""
    message = result({"content": [AUDIO]})
    if SCHEMAS.is_dir():
        with pytest.raises(SchemaProblem):
            check_message("2024-11-05", "server", message, "tools/call")
    else:
        check_message("2024-11-05", "server", message, "tools/call")


def test_a_response_that_nobody_asked_for_is_refused_and_shown() -> None:
    exchange = Exchange(MODERN)
    with pytest.raises(KeyError) as problem:
        exchange.passes("server", result({"resultType": "complete"}))
    assert "the server sent" in problem.value.__notes__[0]
