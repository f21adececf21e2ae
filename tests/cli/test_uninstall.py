"""`claw uninstall`: everything of ours out of every client, byte by byte, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.claw import PROGRAMS, claw
from tests.cli.commands import plain_environment
from tests.guard.terminal import terminal
from tests.hosts.samples import BY_CLIENT, SAMPLES

TOOLS = """from clawkit import claw_tool


@claw_tool
def forecast(city: str) -> str:
    "The weather to come."
    return city
"""


@pytest.fixture(autouse=True)
def in_an_empty_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plain_environment(monkeypatch)
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_CONFIG_PATH"):
        monkeypatch.delenv(variable, raising=False)
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def test_every_client_is_as_it_was_before_we_came(home: Path) -> None:
    before = {file: file.read_bytes() for file in (sample.write(home) for sample in SAMPLES)}
    (home / "weather.py").write_text(TOOLS)
    claw("being", "create", "team", code=0)
    claw("install", "--all", code=0)
    claw("install", "--all", "--being", "team", code=0)
    claw("install", "cursor", home / "weather.py", code=0)
    claw("wrap", "--all")
    assert all(file.read_bytes() != was for file, was in before.items())
    planned = claw("uninstall", "--dry-run").stdout
    assert "Nothing was changed: this was a dry run." in planned
    assert all(file.read_bytes() != was for file, was in before.items())
    done = claw("uninstall", "--yes", code=0).stdout
    assert {file: file.read_bytes() for file in before} == before
    assert "weather" in done
    assert "No client on this machine has anything of ours." in claw("uninstall", "--yes").stdout


def test_what_was_written_by_hand_goes_too_and_what_is_others_stays(home: Path) -> None:
    file = BY_CLIENT["cursor"].write(home)
    others = {"files": {"command": "npx", "args": ["-y", "openclaw"]}}
    ours = {
        "a": {"command": "claw", "args": ["mcp-server"]},
        "b": {"command": "uvx", "args": ["--from", "clawkit", "openclaw", "mcp-server"]},
        "c": {"command": "python3", "args": ["-m", "clawkit", "serve", "x.py"]},
        "d": {"command": "clawai", "args": ["proxy", "--", "claw", "being", "stdio", "team"]},
    }
    guarded = {"g": {"command": "clawai", "args": ["proxy", "--", "npx", "server"]}}
    file.write_text(json.dumps({"mcpServers": {**others, **ours, **guarded}}))
    claw("uninstall", "--yes", code=0)
    left = json.loads(file.read_text())["mcpServers"]
    assert left == {**others, "g": {"command": "npx", "args": ["server"]}}


def test_an_entry_with_variables_is_kept_and_said(home: Path) -> None:
    file = BY_CLIENT["cursor"].write(home)
    written = {"command": "claw", "args": ["mcp-server"], "env": {"OPENAI_API_KEY": "sk-nowhere"}}
    file.write_text(json.dumps({"mcpServers": {"mine": written}}))
    (home / "weather.py").write_text(TOOLS)
    claw("install", "cursor", "--name", "added", home / "weather.py", code=0)
    edited = json.loads(file.read_text())
    edited["mcpServers"]["added"]["env"] = {"CITY": "Oslo"}
    file.write_text(json.dumps(edited))
    told = claw("uninstall", "--yes", code=0).stdout
    assert json.loads(file.read_text()) == edited
    assert "variables that we did not write (OPENAI_API_KEY): take it out by hand" in told
    assert "(CITY)" in told
    assert "sk-nowhere" not in told
    assert "Restart" not in told


def test_an_entry_of_another_project_is_found_by_its_record(
    home: Path, in_an_empty_project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    BY_CLIENT["cursor"].write(home)
    claw("install", "cursor", "--project", in_an_empty_project, code=0)
    elsewhere = home / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    claw("uninstall", "--yes", code=0)
    assert not (in_an_empty_project / ".cursor" / "mcp.json").exists()


def test_it_says_what_stays_and_where(home: Path) -> None:
    claw("remember", "Anna likes tea", code=0)
    claw("policy", "init", code=0)
    told = claw("uninstall", "--yes", code=0).stdout
    assert "~/claw/config/clawai/policy.toml" in told
    assert "sessions, memories" in told
    stays = json.loads(claw("uninstall", "--yes", "--json", code=0).stdout)["stays"]
    assert [one["place"] for one in stays] == [
        str(home / "claw" / "config" / "clawai" / "policy.toml"),
        str(home / "claw" / "data" / "claw"),
    ]
    assert "Anna likes tea" in claw("recall", "What does Anna like?").stdout


def test_it_asks_first_and_without_a_terminal_wants_yes(home: Path) -> None:
    file = BY_CLIENT["cursor"].write(home)
    claw("install", "cursor", code=0)
    installed = file.read_bytes()
    assert "give --yes or --dry-run" in claw("uninstall", code=2).stderr
    with terminal(str(PROGRAMS / "claw"), "uninstall", width=120) as window:
        window.shows("openclaw  cursor", "Take these out? [y/N]")
        window.type("n\n")
        assert window.ends() == 1
    assert file.read_bytes() == installed
    with terminal(str(PROGRAMS / "claw"), "uninstall", width=120) as window:
        window.shows("Take these out? [y/N]")
        window.type("\x03")
        assert window.ends() == 130
    with terminal(str(PROGRAMS / "claw"), "uninstall", width=120) as window:
        window.shows("Take these out? [y/N]")
        window.type("y\n")
        assert window.ends() == 0
    assert file.read_bytes() != installed
