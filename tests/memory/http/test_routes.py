"""The documented routes, in both eras, and what stands beside them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from clawkit.memory.job_worker import PATROL
from clawkit.memory.store import jobs
from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS
from tests.memory.http.being_store import Clock, store_at
from tests.memory.http.served_beings import MODERN, Served, modern, served, text_of

ELEVEN = READ_TOOLS | WRITE_TOOLS
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.mark.parametrize("path", ["/mcp/{}", "/mcp/{}/", "/mcp?being_id={}", "/mcp/?being_id={}"])
def test_an_api_token_reaches_its_being_by_path_or_query(server: Served, path: str) -> None:
    response = server.ask(server.token(), "tools/list", path=path.format(server.being.id))
    assert response.status_code == 200
    assert {tool["name"] for tool in response.json()["result"]["tools"]} == ELEVEN


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp/{}", "/mcp?being_id={}"])
def test_an_oauth_token_needs_no_id_and_may_give_it(server: Served, path: str) -> None:
    token = server.token(oauth=True)
    response = server.call(token, "get_context", path=path.format(server.being.id))
    assert json.loads(text_of(response))["metadata"]["being_id"] == server.being.id


def test_the_handshake_era_is_stateless(server: Served) -> None:
    token = server.token()
    response = server.ask(token, "initialize", INITIALIZE)
    assert response.json()["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" not in response.headers
    notice = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    headers = {"authorization": f"Bearer {token}", "mcp-protocol-version": "2025-11-25"}
    assert server.http.post(server.path, json=notice, headers=headers).status_code == 202
    assert server.call(token, "get_current_time").status_code == 200


def test_the_modern_era_needs_no_handshake(server: Served) -> None:
    message, headers = modern("tools/call", {"name": "get_current_time", "arguments": {}})
    headers["authorization"] = f"Bearer {server.token()}"
    response = server.http.post(server.path, json=message, headers=headers)
    assert response.status_code == 200
    assert response.json()["result"]["resultType"] == "complete"
    message, headers = modern("server/discover", {})
    headers["authorization"] = f"Bearer {server.token()}"
    found = server.http.post(server.path, json=message, headers=headers).json()["result"]
    assert MODERN in found["supportedVersions"]


def test_get_opens_a_stream_and_delete_closes_a_session_that_is_none(server: Served) -> None:
    headers = {"authorization": f"Bearer {server.token()}", "accept": "text/event-stream"}
    with server.http.stream("GET", server.path, headers=headers) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        assert response.headers["x-request-id"]
    assert server.http.delete(server.path, headers=headers).status_code == 204


def test_other_methods_and_paths_are_refused(server: Served) -> None:
    headers = {"authorization": f"Bearer {server.token()}"}
    assert server.http.put(server.path, headers=headers).status_code == 405
    assert server.http.get("/", headers={"accept": "application/json"}).status_code == 404
    assert server.http.get("/mcp/a/b", headers=headers).status_code == 404


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"jsonrpc":"2.0"}', b"\xff", b"[" * 100_000])
def test_a_message_that_is_none_gets_an_error_in_json_rpc(server: Served, body: bytes) -> None:
    headers = {"authorization": f"Bearer {server.token()}", "content-type": "application/json"}
    response = server.http.post(server.path, content=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (-32700, -32600)


def test_a_foreign_host_is_refused(server: Served) -> None:
    response = server.ask(server.token(), "tools/list", headers={"host": "evil.example"})
    assert response.status_code == 403


def test_a_page_from_an_allowed_origin_may_read_the_answers(tmp_path: Path) -> None:
    page = "https://friend.example"
    with served(store_at(tmp_path), origins=(page,)) as server:
        asked = {
            "origin": page,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization",
        }
        assert server.http.options(server.path, headers=asked).status_code == 200
        response = server.ask(server.token(), "tools/list", headers={"origin": page})
        assert response.headers["access-control-allow-origin"] == page
        assert server.ask("brt_no", "tools/list", headers={"origin": page}).status_code == 401


def test_a_request_keeps_its_own_id_if_that_is_sane(server: Served) -> None:
    token = server.token()
    mine = server.ask(token, "tools/list", headers={"x-request-id": "trace-1.a:b"})
    assert mine.headers["x-request-id"] == "trace-1.a:b"
    for insane in ("x" * 101, 'a"b', "-rm", "a b", ""):
        made = server.ask(token, "tools/list", headers={"x-request-id": insane})
        assert re.fullmatch("[0-9a-f]{16}", made.headers["x-request-id"])


def test_health_says_whether_the_store_can_be_reached(tmp_path: Path) -> None:
    with served(store_at(tmp_path)) as server:
        response = server.http.get("/healthz")
        assert (response.status_code, response.json()["status"]) == (200, "ok")
        server.store.database.close()
        for file in tmp_path.glob("beings.db*"):
            file.unlink()
        (tmp_path / "beings.db").write_bytes(b"this is no database" * 1000)
        response = server.http.get("/healthz")
        assert (response.status_code, response.json()["status"]) == (503, "unavailable")
        assert str(tmp_path) not in response.text
        refused = server.ask("brt_" + "a" * 43, "tools/list")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_figures_count_requests_by_tool_and_status(server: Served) -> None:
    full, reader = server.token(), server.token(scope="read-only")
    server.call(full, "get_current_time")
    server.call(reader, "update_notes", {"notes": ["no"]})
    server.call(full, "no-such-tool\n{}")
    server.ask("wrong", "tools/list")
    found = server.http.get("/metrics")
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    count = "clawkit_being_requests_total"
    assert f'{count}{{tool="get_current_time",method="POST",status="200"}} 1' in found.text
    assert f'{count}{{tool="update_notes",method="POST",status="403"}} 1' in found.text
    assert f'{count}{{tool="other",method="POST",status="200"}} 1' in found.text
    assert f'{count}{{tool="",method="POST",status="401"}} 1' in found.text
    assert 'request_seconds_bucket{tool="get_current_time",le="+Inf"} 1' in found.text
    assert "clawkit_being_beings 1" in found.text
    assert 'clawkit_being_jobs{kind="patrol"} 0' in found.text
    for secret in (full, reader, server.being.id, server.being.name):
        assert secret not in found.text


def test_figures_name_beings_where_that_is_asked_for(tmp_path: Path) -> None:
    with served(store_at(tmp_path), per_being=True) as server:
        server.call(server.token(), "get_current_time")
        assert f'being="{server.being.id}"' in server.http.get("/metrics").text


def test_figures_tell_how_jobs_ended_and_how_long_others_wait(tmp_path: Path, clock: Clock) -> None:
    store = store_at(tmp_path, clock)
    ada = store.create("Ben")
    store.want(ada, PATROL)
    store.worker.work_off()
    at = clock.now
    with served(store, per_being=True) as server:
        found = server.http.get("/metrics").text
        run = f'{{kind="patrol",outcome="ok",being="{ada.id}"}}'
        assert f"clawkit_being_job_runs_total{run} 1" in found
        assert f"clawkit_being_job_last_run_timestamp_seconds{run} {at}" in found
        assert f"clawkit_being_job_last_run_seconds{run} " in found
        assert "# TYPE clawkit_being_job_runs_total counter" in found
        assert 'clawkit_being_jobs_longest_wait_seconds{kind="patrol"} 0' in found
        with store.database.registry(write=True) as connection:
            jobs.want(connection, ada.n, "other", clock.now)
            assert jobs.claim(connection, "me", clock.now, clock.now + 1) is not None
            jobs.failed(connection, ada.n, "other", "me", "broken", clock.now + 3000)
        clock.now += 90
        found = server.http.get("/metrics").text
        assert 'clawkit_being_jobs_longest_wait_seconds{kind="other"} 90' in found
        assert 'clawkit_being_jobs_failed{kind="other"} 1' in found
