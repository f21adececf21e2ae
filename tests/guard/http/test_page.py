"""The page at `/` of `claw proxy --listen`."""

from __future__ import annotations

from pathlib import Path

import httpx2

from tests.guard.http.worlds import reverse_proxy
from tests.processes import PATIENCE

BROWSER = {"accept": "text/html"}
UPSTREAM = "http://127.0.0.1:9/mcp"


def test_a_browser_is_told_how_to_connect_and_programs_what_they_were(tmp_path: Path) -> None:
    with (
        reverse_proxy(UPSTREAM, tmp_path, "", "--name", "tickets") as address,
        httpx2.Client(base_url=address.removesuffix("/mcp"), timeout=PATIENCE) as http,
    ):
        page = http.get("/", headers=BROWSER)
        assert page.status_code == 200
        assert "<h1>tickets</h1>" in page.text
        assert address in page.text
        assert "127.0.0.1:9" not in page.text
        assert http.head("/", headers=BROWSER).content == b""
        program = http.get("/", headers={"accept": "application/json"})
        assert program.status_code == 404
        assert "the server is at /mcp" in program.json()["error"]["message"]
        assert http.get("/", headers={**BROWSER, "host": "evil.example"}).status_code == 403
        assert http.post("/", json={}, headers=BROWSER).status_code == 404
