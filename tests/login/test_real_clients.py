"""Clients of others log in to us: the official ones for Python and Node, mcp-remote, the suite."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.conformance.suite import PROGRAM
from tests.login.documents import documents
from tests.login.visitors import Logins, gate_maker, served_logins
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import served
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT
from tests.together.test_node_clients import CLIENTS, INSPECTOR

REDIRECT = "http://localhost:7788/callback"
NOTE: dict[str, Any] = {"notes": ["Buy milk."]}
MCP_REMOTE = ROOT / "tests" / "node" / "node_modules" / "mcp-remote" / "dist" / "proxy.js"


@pytest.fixture
def now(tmp_path: Path) -> Iterator[Logins]:
    """Logins at the time that it is: clients look at the clock, too."""
    with served_logins(store_at(tmp_path)) as found:
        yield found


def answer(logins: Logins, address: str, **chosen: Any) -> str:
    """Where Ada's browser ends when she agrees to what is asked at an address."""
    page = logins.visitor.get(address.removeprefix(logins.origin))
    assert page.status_code == 200, page.text
    response = logins.visitor.submit(page, answer="yes", **chosen)
    assert response.status_code == 303, response.text
    return response.headers["location"]


class Storage:
    """What the Python client keeps."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class PythonClient:
    """The official client, with Ada at its browser; `levels` is what she agrees to, each time."""

    def __init__(self, logins: Logins, *levels: str, document: str | None = None) -> None:
        self.storage = Storage()
        self.asked: list[str] = []
        self.providers: list[OAuthClientProvider] = []
        self._logins = logins
        self._levels = list(levels)
        self._document = document

    async def _redirect(self, address: str) -> None:
        self.asked.append(address)

    async def _callback(self) -> AuthorizationCodeResult:
        level = self._levels.pop(0)
        chosen = {"level": level} if level else {}
        place = answer(self._logins, self.asked[-1], **chosen)
        fields = dict(pair.split("=") for pair in urlsplit(place).query.split("&"))
        issuer = fields["iss"].replace("%3A", ":").replace("%2F", "/")
        return AuthorizationCodeResult(code=fields["code"], state=fields["state"], iss=issuer)

    @asynccontextmanager
    async def connected(
        self, mode: Any, path: str = "/mcp", **headers: str
    ) -> AsyncGenerator[Client]:
        url = f"{self._logins.origin}{path}"
        provider = OAuthClientProvider(
            url,
            OAuthClientMetadata(client_name="Python client", redirect_uris=[AnyUrl(REDIRECT)]),
            self.storage,
            self._redirect,
            self._callback,
            client_metadata_url=self._document,
        )
        self.providers.append(provider)
        async with httpx2.AsyncClient(auth=provider, headers=headers, timeout=PATIENCE) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
                yield client


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_the_python_client_logs_in(now: Logins, mode: str) -> None:
    python = PythonClient(now, "full")
    async with python.connected(mode) as client:
        assert not (await client.call_tool("update_notes", NOTE)).is_error
    assert len(python.asked) == 1
    assert python.storage.tokens is not None
    assert python.storage.tokens.scope == "full"


async def test_the_python_client_logs_in_to_one_being(now: Logins) -> None:
    now.server.store.create("garden")
    python = PythonClient(now, "")
    async with python.connected("auto", "/mcp/garden") as client:
        context = await client.call_tool("get_context", {})
        assert "garden" in str(context.content)


async def test_the_python_client_asks_for_more_where_it_is_needed(now: Logins) -> None:
    python = PythonClient(now, "read-only", "full")
    async with python.connected("2026-07-28") as client:
        assert not (await client.call_tool("get_current_time", {})).is_error
        assert not (await client.call_tool("update_notes", NOTE)).is_error
    assert len(python.asked) == 2
    assert "scope=" in python.asked[1]


async def test_the_python_client_refreshes_a_token_that_is_over(now: Logins) -> None:
    python = PythonClient(now, "full")
    async with python.connected("2026-07-28") as client:
        await client.call_tool("get_current_time", {})
        first = python.storage.tokens
        assert first is not None
        python.providers[0].context.token_expiry_time = 1.0
        await client.call_tool("get_current_time", {})
    second = python.storage.tokens
    assert second is not None
    assert second.refresh_token != first.refresh_token
    assert len(python.asked) == 1
    assert now.client.refresh(first.refresh_token or "").status_code == 400


async def test_the_python_client_is_known_by_its_document(tmp_path: Path) -> None:
    with documents(tmp_path) as web:
        store = store_at(tmp_path)
        maker = partial(gate_maker, store, fetcher=web.fetcher())
        with served(store, logins=maker) as server:
            logins = Logins(server)
            document = web.client(redirect_uris=[REDIRECT])
            python = PythonClient(logins, "full", document=document)
            async with python.connected("2026-07-28") as client:
                await client.call_tool("get_current_time", {})
            assert f"client_id={document.partition('://')[0]}" in python.asked[0]
            logins.close()


@contextmanager
def node(
    *arguments: str | Path, env: dict[str, str] | None = None, errors: int | None = None
) -> Iterator[Any]:
    """A Node program that is spoken to while it runs."""
    process = subprocess.Popen(
        [node_program(), *arguments],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        bufsize=1,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()


def converse(logins: Logins, process: Any, *levels: str) -> dict[str, Any]:
    """Be the browser of a Node client; gives what it reports."""
    wanted = list(levels)
    for line in process.stdout:
        told = json.loads(line)
        if "authorize" not in told:
            assert wanted == []
            return told
        process.stdin.write(f"{answer(logins, told['authorize'], level=wanted.pop(0))}\n")
        process.stdin.flush()
    raise AssertionError(f"it ended with {process.wait(PATIENCE)}")


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_the_node_clients_log_in(now: Logins, client: str, era: str) -> None:
    task = {
        "client": client,
        "era": era,
        "url": f"{now.origin}/mcp",
        "redirect": REDIRECT,
        "calls": [["update_notes", NOTE]],
    }
    with node(ROOT / "tests" / "together" / "login.mjs", json.dumps(task)) as process:
        report = converse(now, process, "full")
    assert report["scope"] == "full"
    assert not report["results"][0].get("isError")


@pytest.mark.parametrize(("client", "era"), CLIENTS[1:])  # the first refreshes, and gives up
def test_the_node_clients_ask_for_more_where_it_is_needed(
    now: Logins, client: str, era: str
) -> None:
    task = {
        "client": client,
        "era": era,
        "url": f"{now.origin}/mcp",
        "redirect": REDIRECT,
        "calls": [["get_current_time", {}], ["update_notes", NOTE]],
    }
    with node(ROOT / "tests" / "together" / "login.mjs", json.dumps(task)) as process:
        report = converse(now, process, "read-only", "full")
    assert report["scope"] == "full"


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_mcp_remote_logs_in(now: Logins, home: Path) -> None:
    port = str(free_port())
    env = {"MCP_REMOTE_CONFIG_DIR": str(home / "remote"), "PATH": "", "HOME": str(home)}
    with node(MCP_REMOTE, f"{now.origin}/mcp", port, env=env, errors=subprocess.PIPE) as process:
        said = ""
        while not (found := re.search(r"http://localhost:\d+/login/authorize\?\S+", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        place = answer(now, found[0])
        assert httpx2.get(place, timeout=PATIENCE).status_code == 200
        hello = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        for message in (
            {"id": 1, "method": "initialize", "params": hello},
            {"method": "notifications/initialized"},
            {
                "id": 2,
                "method": "tools/call",
                "params": {"name": "update_notes", "arguments": NOTE},
            },
        ):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["id"] == 1
        reply = json.loads(process.stdout.readline())
        assert not reply["result"].get("isError")


def test_the_inspector_logs_in(now: Logins, home: Path) -> None:
    back = f"http://127.0.0.1:{free_port()}/oauth/callback"
    options = ["--cli", "--transport", "http", f"{now.origin}/mcp", "--callback-url", back]
    options += ["--method", "tools/list", "--format", "json", "-q"]
    env = {"HOME": str(home), "PATH": "", "MCP_AUTO_OPEN_ENABLED": "true"}
    with node(INSPECTOR, *options, env=env, errors=subprocess.STDOUT) as process:
        said = ""
        while not (found := re.search(r"http://localhost:\d+/login/authorize\?\S+", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        assert httpx2.get(answer(now, found[0]), timeout=PATIENCE).status_code == 200
        told = next(line for line in process.stdout if line.startswith("{"))
        assert "recall" in [one["name"] for one in json.loads(told)["result"]["tools"]]


def test_the_conformance_suite_finds_nothing_wrong(now: Logins, tmp_path: Path) -> None:
    port = free_port()
    suite = now.program(f"http://127.0.0.1:{port}/callback")
    suite.register("Suite")
    options = ["--url", now.origin, "--client-id", suite.id, "--resource", f"{now.origin}/mcp"]
    options += ["-p", str(port), "-o", str(tmp_path / "results")]
    with node(PROGRAM, "authorization", *options) as process:
        said = asked = ""
        for line in process.stdout:
            said += line
            if found := re.match(r"http://localhost:\d+/login/authorize\?\S+", line):
                asked = found[0]
            if "Callback server started" in line:
                httpx2.get(answer(now, asked), timeout=PATIENCE)
        assert process.wait(PATIENCE) == 0, said
    assert "authorization-server-metadata-endpoint: 2 passed, 0 failed" in said
    assert "authorization-code-grant: 1 passed, 0 failed" in said
