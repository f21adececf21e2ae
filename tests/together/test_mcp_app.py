"""A Being's view as an MCP App: by the official clients, and shown by the official bridge."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import FrameLocator, Page, expect

from clawkit.memory.mcp_app import META_VIEW, URI, VIEWS
from clawkit.memory.tokens import Caller
from clawkit.memory.tools import READ_TOOLS
from clawkit.wire.revisions import APP_TYPE, APPS
from tests.browser import running_browser
from tests.console.browser import visiting
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import Served, served
from tests.processes import PATIENCE
from tests.together.official import MODES
from tests.together.web_modules import web_page

SHOWN = [advertise(APPS, {"mimeTypes": [APP_TYPE]})]
BOSS = {"action": "The boss is Renate", "actors": ["Renate"], "when": ["2026-03-01"]}
HOSTILE = "<img src=x onerror=window.pwned=1>\u202egnp.exe\x1b[31m"
INERT = r"<img src=x onerror=window.pwned=1>\u202egnp.exe\x1b[31m"
MODULES = ("@modelcontextprotocol/client", "@modelcontextprotocol/ext-apps/app-bridge")


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Where a page is served that is a host."""
    with web_page(Path(__file__).with_name("app_host.mjs"), *MODULES) as found:
        yield found


@pytest.fixture
def being(tmp_path: Path, origin: str) -> Iterator[Served]:
    with served(store_at(tmp_path), origins=(origin,)) as found:
        yield found


@asynccontextmanager
async def connected(being: Served, mode: str, *extensions: Any) -> AsyncGenerator[Client]:
    headers = {"authorization": f"Bearer {being.token(scope='read-only')}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE) as http:
        transport = streamable_http_client(f"{being.url}{being.path}", http_client=http)
        options = {"mode": mode, "read_timeout_seconds": PATIENCE}
        async with Client(transport, extensions=list(extensions) or None, **options) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_shows_pages_is_told_of_the_page_of_two_tools(
    being: Served, mode: str
) -> None:
    async with connected(being, mode, *SHOWN) as client:
        listed = (await client.list_tools()).tools
        meta = {tool.name: tool.meta for tool in listed if tool.meta}
        assert meta == {name: {"ui": {"resourceUri": URI}} for name in VIEWS}
        assert [str(one.uri) for one in (await client.list_resources()).resources] == [URI]
        (page,) = (await client.read_resource(URI)).contents
        assert page.mime_type == APP_TYPE
        assert getattr(page, "text", "").startswith("<!doctype html>")
        result = await client.call_tool("recall_memory", {})
        assert (result.meta or {})[META_VIEW]["kind"] == "overview"


@pytest.mark.parametrize("mode", MODES)
async def test_to_a_client_that_shows_no_pages_nothing_is_different(
    being: Served, mode: str
) -> None:
    async with connected(being, mode) as client:
        assert client.server_capabilities.resources is None
        assert not client.server_capabilities.extensions
        listed = (await client.list_tools()).tools
        assert len(listed) == 11
        assert [tool.name for tool in listed if tool.meta] == []
        result = await client.call_tool("recall_memory", {})
        assert META_VIEW not in (result.meta or {})


async def test_the_page_belongs_to_tools_that_only_read() -> None:
    assert VIEWS.keys() <= READ_TOOLS


@pytest.fixture
def page(being: Served, origin: str) -> Iterator[Page]:  # noqa: ARG001 - it is served
    with running_browser() as browser, visiting(browser) as visitor:
        visitor.page.goto(origin)
        visitor.page.wait_for_function("() => window.host !== undefined")
        yield visitor.page


def host(page: Page, method: str, *arguments: Any) -> Any:
    return page.evaluate("([method, given]) => window.host[method](...given)", [method, arguments])


def shown(page: Page, tool: str, theme: str = "light", **given: Any) -> FrameLocator:
    host(page, "show", tool, given, theme)
    return page.frame_locator("iframe")


def test_the_official_bridge_shows_the_page_and_it_reads_through_the_tools(
    page: Page, being: Served
) -> None:
    host(page, "connect", f"{being.url}{being.path}", being.token())
    hostile = {**BOSS, "action": HOSTILE}
    host(page, "call", "update_notes", {"scenes": [BOSS, hostile]})
    host(page, "call", "trigger_patrol", {"messages": []})
    memory = being.store.open(being.being)
    old = next(hit.node for hit in memory.search("boss Renate").hits if "boss" in hit.node.text)
    memory.restate(old, "The boss is Tom", Caller())

    frame = shown(page, "recall_memory")
    expect(frame.get_by_role("heading", name="Ada", exact=True)).to_be_visible()
    expect(frame.get_by_text("2 memories", exact=True)).to_be_visible()
    expect(frame.locator("#map[data-drawn]")).to_be_visible()
    written = frame.locator("#list").get_by_role("button")
    expect(written).to_have_count(2)
    expect(frame.get_by_text(INERT)).to_be_visible()
    assert frame.locator("body").evaluate("() => window.pwned") is None

    frame.get_by_role("button", name="The boss is Tom").focus()
    page.keyboard.press("Enter")
    expect(frame.locator("#detail")).to_contain_text("The boss is Renate")
    expect(frame.locator("#detail")).to_contain_text("Until")

    frame.get_by_label("Search this memory").fill("boss")
    page.keyboard.press("Enter")
    expect(frame.get_by_text("score")).to_be_visible()
    expect(frame.locator("#list")).to_contain_text("The boss is Tom")
    assert set(page.evaluate("() => window.host.called")) == VIEWS.keys()

    frame = shown(page, "search_memory", query="boss", theme="dark")
    expect(frame.locator("#list")).to_contain_text("The boss is Tom")
    expect(frame.locator("#map[data-drawn]")).to_be_visible()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    assert frame.locator("body").evaluate(ground) == "rgb(29, 32, 28)"
    host(page, "theme", "light")
    expect(frame.locator("body")).to_have_css("background-color", "rgb(255, 255, 255)")
    host(page, "leave")


def test_what_was_taken_back_is_not_shown(page: Page, being: Served) -> None:
    host(page, "connect", f"{being.url}{being.path}", being.token())
    memory = being.store.open(being.being)
    node = memory.remember("The code is 1234", Caller())
    memory.retract([node.id], Caller())
    frame = shown(page, "recall_memory", node_id=node.id)
    expect(frame.get_by_text("This is not known any more.")).to_be_visible()
    assert "code is 1234" not in frame.locator("body").inner_text()
