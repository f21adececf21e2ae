"""The assistant's section of `claw status`, with and without really asking."""

from __future__ import annotations

import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.claude.fakes import fake_cli
from tests.claw import CLAW, claw, finished
from tests.processes import PATIENCE, ROOT, on_a_full_disk

KEY = "made-up-key-0123456789"
CALCULATOR = ROOT / "examples" / "calculator.py"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def config(home: Path) -> Path:
    folder = home / "claw" / "config" / "claw"
    folder.mkdir(parents=True)
    return folder


def run(*arguments: str, code: int = 0) -> str:
    done = claw("status", *arguments, code=code)
    assert done.stderr == ""
    return done.stdout


def assistant(*arguments: str, code: int = 0) -> dict[str, Any]:
    return json.loads(run("--json", *arguments, code=code))["assistant"]


def lines(shown: str) -> list[str]:
    """Those of the assistant's section, which comes first."""
    found = shown.splitlines()
    assert found[0] == "assistant"
    return found[1 : found.index("guard")]


def test_a_new_installation_says_that_its_model_is_none_and_how_to_get_one(home: Path) -> None:
    shown = "\n".join(lines(run()))
    assert "  model      offline (" in shown
    assert "it is not a language model; `claw setup` chooses one" in shown
    assert "none yet; `claw ask" in shown
    assert f"{home / 'claw/config/claw/config.toml'} (not there: the defaults count)" in shown
    assert not (home / "claw").exists()


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_there_by_both_names(flag: str) -> None:
    assert "--deep" in run(flag)


def test_a_key_is_said_to_be_found_and_never_shown(config: Path) -> None:
    (config / ".env").write_text(f"ANTHROPIC_API_KEY={KEY}\n")
    shown = run()
    untried = "not tried: `claw status --deep` asks the model"
    assert f"  key        ANTHROPIC_API_KEY, in .env; {untried}\n" in shown
    assert "not a language model" not in shown
    assert KEY not in shown + run("--json")
    assert assistant()["model"]["key"] == {"variable": "ANTHROPIC_API_KEY", "where": ".env"}


def test_what_the_config_says_is_shown(config: Path, tmp_path: Path) -> None:
    (config / "config.toml").write_text(f"""
[model]
use = "ollama/llama3.2"
fallbacks = ["offline"]
[assistant]
workspace = "{tmp_path / "mine"}"
[transcription]
provider = "whisper"
[mcp.servers.notes]
command = "/somewhere/bin/notes-server"
[mcp.servers.far]
url = "https://far.example/mcp?token={KEY}"
[mcp.servers.off]
command = "off"
enabled = false
""")
    (config / "tools").mkdir()
    for name in ("_shared.py", "notes.txt"):
        (config / "tools" / name).write_text("")
    (config / "tools" / "greet.py").write_bytes(CALCULATOR.read_bytes())
    shown = run()
    assert "  model      ollama/llama3.2 (" in shown
    assert "when it gives no answer: offline" in shown
    assert f"  tools      greet.py in {config / 'tools'}" in shown
    assert "server notes: notes-server" in shown
    assert "server far: https://far.example/mcp" in shown
    assert "transcribed by whisper" in shown
    assert f"  workspace  {tmp_path / 'mine'}" in shown
    assert KEY not in shown
    assert "server off" not in shown
    assert assistant()["tools"]["servers"] == {
        "notes": "notes-server",
        "far": "https://far.example/mcp",
    }


@pytest.mark.parametrize(
    ("use", "problem"),
    [
        ("nope/x", 'There is no provider "nope"'),
        ("claude-cli", "the Claude CLI is not on PATH"),
        ("openai", "openai needs a key, and OPENAI_API_KEY is not set"),
    ],
)
def test_a_model_that_cannot_answer_is_said_to(
    use: str, problem: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    (config / "config.toml").write_text(f'[model]\nuse = "{use}"\nfallbacks = ["offline"]\n')
    shown = run(code=1)
    assert f"  model      {use}" in shown
    assert f"cannot answer: {problem}" in shown
    assert "when it gives no answer: offline" in shown
    assert problem in assistant(code=1)["model"]["problem"]


def test_a_claude_cli_that_is_too_old_for_orders_is_said_to_be(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CLI_PATH", fake_cli(tmp_path, "", version="2.1.247"))
    (config / "config.toml").write_text('[model]\nuse = "claude-cli"\n')
    assert "is 2.1.247, and 2.1.248 or newer is needed" in assistant(code=1)["model"]["problem"]
    monkeypatch.setenv("CLAUDE_CLI_PATH", fake_cli(tmp_path, "", version="2.1.248"))
    assert not assistant()["model"]["problem"]


def test_a_config_that_cannot_be_read_is_a_problem_and_not_the_end(config: Path) -> None:
    (config / "config.toml").write_text("[modle]\n")
    shown = run(code=1)
    assert "there is no section [modle]" in shown
    assert "\nguard\n" in shown
    assert "there is no section [modle]" in assistant(code=1)["problem"]
    run("--deep", code=1)


def test_a_store_that_cannot_be_read_is_a_problem_and_not_the_end(home: Path) -> None:
    data = home / "claw" / "data" / "claw"
    data.mkdir(parents=True)
    (data / "sessions.db").write_bytes(b"no database" * 1000)
    assert "cannot be used: " in run(code=1)
    assert "it is not a database" in assistant(code=1)["sessions"]["problem"]


def test_a_file_with_tools_that_does_not_load_is_a_problem(config: Path) -> None:
    (config / "tools").mkdir()
    (config / "tools" / "broken.py").write_text("print('loading')\nimport no_such_thing\n")
    done = claw("status", code=1)
    assert "does not load: " in done.stdout
    assert "no_such_thing" in done.stdout
    assert "loading" not in done.stdout


def test_a_disk_that_is_full_is_a_problem(home: Path) -> None:
    data = home / "claw" / "data" / "claw"
    data.mkdir(parents=True)
    done = finished(*on_a_full_disk(*CLAW, "status"), code=1)
    assert f"  problem    {data} cannot be written to: File too large" in done.stdout


def test_a_policy_without_a_rule_is_a_problem(home: Path) -> None:
    folder = home / "claw" / "config" / "clawai"
    folder.mkdir(parents=True)
    (folder / "policy.toml").write_text("")
    assert "no rule in it: every call is refused" in run(code=1)


def test_deep_asks_the_model_and_counts_the_tools_of_each_server(config: Path) -> None:
    (config / "config.toml").write_text(f"""
[mcp.servers.calculator]
command = "{sys.executable}"
args = ["-m", "clawkit", "serve", "{CALCULATOR}"]
start_timeout = {PATIENCE}
""")
    model, calculator = assistant("--deep")["tried"]
    assert (model["name"], model["ok"]) == ("model", True)
    assert (calculator["name"], calculator["ok"]) == ("calculator", True)
    assert calculator["detail"] == "2 tools"
    assert calculator["seconds"] > 0
    shown = lines(run("--deep"))
    assert any(" calculator: 2 tools (" in line for line in shown)
    assert any(re.fullmatch(r"  asked      model: \S+ answered in \S+ s", line) for line in shown)


def test_what_does_not_answer_is_a_line_and_the_rest_is_still_asked(config: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        port = taken.getsockname()[1]
        (config / "config.toml").write_text(f"""
[model]
use = "local/some-model"
[providers.local]
base_url = "http://127.0.0.1:{port}/v1"
[mcp.servers.gone]
command = "no-such-program-anywhere"
[mcp.servers.calculator]
command = "{sys.executable}"
args = ["-m", "clawkit", "serve", "{CALCULATOR}"]
start_timeout = {PATIENCE}
""")
        tried = {one["name"]: one for one in assistant("--deep", code=1)["tried"]}
    assert (tried["model"]["ok"], tried["gone"]["ok"], tried["calculator"]["ok"]) == (
        False,
        False,
        True,
    )
    assert f"127.0.0.1:{port}" in tried["model"]["detail"]
    assert "no-such-program-anywhere" in tried["gone"]["detail"]


def test_without_deep_nothing_is_started(config: Path, tmp_path: Path) -> None:
    trace = tmp_path / "started"
    (config / "config.toml").write_text(f"""
[mcp.servers.trace]
command = "touch"
args = ["{trace}"]
""")
    run()
    assert not trace.exists()
