"""Which server is meant, and that its headers are for it alone."""

from __future__ import annotations

import hashlib

import pytest

from clawkit.errors import HostError
from clawkit.guard.http.upstream import find_target, origin_of
from clawkit.hosts.ledger import Item, RemoteRecord, locked

SECRET = "s3" + "cret"


def wrapped(url: str, headers: dict[str, str], *expand: str, transport: str = "http") -> str:
    record = RemoteRecord(url, "sse" if transport == "sse" else "http", headers, tuple(expand))
    digest = hashlib.sha256(b"").hexdigest()
    item = Item("abc", "cursor", "/f", ("mcpServers", "far"), "far", "", "", digest, "", (), record)
    with locked() as ledger:
        ledger.add([item])
    return item.id


def test_without_an_entry_the_host_is_the_name_and_the_environment_has_the_headers() -> None:
    environment = {"CLAW_HEADER_X_API_KEY": SECRET, "OTHER": "x", "CLAW_HEADER_": "y"}
    target = find_target("https://Tools.example.org/mcp?team=1", "", "", environment)
    assert (target.name, target.headers) == ("tools.example.org", {"x-api-key": SECRET})
    assert (target.path, target.origin) == ("/mcp", "https://tools.example.org")
    assert find_target("http://x/", "", "mine", {}).name == "mine"


def test_an_entry_brings_its_name_address_headers_and_transport() -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    entry = wrapped("https://far.example.org/sse?key=1", headers, transport="sse")
    target = find_target("https://far.example.org/sse", entry, "", {})
    assert (target.name, target.url) == ("far", "https://far.example.org/sse?key=1")
    assert target.headers == {"authorization": f"Bearer {SECRET}"}
    assert target.transport == "sse"


def test_a_header_that_the_client_fills_in_is_sent_once_under_its_own_name() -> None:
    entry = wrapped("https://h/", {"X_Odd": "${CLAW_HEADER_X_ODD}"}, "X_Odd")
    environment = {"CLAW_HEADER_X_ODD": "1", "CLAW_HEADER_MORE": "2"}
    target = find_target("https://h/", entry, "", environment)
    assert target.headers == {"x_odd": "1", "more": "2"}


def test_the_headers_of_an_entry_are_not_for_another_address() -> None:
    entry = wrapped("https://far.example.org/mcp", {"Authorization": SECRET})
    with pytest.raises(HostError, match="was wrapped for https://far") as refused:
        find_target("https://near.example.org/mcp", entry, "", {})
    assert SECRET not in str(refused.value)


def test_an_address_with_a_template_is_the_one_in_the_ledger() -> None:
    entry = wrapped("https://far.example.org/mcp", {})
    assert find_target("https://${HOST}/mcp", entry, "", {}).origin == "https://far.example.org"


@pytest.mark.parametrize(
    "url",
    ["", "ftp://h/", "file:///etc/passwd", "h/mcp", "http://", "http://h:port/", "http://[::1/"],
)
def test_only_web_addresses_are_called(url: str) -> None:
    with pytest.raises(HostError, match="http:// or https://"):
        find_target(url, "", "", {})


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(HostError, match="header") as refused:
        find_target(f"https://me:{SECRET}@h/mcp", "", "", {})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value"), [("CLAW_HEADER_A", f"{SECRET}\r\nX: y"), ("CLAW_HEADER_A B", SECRET)]
)
def test_a_header_that_would_be_two_is_refused_and_not_repeated(name: str, value: str) -> None:
    with pytest.raises(HostError) as refused:
        find_target("https://h/", "", "", {name: value})
    assert SECRET not in str(refused.value)


def test_an_entry_that_is_unknown_is_an_error_that_says_so() -> None:
    with pytest.raises(HostError, match="no remote server"):
        find_target("https://h/", "nope", "", {})


@pytest.mark.parametrize(
    ("reference", "address"),
    [
        ("/messages?s=1", "https://h:8443/messages?s=1"),
        ("messages", "https://h:8443/a/messages"),
        ("https://H:8443/x", "https://H:8443/x"),
        ("https://h/x", None),
        ("http://h:8443/x", None),
        ("//evil.example.org/x", None),
        ("https://h:8443@evil.example.org/x", None),
        ("https://user@h:8443/x", None),
        ("https://evil.example.org:8443/x", None),
        ("https://[h:8443/x", None),
        ("javascript:1", None),
    ],
)
def test_a_server_may_name_only_addresses_of_its_own(reference: str, address: str | None) -> None:
    assert find_target("https://h:8443/a/sse", "", "", {}).at_home(reference) == address


def test_an_origin_is_written_in_one_way() -> None:
    assert origin_of("HTTPS://Host.:443/x") == origin_of("https://host/y") == "https://host"
    assert origin_of("http://[::1]:80/") == "http://[::1]"
