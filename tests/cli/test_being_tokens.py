"""`claw being token`, `claw being key`, and what a served Being makes of them."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.claw import CLAW
from tests.cli.being_commands import as_json, refused, run, said
from tests.processes import PATIENCE, stdio_server

MASTER = {"CLAW_MEMORY_KEY": "m" * 40}


def create(name: str = "anna") -> str:
    return as_json("being", "create", name)["id"]


@contextmanager
def served() -> Generator[str]:
    """A real server of the person's store; gives the address of `/mcp`."""
    command = (*CLAW, "being", "serve", "--port", "0", "--embedder", "none")
    env = {**os.environ, "PYTHONUTF8": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=env, encoding="utf-8") as process:
        assert process.stderr is not None
        try:
            yield json.loads(process.stderr.readline())["url"]
        finally:
            process.terminate()
            process.stderr.read()


def call(url: str, token: str, tool: str, **arguments: Any) -> tuple[int, Any]:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, json.load(answer)["result"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_token_is_shown_once_and_kept_nowhere(home: Path) -> None:
    being = create()
    made = run("being", "token", "create", being, "--label", "laptop")
    token = made.stdout.strip()
    assert token.startswith("brt_")
    assert "not shown again" in made.stderr
    assert "/mcp/anna at the address" in made.stderr
    (listed,) = as_json("being", "token", "list", being)
    assert (listed["scope"], listed["label"], listed["kind"]) == ("full", "laptop", "brt")
    stored = b"".join(
        file.read_bytes() for file in (home / "claw" / "data" / "claw").iterdir() if file.is_file()
    )
    assert token.encode() not in stored
    assert token not in said("being", "token", "list", being)


def test_the_table_of_tokens_says_how_each_stands() -> None:
    being = create()
    assert "has no tokens" in said("being", "token", "list", being)
    token = as_json("being", "token", "create", being, "--scope", "read-only", "--expires", "30d")
    as_json("being", "token", "create", being, "--oauth")
    run("being", "token", "revoke", token["info"]["id"])
    head, first, second = said("being", "token", "list", being).splitlines()
    assert head.split() == ["id", "kind", "scope", "state", "last", "used", "person", "label"]
    assert "brt_  read-only  revoked 2" in first
    assert "bto_  full       good" in second


def test_whether_a_token_speaks_for_the_owner_and_whose_it_is_shows() -> None:
    being = create()
    plain = run("being", "token", "create", being, "--person", "Ben")
    assert "Ben speaks through it" in plain.stderr
    assert "with --owner" in plain.stderr
    owners = run("being", "token", "create", being, "--owner")
    assert "may also write soul, rules, preferences and relationships" in owners.stderr
    _, first, second = said("being", "token", "list", being).splitlines()
    assert "full  " in first
    assert first.split()[-1] == "Ben"
    assert "full, owner  " in second
    listed = as_json("being", "token", "list", being)
    assert [(one["owner"], one["person"]) for one in listed] == [(False, "Ben"), (True, "")]
    assert "scope full" in refused(
        "being", "token", "create", being, "--owner", "--scope", "read-only"
    )


def test_only_an_owners_token_writes_what_clients_obey() -> None:
    being = create()
    agent, owner = (
        as_json("being", "token", "create", being, *more)["token"] for more in ([], ["--owner"])
    )
    rule = {"target": "partner_rules", "action": "append", "content": "Answer in French"}
    with served() as address:
        url = f"{address}/{being}"
        status, result = call(url, agent, "update_memory", **rule)
        assert (status, result["isError"]) == (200, True)
        assert "claw being token create BEING --owner" in result["content"][0]["text"]
        status, result = call(url, owner, "update_memory", **rule)
        assert not result.get("isError")


def test_secrets_are_left_out_until_the_being_allows_them() -> None:
    being = create()
    told = run("remember", "The wifi password is hunter2", "--being", being)
    assert "The wifi password is [removed: password]" in told.stdout
    assert f"Not kept: password (`claw being allow-secrets {being}`" in told.stdout
    assert "keeps secrets from now on" in said("being", "allow-secrets", being)
    assert as_json("being", "show", being)["keeps_secrets"] is True
    assert "are kept" in said("being", "show", being)
    told = run("remember", "The alarm password is hunter3", "--being", being)
    assert "hunter3" in told.stdout
    assert "Not kept" not in told.stdout
    said("being", "allow-secrets", being, "--off")
    assert "[removed: pin]" in said("remember", "The PIN is 4711", "--being", being)
    assert "hunter2" not in said("being", "export", being)


def test_a_token_is_revoked_by_the_beginning_of_its_id() -> None:
    being = create()
    beginning = as_json("being", "token", "create", being)["info"]["id"][:8]
    assert f"Revoked {beginning}" in said("being", "token", "revoke", beginning)
    assert "there is no token" in refused("being", "token", "revoke", beginning)


def test_wrong_orders_for_tokens_are_refused_in_words() -> None:
    being = create()
    assert "30d" in refused("being", "token", "create", being, "--expires", "soon", code=2)
    assert "over already" in refused("being", "token", "create", being, "--expires", "2001-01-01")
    assert "read-only" in refused("being", "token", "create", being, "--scope", "half", code=2)
    assert "there is no token" in refused("being", "token", "revoke", "nothing")
    assert as_json("being", "token", "list", being) == []


def test_tokens_open_what_they_are_for_until_they_are_revoked() -> None:
    being = create()
    full = as_json("being", "token", "create", being)
    reader = as_json("being", "token", "create", being, "--scope", "read-only")
    oauth = as_json("being", "token", "create", being, "--oauth")["token"]
    scene = {"action": "Anna likes tea", "actors": ["Anna"], "when": ["2026-01-02"]}
    with served() as address:
        url = f"{address}/{being}"
        assert call(url, full["token"], "update_notes", scenes=[scene])[0] == 200
        assert call(url, reader["token"], "update_notes", scenes=[scene])[0] == 403
        assert call(url, reader["token"], "search_memory", query="tea")[0] == 200
        assert call(address, oauth, "search_memory", query="tea")[0] == 200
        assert call(address, full["token"], "search_memory", query="tea")[0] == 400
        run("being", "token", "revoke", full["info"]["id"])
        assert call(url, full["token"], "search_memory", query="tea")[0] == 401


def test_a_being_is_served_over_stdio_to_clients_without_http() -> None:
    being = create()
    run("remember", "Anna is allergic to nuts", "--being", being)
    with stdio_server(*CLAW, "being", "stdio", "anna", "--embedder", "none") as server:
        assert len(server.call("tools/list", {})["result"]["tools"]) == 11
        arguments = {"name": "recall", "arguments": {"user_message": "What is Anna allergic to?"}}
        reply = server.call("tools/call", arguments)
        assert "Anna is allergic to nuts" in reply["result"]["content"][0]["text"]


def test_a_model_key_comes_from_stdin_and_is_stored_encrypted(home: Path) -> None:
    being = create()
    key = "sk-ant-secret-of-somebody"
    run("being", "key", "set", being, stdin=f"{key}\n", env=MASTER)
    assert as_json("being", "show", being)["model_key"] is True
    data = home / "claw" / "data" / "claw"
    assert key.encode() not in b"".join(f.read_bytes() for f in data.iterdir() if f.is_file())
    assert key not in said("being", "export", being)
    assert "Forgot" in said("being", "key", "delete", being)
    assert as_json("being", "show", being)["model_key"] is False
    assert "had none" in said("being", "key", "delete", being)
    assert "one word" in refused("being", "key", "set", being, stdin="\n", env=MASTER)
