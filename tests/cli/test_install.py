"""`claw install` as a person types it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clawkit.assistant.memory.place import MemoryPlace
from clawkit.cli.app import app
from clawkit.hosts.clients import CLIENTS
from clawkit.settings import settings
from tests.claw import CLAW
from tests.cli.commands import plain_environment
from tests.guard.approvals import until
from tests.guard.terminal import terminal
from tests.hosts.samples import BY_CLIENT, KEY, SAMPLES, TOKEN

PROGRAM = str(Path(sys.executable).with_name("openclaw"))


@pytest.fixture(autouse=True)
def in_an_empty_project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    plain_environment(monkeypatch)
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "OPENCLAW_CONFIG_PATH"):
        monkeypatch.delenv(variable, raising=False)
    project = home / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    settings.cache_clear()
    yield
    settings.cache_clear()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ("install", *arguments), prog_name="claw")


def test_it_says_where_it_was_installed_and_what_to_restart(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    result = run("cursor")
    assert result.exit_code == 0, result.output
    first = result.stdout.splitlines()[0]
    assert first.split() == ["installed", "openclaw", "cursor", "~/.cursor/mcp.json"]
    assert "Restart Cursor for this to count." in result.stdout
    entry = json.loads(path.read_text())["mcpServers"]["openclaw"]
    assert entry == {"type": "stdio", "command": PROGRAM, "args": ["mcp-server"]}
    assert "unchanged" in run("Cursor").stdout
    result = run("cursor", "--remove")
    assert (result.exit_code, result.stdout.split()[0]) == (0, "removed")
    assert path.read_bytes() == before


def test_it_says_who_will_answer_there(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    BY_CLIENT["cursor"].write(home)
    assert "No language model is chosen yet: `claw setup`" in run("cursor", "--name", "a").stdout
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shown = run("cursor", "--name", "b").stdout
    assert "OPENAI_API_KEY is set: `claw setup --provider openai --yes --keep-key` has it" in shown
    config = home / "claw" / "config" / "claw"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('[model]\nuse = "openai"\n')
    shown += run("cursor", "--name", "c").stdout
    assert "OPENAI_API_KEY is set in this shell, which the client may not see" in shown
    assert KEY not in shown


def test_a_memory_is_installed_beside_the_assistant(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    run("cursor")
    before = path.read_bytes()
    missing = run("cursor", "--being", "team")
    assert (missing.exit_code, path.read_bytes()) == (1, before)
    assert "there is no Being called 'team'" in missing.stderr
    make_being("team")
    result = run("cursor", "--being", "team")
    assert result.stdout.splitlines()[0].split()[:3] == ["installed", "team", "cursor"]
    assert "claw setup" not in result.stdout
    entry = json.loads(path.read_text())["mcpServers"]["team"]
    assert entry["args"] == ["being", "stdio", "team"]
    assert [line.split()[0] for line in run("--being", "team").stdout.splitlines()[:1]] == ["added"]
    make_being("other")
    other = run("cursor", "--being", "other", "--name", "team")
    assert (other.exit_code, "another name with --name" in other.stdout) == (1, True)
    assert run("cursor", "--being", "team", "--remove").exit_code == 0
    assert path.read_bytes() == before


def test_a_file_with_tools_is_installed_in_every_client_and_taken_out_again(home: Path) -> None:
    paths = [sample.write(home) for sample in SAMPLES]
    before = [path.read_bytes() for path in paths]
    file = _file("weather.py", "def forecast(city: str) -> str:\n    return city")
    result = run("weather.py", "--all", "--json")
    assert result.exit_code == 0, result.output
    outcomes = json.loads(result.stdout)["outcomes"]
    assert [one["action"] for one in outcomes] == ["installed"] * len(SAMPLES)
    cursor = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["weather"]
    assert cursor["args"] == ["serve", str(file)]
    assert cursor["command"] == str(Path(sys.executable).with_name("claw"))
    assert "already installed" in run("cursor", str(file)).stdout
    listed = run("weather.py").stdout
    assert {line.split()[0] for line in listed.splitlines()[: len(SAMPLES)]} == {"added"}
    assert "`claw install CLIENT weather.py --remove` takes it out again." in listed
    file.unlink()
    assert run("weather.py", "--all", "--remove").exit_code == 0
    assert [path.read_bytes() for path in paths] == before


def test_a_file_is_loaded_before_a_client_has_to(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    _file("unfinished.py", "def forecast(")
    for target, problem in (
        ("unfinished.py", "SyntaxError"),
        ("nothing.py", "nothing.py: no such file"),
        ("weather.py:other", "has no server called 'other'"),
    ):
        _file("weather.py", "def forecast() -> str:\n    return 'x'")
        refused = run("cursor", target)
        assert refused.exit_code == 1
        assert problem in refused.stderr
    assert run("cursor", "weather.py", "--being", "team").exit_code == 2
    shown = run("cursor", "weather.py", "--dry-run", "--name", "sky").stdout
    assert '"sky": {' in shown
    assert path.read_bytes() == before


def test_another_server_of_the_same_name_is_left_alone(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    _file("weather.py", "def forecast() -> str:\n    return 'x'")
    run("cursor", "weather.py")
    before = path.read_bytes()
    _file("garden.py", "def forecast() -> str:\n    return 'x'")
    other = run("cursor", "garden.py", "--name", "weather")
    assert (other.exit_code, path.read_bytes()) == (1, before)
    assert "mcpServers.weather is there and is something else" in other.stdout
    path.write_text(path.read_text() + "\n")  # what is there is told by what it says
    kept = run("cursor", "garden.py", "--name", "weather", "--remove")
    assert "weather is not the server of" in kept.stdout
    assert run("cursor", "weather.py", "--remove").exit_code == 0
    assert "weather" not in json.loads(path.read_text())["mcpServers"]


def _file(name: str, function: str) -> Path:
    path = Path(name).absolute()
    path.write_text(f"from clawkit import claw_tool\n\n\n@claw_tool\n{function}\n")
    return path


def make_being(name: str) -> None:
    store = MemoryPlace(embedder="none").open()
    store.create(name)
    store.close()


def test_without_a_client_it_lists_those_that_are_found(home: Path) -> None:
    BY_CLIENT["zed"].write(home)
    BY_CLIENT["codex"].write(home)
    run("zed")
    result = run()
    assert result.exit_code == 0
    assert [line.split()[-2] for line in result.stdout.splitlines()[:2]] == ["zed", "codex"]
    assert "Not found on this machine: Claude Desktop, Claude Code, Cursor" in result.stdout
    assert [line.split("  ")[0] for line in result.stdout.splitlines()[:2]] == [
        *("added", "not added"),
    ]
    assert "`claw install CLIENT --remove` takes it out again." in result.stdout
    assert f"claude mcp add --scope user openclaw -- {PROGRAM} mcp-server" in result.stdout
    clients = json.loads(run("--json").stdout)["clients"]
    assert {one["client"]: one["state"] for one in clients}["zed"] == "installed"


def test_the_clients_that_are_missing_are_listed_in_lines_that_break_between_words() -> None:
    with terminal(*CLAW, "install", width=60) as screen:
        assert screen.ends() == 0
        until(lambda: "claude mcp add" in screen.text)
    told = screen.text.partition("\n\n")[0].splitlines()
    assert len(told) > 2
    titles = {word for one in CLIENTS for word in one.title.split()}
    listed = " ".join(told).removeprefix("Not found on this machine: ").removesuffix(".")
    assert {word.removesuffix(",") for word in listed.split()} <= titles


def test_nowhere_to_be_found_is_said(home: Path) -> None:
    assert "No MCP client that we know was found" in run("--all").stdout
    result = run("cursor")
    assert result.exit_code == 1
    assert f"there is no {home / '.cursor'}" in result.stdout
    assert not (home / ".cursor").exists()


def test_all_of_them_at_once_and_back(home: Path) -> None:
    paths = [sample.write(home) for sample in SAMPLES]
    before = [path.read_bytes() for path in paths]
    result = run("--all", "--json")
    assert result.exit_code == 0, result.output
    outcomes = json.loads(result.stdout)["outcomes"]
    assert [one["action"] for one in outcomes] == ["installed"] * len(SAMPLES)
    assert run("--all", "--remove").exit_code == 0
    assert [path.read_bytes() for path in paths] == before


def test_one_that_fails_leaves_the_others_installed(home: Path) -> None:
    BY_CLIENT["zed"].write(home)
    broken = BY_CLIENT["cursor"].write(home)
    broken.write_text("{")
    result = run("--all")
    assert result.exit_code == 1
    assert "failed" in result.stdout
    assert broken.read_text() == "{"
    assert "Restart Zed for" in result.stdout


def test_a_dry_run_shows_only_what_it_would_add(home: Path) -> None:
    paths = [sample.write(home) for sample in SAMPLES]
    before = [path.read_bytes() for path in paths]
    result = run("--all", "--dry-run")
    assert result.exit_code == 0
    assert '+    "openclaw": {' in result.stdout
    assert "+[mcp_servers.openclaw]" in result.stdout
    assert "would be installed" in result.stdout
    assert TOKEN not in result.output
    assert KEY not in result.output
    assert [path.read_bytes() for path in paths] == before


def test_a_project_gets_a_file_of_its_own(home: Path) -> None:
    BY_CLIENT["claude-code"].write(home)
    result = run("claude-code", "--project", ".", "--name", "helper")
    assert result.exit_code == 0, result.output
    assert "helper" in json.loads(Path(".mcp.json").read_text())["mcpServers"]
    assert f"claude mcp add --scope project helper -- {PROGRAM} mcp-server" in result.stdout
    result = run("lmstudio", "--project", ".")
    assert result.exit_code == 1
    assert "claw install: LM Studio keeps no servers in a project" in result.stderr


def test_clawdbot_installs_itself(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = BY_CLIENT["cursor"].write(home)
    monkeypatch.setattr(sys, "argv", ["/somewhere/clawdbot", "install", "cursor"])
    assert run("cursor").exit_code == 0
    entry = json.loads(path.read_text())["mcpServers"]["clawdbot"]
    assert entry["command"] == str(Path(sys.executable).with_name("clawdbot"))


def test_what_cannot_be_meant_is_refused() -> None:
    assert run("--remove").exit_code == 2
    assert run("cursor", "--all").exit_code == 2
    for name in ("a b", "a/b", "a\\b", "a\n"):
        refused = run("cursor", "--name", name)
        assert refused.exit_code == 2
        assert "clients want one word" in refused.stderr
    result = run("emacs")
    assert result.exit_code == 2
    assert "no client is called `emacs`: give one of claude-desktop, " in result.stderr
    assert "--remove" in run("-h").stdout
