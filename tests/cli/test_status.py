"""`claw status`, as a person types it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from clawkit.guard.pins import Pins
from tests.claw import CLAW, claw
from tests.processes import PATIENCE


@pytest.fixture
def guard(home: Path) -> Path:
    folder = home / "claw" / "data" / "claw" / "guard"
    folder.mkdir(parents=True)
    return folder


def status(*arguments: str, code: int = 0) -> str:
    done = claw("status", *arguments, code=code)
    assert done.stderr == ""
    return done.stdout


def in_a_terminal(columns: int) -> list[str]:
    ours, theirs = pty.openpty()
    env = {**os.environ, "COLUMNS": str(columns)}
    subprocess.run((*CLAW, "status"), stdout=theirs, env=env, timeout=PATIENCE, check=True)
    os.close(theirs)
    shown = os.read(ours, 20_000).decode()
    os.close(ours)
    return shown.splitlines()


def test_a_damaged_ledger_is_a_problem_and_not_the_end(guard: Path) -> None:
    (guard / "ledger.json").write_text("{")
    shown = status(code=1)
    assert "  servers    unknown: see the problem below" in shown
    assert f"  problem    {guard / 'ledger.json'}: is damaged" in shown
    assert json.loads(status("--json", code=1))["guard"]["servers"] is None


def test_a_file_in_the_place_of_the_log_is_a_problem(guard: Path) -> None:
    (guard / "audit").write_text("")
    shown = status(code=1)
    assert f"{guard / 'audit'} (cannot be used: see the problem below)" in shown
    assert f"  problem    {guard / 'audit'} cannot be used as the log: Not a directory" in shown


def test_one_thing_is_not_called_several(guard: Path) -> None:
    Pins(guard / "pins", "files").check_list([{"name": "read"}])
    assert "  pins       1 tool of 1 server\n" in status()


def test_a_server_that_cannot_be_wrapped_is_not_advised_to_be(home: Path) -> None:
    servers = {"good": {"command": "x"}, "odd": {"note": "neither command nor address"}}
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    shown = status()
    assert "`claw wrap good`" in shown
    assert "cannot be wrapped" in next(line for line in shown.splitlines() if "odd" in line)
    assert "claw wrap odd" not in shown


def test_only_a_server_that_the_guard_starts_gets_an_environment(home: Path) -> None:
    servers = {"local": {"command": "x"}, "far": {"url": "https://far.example/mcp"}}
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    claw("wrap", "--all", "--project", home, code=0)
    local, far = (line for line in status().splitlines() if " wrapped" in line)
    assert "local" in local
    assert "environment: " in local
    assert far.endswith("wrapped")


def test_lines_break_between_words_and_hang(guard: Path) -> None:
    assert guard.is_dir()
    lines = in_a_terminal(60)
    at = next(number for number, line in enumerate(lines) if line.startswith("  approvals"))
    assert lines[at + 1].startswith(" " * 15)
    said = " ".join(f"{lines[at]} {lines[at + 1]}".split())
    assert "nobody watches; `claw approvals` in a terminal answers what rules want" in said
    assert all(len(line) <= 60 for line in lines if "/" not in line)
