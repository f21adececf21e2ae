"""Where the CLI is looked for, and which versions will do."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.claude.client import ClaudeClient
from clawkit.claude.installation import ask_version, check_version, find_cli
from clawkit.errors import CliNotFoundError, CliVersionError
from tests.claude.cli import real_cli


def program(place: Path, text: str = "echo 2.1.325") -> str:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return str(place)


def test_the_option_comes_first_then_the_variable_then_path_then_the_usual_places(
    tmp_path: Path,
) -> None:
    usual = program(tmp_path / "home" / ".local" / "bin" / "claude")
    on_path = program(tmp_path / "bin" / "claude")
    variable = program(tmp_path / "variable")
    option = program(tmp_path / "option")
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/nowhere"}
    assert find_cli(None, environment) == usual
    environment["PATH"] = str(tmp_path / "bin")
    assert find_cli(None, environment) == on_path
    environment["CLAUDE_CLI_PATH"] = variable
    assert find_cli(None, environment) == variable
    assert find_cli(option, environment) == option


@pytest.mark.parametrize(
    "place", [".claude/local/claude", ".npm-global/bin/claude", "node_modules/.bin/claude"]
)
def test_the_usual_places_are_looked_at(tmp_path: Path, place: str) -> None:
    there = program(tmp_path / place)
    assert find_cli(None, {"HOME": str(tmp_path), "PATH": "/nowhere"}) == there


def test_a_home_is_filled_in_and_a_relative_path_is_of_this_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = program(home / "mine")
    assert find_cli("~/mine", {}) == there
    monkeypatch.chdir(home)
    assert find_cli("mine", {}) == there


@pytest.mark.parametrize("source", ["cli_path", "CLAUDE_CLI_PATH"])
def test_one_that_is_named_and_not_there_is_not_looked_for_elsewhere(
    tmp_path: Path, source: str
) -> None:
    program(tmp_path / "bin" / "claude")
    gone, plain = tmp_path / "gone", tmp_path / "plain"
    plain.touch()
    for path, problem in ((gone, "does not exist"), (plain, "cannot be run")):
        environment = {"PATH": str(tmp_path / "bin"), "CLAUDE_CLI_PATH": str(path)}
        with pytest.raises(CliNotFoundError) as caught:
            find_cli(path if source == "cli_path" else None, environment)
        assert str(caught.value).startswith(f"{source} is {path}, which {problem}: ")
        assert "npm install -g @anthropic-ai/claude-code" in str(caught.value)


async def test_one_that_is_nowhere_says_how_to_install_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(home))
    monkeypatch.setattr("clawkit.claude.installation._usual_places", lambda _: [])
    with pytest.raises(CliNotFoundError, match="npm install -g @anthropic-ai/claude-code"):
        await ClaudeClient().connect()


async def test_the_real_one_is_new_enough() -> None:
    assert check_version("claude", await ask_version(real_cli(), {})) == "2.1.325"


@pytest.mark.process
@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("echo '1.0.83 (Claude Code)'", "is 1.0.83, and 2.1.0 or newer is needed: `claude update`"),
        ("echo hello", "says its version is 'hello': is it the CLI?"),
        ("exit 3", "says its version is ''"),
    ],
)
async def test_one_that_is_too_old_or_no_cli_at_all_is_refused(
    tmp_path: Path, said: str, problem: str
) -> None:
    cli = program(tmp_path / "claude", said)
    with pytest.raises(CliVersionError) as caught:
        await ClaudeClient(cli_path=cli).connect()
    assert problem in str(caught.value)


@pytest.mark.process
async def test_one_that_never_says_its_version_is_refused_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clawkit.claude.installation._PATIENCE", 0.2)
    cli = program(tmp_path / "claude", "exec tail -f /dev/null")
    with pytest.raises(CliVersionError, match=r"--version says nothing for 0\.2 s"):
        await ask_version(cli, {"PATH": "/usr/bin:/bin"})


@pytest.mark.process
async def test_a_file_that_is_no_program_cannot_be_started(tmp_path: Path) -> None:
    cli = tmp_path / "claude"
    cli.write_bytes(b"\x7fELF nonsense")
    cli.chmod(0o755)
    with pytest.raises(CliNotFoundError, match="cannot be started"):
        await ask_version(str(cli), {})
