"""What commands for a person find: a plain environment, a config, a provider by script to ask."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.claw import KEYS


def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that can show styles, and nobody's keys: for what a terminal starts."""
    for name in (*KEYS, "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("PYTHONUTF8", "1")


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
