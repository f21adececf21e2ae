"""`claude mcp add` and `claude mcp list` with our programs, bare and wrapped."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from clawkit.claude.options import read_mcp_json
from tests.claude.cli import environment, real_cli
from tests.claw import PROGRAMS, finished
from tests.cli.test_being_tokens import served
from tests.processes import ROOT

CALCULATOR = str(ROOT / "examples" / "calculator.py")


class Machine:
    """A person's machine: a home, a project, the CLI and Clawkit."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._env = environment("http://127.0.0.1:9", project.parent)
        self._env["CLAW_HOME"] = str(project.parent / "claw")

    def claude(self, *arguments: str) -> str:
        return self._run(real_cli(), *arguments)

    def claw(self, *arguments: str) -> str:
        return self._run(str(PROGRAMS / "claw"), *arguments)

    def _run(self, *command: str) -> str:
        return finished(*command, code=0, cwd=self._project, env=self._env).stdout


@pytest.fixture
def machine(project: Path) -> Machine:
    return Machine(project)


def test_the_assistant_and_a_wrapped_server_are_connected(machine: Machine) -> None:
    assistant = (str(PROGRAMS / "openclaw"), "mcp-server")
    server = (str(PROGRAMS / "claw"), "serve", CALCULATOR)
    machine.claude("mcp", "add", "--scope", "user", "openclaw", "--", *assistant)
    machine.claude("mcp", "add", "--scope", "user", "sums", "--", *server)
    assert "wrapped" in machine.claw("wrap", "sums")
    listed = machine.claude("mcp", "list")
    assert f"openclaw: {' '.join(assistant)} - ✔ Connected" in listed
    assert f"sums: {PROGRAMS / 'clawai'} proxy -- {' '.join(server)} - ✔ Connected" in listed
    machine.claw("unwrap", "sums")
    assert f"sums: {' '.join(server)} - ✔ Connected" in machine.claude("mcp", "list")


def test_a_shared_memory_is_connected_by_the_line_that_is_printed(
    machine: Machine, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAW_HOME", str(project.parent / "claw"))
    machine.claw("being", "create", "team")
    with served() as address:
        line = machine.claw("being", "share", "team", "--person", "Ben", "--for", "claude")
        program, *arguments = shlex.split(line)
        assert program == "claude"
        machine.claude(*arguments)
        assert f"team: {address}/team (HTTP) - ✔ Connected" in machine.claude("mcp", "list")


def test_the_project_file_that_the_cli_writes_is_read(machine: Machine, project: Path) -> None:
    options = ("--scope", "project", "--env", "KEY=value")
    machine.claude("mcp", "add", "files", *options, "--", "npx", "-y", "files", "/")
    machine.claude(
        "mcp", "add", "--scope", "project", "--transport", "http", "far", "http://far/mcp"
    )
    files, far = read_mcp_json(project / ".mcp.json").values()
    assert files.to_dict() == {
        "type": "stdio",
        "command": "npx",
        "args": ["-y", "files", "/"],
        "env": {"KEY": "value"},
    }
    assert far.to_dict() == {"type": "http", "url": "http://far/mcp", "headers": {}}
