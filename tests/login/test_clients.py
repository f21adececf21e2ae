"""Who asks: clients that register themselves, and clients that their own address vouches for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from clawkit.errors import LoginError
from clawkit.login import clients, grants
from clawkit.login.clients import check_redirect, is_document_address, redirect_allowed
from clawkit.login.document_fetch import AT_ONCE, LONGEST, DocumentFetcher
from clawkit.login.records import Client
from clawkit.system.addresses import is_public
from tests.login.documents import Documents, documents
from tests.login.visitors import CALLBACK, Logins, forms_of, gate_maker, sent_back
from tests.memory.http.being_store import Clock, store_at
from tests.memory.http.served_beings import served


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Documents]:
    with documents(tmp_path) as found:
        yield found


@pytest.fixture
def known_web(web: Documents, tmp_path: Path, clock: Clock) -> Iterator[Logins]:
    """Logins that may fetch documents from a server of this machine."""
    store = store_at(tmp_path, clock)
    with served(store, logins=partial(gate_maker, store, fetcher=web.fetcher())) as server:
        found = Logins(server)
        try:
            yield found
        finally:
            found.close()


def test_a_registered_client_is_public_whatever_it_asks_for(logins: Logins) -> None:
    told = logins.program().register(token_endpoint_auth_method="client_secret_post")
    assert told.status_code == 201
    assert told.json()["token_endpoint_auth_method"] == "none"
    assert "client_secret" not in told.json()
    assert told.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "uri",
    [
        "http://example.com/callback",
        "javascript:alert(1)",
        "data:text/html,hello",
        "file:///etc/passwd",
        "https://example.com/callback#part",
        "https://ada@example.com/callback",
        "https://example.com\\@evil.example/",
        "http://localhost.evil.example/callback",
        "http://127.0.0.1@evil.example/callback",
        "https:///callback",
        "https://example.com/a b",
        "https://exämple.com/",
        "https://evil.example;script-src/callback",
        "https://evil.example,https:/callback",
        "https://*/callback",
        "//example.com/callback",
        "/callback",
        "intent://example.com/#Intent;end",
        "chrome-extension://abcdefghijklmnop/x",
        "ms-settings:privacy",
        "search-ms:query=x",
        "view-source:https://example.com",
        "androidapp://example",
        "steam://run/1",
        "x-anything://cb",
        ".com.example:/x",
        "com..example:/x",
        "",
    ],
)
def test_addresses_that_no_code_may_be_sent_to(logins: Logins, uri: str) -> None:
    with pytest.raises(LoginError):
        check_redirect(uri)
    told = logins.program(uri).register()
    assert (told.status_code, told.json()["error"]) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com/cb?x=1",
        "http://localhost:3000/cb",
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "vscode://publisher.extension/callback",
        "vscode-insiders://publisher.extension",
        "com.example.app:/oauth",
        "com.example.app://oauth/callback",
    ],
)
def test_addresses_that_real_clients_have(uri: str) -> None:
    check_redirect(uri)


@pytest.mark.parametrize(
    ("registered", "asked", "allowed"),
    [
        ("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb", True),
        ("http://127.0.0.1:1/cb", "http://127.0.0.1:5000/cb", True),
        ("http://localhost:1/cb", "http://localhost/cb", True),
        ("http://[::1]:1/cb", "http://[::1]:2/cb", True),
        ("http://127.0.0.1/cb", "http://localhost/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb/", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:5000/cb?x=1", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:0/cb", False),
        ("http://127.0.0.1/cb", "http://a@127.0.0.1/cb", False),
        ("http://127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb", False),
        ("https://example.com/cb", "https://example.com:444/cb", False),
        ("https://example.com/cb", "https://example.com/cb/../evil", False),
        ("https://example.com/cb", "https://example.com/CB", False),
        ("https://example.com/cb", "https://example.com/cb", True),
        ("cursor://x/cb", "cursor://x/cb", True),
        ("cursor://x/cb", "cursor://y/cb", False),
    ],
)
def test_a_redirect_address_is_the_registered_one_to_the_letter(
    registered: str, asked: str, allowed: bool
) -> None:
    client = Client("c", "Editor", (registered,), False)
    assert redirect_allowed(client, asked) is allowed


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b"not json",
        b'{"redirect_uris": []}',
        b'{"redirect_uris": "https://example.com"}',
        b'{"redirect_uris": ["https://example.com/"], "grant_types": ["password"]}',
        b'{"redirect_uris": ["https://example.com/"], "client_name": "%s"}' % (b"x" * 101),
        b'{"redirect_uris": ["https://example.com/"], "client_name": "a\\u202eb\\u0000"}',
        b'{"redirect_uris": [%s]}' % b",".join([b'"https://example.com/"'] * 11),
        b'{"redirect_uris": ["https://example.com/"], "client_name": "\xff"}',
        b'{"redirect_uris": ["https://example.com/"], "jwks": %s}' % (b"[" * 30_000),
        b"[" * 30_000 + b"]" * 30_000,
    ],
)
def test_what_is_no_registration_is_refused(logins: Logins, body: bytes) -> None:
    told = logins.client.http.post("/login/register", content=body)
    assert told.status_code == 400
    assert told.json()["error"].startswith("invalid_")


def test_a_registration_that_nobody_agrees_to_is_forgotten(logins: Logins, clock: Clock) -> None:
    used, unused = logins.client, logins.program()
    unused.register()
    logins.tokens()
    clock.now += clients.UNUSED_SECONDS + 1
    assert logins.visitor.get(used.address()).status_code == 200
    assert logins.visitor.get(unused.address()).status_code == 400


def test_a_flood_of_registrations_is_stopped_for_its_sender_alone(
    tmp_path: Path, clock: Clock
) -> None:
    store = store_at(tmp_path, clock)
    with served(store, logins=partial(gate_maker, store), trusted_proxies=("127.0.0.1",)) as server:
        logins = Logins(server)
        told = {"redirect_uris": [CALLBACK]}

        def register(sender: str) -> int:
            headers = {"x-forwarded-for": sender}
            answer = logins.client.http.post("/login/register", json=told, headers=headers)
            return answer.status_code

        assert [register("198.51.100.1") for _ in range(25)].count(429) >= 4
        assert register("198.51.100.2") == 201
        logins.close()


def test_registrations_from_everywhere_cannot_fill_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MOST_UNUSED", 5)
    metadata = clients.read_metadata(b'{"redirect_uris": ["https://example.com/"]}')
    store = store_at(tmp_path)
    with store.database.registry(write=True) as connection:
        used = clients.register(connection, metadata, 999.0)
        grants.note_client(connection, used)
        made = [clients.register(connection, metadata, 1000.0 + n) for n in range(7)]
        known = [clients.known(connection, one.id, 1010.0) is not None for one in (used, *made)]
        assert known == [True] + [False] * 2 + [True] * 5
    store.close()


def test_documents_from_everywhere_cannot_fill_the_store(
    known_web: Logins, web: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "MOST_UNUSED", 3)
    for n in range(5):
        client = known_web.program("http://127.0.0.1:9999/callback")
        client.id = web.client(f"/client{n}.json")
        assert known_web.visitor.get(client.address()).status_code == 200
    with known_web.server.store.database.registry() as connection:
        sql = "SELECT count(*) FROM login_clients WHERE verified = ?"
        assert connection.rows(sql, (True,)) == [(3,)]


def test_for_a_stranger_nothing_is_fetched_and_nobody_is_sent_anywhere(
    known_web: Logins, web: Documents
) -> None:
    client = known_web.program("https://example.com/callback")
    client.id = web.client(redirect_uris=["https://example.com/callback"])
    stranger = known_web.browser()
    for address in (client.address(), client.address(response_type="token")):
        page = stranger.get(address)
        assert "Sign in" in page.text
        assert "location" not in page.headers
        (_, fields), *_ = forms_of(page.text)
        again = stranger.post("/login/authorize", urlencode({**dict(fields), "answer": "yes"}))
        assert "Sign in" in again.text
    assert web.asked == []


@pytest.mark.parametrize("host", ["a..b", ".a", "a" * 70])
def test_an_address_without_a_host_name_that_can_be_is_refused(logins: Logins, host: str) -> None:
    client = logins.program()
    client.id = f"https://{host}/client.json"
    page = logins.visitor.get(client.address())
    assert page.status_code == 400
    assert "no host name that can be used" in page.text


def test_a_document_whose_headers_drip_is_given_up(web: Documents) -> None:
    address = web.client()
    web.head_pause = 0.02
    with pytest.raises(LoginError, match="too long"):
        web.fetcher(seconds=0.3).get(address)


def test_a_name_that_takes_long_to_resolve_is_given_up(
    web: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, fetcher, over = web.client(), web.fetcher(seconds=0.05), threading.Event()

    def slowly(*_: Any, **__: Any) -> list[Any]:
        over.wait()
        return []

    with monkeypatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", slowly)
        for _ in range(AT_ONCE + 1):
            with pytest.raises(LoginError, match="too long"):
                fetcher.get(address)
    over.set()
    assert b"Good Editor" in web.fetcher().get(address)


def test_a_client_is_known_by_the_document_at_its_address(
    known_web: Logins, web: Documents
) -> None:
    client = known_web.program("http://127.0.0.1:9999/callback")
    client.id = web.client()
    page = known_web.visitor.get(client.address())
    assert "Let Good Editor use your memory?" in page.text
    assert f"program of <strong>{web.origin.removeprefix('https://')}</strong>" in page.text
    assert "Nobody has checked" not in page.text
    assert "its name cannot be checked" in page.text
    told = sent_back(known_web.visitor.submit(page, answer="yes"))
    assert client.exchange(told["code"]).status_code == 200
    assert web.asked == ["/client.json"]


def test_a_client_that_is_answered_at_its_own_host_is_checked(
    known_web: Logins, web: Documents
) -> None:
    client = known_web.program("https://example.com/callback")
    client.id = web.client(redirect_uris=["https://example.com/callback"])
    page = known_web.visitor.get(client.address()).text
    assert "It is the program of" in page
    assert "cannot be checked" not in page


def test_a_document_is_fetched_again_after_an_hour(
    known_web: Logins, web: Documents, clock: Clock
) -> None:
    client = known_web.program("http://127.0.0.1:9999/callback")
    client.id = web.client()
    assert known_web.visitor.get(client.address()).status_code == 200
    web.client(redirect_uris=["https://example.com/other"])
    clock.now += clients.DOCUMENT_SECONDS - 1
    assert known_web.visitor.get(client.address()).status_code == 200
    clock.now += 2
    assert known_web.visitor.get(client.address()).status_code == 400


def test_a_client_that_nobody_vouches_for_is_warned_about(logins: Logins) -> None:
    logins.client.register("<b>Bank</b>")
    page = logins.visitor.get(logins.client.address())
    assert "Nobody has checked who this is" in page.text
    assert "&lt;b&gt;Bank&lt;/b&gt;" in page.text
    assert "<b>Bank" not in page.text


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"client_id": "https://other.example/client.json"}, "not its own address"),
        ({"redirect_uris": []}, "redirect_uris"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "redirect_uri"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "not supported"),
    ],
)
def test_a_poisoned_document_is_refused(
    known_web: Logins, web: Documents, changed: dict[str, Any], why: str
) -> None:
    client = known_web.program()
    client.id = web.client(**changed)
    page = known_web.visitor.get(client.address())
    assert page.status_code == 400
    assert why in page.text


def test_a_document_that_is_too_large_slow_or_elsewhere_is_refused(web: Documents) -> None:
    fetcher = web.fetcher()
    for address, why in (
        (web.put("/large", b'"' + b"x" * LONGEST + b'"'), "more than"),
        (web.put("/page", b"<html>", kind="text/html"), "not JSON"),
        (web.put("/moved", b"{}", 302, location="https://example.com/"), "status 302"),
        (f"{web.origin}/nowhere", "status 404"),
        ("https://localhost:1/closed", "cannot be reached"),
        ("http://localhost/plain", "https://"),
    ):
        with pytest.raises(LoginError, match=why):
            fetcher.get(address)


def test_a_document_that_drips_is_given_up(web: Documents) -> None:
    address = web.put("/drip", b'"' + b"x" * 1000 + b'"')
    web.pause = 0.02
    with pytest.raises(LoginError, match="too long"):
        web.fetcher(seconds=0.3).get(address)


def test_nothing_is_fetched_from_this_machine_or_its_network(web: Documents) -> None:
    address = web.client()
    with pytest.raises(LoginError, match="not a public address"):
        DocumentFetcher().get(address)
    with pytest.raises(LoginError, match="not a public address"):
        DocumentFetcher().get(address.replace("localhost", "127.0.0.1"))
    assert web.asked == []


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "192.168.0.1",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fc00::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "2002:7f00:1::",
        "2001:db8::1",
        "ff02::1",
        "::5db8:d822",
        "fec0::1",
        "64:ff9b:1::5db8:d822",
        "::ffff:0:93.184.216.34",
        "5f00::1",
        "3fff::1",
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(address)


def test_addresses_that_are_public() -> None:
    assert is_public("93.184.216.34")
    assert is_public("2606:2800:220:1:248:1893:25c8:1946")


@pytest.mark.parametrize(
    ("client_id", "is_one"),
    [
        ("https://example.com/client.json", True),
        ("https://example.com", False),
        ("https://example.com/", False),
        ("http://example.com/client.json", False),
        ("https://ada:secret@example.com/client.json", False),
        ("https://example.com/client.json#part", False),
        ("https://example.com/a/../client.json", False),
        ("https://example.com/a/%2e%2e/client.json", False),
        ("https://example.com/cl ient.json", False),
        ("https://exämple.com/client.json", False),
        ("abc", False),
    ],
)
def test_which_ids_are_addresses_of_documents(client_id: str, is_one: bool) -> None:
    assert is_document_address(client_id) is is_one
