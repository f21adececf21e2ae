"""What `claw wrap` says and records, and what a wrapped server then gets and may do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from clawkit.hosts.ledger import WrappedCommand, items, wrapped_command
from tests.claw import claw
from tests.guard.guarded_server import CLIENT, VICTIM
from tests.guard.policy.decisions import KEYS_DENIED
from tests.processes import StdioServer

FILES = ["-y", "@modelcontextprotocol/server-filesystem"]
SECRET = "MY_OWN_SECRET"


def write(home: Path, place: str = ".cursor/mcp.json", **servers: dict[str, Any]) -> Path:
    file = home / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def test_wrap_shows_the_profile_and_what_asks_in_ten_lines(home: Path) -> None:
    entry = {"command": "npx", "args": [*FILES, str(home / "p")], "env": {"LOG": "1"}}
    write(home, files=entry)
    write(home, ".config/Claude/claude_desktop_config.json", files=entry)
    _, _, empty, *lines = claw("wrap", "files", code=0).stdout.splitlines()
    assert empty == ""
    assert len(lines) <= 10
    assert lines[:4] == [
        "files: profile filesystem, by its command line",
        "  unasked  reading, listing and searching inside ~/p",
        "  asks     writing, editing, moving, making folders; hidden files of your home",
        "  gets     LOG; of yours only PATH, HOME, locale, proxies and certificates",
    ]
    assert lines[5].startswith("Claude Desktop shows no forms: keep `claw approvals` open")


def test_a_client_with_forms_needs_no_view_and_an_unknown_server_asks(home: Path) -> None:
    write(home, mine={"command": "my-server"})
    text = claw("wrap", "mine", code=0).stdout
    assert "claw approvals" not in text
    assert "  asks     every call" in text
    told = json.loads(claw("wrap", "mine", "--json", "--dry-run").stdout)
    assert "guarded" not in told  # it is wrapped already


def test_a_server_with_a_url_is_known_by_its_address(home: Path) -> None:
    write(home, hub={"url": "https://api.githubcopilot.com/mcp/"}, far={"url": "https://a.example"})
    assert "hub: profile github, by its address" in claw("wrap", "hub", code=0).stdout
    told = claw("wrap", "far", code=0).stdout
    assert "  unasked  nothing: its address is not one that we know" in told
    assert "command line" not in told


def test_a_variable_that_may_change_what_is_started_is_named(home: Path) -> None:
    entry = {"command": "npx", "args": [*FILES, str(home / "p")]}
    write(home, files={**entry, "env": {"NODE_OPTIONS": "-r ./x.js", "LOG": "1"}})
    told = claw("wrap", "files", code=0).stdout
    assert "files: no profile" in told
    assert "  unasked  nothing: NODE_OPTIONS may change what it starts" in told
    assert "profile filesystem" not in claw("policy", "show", "--server", "files").stdout


def test_what_a_server_is_called_and_says_of_itself_chooses_no_profile(home: Path) -> None:
    write(home, filesystem={"command": "my-server", "args": [*FILES[1:], "/"]})
    (told,) = json.loads(claw("wrap", "filesystem", "--json", code=0).stdout)["guarded"]
    assert told["profile"] is None


def test_wrapping_all_skips_our_own_servers_and_those_that_cannot_be_guarded(home: Path) -> None:
    write(
        home,
        openclaw={"command": "openclaw", "args": ["mcp-server"]},
        far={"url": "https://far.example/mcp", "oauth": {"clientId": "x"}},
        mine={"command": "my-server"},
    )
    changes = json.loads(claw("wrap", "--all", "--json", code=0).stdout)["changes"]
    assert [(one["server"], one["action"]) for one in changes] == [
        ("openclaw", "unchanged"),
        ("far", "unchanged"),
        ("mine", "wrapped"),
    ]
    assert "our own assistant" in changes[0]["note"]
    assert "oauth" in changes[1]["note"]


def test_wrapping_all_believes_no_words_on_a_command_line(home: Path) -> None:
    namesake = home / "evil" / "claw"
    namesake.parent.mkdir()
    namesake.touch()
    write(
        home,
        words={"command": "evil", "args": ["openclaw", "proxy"]},
        shell={"command": "sh", "args": ["claw", "proxy", "--", "evil"]},
        namesake={"command": str(namesake), "args": ["proxy", "--", "x"]},
        served={"command": "claw", "args": ["serve", "tools.py"]},
        other={"command": str(namesake), "args": ["mcp-server"]},
    )
    states = json.loads(claw("wrap", "--status", "--json", code=0).stdout)["servers"]
    assert {one["state"] for one in states} == {"not wrapped"}
    changes = json.loads(claw("wrap", "--all", "--json", code=0).stdout)["changes"]
    assert {one["action"] for one in changes} == {"wrapped"}
    assert len(changes) == 5


def test_a_policy_without_a_place_for_profiles_is_left_alone_and_said(home: Path) -> None:
    policy = home / "claw" / "config" / "clawai" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\naction = "prompt"\ntool = "*"\n')
    write(home, files={"command": "npx", "args": [*FILES, str(home)]})
    assert "It has no place for profiles" in claw("wrap", "files", code=0).stdout
    assert policy.read_text() == '[[rule]]\naction = "prompt"\ntool = "*"\n'


def test_the_names_of_an_entrys_variables_are_recorded_and_no_values(home: Path) -> None:
    write(home, a={"command": "a", "env": {"A_TOKEN": "s3cret-value"}}, b={"command": "b"})
    claw("wrap", "--all", code=0)
    assert wrapped_command(["a"]) == WrappedCommand(("a",), ("A_TOKEN",))
    assert wrapped_command(["b"]) == WrappedCommand(("b",), ())
    assert wrapped_command(["c"]) == WrappedCommand()


def test_variables_from_a_file_are_not_known_and_nothing_is_recorded(home: Path) -> None:
    write(home, a={"command": "a", "envFile": ".env"})
    claw("wrap", "a", code=0)
    assert [item.variables for item in items()] == [None]


def test_names_that_codex_and_goose_pass_on_are_recorded_too(home: Path) -> None:
    codex = home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.a]\ncommand = "a"\nenv_vars = ["ONE"]\nenv = { TWO = "2" }\n')
    goose = home / ".config" / "goose" / "config.yaml"
    goose.parent.mkdir(parents=True)
    goose.write_text(
        "extensions:\n  b:\n    type: stdio\n    cmd: b\n    args: []\n    env_keys: [THREE]\n"
    )
    claw("wrap", "--all", code=0)
    assert wrapped_command(["a"]).variables == ("TWO", "ONE")
    assert wrapped_command(["b"]).variables == ("THREE",)


def environment_of(entry: dict[str, Any]) -> set[str]:
    """The variables that the server behind an entry has, started as its client would."""
    given = {SECRET: "x", "LC_TIME": "C", "HTTPS_PROXY": "http://127.0.0.1:9"}
    guard = StdioServer(entry["command"], *entry["args"], env={**given, **entry.get("env", {})})
    try:
        about = {"capabilities": {}, "clientInfo": CLIENT, "protocolVersion": "2025-11-25"}
        guard.call("initialize", about, "init")
        params = {"name": "act", "arguments": {"do": "environment"}}
        return set(guard.call("tools/call", params, 1)["result"]["content"][0]["text"].split())
    finally:
        guard.stop()


@pytest.fixture
def entry(home: Path, tmp_path: Path) -> dict[str, Any]:
    """The selftest's server as an entry, wrapped, with a policy that allows all."""
    policy = home / "claw" / "config" / "clawai" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\naction = "allow"\ntool = "*"\n')
    journal = tmp_path / "journal"
    journal.touch()
    command = {"command": sys.executable, "args": [str(VICTIM), str(journal)]}
    file = write(home, victim={**command, "env": {"GITHUB_TOKEN": "t"}})
    claw("wrap", "victim", code=0)
    return json.loads(file.read_text())["mcpServers"]["victim"]


def test_a_wrapped_server_gets_its_entrys_variables_and_the_base(entry: dict[str, Any]) -> None:
    names = environment_of(entry)
    assert {"GITHUB_TOKEN", "PATH", "HOME", "LC_TIME", "HTTPS_PROXY"} <= names
    assert SECRET not in names
    assert "CLAW_MEMORY_PATIENCE" in os.environ
    assert "CLAW_MEMORY_PATIENCE" not in names


def test_env_in_the_policy_widens_what_a_wrapped_server_gets(
    entry: dict[str, Any], home: Path
) -> None:
    policy = home / "claw" / "config" / "clawai" / "policy.toml"
    policy.write_text(f'{policy.read_text()}[env.victim]\nallow = ["MY_OWN_*"]\n')
    names = environment_of(entry)
    assert {"GITHUB_TOKEN", "PATH", SECRET} <= names
    assert "the base, GITHUB_TOKEN, MY_OWN_*" in claw("status").stdout


def test_without_a_record_a_server_gets_everything(entry: dict[str, Any], home: Path) -> None:
    ledger = home / "claw" / "data" / "claw" / "guard" / "ledger.json"
    records = json.loads(ledger.read_text())
    del records[0]["variables"]
    ledger.write_text(json.dumps(records))
    assert SECRET in environment_of(entry)


def test_explain_knows_the_profile_of_a_wrapped_server(home: Path) -> None:
    write(home, files={"command": "npx", "args": [*FILES, str(home / "p")]})
    claw("wrap", "files", code=0)
    call = ("read_file", f"path={home}/p/a")
    assert "profile filesystem" in claw("policy", "explain", "--server", "files", *call).stdout
    assert "profile" not in claw("policy", "explain", *call).stdout.splitlines()[0]
    assert "profile filesystem" in claw("policy", "show", "--server", "files").stdout


def test_profiles_are_listed_printed_and_linted(tmp_path: Path) -> None:
    listed = json.loads(claw("policy", "profiles", "--json", code=0).stdout)
    assert {"filesystem", "git", "fetch", "github"} <= {one["name"] for one in listed}
    file = tmp_path / "git.toml"
    file.write_text(claw("policy", "profiles", "git", code=0).stdout)
    claw("policy", "lint", file, code=0)
    assert "there are filesystem" in claw("policy", "profiles", "nonsense", code=2).stderr


LOOSE = f"""{KEYS_DENIED}
[[rule]]
action = "allow"
tool = "read_*"

[[rule]]
action = "prompt"
tool = "*"
"""


def _policy(home: Path, text: str) -> None:
    file = home / "claw" / "config" / "clawai" / "policy.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_wrap_promises_only_what_the_policy_in_use_does(home: Path) -> None:
    _policy(home, LOOSE)
    write(home, files={"command": "npx", "args": [*FILES, str(home)]})
    assert "allow" in claw("policy", "explain", "read_file", "path=/etc/shadow").stdout
    told = claw("wrap", "files", code=0).stdout
    assert "files: no profile" in told
    assert "  unasked  what rule 2 of your policy allows" in told
    assert "  asks     every other call" in told
    assert "Denied to all" not in told
    assert "Warning: Your policy does not deny" in told


def test_a_rule_that_allows_everything_is_told_as_such(home: Path) -> None:
    _policy(home, '[[rule]]\naction = "allow"\ntool = "*"\n')
    write(home, files={"command": "npx", "args": [*FILES, str(home)]})
    (told,) = json.loads(claw("wrap", "files", "--json", "--dry-run").stdout)["guarded"]
    assert told["passes"] == "every call that no rule before rule 1 of your policy stops"
    assert told["asks"] == "nothing"


def test_a_policy_that_denies_the_rest_asks_about_nothing(home: Path) -> None:
    _policy(home, '[[rule]]\naction = "deny"\ntool = "*"\nserver = "other"\n')
    write(home, mine={"command": "my-server"})
    (told,) = json.loads(claw("wrap", "mine", "--json", "--dry-run").stdout)["guarded"]
    assert told["asks"] == "nothing; every other call is denied"


def test_what_an_own_rule_allows_before_the_denials_breaks_the_promise(home: Path) -> None:
    claw("policy", "init", code=0)
    file = home / "claw" / "config" / "clawai" / "policy.toml"
    rule = f'[[rule]]\naction = "allow"\ntool = "read_*"\nargs.path = "{home}/**"\n\n'
    file.write_text(rule + file.read_text())
    write(home, files={"command": "npx", "args": [*FILES, str(home / "p")]})
    told = claw("wrap", "files", code=0).stdout
    assert "files: profile filesystem" in told
    assert "inside ~/p; what rule 1 of your policy allows" in told
    assert "Warning: Rule 1 of your policy may allow what is denied otherwise.\nDenied" in told


def test_a_policy_that_cannot_be_used_promises_nothing(home: Path) -> None:
    _policy(home, "[[rule]\n")
    write(home, files={"command": "npx", "args": [*FILES, str(home)]})
    told = claw("wrap", "files", code=0).stdout
    assert "files: no profile" in told
    assert "  unasked  nothing: the policy cannot be used" in told
    assert "Warning: The policy cannot be used, so every call is denied" in told
