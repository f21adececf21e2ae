"""The page at `/` of a server of Beings: how to connect, and nothing of anybody's memory."""

from __future__ import annotations

from pathlib import Path

from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import served

BROWSER = {"accept": "text/html"}


def test_without_a_token_a_browser_learns_how_to_connect_and_no_more(tmp_path: Path) -> None:
    with served(store_at(tmp_path)) as server:
        page = server.http.get("/", headers=BROWSER)
        token = {"authorization": f"Bearer {server.token()}"}
        with_token = server.http.get("/", headers={**BROWSER, **token})
        assert page.status_code == 200
        assert f"{server.url}/mcp/BEING_ID" in page.text
        assert "Bearer brt_…" in page.text
        assert "claw being share NAME" in page.text
        assert with_token.text == page.text
        for secret in (server.being.id, server.being.name, str(tmp_path), "search_memory"):
            assert secret not in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        before = server.http.get("/nothing", headers={"accept": "application/json"})
        now = server.http.get("/", headers={"accept": "application/json"})
        assert (now.status_code, now.text) == (before.status_code, before.text)
        refused = server.http.get("/", headers={**BROWSER, "host": "evil.example"})
        assert refused.status_code == 403
