"""Pages of MCP Apps: offered to those who show them, and to nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit import Session
from clawkit.tools.server import SdkMcpServerImpl
from clawkit.wire.revisions import APP_TYPE, APPS, META_CAPABILITIES, META_VERSION, MODERN
from clawkit.wire.session import Context

URI = "ui://test/page"
SHOWS = {"extensions": {APPS: {"mimeTypes": [APP_TYPE]}}}


class Page:
    """A page that says nothing."""

    uri = URI
    definition = {"uri": URI, "name": "page", "mimeType": APP_TYPE}  # noqa: RUF012

    async def read(self, context: Context) -> list[dict[str, Any]]:  # noqa: ARG002
        return [{"uri": URI, "mimeType": APP_TYPE, "text": "<!doctype html>"}]


@pytest.fixture
def server() -> SdkMcpServerImpl:
    found = SdkMcpServerImpl("test", "1")

    @found.tool
    def shown() -> str:
        """Has a page."""
        return "shown"

    @found.tool
    def plain() -> str:
        """Has none."""
        return "plain"

    found.add_app(Page(), "shown")
    return found


async def ask(
    server: SdkMcpServerImpl, method: str, capabilities: Any, modern: bool, **params: Any
) -> dict[str, Any]:
    session = Session()
    if modern:
        meta = {META_VERSION: MODERN, META_CAPABILITIES: capabilities}
        request = {"method": method, "params": {**params, "_meta": meta}}
    else:
        request = {"method": method, "params": params}
        greeting = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {}}
        opened = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}
        reply = await server.handle_jsonrpc(opened, session)
        if method == "initialize":
            return reply or {}
    reply = await server.handle_jsonrpc({"jsonrpc": "2.0", "id": 2, **request}, session)
    assert reply is not None
    return reply


ERAS = pytest.mark.parametrize("modern", [False, True])


@ERAS
async def test_a_tool_names_its_page_to_clients_that_show_pages(
    server: SdkMcpServerImpl, modern: bool
) -> None:
    listed = (await ask(server, "tools/list", SHOWS, modern))["result"]["tools"]
    assert {tool["name"]: tool.get("_meta") for tool in listed} == {
        "shown": {"ui": {"resourceUri": URI}},
        "plain": None,
    }
    read = (await ask(server, "resources/read", SHOWS, modern, uri=URI))["result"]
    assert read["contents"][0]["text"] == "<!doctype html>"


@ERAS
@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"extensions": None},
        {"extensions": []},
        {"extensions": {APPS: None}},
        {"extensions": {APPS: {}}},
        {"extensions": {APPS: {"mimeTypes": APP_TYPE}}},
        {"extensions": {APPS: {"mimeTypes": ["text/html"]}}},
    ],
)
async def test_who_does_not_say_so_properly_gets_no_page(
    server: SdkMcpServerImpl, modern: bool, capabilities: dict[str, Any]
) -> None:
    listed = (await ask(server, "tools/list", capabilities, modern))["result"]["tools"]
    assert [tool for tool in listed if "_meta" in tool] == []
    assert "error" in await ask(server, "resources/read", capabilities, modern, uri=URI)
    assert "error" in await ask(server, "resources/list", capabilities, modern)


async def test_the_extension_is_declared_to_those_who_declare_it(
    server: SdkMcpServerImpl,
) -> None:
    for method, modern in (("initialize", False), ("server/discover", True)):
        known = (await ask(server, method, SHOWS, modern))["result"]["capabilities"]
        assert known["extensions"] == {APPS: {}}
        assert "resources" in known
        others = (await ask(server, method, {}, modern))["result"]["capabilities"]
        assert "extensions" not in others
        assert "resources" not in others
