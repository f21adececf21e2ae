"""Headers that repeat the body: compared where they come in, made where they go out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import HeaderMismatchError, InvalidRequestError
from clawkit.guard.http.mirrored_headers import check_agreement, headers_for, mirrors_of
from clawkit.guard.pins import Pins
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


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    """A server that was never listed."""
    return Pins(tmp_path, "far")


def test_what_is_made_for_a_request_agrees_with_it(pins: Pins) -> None:
    message = call("größe", {"city": " Oslo", "where": {"floor": 3}, "plain": True})
    pins.check_list([{"name": "größe", "inputSchema": SCHEMA}])
    headers = headers_for(message, mirrors_of(SCHEMA))
    assert headers == {
        "mcp-protocol-version": MODERN,
        "mcp-method": "tools/call",
        "mcp-name": "=?base64?Z3LDtsOfZQ==?=",
        "mcp-param-city": "=?base64?IE9zbG8=?=",
        "mcp-param-floor": "3",
    }
    check_agreement(headers, message, pins)


@pytest.mark.parametrize("name", ["echo", "=?base64?eA==?=", "tab\there", "", "日本"])
def test_every_name_survives_its_header(name: str, pins: Pins) -> None:
    check_agreement(headers_for(call(name), None), call(name), pins)


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
def test_a_header_that_says_something_else_is_a_mismatch(
    header: str, value: str, pins: Pins
) -> None:
    message = call("echo", {"city": "Oslo"})
    headers = headers_for(message, mirrors_of(SCHEMA)) | {header: value}
    with pytest.raises(HeaderMismatchError):
        check_agreement(headers, message, pins)


def test_the_older_era_is_compared_too_where_it_sends_such_a_header(pins: Pins) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}
    check_agreement({}, message, pins)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-method": "ping"}, message, pins)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-name": "y"}, message, pins)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-method": "ping"}, {"jsonrpc": "2.0", "id": 1, "result": {}}, pins)


def test_what_is_missing_is_left_to_the_server(pins: Pins) -> None:
    check_agreement({}, call("echo"), pins)


def test_a_header_repeats_the_argument_that_the_schema_names_and_no_other(pins: Pins) -> None:
    schema = {"properties": {"place": {"type": "string", "x-mcp-header": "City"}}}
    pins.check_list([{"name": "echo", "inputSchema": schema}])
    message = call("echo", {"place": "Oslo", "city": "Bergen", "note": "Rome"})
    check_agreement({"mcp-param-city": "Oslo"}, message, pins)
    for value in ("Bergen", "Rome", ""):
        with pytest.raises(HeaderMismatchError):
            check_agreement({"mcp-param-city": value}, message, pins)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-param-city": "Oslo"}, call("echo", {"city": "Oslo"}), pins)


@pytest.mark.parametrize("listed", [False, True], ids=["unknown tool", "unknown header"])
def test_a_header_that_no_schema_names_repeats_the_argument_of_its_name(
    listed: bool, pins: Pins
) -> None:
    if listed:
        pins.check_list([{"name": "echo", "inputSchema": {"properties": {"Path": {}}}}])
    message = call("echo", {"Path": "/ok", "note": "/etc/shadow"})
    check_agreement({"mcp-param-path": "/ok"}, message, pins)
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-param-path": "/etc/shadow"}, message, pins)
    twice = call("echo", {"path": "/ok", "PATH": "/etc/shadow"})
    with pytest.raises(HeaderMismatchError):
        check_agreement({"mcp-param-path": "/ok"}, twice, pins)


@pytest.mark.parametrize("version", [MODERN + "中", "é", "a\r\nx: y"])
def test_a_version_that_no_header_can_say_is_refused(version: str) -> None:
    message = call("echo")
    message["params"]["_meta"] = {META_VERSION: version}
    with pytest.raises(InvalidRequestError, match="not plain ASCII"):
        headers_for(message, None)
