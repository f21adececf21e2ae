"""Logins to servers of tools: whose they are for, and which server."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clawkit.login import grants, people
from clawkit.login.grants import Consent
from clawkit.login.records import Role
from clawkit.memory.store import beings
from clawkit.store import open_store
from clawkit.store.database import Database
from clawkit.wire.http import endpoint
from clawkit.wire.http.endpoint import HttpRefusal
from clawkit.wire.revisions import META_CAPABILITIES, META_VERSION, MODERN
from tests.login.served_tools import ServedTools, served_tools, tools
from tests.login.visitors import LoginClient, Visitor
from tests.processes import PATIENCE


@pytest.fixture
def people_store(tmp_path: Path) -> Iterator[Database]:
    with closing(open_store(f"sqlite:{tmp_path / 'people.db'}")) as database:
        yield database


@contextmanager
def somebody(
    database: Database, server: ServedTools, name: str, role: Role
) -> Iterator[tuple[Visitor, LoginClient]]:
    """Somebody new who is signed in, and a client that registered."""
    with database.registry(write=True) as connection:
        person = people.add(connection, name, role, 1000.0)
        link = people.make_link(connection, person, 4e9)
    visitor, client = Visitor(server.origin), LoginClient(server.origin)
    with visitor.http, client.http:
        visitor.begin(link)
        client.register()
        yield visitor, client


def tokens(visitor: Visitor, client: LoginClient, **changed: Any) -> dict[str, Any]:
    code = visitor.agree(client.address(**changed))["code"]
    return client.exchange(code).json()


def test_a_member_loses_the_assistant_once_it_is_for_owners_alone(people_store: Database) -> None:
    server = tools("openclaw", "order")
    with (
        served_tools(people_store, server, kind="assistant", members=True) as first,
        somebody(people_store, first, "bob", "member") as (bob, client),
    ):
        granted = tokens(bob, client)
        waiting = bob.agree(client.address())["code"]
        assert first.call(granted["access_token"], "order").status_code == 200
        with served_tools(
            people_store, server, first.port, kind="assistant", members=False
        ) as second:
            assert second.call(granted["access_token"], "order").status_code == 401
            same = LoginClient(second.origin)
            same.id, same.verifier = client.id, client.verifier
            with same.http:
                assert same.refresh(granted["refresh_token"]).status_code == 400
                assert same.exchange(waiting).status_code == 400


@pytest.mark.parametrize(("kind", "name"), [("tools", "weather"), ("assistant", "sums")])
def test_a_login_is_for_no_other_server_at_the_same_address(
    people_store: Database, kind: str, name: str
) -> None:
    with (
        served_tools(people_store, tools("sums", "greet")) as first,
        somebody(people_store, first, "ada", "owner") as (ada, client),
    ):
        granted = tokens(ada, client)
        assert first.call(granted["access_token"], "greet").status_code == 200
        other = tools(name, "greet")
        with served_tools(people_store, other, first.port, kind=kind) as second:
            assert second.call(granted["access_token"], "greet").status_code == 401
            same = LoginClient(second.origin)
            same.id = client.id
            with same.http:
                assert same.refresh(granted["refresh_token"]).status_code == 400


def test_the_same_server_at_the_same_address_knows_its_logins(people_store: Database) -> None:
    with (
        served_tools(people_store, tools("sums", "greet")) as first,
        somebody(people_store, first, "ada", "owner") as (ada, client),
    ):
        granted = tokens(ada, client)
        with served_tools(people_store, tools("sums", "greet", "wave"), first.port) as second:
            assert second.call(granted["access_token"], "greet").status_code == 200
            same = LoginClient(second.origin)
            same.id = client.id
            with same.http:
                assert same.refresh(granted["refresh_token"]).status_code == 200


def test_who_agrees_to_the_only_tool_agrees_to_no_later_one(people_store: Database) -> None:
    with (
        served_tools(people_store, tools("sums", "greet")) as first,
        somebody(people_store, first, "ada", "owner") as (ada, client),
    ):
        granted = tokens(ada, client)
        assert granted["scope"] == "tool:greet"
        assert "also those that come later" in ada.get(client.address(scope="all")).text
        assert tokens(ada, client, scope="all")["scope"] == "all"
        with served_tools(people_store, tools("sums", "greet", "wave"), first.port) as second:
            assert second.call(granted["access_token"], "greet").status_code == 200
            assert second.call(granted["access_token"], "wave").status_code == 403


def test_a_persons_page_names_beings_also_on_a_server_of_tools(people_store: Database) -> None:
    with (
        served_tools(people_store, tools("sums", "greet")) as server,
        somebody(people_store, server, "ada", "owner") as (ada, _),
    ):
        with people_store.registry(write=True) as connection:
            being = beings.create(connection, str(uuid.uuid4()), "garden", 1.0)
            person = people.named(connection, "ada").id
            consent = Consent("client", "Editor", "", "", person, "x", "full", being.n)
            code = grants.keep_code(connection, consent, 4e9)
            exchange = grants.use_code(connection, code, 4e9)
            assert exchange is not None
            grants.begin(connection, exchange, 4e9)
        assert "may use garden (full)" in ada.get("/login").text


def test_web_pages_from_everywhere_can_ask_but_need_a_token(people_store: Database) -> None:
    with served_tools(people_store, tools("sums", "greet")) as server:
        page = {"origin": "https://inspector.example"}
        wanted = {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type, mcp-protocol-version",
        }
        with httpx2.Client(base_url=server.origin, timeout=PATIENCE) as http:
            before = http.options("/mcp", headers={**page, **wanted})
            assert before.status_code == 200
            assert before.headers["access-control-allow-origin"] == "*"
            assert "authorization" in before.headers["access-control-allow-headers"]
            refused = http.post("/mcp", json={}, headers=page)
            assert refused.status_code == 401
            assert refused.headers["access-control-allow-origin"] == "*"
            assert "access-control-allow-credentials" not in refused.headers
            assert "www-authenticate" in refused.headers["access-control-expose-headers"]
            assert "access-control-allow-origin" not in http.get("/login", headers=page).headers


def test_strangers_do_not_learn_what_tools_are_called(people_store: Database) -> None:
    with served_tools(people_store, tools("sums", "greet", "wave")) as server:
        for path in ("oauth-authorization-server", "oauth-protected-resource/mcp"):
            about = httpx2.get(f"{server.origin}/.well-known/{path}", timeout=PATIENCE)
            assert about.json()["scopes_supported"] == ["all"]


def test_the_client_learns_that_somebody_may_not_use_this_only_when_they_go_back(
    people_store: Database,
) -> None:
    with (
        served_tools(people_store, tools("openclaw", "order"), members=False) as server,
        somebody(people_store, server, "bob", "member") as (bob, client),
    ):
        assert "bob may not use this here" in bob.get(client.address()).text
        told = bob.turned_away(client.address())
        assert told == {"error": "access_denied", "state": "xyz", "iss": server.origin}


def read_to_the_end(stream: httpx2.Response) -> None:
    with suppress(httpx2.RemoteProtocolError):
        for _ in stream.iter_bytes():
            pass


LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"toolsListChanged": True},
        "_meta": {META_VERSION: MODERN, META_CAPABILITIES: {}},
    },
}
LISTEN_HEADERS = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}


async def test_a_check_that_fails_ends_nothing_and_is_made_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problems = [ValueError("a fault"), HttpRefusal(503, "the store is away")]

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def admits() -> bool:
        if problems:
            raise problems.pop(0)
        return False

    event = await endpoint.while_admitted(receive, admits, every=0.001)()
    assert (event, problems) == ({"type": "http.disconnect"}, [])
    assert "a caller cannot be checked" in caplog.text
    assert "the store is away" not in caplog.text


def test_a_slow_call_of_somebody_who_was_removed_ends(
    people_store: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "RECHECK_SECONDS", 0.05)
    begun, ended = threading.Event(), threading.Event()

    async def sleep() -> str:
        """Sleep for good."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    server = tools("sums")
    server.tool(name="sleep")(sleep)
    with (
        served_tools(people_store, server) as served,
        somebody(people_store, served, "bob", "member") as (bob, client),
        ThreadPoolExecutor() as pool,
    ):
        calling = pool.submit(served.call, tokens(bob, client)["access_token"], "sleep")
        assert begun.wait(PATIENCE)
        assert not ended.wait(0.3), "a good login lets it work"
        with people_store.registry(write=True) as connection:
            people.remove(connection, people.named(connection, "bob"))
        assert ended.wait(PATIENCE)
        assert calling.result(PATIENCE).status_code != 401


@pytest.mark.parametrize(
    ("method", "more"),
    [("GET", {}), ("POST", {"json": LISTEN, "headers": LISTEN_HEADERS})],
    ids=["handshake", "modern"],
)
def test_a_stream_of_somebody_who_was_removed_ends(
    people_store: Database, monkeypatch: pytest.MonkeyPatch, method: str, more: dict[str, Any]
) -> None:
    monkeypatch.setattr(endpoint, "RECHECK_SECONDS", 0.05)
    with (
        served_tools(people_store, tools("sums", "greet")) as server,
        somebody(people_store, server, "bob", "member") as (bob, client),
    ):
        access = tokens(bob, client)["access_token"]
        headers = {"authorization": f"Bearer {access}", "accept": "text/event-stream"}
        headers |= more.get("headers", {})
        with client.http.stream(method, "/mcp", **{**more, "headers": headers}) as stream:
            assert stream.status_code == 200
            ended = threading.Thread(target=read_to_the_end, args=(stream,))
            ended.start()
            ended.join(0.3)  # it was looked at several times
            assert ended.is_alive()
            with people_store.registry(write=True) as connection:
                people.remove(connection, people.named(connection, "bob"))
            ended.join(PATIENCE / 2)
            assert not ended.is_alive()
        assert server.call(access, "greet").status_code == 401
