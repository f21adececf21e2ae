"""The commands, as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import ROOT, http_server, serving, stdio_server

CALCULATOR = ROOT / "examples" / "calculator.py"


def claw(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "clawkit", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False
    )


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_the_commands(flag: str) -> None:
    done = claw(flag)
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "tools" in done.stdout
    assert "--http" in claw("serve", flag).stdout


def test_version_is_printed() -> None:
    assert claw("--version").stdout.startswith("clawkit 0.")


@pytest.mark.parametrize("script", ["claw", "openclaw", "clawdbot", "clawai"])
def test_the_program_is_installed_under_its_four_names(script: str) -> None:
    program = Path(sys.executable).parent / script
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("clawkit")


def test_tools_lists_what_a_file_offers() -> None:
    done = claw("tools", str(CALCULATOR))
    assert done.returncode == 0
    assert "calculator" in done.stdout
    assert "repeat?" in done.stdout


def test_tools_as_json_are_the_definitions() -> None:
    offered = json.loads(claw("tools", str(CALCULATOR), "--json").stdout)
    assert [tool["name"] for tool in offered["tools"]] == ["calculator", "echo"]
    assert offered["prompts"] == []


@pytest.mark.parametrize("command", ["serve", "tools"])
def test_a_file_that_is_not_there_is_a_clear_error(command: str) -> None:
    done = claw(command, "nothing.py")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"claw {command}: nothing.py: no such file\n"


def test_a_port_that_is_taken_is_a_clear_error() -> None:
    with http_server(CALCULATOR) as url:
        port = url.split(":")[2].split("/")[0]
        done = claw("serve", str(CALCULATOR), "--http", port)
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr


def test_serve_speaks_stdio() -> None:
    with stdio_server(*serving(f"{CALCULATOR}:server")) as server:
        params = {"name": "calculator", "arguments": {"operation": "add", "a": 2, "b": 3}}
        reply = server.call("tools/call", params)
        assert reply["result"]["content"] == [{"type": "text", "text": "Result: 5"}]


def test_what_a_file_prints_while_it_loads_does_not_reach_the_client(tmp_path: Path) -> None:
    file = tmp_path / "noisy.py"
    file.write_text("print('loading')\n" + CALCULATOR.read_text())
    with stdio_server(*serving(file)) as server:
        assert server.call("ping")["result"] == {}
        server.close_input()
        server.process.wait(20)
        assert "loading" in server.stderr


def test_the_example_with_state_counts() -> None:
    with stdio_server(*serving(ROOT / "examples" / "counter.py")) as server:
        params = {"name": "count", "arguments": {"thing": "crow"}}
        texts = [server.call("tools/call", params)["result"]["content"][0]["text"] for _ in "ab"]
        assert texts == ["crow: seen 1 times", "crow: seen 2 times"]
