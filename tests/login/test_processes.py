"""Logins as whoever runs a server has them: commands, links, and the three servers."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.claw import claw
from tests.login.process import TOOLS, LoginProcess, login_process
from tests.login.visitors import LoginClient, Visitor, sent_back
from tests.processes import PATIENCE


def ask(server: LoginProcess, token: str, tool: str, arguments: dict[str, Any]) -> httpx2.Response:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    headers = {"authorization": f"Bearer {token}"} if token else {}
    return httpx2.post(server.mcp, json=message, headers=headers, timeout=PATIENCE)


def tokens(visitor: Visitor, client: LoginClient, address: str = "", **chosen: Any) -> str:
    code = visitor.agree(address or client.address(), **chosen)["code"]
    return client.exchange(code).json()["access_token"]


def test_a_being_from_the_command_to_the_end_of_a_login() -> None:
    claw("being", "create", "notes", code=0)
    with (
        login_process("being", "serve", "--port", "0", "--login") as server,
        server.person("add", "ada") as ada,
        server.program() as client,
    ):
        access = tokens(ada, client)
        assert ask(server, access, "get_current_time", {}).status_code == 200
        listed = json.loads(claw("user", "list", "--json", code=0).stdout)
        (login,) = listed[0]["logins"]
        assert (login["client_name"], login["scope"]) == ("Editor", "full")
        assert "Editor" in claw("user", "show", "ada", code=0).stdout
        assert "Editor" in claw("being", "token", "list", "notes", code=0).stdout
        claw("being", "token", "revoke", login["id"][:8], code=0)
        assert ask(server, access, "get_current_time", {}).status_code == 401
        assert "ended" in claw("being", "token", "list", "notes", code=0).stdout


def test_a_member_and_what_commands_do_to_their_logins() -> None:
    claw("being", "create", "notes", code=0)
    claw("being", "create", "diary", code=0)
    with (
        login_process("being", "serve", "--port", "0", "--login") as server,
        server.person("add", "ada"),
        server.person("add", "bob", "--being", "notes") as bob,
        server.program() as client,
    ):
        access = tokens(bob, client)
        assert ask(server, access, "get_current_time", {}).status_code == 200
        claw("user", "allow", "bob", "notes", "--off", code=0)
        assert ask(server, access, "get_current_time", {}).status_code == 401
        assert bob.turned_away(client.address())["error"] == "access_denied"
        claw("user", "allow", "bob", "diary", code=0)
        access = tokens(bob, client)
        link = server.link("link", "bob", "--lost")
        assert ask(server, access, "get_current_time", {}).status_code == 401
        assert "Sign in" in bob.get("/login").text
        assert bob.begin(link, "another password").status_code == 303
        access = tokens(bob, client)
        claw("user", "remove", "bob", "--yes", code=0)
        assert ask(server, access, "get_current_time", {}).status_code == 401
        assert json.loads(claw("user", "list", "--json").stdout)[0]["name"] == "ada"


def test_tools_of_a_file_all_or_by_name_with_a_step_up(tmp_path: Path) -> None:
    file = tmp_path / "sums.py"
    file.write_text(TOOLS)
    with (
        login_process("serve", file, "--http", "0", "--login") as server,
        server.person("add", "ada") as ada,
        server.program() as client,
    ):
        refused = ask(server, "", "add", {"a": 1, "b": 2})
        assert refused.status_code == 401
        challenge = refused.headers["www-authenticate"]
        assert 'scope="all"' in challenge
        (place,) = re.findall(r'resource_metadata="([^"]+)"', challenge)
        about = httpx2.get(place).json()
        assert about["scopes_supported"] == ["all"]
        whole = tokens(ada, client)
        assert ask(server, whole, "add", {"a": 1, "b": 2}).json()["result"]["content"]
        one = tokens(ada, client, level="", extra=["tool:add"])
        assert ask(server, one, "add", {"a": 1, "b": 2}).status_code == 200
        step = ask(server, one, "shout", {"text": "hi"})
        assert step.status_code == 403
        assert 'error="insufficient_scope"' in step.headers["www-authenticate"]
        (wanted,) = re.findall(r' scope="([^"]+)"', step.headers["www-authenticate"])
        assert wanted == "tool:add tool:shout"
        page = ada.get(client.address(scope=wanted))
        assert "Call every tool" not in page.text
        assert "shout: Say it loudly." in page.text
        told = sent_back(ada.submit(page, answer="yes"))
        more = client.exchange(told["code"]).json()
        assert more["scope"] == wanted
        assert ask(server, more["access_token"], "shout", {"text": "hi"}).status_code == 200
        nothing = ada.submit(ada.get(client.address()), answer="yes", level="", extra=[])
        assert nothing.status_code == 400


def order(server: LoginProcess, token: str, message: str, key: str = "") -> str:
    arguments = {"message": message, **({"sessionKey": key} if key else {})}
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "order_openclaw",
            "arguments": arguments,
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    headers = {
        "authorization": f"Bearer {token}",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "order_openclaw",
        "accept": "application/json",
    }
    answer = httpx2.post(server.mcp, json=call, headers=headers, timeout=PATIENCE)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]["content"][0]["text"]


def test_the_assistant_over_http_keeps_peoples_sessions_apart() -> None:
    with (
        login_process("mcp-server", "--http", "0", "--login", "--members") as server,
        server.person("add", "ada") as ada,
        server.person("add", "bob") as bob,
        server.program() as client,
    ):
        assert httpx2.post(server.mcp, json={}, timeout=PATIENCE).status_code == 401
        of_ada, of_bob = tokens(ada, client), tokens(bob, client)
        order(server, of_ada, "My cat is called Zanzibar.", "home")
        assert "Zanzibar" in order(server, of_ada, "What is my cat called?", "home")
        assert "Zanzibar" not in order(server, of_bob, "What is my cat called?", "home")
        keys = [one["key"] for one in json.loads(claw("sessions", "--json", code=0).stdout)]
        assert sorted(key.partition(".")[0] for key in keys) == ["ada", "bob"]
        stolen = next(key for key in keys if key.startswith("ada"))
        assert "Zanzibar" not in order(server, of_bob, "What is my cat called?", stolen)


def test_members_order_nothing_from_the_assistant_unless_that_is_said() -> None:
    with (
        login_process("mcp-server", "--http", "0", "--login") as server,
        server.person("add", "ada") as ada,
        server.person("add", "bob") as bob,
        server.program() as client,
    ):
        assert bob.turned_away(client.address())["error"] == "access_denied"
        assert tokens(ada, client)


def test_the_assistant_over_http_with_a_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("x" * 40 + "\n")
    file.chmod(0o644)
    told = claw("mcp-server", "--http", "0", "--token-file", file, code=1)
    assert "chmod 600" in told.stderr
    file.chmod(0o600)
    with login_process("mcp-server", "--http", "0", "--token-file", file) as server:
        assert httpx2.post(server.mcp, json={}, timeout=PATIENCE).status_code == 401
        assert order(server, "x" * 40, "Hello")
        for wrong in ("y" * 40, "x" * 39):
            headers = {"authorization": f"Bearer {wrong}"}
            listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            answer = httpx2.post(server.mcp, json=listing, headers=headers, timeout=PATIENCE)
            assert answer.status_code == 401
        assert httpx2.get(f"{server.origin}/login", timeout=PATIENCE).status_code == 404


def test_no_body_is_read_of_who_has_no_token(tmp_path: Path) -> None:
    file = tmp_path / "sums.py"
    file.write_text(TOOLS)
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with (
        login_process("serve", file, "--http", "0", "--login") as server,
        socket.create_connection(("127.0.0.1", server.port), PATIENCE) as raw,
    ):
        raw.sendall(f"{head}Content-Length: 10000000\r\n\r\n{{".encode())
        assert raw.recv(100).startswith(b"HTTP/1.1 401")


def test_http_without_a_login_or_a_token_is_refused() -> None:
    told = claw("mcp-server", "--http", "0", code=2)
    assert "--login" in told.stderr
    assert claw("mcp-server", "--login", code=2).stderr
    assert claw("being", "serve", "--public-url", "https://x.example", code=2).stderr


def test_a_login_beyond_this_machine_needs_its_public_address() -> None:
    told = claw("being", "serve", "--port", "0", "--host", "0.0.0.0", "--login", code=1)
    assert "--public-url https://" in told.stderr


WRONG_PLACES = [
    "http://claw.example.com",
    "https://claw.example.com/path",
    "claw.example.com",
    "https://a b",
    "https://[::",
    "https://a:99999",
    "https://ada@claw.example.com",
    "https://a,b",
]


@pytest.mark.parametrize("command", ["being", "serve", "mcp-server", "proxy"])
def test_a_public_address_that_cannot_be_is_refused_at_the_start(
    tmp_path: Path, command: str
) -> None:
    file = tmp_path / "sums.py"
    file.write_text(TOOLS)
    to_start: dict[str, list[str | Path]] = {
        "being": ["being", "serve", "--port", "0"],
        "serve": ["serve", file, "--http", "0"],
        "mcp-server": ["mcp-server", "--http", "0"],
        "proxy": ["proxy", "--listen", "0", "--url", "http://127.0.0.1:1/mcp"],
    }
    for wrong in WRONG_PLACES if command == "being" else WRONG_PLACES[3:5]:
        told = claw(*to_start[command], "--login", "--public-url", wrong, code=1)
        assert f"--public-url {wrong!r} must" in told.stderr


def test_a_secret_is_read_from_a_regular_file_of_its_size(tmp_path: Path) -> None:
    start = ("mcp-server", "--http", "0", "--token-file")
    assert "must be a regular file" in claw(*start, "/dev/zero", code=1).stderr
    assert "must be a regular file" in claw(*start, tmp_path, code=1).stderr
    assert "No such file" in claw(*start, tmp_path / "none", code=1).stderr
    long = tmp_path / "long"
    long.write_text("x" * 8193)
    long.chmod(0o600)
    assert "longer than 8192 bytes" in claw(*start, long, code=1).stderr


def test_behind_a_proxy_everything_is_at_its_public_address() -> None:
    claw("being", "create", "notes", code=0)
    public = "https://claw.example.com"
    with login_process(
        "being", "serve", "--port", "0", "--login", "--public-url", f"{public}/"
    ) as server:
        headers = {"host": "claw.example.com"}
        with httpx2.Client(base_url=server.origin, timeout=PATIENCE, headers=headers) as http:
            about = http.get("/.well-known/oauth-authorization-server").json()
            assert about["issuer"] == public
            refused = http.post("/mcp", json={})
            assert (
                f'"{public}/.well-known/oauth-protected-resource/mcp"'
                in (refused.headers["www-authenticate"])
            )
            link = claw("user", "add", "ada", code=0).stdout.strip()
            assert link.startswith(f"{public}/login/link/")
            page = http.get(link.removeprefix(public))
            assert "Make a passkey" in page.text
            cookie = page.headers["set-cookie"]
            assert cookie.startswith("__Host-claw-visit")
            assert "Secure" in cookie


def test_names_and_people_that_are_not_there() -> None:
    assert "nobody called 'ada'" in claw("user", "link", "ada", code=1).stderr
    assert "is no name" in claw("user", "add", "two words", code=1).stderr
    claw("user", "add", "Ada", code=0)
    assert "already" in claw("user", "add", "ADA", code=1).stderr
    assert "only owner" in claw("user", "remove", "ada", "--yes", code=1).stderr
    claw("user", "add", "eve", "--owner", code=0)
    claw("user", "remove", "ada", "--yes", code=0)
    assert "there is no Being" in claw("user", "add", "bob", "--being", "x", code=1).stderr
    assert [one["name"] for one in json.loads(claw("user", "list", "--json").stdout)] == ["eve"]
    assert "that still counts" in claw("user", "end", "12345678", code=1).stderr
    for wrong in ("claw.example.com", "http://claw.example.com", "https://claw.example.com/x"):
        assert "--url" in claw("user", "link", "eve", "--url", wrong, code=1).stderr
    link = claw("user", "link", "eve", "--url", "https://claw.example.com/", code=0).stdout
    assert link.startswith("https://claw.example.com/login/link/")


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve", "tools.py", "--http", "0", "--jwt-issuer", ""),
        ("serve", "tools.py", "--http", "0", "--login", "--oidc", ""),
        ("being", "serve", "--login", "--oidc", "", "--oidc-client", "x"),
        ("mcp-server", "--http", "0", "--login", "--public-url", ""),
    ],
    ids=" ".join,
)
def test_a_value_that_is_empty_is_no_value(arguments: tuple[str, ...]) -> None:
    """As on a line with a variable that is not set: it must not start without a login."""
    assert "is empty" in claw(*arguments, code=2).stderr
