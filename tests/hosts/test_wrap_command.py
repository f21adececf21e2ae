"""`claw wrap` and `claw unwrap` as a person types them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clawkit.cli.app import app
from clawkit.guard.locations import policy_file
from tests.hosts.samples import BY_CLIENT, KEY, SAMPLES, TOKEN


@pytest.fixture(autouse=True)
def in_an_empty_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_CONFIG_PATH"):
        monkeypatch.delenv(variable, raising=False)
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments, prog_name="claw")


def test_wrap_says_what_changed_what_to_restart_and_where_the_policy_is(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    result = run("wrap", "filesystem")
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert first.split() == ["wrapped", "filesystem", "cursor", "~/.cursor/mcp.json"]
    assert f"Policy: {policy_file()} (made just now" in result.stdout
    assert "Restart Cursor" in result.stdout
    assert policy_file().is_file()
    assert "made just now" not in run("wrap", "sentry").stdout
    result = run("unwrap", "--all")
    assert result.exit_code == 0, result.output
    assert "Restart Cursor" in result.stdout
    assert path.read_bytes() == before


def test_the_first_command_of_all_makes_folders_for_their_owner_only(home: Path) -> None:
    BY_CLIENT["cursor"].write(home)
    usual = os.umask(0o022)
    try:
        assert run("wrap", "filesystem").exit_code == 0
    finally:
        os.umask(usual)
    made = [home / "claw", *(path for path in (home / "claw").rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700}


def test_a_second_wrap_says_that_nothing_changed(home: Path) -> None:
    BY_CLIENT["cursor"].write(home)
    run("wrap", "filesystem")
    result = run("wrap", "filesystem")
    assert result.exit_code == 0
    assert result.stdout.split() == [
        *("unchanged", "filesystem", "cursor", "~/.cursor/mcp.json", "already", "wrapped")
    ]


def test_a_dry_run_prints_a_diff_without_secrets_and_makes_no_policy(home: Path) -> None:
    paths = [sample.write(home) for sample in SAMPLES]
    before = [path.read_bytes() for path in paths]
    result = run("wrap", "--all", "--dry-run")
    assert result.exit_code == 0, result.output
    assert [path.read_bytes() for path in paths] == before
    assert not policy_file().exists()
    assert TOKEN not in result.output
    assert KEY not in result.output
    assert "would be wrapped" in result.stdout
    assert result.stdout.endswith("Nothing was changed: this was a dry run.\n")


def test_the_diff_has_the_lines_of_the_entry(home: Path) -> None:
    path = BY_CLIENT["vscode"].write(home)
    lines = run("wrap", "filesystem", "--dry-run").stdout.splitlines()
    assert lines[:3] == [
        f"--- {path}",
        f"+++ {path}",
        "@@ -8,10 +8,13 @@ servers.filesystem",
    ]
    assert '-            "command": "npx", // from Node' in lines
    assert '+                "proxy",' in lines
    assert '                 "-y", // yes' in lines


def test_status_lists_every_server_as_text_and_as_json(home: Path) -> None:
    for sample in SAMPLES:
        sample.write(home)
    run("wrap", "filesystem", "--client", "zed")
    text = run("wrap", "--status")
    assert text.exit_code == 0
    rows = [line.split() for line in text.stdout.splitlines()]
    assert ["wrapped", "filesystem", "zed", "stdio", "~/.config/zed/settings.json"] in rows
    assert ["not", "wrapped", "docs", "zed", "http", "~/.config/zed/settings.json"] in rows
    assert "claw wrap --all" in text.stdout
    servers = json.loads(run("wrap", "--status", "--json").stdout)["servers"]
    found = {(one["client"], one["server"]): one["state"] for one in servers}
    assert found["zed", "filesystem"] == "wrapped"
    assert found["cursor", "filesystem"] == "not wrapped"
    assert len({client for client, _ in found}) == len(SAMPLES)


def test_json_tells_changes_problems_and_policy(home: Path) -> None:
    BY_CLIENT["cursor"].write(home)
    result = json.loads(run("wrap", "sentry", "--json").stdout)
    (change,) = result["changes"]
    assert (change["server"], change["action"]) == ("sentry", "wrapped")
    assert KEY not in json.dumps(result)
    assert result["policy"] == {"file": str(policy_file()), "made": True, "profiles": True}
    assert result["problems"] == []


def test_a_file_that_is_broken_fails_the_command_and_is_named(home: Path) -> None:
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio/mcp.json").write_text("{\n]")
    BY_CLIENT["cursor"].write(home)
    result = run("wrap", "--all")
    assert result.exit_code == 1
    assert "mcp.json:2: expected a key or `}`, found `]`" in result.stderr
    assert "wrapped" in result.stdout


def test_an_unknown_server_or_client_is_an_error_with_the_known_ones(home: Path) -> None:
    BY_CLIENT["cursor"].write(home)
    result = run("wrap", "nope")
    assert result.exit_code == 1
    assert result.stderr == (
        "claw wrap: no client has a server called `nope`; found: filesystem, sentry\n"
    )
    assert "no client is called `emacs`" in run("unwrap", "--all", "--client", "emacs").stderr


@pytest.mark.parametrize("arguments", [["wrap"], ["wrap", "a", "--all"], ["unwrap"]])
def test_a_name_or_all_but_not_both_must_be_given(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert "--all" in result.output


def test_control_characters_in_a_name_do_not_reach_the_terminal(home: Path) -> None:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"mcpServers": {"a\x1b[2Jb": {"command": "x"}}}))
    for arguments in (["--status"], ["--all", "--dry-run"], ["--all"]):
        result = run("wrap", *arguments)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output


def test_a_machine_without_clients_says_so() -> None:
    for arguments in (["wrap", "--status"], ["wrap", "--all"], ["unwrap", "--all"]):
        result = run(*arguments)
        assert result.exit_code == 0
        assert result.stdout == "No client on this machine has an MCP server.\n"
