"""Real clients log in to servers through the guard, which stays in between."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import MCPError
from mcp.client.auth import AuthorizationCodeResult

from tests.guard.guarded_server import records
from tests.guard.http.foreign_server import ForeignServer, foreign_server
from tests.guard.http.worlds import reverse_proxy
from tests.login.test_real_clients import (
    MCP_REMOTE,
    NOTE,
    REDIRECT,
    PythonClient,
    answer,
    converse,
    free_port,
    node,
)
from tests.login.visitors import Logins, served_logins
from tests.memory.http.being_store import store_at
from tests.processes import PATIENCE, ROOT
from tests.together.test_node_clients import CLIENTS, INSPECTOR

POLICY = """
[[rule]]
action = "deny"
tool = ["search_memory", "delete"]
description = "Not through this guard"

[[rule]]
action = "allow"
tool = "*"
"""
DENIED = "Not through this guard"
QUERY = {"query": "milk"}


def get(address: str) -> httpx2.Response:
    return httpx2.get(address, follow_redirects=False, timeout=PATIENCE)


def led_to(response: httpx2.Response) -> str:
    assert response.status_code in (302, 303), response.text
    return response.headers["location"]


class GuardedBrowser:
    """Ada's browser, which goes wherever it is sent."""

    def __init__(self, logins: Logins, origin: str) -> None:
        self._logins = logins
        self._origin = origin
        self.places: list[str] = []

    def get(self, path: str) -> httpx2.Response:
        place = led_to(get(f"{self._origin}{path}"))
        self.places.append(place)
        return self._logins.visitor.get(place.removeprefix(self._logins.origin))

    def submit(self, page: httpx2.Response, **chosen: Any) -> httpx2.Response:
        place = led_to(self._logins.visitor.submit(page, **chosen))
        assert place.startswith(f"{self._origin}/claw-login/callback?"), place
        return get(place)


class GuardedLogins:
    """A server of ours with logins, as it is seen through a guard."""

    def __init__(self, behind: Logins, address: str) -> None:
        self.behind = behind
        self.origin = address.removesuffix("/mcp").replace("127.0.0.1", "localhost")
        self.visitor = GuardedBrowser(behind, self.origin)


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Logins]:
    with served_logins(store_at(tmp_path)) as found:
        yield found


@pytest.fixture
def ours(behind: Logins, tmp_path: Path) -> Iterator[Any]:
    with reverse_proxy(f"{behind.origin}/mcp", tmp_path, POLICY) as address:
        yield GuardedLogins(behind, address)


@pytest.fixture
def foreign() -> Iterator[ForeignServer]:
    with foreign_server() as found:
        yield found


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_the_python_client_logs_in_to_our_server(ours: Any, home: Path, mode: str) -> None:
    python = PythonClient(ours, "full")
    async with python.connected(mode) as client:
        assert not (await client.call_tool("update_notes", NOTE)).is_error
        with pytest.raises(MCPError, match=DENIED):
            await client.call_tool("search_memory", QUERY)
    (asked,) = ours.visitor.places
    assert parse_qs(urlsplit(asked).query)["resource"] == [f"{ours.behind.origin}/mcp"]
    assert python.storage.tokens is not None
    secrets = [python.storage.tokens.access_token, str(python.storage.tokens.refresh_token)]
    check_nothing_is_kept(home, secrets)


def check_nothing_is_kept(home: Path, secrets: list[str]) -> None:
    """The log has the calls, and nothing on this disk has a token."""
    assert [r for r in records(home) if r.get("decision") == "deny"]
    for file in (home / "claw").rglob("*"):
        written = file.read_bytes() if file.is_file() else b""
        assert not [secret for secret in secrets if secret.encode() in written], file


async def test_the_python_client_asks_for_more_and_refreshes_through_the_guard(ours: Any) -> None:
    python = PythonClient(ours, "read-only", "full")
    async with python.connected("2026-07-28") as client:
        assert not (await client.call_tool("get_current_time", {})).is_error
        assert not (await client.call_tool("update_notes", NOTE)).is_error
        first = python.storage.tokens
        python.providers[0].context.token_expiry_time = 1.0
        assert not (await client.call_tool("get_current_time", {})).is_error
    assert len(python.asked) == 2
    second = python.storage.tokens
    assert first is not None
    assert second is not None
    assert first.refresh_token != second.refresh_token


@pytest.mark.parametrize(("client", "era"), CLIENTS)
def test_the_node_clients_log_in_to_our_server(ours: Any, client: str, era: str) -> None:
    task = {
        "client": client,
        "era": era,
        "url": f"{ours.origin}/mcp",
        "redirect": REDIRECT,
        "calls": [["update_notes", NOTE]],
        "refused": [["search_memory", QUERY]],
    }
    with node(ROOT / "tests" / "together" / "login.mjs", json.dumps(task)) as process:
        report = converse(ours, process, "full")
    assert report["scope"] == "full"
    assert not report["results"][0].get("isError")
    assert DENIED in report["refusals"][0]


class ForeignClient(PythonClient):
    """The official client, and an authorization server that agrees by itself."""

    def __init__(self, origin: str) -> None:
        super().__init__(cast("Logins", _Place(origin)))

    async def _callback(self) -> AuthorizationCodeResult:
        answer = parse_qs(urlsplit(agreed(self.asked[-1])).query)
        assert "iss" not in answer
        return AuthorizationCodeResult(code=answer["code"][0], state=answer["state"][0])


class _Place:
    def __init__(self, origin: str) -> None:
        self.origin = origin


def agreed(address: str) -> str:
    """Where a browser ends that was sent to the guard, and from there on."""
    return led_to(get(led_to(get(address))))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_python_client_logs_in_to_a_server_of_others(
    foreign: ForeignServer, tmp_path: Path, home: Path, mode: str
) -> None:
    with reverse_proxy(foreign.mcp, tmp_path, POLICY) as address:
        python = ForeignClient(address.removesuffix("/mcp"))
        async with python.connected(mode) as client:
            result = await client.call_tool("read", {"path": "notes"})
            assert "what is in notes" in str(result.content)
            python.providers[0].context.token_expiry_time = 1.0
            assert not (await client.call_tool("read", {"path": "more"})).is_error
            with pytest.raises(MCPError, match=DENIED):
                await client.call_tool("delete", {"path": "notes"})
    assert foreign.provider.resources == [foreign.mcp]
    check_nothing_is_kept(home, [*foreign.provider.access, *foreign.provider.refresh])


@pytest.mark.parametrize(("client", "era"), CLIENTS[:2])
def test_the_node_clients_log_in_to_a_server_of_others(
    foreign: ForeignServer, tmp_path: Path, client: str, era: str
) -> None:
    with reverse_proxy(foreign.mcp, tmp_path, POLICY) as address:
        task = {
            "client": client,
            "era": era,
            "url": address,
            "redirect": REDIRECT,
            "calls": [["read", {"path": "notes"}]],
            "refused": [["delete", {"path": "notes"}]],
        }
        with node(ROOT / "tests" / "together" / "login.mjs", json.dumps(task)) as process:
            asked = json.loads(process.stdout.readline())["authorize"]
            process.stdin.write(f"{agreed(asked)}\n")
            process.stdin.flush()
            report = json.loads(process.stdout.readline())
    assert "what is in notes" in str(report["results"])
    assert DENIED in report["refusals"][0]
    assert foreign.provider.resources == [foreign.mcp]


@contextmanager
def mcp_remote(url: str, home: Path, end: Callable[[str], str]) -> Iterator[Any]:
    """mcp-remote once its person has logged in; `end` says where their browser ends."""
    env = {"MCP_REMOTE_CONFIG_DIR": str(home / "remote"), "PATH": "", "HOME": str(home)}
    with node(MCP_REMOTE, url, str(free_port()), env=env, errors=subprocess.PIPE) as process:
        said = ""
        while not (found := re.search(r"http://\S+/claw-login/authorize\?\S+", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        assert get(end(found[0])).status_code == 200
        yield process


def spoken(process: Any, *calls: tuple[str, Any]) -> list[Any]:
    """What a client that is started as a process answers to a greeting and these calls."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    messages: list[Any] = [
        {"id": 0, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
    ]
    for number, (tool, arguments) in enumerate(calls, 1):
        params = {"name": tool, "arguments": arguments}
        messages.append({"id": number, "method": "tools/call", "params": params})
    answers: list[Any] = []
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        if "id" in message:
            answers.append(json.loads(process.stdout.readline()))
    return answers


def test_mcp_remote_logs_in_to_our_server(ours: Any, home: Path) -> None:
    def end(address: str) -> str:
        page = ours.visitor.get(address.removeprefix(ours.origin))
        return led_to(ours.visitor.submit(page, answer="yes"))

    with mcp_remote(f"{ours.origin}/mcp", home, end) as process:
        _, noted, denied = spoken(process, ("update_notes", NOTE), ("search_memory", QUERY))
    assert not noted["result"].get("isError")
    assert DENIED in denied["error"]["message"]


def test_mcp_remote_logs_in_to_a_server_of_others(
    foreign: ForeignServer, tmp_path: Path, home: Path
) -> None:
    with (
        reverse_proxy(foreign.mcp, tmp_path, POLICY) as address,
        mcp_remote(address, home, agreed) as process,
    ):
        _, read, denied = spoken(process, ("read", {"path": "a"}), ("delete", {"path": "a"}))
    assert "what is in a" in str(read["result"])
    assert DENIED in denied["error"]["message"]


def test_the_inspector_logs_in_to_our_server(ours: Any, home: Path) -> None:
    back = f"http://127.0.0.1:{free_port()}/oauth/callback"
    options = ["--cli", "--transport", "http", f"{ours.origin}/mcp", "--callback-url", back]
    options += ["--method", "tools/list", "--format", "json", "-q"]
    env = {"HOME": str(home), "PATH": "", "MCP_AUTO_OPEN_ENABLED": "true"}
    with node(INSPECTOR, *options, env=env, errors=subprocess.STDOUT) as process:
        said = ""
        while not (found := re.search(r"http://\S+/claw-login/authorize\?\S+", said)):
            line = process.stdout.readline()
            assert line, said
            said += line
        assert get(answer(ours, found[0])).status_code == 200
        told = next(line for line in process.stdout if line.startswith("{"))
        assert "recall" in [one["name"] for one in json.loads(told)["result"]["tools"]]


async def test_a_client_that_shows_the_guards_token_can_log_in_too(
    foreign: ForeignServer, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("t0ken-" * 8)
    file.chmod(0o600)
    with reverse_proxy(foreign.mcp, tmp_path, POLICY, "--token-file", str(file)) as address:
        python = ForeignClient(address.removesuffix("/mcp"))
        async with python.connected("auto", **{"X-Claw-Token": file.read_text()}) as client:
            assert not (await client.call_tool("read", {"path": "notes"})).is_error


async def test_a_guard_that_was_started_anew_knows_its_clients(
    behind: Logins, tmp_path: Path
) -> None:
    """Clients keep their registration: what they got from one process is good for the next."""
    port = str(free_port())
    options = ("--listen", port)
    python: PythonClient | None = None
    for _ in range(2):
        with reverse_proxy(f"{behind.origin}/mcp", tmp_path, POLICY, *options) as address:
            logins = cast("Logins", GuardedLogins(behind, address))
            python = python or PythonClient(logins, "full", "full")
            python.storage.tokens = None
            async with python.connected("2026-07-28") as client:
                assert not (await client.call_tool("update_notes", NOTE)).is_error
    assert python is not None
    first, second = (parse_qs(urlsplit(one).query)["client_id"] for one in python.asked)
    assert first == second
