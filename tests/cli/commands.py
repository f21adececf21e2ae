"""The commands for a person as real processes, and a provider by script for them to ask."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.processes import PATIENCE

KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")
_PROGRAM = """
import typer
from clawkit.cli.ask import ask
from clawkit.cli.chat.command import chat
from clawkit.cli.setup.command import setup
app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (ask, chat, setup):
    app.command()(command)
app(prog_name="claw")
"""
CLAW = (sys.executable, "-c", _PROGRAM)


def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that can show styles, and nobody's keys: for what a terminal starts."""
    for name in (*KEYS, "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PYTHONUTF8", "1")


def environment(**more: str) -> dict[str, str]:
    """Without anybody's keys."""
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    return {**kept, "PYTHONUTF8": "1", "TERM": "xterm-256color", **more}


def claw(
    *arguments: str,
    stdin: bytes | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal."""
    done = subprocess.run(
        (*CLAW, *arguments),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=PATIENCE,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def config_directory(home: Path) -> Path:
    directory = home / "claw" / "config" / "claw"
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def use_provider(home: Path, url: str, more: str = "") -> None:
    """The config that asks a scripted OpenAI-compatible provider."""
    (config_directory(home) / "config.toml").write_text(
        f'[model]\nuse = "scripted/m1"\nretries = 1\n\n[providers.scripted]\nbase_url = "{url}"\n'
        + more
    )
