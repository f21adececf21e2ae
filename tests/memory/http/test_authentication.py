"""Who gets in over HTTP, and what those are told who do not."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from clawkit.memory import tokens
from clawkit.memory.being_store import BeingStore
from clawkit.memory.records import Token
from clawkit.memory.tokens import digest
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import CAPABILITIES_KEY, MODERN, VERSION_KEY, Served, served
from tests.processes import PATIENCE

PLAIN = 'Bearer realm="clawkit"'
UNKNOWN = f'{PLAIN}, error="invalid_token", error_description="The token is not known"'
Request = Callable[[str, dict[str, str]], httpx2.Response]


def requests(server: Served) -> list[Request]:
    """POST, GET and DELETE of an address."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return [
        lambda path, headers: server.http.post(path, json=message, headers=headers),
        lambda path, headers: server.http.get(path, headers=headers),
        lambda path, headers: server.http.delete(path, headers=headers),
    ]


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


def revoke(server: Served, token: str) -> None:
    with server.store.database.registry(write=True) as connection:
        found = tokens.by_hash(connection, digest(token))
        assert found is not None
        assert tokens.revoke(connection, found[1].id, time.time())


def only_token(server: Served) -> Token:
    with server.store.database.registry() as connection:
        (known,) = tokens.of_being(connection, server.being.n)
    return known


def test_without_a_token_one_is_asked_for(server: Served) -> None:
    for request in requests(server):
        for headers in ({}, {"authorization": "Basic YTpi"}, {"authorization": "Bearer"}):
            response = request(server.path, headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == PLAIN
            assert response.json()["error"]["message"] == "A bearer token is needed"


def test_a_wrong_token_is_invalid(server: Served) -> None:
    for request in requests(server):
        response = request(server.path, bearer("brt_" + "x" * 43))
        assert (response.status_code, response.headers["www-authenticate"]) == (401, UNKNOWN)


def test_a_revoked_token_and_an_expired_one_are_invalid_at_once(server: Served) -> None:
    token, brief = server.token(), server.token(expires=time.time() + 3600)
    assert server.ask(token, "tools/list").status_code == 200
    assert server.ask(brief, "tools/list").status_code == 200
    revoke(server, token)
    server.store.clock = lambda: time.time() + 3601
    for wrong, why in ((token, "was revoked"), (brief, "has expired")):
        for request in requests(server):
            response = request(server.path, bearer(wrong))
            assert response.status_code == 401
            assert f'error_description="The token {why}"' in response.headers["www-authenticate"]


def test_an_api_token_without_its_being_is_a_bad_request(server: Served) -> None:
    token = server.token()
    for request in requests(server):
        for path in ("/mcp", "/mcp/", "/mcp?being_id="):
            response = request(path, bearer(token))
            assert response.status_code == 400
            assert "www-authenticate" not in response.headers
            assert "being_id" in response.json()["error"]["message"]


@pytest.mark.parametrize("oauth", [False, True])
def test_a_strangers_being_is_closed_and_looks_like_none(server: Served, oauth: bool) -> None:
    token, stranger = server.token(oauth=oauth), server.store.create("Bob")
    nobody = "00000000-0000-4000-8000-000000000000"
    for request in requests(server):
        seen: set[tuple[int, str, str]] = set()
        for wanted in (stranger.id, nobody, stranger.name, "%2e%2e", "' OR 1=1 --"):
            response = request(f"/mcp/{wanted}", bearer(token))
            seen.add((response.status_code, response.headers["www-authenticate"], response.text))
        ((status, challenge, _),) = seen
        assert status == 403
        assert 'error="insufficient_scope"' in challenge


def test_an_address_that_names_two_beings_is_refused(server: Served) -> None:
    other = server.store.create("Bob").id
    path = f"{server.path}?being_id={other}"
    assert server.ask(server.token(), "tools/list", path=path).status_code == 400
    same = f"{server.path}?being_id={server.being.id}"
    assert server.ask(server.token(), "tools/list", path=same).status_code == 200


@pytest.mark.parametrize("name", ["access_token", "token", "key"])
def test_a_token_in_the_address_is_refused_and_not_logged(server: Served, name: str) -> None:
    token = server.token(oauth=True)
    for headers in ({}, bearer(token)):
        for request in requests(server):
            response = request(f"/mcp?{name}={token}", headers)
            assert response.status_code == 400
            assert "Authorization header" in response.text
            assert token not in response.text
    assert token not in server.raw_log


def test_two_authorizations_and_endless_parameters_are_refused(server: Served) -> None:
    twice = [("authorization", f"Bearer {server.token()}"), ("authorization", "Bearer x")]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert server.http.post(server.path, json=message, headers=twice).status_code == 400
    path = f"{server.path}?{'a=b&' * 200}"
    assert server.ask(server.token(), "tools/list", path=path).status_code == 400


def test_the_scheme_is_written_in_any_case(server: Served) -> None:
    headers = {"authorization": f"bEARER  {server.token()}"}
    assert server.http.delete(server.path, headers=headers).status_code == 204


def test_a_use_is_noted_once_a_minute(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    noted: list[str] = []
    real = tokens.note_use
    monkeypatch.setattr(
        tokens,
        "note_use",
        lambda store, token_ids: noted.extend(token_ids) or real(store, token_ids),
    )
    token = server.token()
    for _ in range(5):
        assert server.ask(token, "tools/list").status_code == 200
    while (known := only_token(server)).used is None:
        time.sleep(0.01)
    assert noted == [known.id]


def test_a_model_key_reaches_the_caller_and_nothing_else(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clawkit.memory.memory import Memory

    seen: list[Any] = []

    def patrol(_: Memory, caller: Any, *__: Any, **___: Any) -> Any:
        seen.append(caller)
        raise ValueError(f"a tool that fails and shows {caller!r}")

    monkeypatch.setattr(Memory, "patrol", patrol)
    key = "sk-ant-made-up-key-0123456789"
    response = server.call(
        server.token(), "trigger_patrol", {"messages": []}, headers={"x-llm-api-key": key}
    )
    assert [caller.llm_key for caller in seen] == [key]
    assert key not in response.text
    assert key not in server.raw_log
    insane = {"x-llm-api-key": "x" * 1001}
    refused = server.ask(server.token(), "tools/list", headers=insane)
    assert (refused.status_code, "xxx" in refused.text) == (400, False)


def test_one_being_in_two_spellings_is_one(server: Served) -> None:
    path = f"/mcp/{server.being.id}?being_id={server.being.id.upper()}"
    assert server.ask(server.token(), "ping", path=path).status_code == 200


@pytest.mark.parametrize("key", ["two words", "x" * 1001])
def test_what_is_no_model_key_is_refused_and_not_repeated(server: Served, key: str) -> None:
    refused = server.call(server.token(), "get_current_time", headers={"x-llm-api-key": key})
    assert (refused.status_code, key in refused.text) == (400, False)


def test_reading_goes_on_for_all_where_nothing_can_be_written(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()
    writes: list[set[str]] = []

    def waits(store: BeingStore, token_ids: set[str]) -> None:  # noqa: ARG001 - as it is called
        writes.append(token_ids)
        assert free.wait(PATIENCE)

    monkeypatch.setattr(tokens, "note_use", waits)
    holders = [server.token() for _ in range(40)]
    assert {server.ask(token, "ping").status_code for token in holders} == {200}
    assert len(writes) == 1
    free.set()
    deadline = time.monotonic() + PATIENCE
    while sum(map(len, writes)) < len(holders):
        assert time.monotonic() < deadline


LISTEN = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "subscriptions/listen",
    "params": {
        "notifications": {"toolsListChanged": True},
        "_meta": {VERSION_KEY: MODERN, CAPABILITIES_KEY: {}},
    },
}
MODERN_HEADS = {"mcp-protocol-version": MODERN, "mcp-method": "subscriptions/listen"}
OLD: dict[str, Any] = {"method": "GET"}
NEW: dict[str, Any] = {"method": "POST", "json": LISTEN}


@pytest.mark.parametrize(("asked", "more"), [(OLD, {}), (NEW, MODERN_HEADS)], ids=["old", "modern"])
def test_a_stream_ends_with_its_token(
    asked: dict[str, Any], more: dict[str, str], tmp_path: Path
) -> None:
    with served(store_at(tmp_path), recheck_every=0.05) as server:
        token = server.token(scope="read-only")
        headers = {**bearer(token), "accept": "application/json, text/event-stream", **more}
        with server.http.stream(url=server.path, headers=headers, **asked) as stream:
            assert stream.status_code == 200
            assert "text/event-stream" in stream.headers["content-type"]
            ended = threading.Event()
            reading = threading.Thread(target=lambda: (stream.read(), ended.set()), daemon=True)
            reading.start()
            assert not ended.wait(0.5), "a good token keeps it open"
            revoke(server, token)
            assert ended.wait(PATIENCE)
        assert server.ask(server.token(), "tools/list").status_code == 200
