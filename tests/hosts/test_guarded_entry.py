from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import HostError
from clawkit.hosts.clients import client_called
from clawkit.hosts.entries import (
    RemoteLaunch,
    StdioLaunch,
    behind_guard,
    entries_of,
    is_guarded,
    is_this_installation,
    launch_of,
)
from clawkit.hosts.guarded_entry import (
    ELSEWHERE,
    NO_CREDENTIALS,
    GuardedEntry,
    guard_remote,
    guard_stdio,
    shown_address,
    unguard_stdio,
)

PROGRAM = ("/bin/clawai",)


def guarded(client: str, **data: Any) -> GuardedEntry:
    known = client_called(client)
    launch = launch_of(known.form, data)
    assert isinstance(launch, RemoteLaunch), launch
    return guard_remote(known, data, launch, PROGRAM, "0123456789ab")


def test_without_a_script_the_module_is_started() -> None:
    form = client_called("cursor").form
    data = guard_stdio(form, {"command": "npx", "args": ["x"]}, ("/bin/python", "-m", "clawkit"))
    assert data == {
        "command": "/bin/python",
        "args": ["-m", "clawkit", "proxy", "--", "npx", "x"],
    }
    launch = launch_of(form, data)
    assert isinstance(launch, StdioLaunch)
    assert is_guarded(launch.argv)
    assert unguard_stdio(form, data, launch) == {"command": "npx", "args": ["x"]}


def test_an_old_entry_of_zed_keeps_its_nested_command() -> None:
    form = client_called("zed").form
    data = {"command": {"path": "node", "args": ["a.js"], "env": {}}, "settings": {}}
    wrapped = guard_stdio(form, data, PROGRAM)
    assert wrapped == {
        "command": {
            "path": "/bin/clawai",
            "args": ["proxy", "--", "node", "a.js"],
            "env": {},
        },
        "settings": {},
    }
    launch = launch_of(form, wrapped)
    assert isinstance(launch, StdioLaunch)
    assert unguard_stdio(form, wrapped, launch) == data


@pytest.mark.parametrize(
    "argv",
    [
        ("clawai", "proxy", "--", "npx"),
        ("/opt/bin/claw", "proxy", "--name", "x", "--", "npx"),
        ("C:\\Tools\\clawai.exe", "proxy", "--", "npx"),
        ("python3", "-m", "clawkit", "proxy", "--", "npx"),
        ("uvx", "--from", "clawkit", "clawai", "proxy", "--", "npx"),
    ],
)
def test_a_command_that_somebody_wrapped_is_recognised(argv: tuple[str, ...]) -> None:
    assert is_guarded(argv)
    assert behind_guard(argv) == ("npx",)


@pytest.mark.parametrize(
    "argv",
    [
        ("npx", "proxy", "--", "x"),
        ("clawai", "serve", "proxy"),
        ("sh", "-c", "--", "clawai", "proxy"),
        ("sh", "claw", "proxy", "--", "evil"),
        ("evil", "openclaw", "proxy"),
        ("evil", "-m", "clawkit", "proxy", "--", "x"),
        ("uvx", "--with", "evil", "--from", "clawkit", "claw", "proxy"),
        ("proxy",),
        (),
    ],
)
def test_another_command_is_not(argv: tuple[str, ...]) -> None:
    assert not is_guarded(argv)
    assert behind_guard(argv) == ()


def test_this_installation_is_its_own_program_or_a_bare_name() -> None:
    beside = Path(sys.executable).with_name("claw")
    for argv in (("claw",), ("clawai", "proxy"), (str(beside),), (sys.executable, "-m", "clawkit")):
        assert is_this_installation(argv), argv
    for argv in (
        ("/tmp/evil/claw", "serve", "x"),
        ("./claw", "proxy"),
        ("bin\\claw.exe", "proxy"),
        ("/tmp/evil/python", "-m", "clawkit"),
        ("uvx", "--from", "clawkit", "claw"),
        ("npx", "claw"),
        (),
    ):
        assert not is_this_installation(argv), argv


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://a.example/mcp", "https://a.example/mcp"),
        ("https://u:p@a.example:8443/mcp?key=x#y", "https://a.example:8443/mcp"),
        ("https://a.example/s/aB3dE5gH7jK9mN1pQ3rS5/mcp", "https://a.example/s"),
        ("https://a.example/${TENANT}/mcp", "https://a.example/"),
        ("https://a.example/a-long-path-of-plain-words/mcp",) * 2,
        ("${MCP_URL}", ELSEWHERE),
        ("https://${HOST}/mcp?key=x", ELSEWHERE),
        ("https://user:${PASSWORD}@a.example/mcp", ELSEWHERE),
    ],
)
def test_the_command_line_shows_an_address_without_secrets(url: str, shown: str) -> None:
    assert shown_address(url) == shown


def test_a_user_and_password_become_the_header_they_stand_for() -> None:
    record = guarded("cursor", url="https://us%40er:pw@a.example/mcp").remote
    assert record is not None
    assert record.url == "https://a.example/mcp"
    assert record.headers == {"Authorization": "Basic dXNAZXI6cHc="}


def test_an_address_that_the_client_fills_in_travels_in_the_environment() -> None:
    change = guarded("cursor", url="https://a.example/mcp?key=${env:KEY}", env={"A": "b"})
    assert change.data["env"] == {"A": "b", "CLAW_URL": "https://a.example/mcp?key=${env:KEY}"}
    assert change.remote is not None
    assert (change.remote.url, change.remote.expand_url) == ("${CLAW_URL}", True)


def test_two_headers_never_share_a_variable() -> None:
    change = guarded("cursor", url="https://a.example", headers={"X-A": "${A}", "X_A": "${B}"})
    assert change.data["env"] == {"CLAW_HEADER_X_A": "${A}", "CLAW_HEADER_X_A_": "${B}"}


def test_codex_takes_a_header_by_the_letter() -> None:
    record = guarded("codex", url="https://a.example", http_headers={"X": "${A}"}).remote
    assert record is not None
    assert (record.headers, record.expand) == ({"X": "${A}"}, ())


@pytest.mark.parametrize(
    ("client", "data", "transport"),
    [
        ("cursor", {"url": "https://a.example/mcp"}, "http"),
        ("cursor", {"url": "https://a.example/sse"}, "sse"),
        ("claude-code", {"type": "sse", "url": "https://a.example/mcp"}, "sse"),
        ("claude-code", {"type": "http", "url": "https://a.example/sse"}, "http"),
        ("gemini", {"httpUrl": "https://a.example/x"}, "http"),
        ("gemini", {"url": "https://a.example/x"}, "sse"),
        ("cline", {"url": "https://a.example/x"}, "sse"),
        ("cline", {"url": "https://a.example/x", "type": "streamableHttp"}, "http"),
        ("openclaw", {"url": "https://a.example/x"}, "sse"),
        ("goose", {"uri": "https://a.example/x", "type": "streamable_http"}, "http"),
    ],
)
def test_the_transport_is_the_one_the_client_would_use(
    client: str, data: dict[str, str], transport: str
) -> None:
    launch = launch_of(client_called(client).form, data)
    assert isinstance(launch, RemoteLaunch)
    assert launch.transport == transport


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ({"oauth": {"clientId": "x"}}, "`oauth`: the client logs in"),
        ({"headersHelper": "/bin/token"}, "`headersHelper`: the client runs a program"),
        ({"clientCert": "/x.pem"}, "`clientCert`: the client shows it a certificate"),
        ({"sslVerify": False}, "always checks certificates"),
    ],
)
def test_what_only_the_client_can_do_is_not_wrapped(data: dict[str, Any], problem: str) -> None:
    with pytest.raises(HostError, match=problem):
        guarded("claude-code", url="https://a.example/mcp", **data)


def test_an_entry_without_credentials_is_wrapped_with_a_warning() -> None:
    assert guarded("cursor", url="https://a.example/mcp").note == NO_CREDENTIALS
    assert guarded("cursor", url="https://a.example/mcp", headers={"A": "b"}).note == ""


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (True, "not a server"),
        ({"enabled": False}, "neither a command nor an address"),
        ({"command": "npx", "args": "-y"}, "not written as a list"),
        ({"command": "npx", "args": [["x"]]}, "not text"),
        ({"url": "ws://a.example"}, "not one of http or https"),
        ({"url": "https://a.example", "headers": ["x"]}, "not a table of headers"),
        ({"url": "https://a.example", "headers": {"X": {"ref": 1}}}, "header `X`"),
    ],
)
def test_an_entry_that_is_no_server_for_us_says_why(value: Any, reason: str) -> None:
    launch = launch_of(client_called("cursor").form, value)
    assert isinstance(launch, str)
    assert reason in launch


def test_claude_codes_projects_have_servers_too() -> None:
    data = {
        "mcpServers": {"a": {"command": "x"}},
        "projects": {"/p.q": {"mcpServers": {"b": {"command": "y"}}}, "/r": {}, "/s": None},
    }
    found = [entry.keys for entry in entries_of(client_called("claude-code"), "f", data)]
    assert found == [("mcpServers", "a"), ("projects", "/p.q", "mcpServers", "b")]
