"""The page at `/` of `claw serve --http`: for browsers only, nothing in it but text, no script."""

from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser
from pathlib import Path

import httpx2
import pytest

from clawkit.wire.http.page import PagePart, PasteText, ServerPage, render, wants_page
from tests.claw import claw
from tests.processes import PATIENCE, http_server

BROWSER = {"accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
EVIL = "</pre><script>alert(1)</script><img src=x onerror=alert(2)> \u202eabc\u200b & 'x' \"y\""
FILE = """
from clawkit import SdkMcpServerImpl
from clawkit.errors import AccessError

server = SdkMcpServerImpl("shop", "2.1.0", title="The Shop", description="What we sell.")


@server.tool(description={evil!r})
def order(item: str, count: int = 1) -> str:
    return item


def authenticate(request, message):
    if request.headers.get("authorization") != "Bearer let-me-in":
        raise AccessError("Who are you?")


closed = SdkMcpServerImpl("closed", "9.9.9", instructions="A secret.", authenticate=authenticate)
closed.register_tool(order)
""".replace("{evil!r}", repr(EVIL))


class Seen(HTMLParser):
    """What a browser would find in a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.style = ""
        self._in_style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._in_style = tag == "style"

    def handle_endtag(self, tag: str) -> None:
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        if self._in_style:
            self.style += data
        else:
            self.text += data


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.py"
    path.write_text(FILE)
    return path


def test_a_browser_sees_what_it_is_its_tools_and_what_to_paste(shop: Path) -> None:
    with http_server(f"{shop}:server") as url:
        page = httpx2.get(f"{url.removesuffix('mcp')}", headers=BROWSER, timeout=PATIENCE)
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    seen = Seen(page.text)
    assert f"An MCP server at {url}" in seen.text
    for said in ("The Shop", "What we sell.", "order", "default 1", "Version 2.1.0."):
        assert said in seen.text
    assert f'{{"mcpServers": {{"shop": {{"url": "{url}"}}}}}}' in seen.text
    assert f"claude mcp add --transport http shop {url}" in seen.text
    assert EVIL.replace("\u202e", "\\u202e").replace("\u200b", "\\u200b") in seen.text
    assert seen.tags.isdisjoint({"script", "img", "a", "link", "form", "iframe", "object"})
    assert seen.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class"}
    digest = base64.b64encode(hashlib.sha256(seen.style.encode()).digest()).decode()
    rules = page.headers["content-security-policy"].split("; ")
    assert rules[:2] == ["default-src 'none'", f"style-src 'sha256-{digest}'"]
    assert "frame-ancestors 'none'" in rules
    assert len(page.content) < 10_000


def test_programs_get_what_they_got_before_and_hosts_are_checked(shop: Path) -> None:
    with http_server(f"{shop}:server") as url, httpx2.Client(timeout=PATIENCE) as http:
        root = url.removesuffix("mcp")
        for accept in (
            "application/json",
            "application/json, text/plain, */*",
            "text/event-stream",
        ):
            found = http.get(root, headers={"accept": accept})
            assert (found.status_code, found.text) == (404, "Not Found")
        assert http.post(root, json={}).status_code == 404
        assert http.get(root, headers={"accept": "*/*"}).status_code == 200
        head = http.head(root, headers=BROWSER)
        assert (head.status_code, head.content) == (200, b"")
        refused = http.get(root, headers={**BROWSER, "host": "evil.example"})
        assert refused.status_code == 403
        assert "order" not in refused.text


def test_a_server_that_asks_who_calls_shows_its_tools_to_nobody_else(shop: Path) -> None:
    with http_server(f"{shop}:closed") as url, httpx2.Client(timeout=PATIENCE) as http:
        root = url.removesuffix("mcp")
        stranger = Seen(http.get(root, headers=BROWSER).text).text
        token = {"authorization": "Bearer let-me-in"}
        friend = Seen(http.get(root, headers={**BROWSER, **token}).text).text
    for secret in ("order", "A secret.", "9.9.9"):
        assert secret not in stranger
        assert secret in friend
    assert "closed" in stranger
    assert "Bearer YOUR_TOKEN" in stranger


def test_a_host_that_is_no_name_is_not_repeated(shop: Path) -> None:
    options = ("--host", "0.0.0.0")
    with http_server(f"{shop}:server", *options) as url:
        root = url.replace("0.0.0.0", "127.0.0.1").removesuffix("mcp")
        page = httpx2.get(root, headers={**BROWSER, "host": "x<y>'z"}, timeout=PATIENCE)
    assert page.status_code in (200, 400)
    assert "x&lt;y" not in page.text
    assert "x<y" not in page.text


def test_the_same_page_is_printed_for_a_file(shop: Path) -> None:
    done = claw("tools", f"{shop}:server", "--page", code=0)
    seen = Seen(done.stdout)
    assert done.stdout.startswith("<!doctype html>\n")
    assert f"An MCP server started with: claw serve {shop}:server" in seen.text
    assert f'"args": ["serve", "{shop}:server"]' in seen.text
    assert "script" not in seen.tags


@pytest.mark.parametrize(
    ("method", "accept", "wanted"),
    [
        ("GET", "text/html", True),
        ("HEAD", "text/html", True),
        ("GET", "*/*", True),
        ("GET", "text/*", True),
        ("GET", "text/html, application/json;q=0.5", True),
        ("POST", "text/html", False),
        ("GET", "application/json", False),
        ("GET", "application/json, */*", False),
        ("GET", "text/event-stream", False),
        ("GET", "image/png", False),
    ],
)
def test_who_wants_a_page(method: str, accept: str, wanted: bool) -> None:
    assert wants_page(method, {"accept": accept}) is wanted


def test_everything_that_is_shown_is_escaped() -> None:
    paste = PasteText(EVIL, EVIL, EVIL)
    page = ServerPage(EVIL, EVIL, EVIL, (PagePart(EVIL, EVIL, ((EVIL,),)),), (paste,), EVIL)
    seen = Seen(render(page))
    assert seen.tags.isdisjoint({"script", "img"})
    assert "\u202e" not in seen.text
