"""Headers that repeat the body: compared where they come in, made where they go out."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit.errors import HeaderMismatchError
from clawkit.guard.http.agreement import NAMED_BY, check_agreement, headers_for, mirrors_of
from clawkit.wire.http import rules
from clawkit.wire.revisions import META_VERSION, MODERN

SCHEMA = {
    "properties": {
        "city": {"type": "string", "x-mcp-header": "City"},
        "where": {
            "type": "object",
            "properties": {"floor": {"type": "integer", "x-mcp-header": "Floor"}},
        },
        "bad": {"type": "string", "x-mcp-header": "not a token"},
        "plain": {"type": "boolean"},
    }
}


def call(name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments or {}, "_meta": {META_VERSION: MODERN}}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def test_what_is_made_for_a_request_agrees_with_it() -> None:
    message = call("größe", {"city": " Oslo", "where": {"floor": 3}, "plain": True})
    headers = headers_for(message, mirrors_of(SCHEMA))
    assert headers == {
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
        "mcp-param-city": "=?base64?IE9zbG8=?=",
        "mcp-param-floor": "3",
    }
    check_agreement(headers, message)


@pytest.mark.parametrize("name", ["echo", "=?base64?eA==?=", "tab\there", "", "日本"])
def test_every_name_survives_its_header(name: str) -> None:
    check_agreement(headers_for(call(name), None), call(name))


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-method", "tools/list"),
        ("mcp-name", "other"),
        ("mcp-name", "=?base64?b3RoZXI=?="),
        ("mcp-name", "=?base64?!!?="),
        ("mcp-param-city", "Bergen"),
        ("mcp-param-unheard-of", "1"),
    ],
)
def test_a_header_that_says_something_else_is_a_mismatch(header: str, value: str) -> None:
    message = call("echo", {"city": "Oslo"})
    headers = headers_for(message, mirrors_of(SCHEMA)) | {header: value}
    with pytest.raises(HeaderMismatchError):
        check_agreement(headers, message)


def test_the_older_era_is_compared_too_where_it_sends_such_a_header() -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}
    check_agreement({}, message)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-method": "ping"}, message)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-name": "y"}, message)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-method": "ping"}, {"jsonrpc": "2.0", "id": 1, "result": {}})


def test_what_is_missing_is_left_to_the_server() -> None:
    check_agreement({}, call("echo"))


def test_the_guard_and_the_server_know_the_same_names() -> None:
    assert NAMED_BY == rules.NAMED_BY
