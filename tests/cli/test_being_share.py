"""`claw being share`: what is printed is what a client needs, and `claw install` takes it."""

from __future__ import annotations

import json
import os
import shlex
import signal
import threading
import tomllib
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from clawkit.cli.being.serve import reachable
from clawkit.hosts.clients import CLIENTS
from clawkit.memory.http.served_address import address_for
from clawkit.memory.records import Being
from tests.claw import PROGRAMS
from tests.cli.being_commands import as_json, refused, run, said
from tests.cli.commands import plain_environment
from tests.cli.test_being_tokens import call, served
from tests.guard.terminal import terminal
from tests.hosts.samples import BY_CLIENT
from tests.memory import postgres
from tests.memory.old_names import create_named
from tests.together.official import MODES
from tests.together.test_being_clients import connected

STORES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)]


@pytest.fixture(params=STORES)
def either_store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Generator[None]:
    """The person's own store, or one in PostgreSQL that the environment names."""
    if request.param == "sqlite":
        yield
        return
    with postgres.server() as server, server.database() as address:
        monkeypatch.setenv("CLAW_STORE", address)
        yield


@pytest.mark.usefixtures("either_store")
async def test_the_official_client_connects_with_what_is_printed() -> None:
    run("being", "create", "team")
    with served() as address:
        shown = said("being", "share", "team", "--person", "Ben", "--for", "cursor")
        entry = json.loads(shown)["mcpServers"]["team"]
        assert entry["url"] == f"{address}/team"
        token = entry["headers"]["Authorization"].removeprefix("Bearer ")
        told: list[str] = []
        for mode in MODES:
            async with connected(entry["url"], token, mode) as client:
                said_so = {"action": "I water the fern", "actors": [], "when": ["2026-01-02"]}
                done = await client.call_tool("update_notes", {"scenes": [said_so]})
                assert not done.is_error, done.content
                found = await client.call_tool("recall", {"user_message": "Who waters the fern?"})
                told.append(str(found.content))
        assert all("fern" in one and "Ben" in one for one in told)
    assert refused("being", "create", "team").startswith(
        "claw being create: there is a Being called 'team' already"
    )


def test_a_token_is_for_one_person_with_one_scope_and_shown_once(home: Path) -> None:
    run("being", "create", "team")
    made = run(
        *("being", "share", "team", "--person", "Ben", "--scope", "read-only", "--expires", "30d")
    )
    assert "team for Ben: read-only, until " in made.stderr
    assert "Nobody serves it right now: `claw being serve` does" in made.stderr
    entry = json.loads(made.stdout)["mcpServers"]["team"]
    assert entry["url"] == "http://127.0.0.1:8765/mcp/team"
    secret = entry["headers"]["Authorization"].removeprefix("Bearer ")
    (kept,) = as_json("being", "token", "list", "team")
    assert (kept["person"], kept["scope"]) == ("Ben", "read-only")
    files = [file for file in (home / "claw").rglob("*") if file.is_file()]
    assert files
    assert not any(secret.encode() in file.read_bytes() for file in files)


def test_each_client_gets_its_own_form() -> None:
    run("being", "create", "team")

    def share(client: str) -> str:
        url = ("--url", "https://memory.example.com")
        return said("being", "share", "team", "--for", client, *url)

    url = "https://memory.example.com/mcp/team"
    assert json.loads(share("vscode"))["servers"]["team"]["type"] == "http"
    assert tomllib.loads(share("codex"))["mcp_servers"]["team"]["url"] == url
    command = shlex.split(share("claude"))
    assert command[:6] == ["claude", "mcp", "add", "--transport", "http", "team"]
    assert command[6] == url
    assert command[8].startswith("Authorization: Bearer brt_")
    for client in CLIENTS:
        assert url in share(client.id)
    problem = refused("being", "share", "team", "--for", "clauds", code=2)
    assert "no client is called `clauds`" in problem
    in_the_clear = refused("being", "share", "team", "--url", "http://memory.example.com")
    assert "https" in in_the_clear


def test_names_work_in_addresses_and_others_have_their_ids_there() -> None:
    for name in ("team", "Ada's garden"):
        run("being", "create", name)
    create_named("../x")
    with served() as address:
        for being in as_json("being", "list"):
            shared = as_json("being", "share", being["name"])
            last = being["name"] if being["name"] == "team" else being["id"]
            assert shared["url"] == f"{address}/{last}"
            assert call(shared["url"], shared["token"], "get_current_time")[0] == 200
        garden = as_json("being", "share", "Ada's garden")["token"]
        assert call(f"{address}/Ada%27s%20garden", garden, "get_current_time")[0] == 200
        assert call(f"{address}/team", garden, "get_current_time")[0] == 403


def test_what_is_pasted_and_what_is_installed_call_a_being_alike(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_environment(monkeypatch)
    file = BY_CLIENT["cursor"].write(home)
    run("remember", "Anna is allergic to nuts", "--embedder", "none")
    for being in ("team", "Ada's garden"):
        run("being", "create", being)
    for being, name in (
        ("team", "team"),
        ("Ada's garden", "Ada-s-garden"),
        ("assistant", "memory"),
    ):
        shared = as_json("being", "share", being)
        assert shared["entry"] == name
        assert list(json.loads(shared["config"])["mcpServers"]) == [name]
        told = run("being", "share", being).stderr
        assert (f"--name {name}" in told) is ("'" in being)
        (found,) = (one for one in as_json("being", "list") if one["name"] == being)
        for called in (being, found["id"]):
            run("install", "cursor", "--being", called)
            assert json.loads(file.read_text())["mcpServers"][name]["args"][-1] == called
            run("install", "cursor", "--being", called, "--remove")
            assert name not in json.loads(file.read_text())["mcpServers"]


def test_install_takes_the_address_and_asks_for_the_token(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain_environment(monkeypatch)
    monkeypatch.chdir(home)
    file = BY_CLIENT["cursor"].write(home)
    before = file.read_bytes()
    run("being", "create", "team")
    with served():
        shared = as_json("being", "share", "team", "--person", "Ben")
        url, token = shared["url"], shared["token"]
        assert "needs a token" in refused("install", "cursor", "--being", url)
        wrong = {"CLAW_BEING_TOKEN": "brt_" + "x" * 43}
        assert "refuses this token (401)" in refused("install", "cursor", "--being", url, env=wrong)
        tried = {"CLAW_BEING_TOKEN": token}
        planned = run("install", "cursor", "--being", url, "--dry-run", env=tried)
        assert token not in planned.stdout + planned.stderr
        assert file.read_bytes() == before
        command = ("install", "cursor", "--being", url)
        with terminal(str(PROGRAMS / "claw"), *command, width=120) as window:
            window.shows("Token:")
            window.hides()
            window.type(f"{token}\n")
            assert window.ends() == 0
            assert token not in window.output
        entry = json.loads(file.read_text())["mcpServers"]["team"]
        assert entry == {"url": url, "headers": {"Authorization": f"Bearer {token}"}}
        assert call(entry["url"], token, "get_current_time")[0] == 200
    run("install", "cursor", "--being", url, "--remove")
    assert file.read_bytes() == before


def test_a_server_in_a_terminal_speaks_to_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)
    run("being", "create", "team")
    command = ("being", "serve", "--port", "0", "--embedder", "none")
    with terminal(str(PROGRAMS / "claw"), *command, width=120, height=40) as window:
        window.shows("Serving 1 Being at http://127.0.0.1:", "claw being share team --person NAME")
        shared = as_json("being", "share", "team", "--person", "Ben")
        window.shows(f"  team  {shared['url']}")
        call(shared["url"], shared["token"], "recall", user_message="hello")
        window.shows("recall           ok", "team Ben")
        call(shared["url"], "brt_" + "x" * 43, "recall", user_message="hello")
        window.shows("refused (401)")
        assert "{" not in window.text
        assert shared["token"] not in window.output
        window.type("\x03")
        assert window.ends() == 130
    assert as_json("being", "share", "team")["served"] is False


class _Anybody(BaseHTTPRequestHandler):
    """Says that it is well, like a server of ours."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ok"}')

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_server_that_was_killed_is_not_taken_for_one_that_answers(home: Path) -> None:
    """Whoever listens on its port afterwards gets no token of ours shown beside its address."""
    run("being", "create", "team")
    with served() as address:
        (note,) = (home / "claw" / "data").glob("*/serving/*.json")
        assert as_json("being", "share", "team")["served"] is True
        os.kill(int(note.stem), signal.SIGKILL)
    assert note.exists()
    assert as_json("being", "share", "team")["served"] is False
    port = urlsplit(address).port
    assert port is not None
    with ThreadingHTTPServer(("127.0.0.1", port), _Anybody) as other:
        threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
        try:
            shared = as_json("being", "share", "team")
        finally:
            other.shutdown()
    assert shared["served"] is False
    assert str(port) not in shared["url"]


def test_no_being_is_called_by_the_id_of_another() -> None:
    run("being", "create", "team")
    (team,) = as_json("being", "list")
    assert f"'{team['id']}' is the id of a Being" in refused("being", "create", team["id"])
    assert len(as_json("being", "list")) == 1


def test_an_address_that_others_can_use_is_told() -> None:
    assert reachable("http://127.0.0.1:1/mcp") == "http://127.0.0.1:1/mcp"
    assert reachable("http://0.0.0.0:1/mcp", ["m.example"]) == "http://m.example:1/mcp"
    assert "0.0.0.0" not in reachable("http://0.0.0.0:1/mcp")
    assert "[::]" not in reachable("http://[::]:1/mcp")
    being = Being(1, "an-id", "..", 0.0)
    assert address_for("/mcp", being) == "/mcp/an-id"


def test_a_second_being_does_not_hide_behind_the_name_of_the_first(home: Path) -> None:
    (home / ".cursor").mkdir()
    for name in ("team", "house"):
        run("being", "create", name)
    run("install", "cursor", "--being", "team")
    told = run("install", "cursor", "--being", "house", "--name", "team", code=1)
    assert "another name with --name" in told.stdout + told.stderr
    run("install", "cursor", "--being", "house")


@pytest.mark.usefixtures("home")
def test_a_server_does_not_invite_others_into_what_the_assistant_was_told() -> None:
    run("remember", "My doctor is in Elm Street")
    serve = (str(PROGRAMS / "claw"), "being", "serve", "--port", "0", "--embedder", "none")
    with terminal(*serve) as screen:
        screen.shows("claw being create NAME")
        assert "share assistant" not in screen.text
    run("being", "create", "team")
    with terminal(*serve) as screen:
        screen.shows("claw being share team")
