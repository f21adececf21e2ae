"""The real Claude CLI with a scripted Messages API behind it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from tests.assistant.models.through_cli import TOOLS
from tests.assistant.providers.scripted import ScriptedServer, scripted_anthropic
from tests.assistant.providers.steps import Script
from tests.claude.cli import environment, real_cli
from tests.processes import overlook_others

_KEPT = ("PATH", "HOME", "CLAW_HOME", "PYTEST_CURRENT_TEST")

Behind = Callable[[Script], AbstractContextManager[ScriptedServer]]


@pytest.fixture
def cli(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Behind:
    """A scripted API, and an environment with nothing but the CLI that asks it; tools as well."""
    for name in set(os.environ).difference(_KEPT):
        monkeypatch.delenv(name)
    overlook_others()
    directory = tmp_path / "config" / "tools"
    directory.mkdir(parents=True)
    (directory / "garden.py").write_text(TOOLS)
    monkeypatch.delitem(sys.modules, "garden", raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("config/tools")])

    @contextmanager
    def behind(script: Script) -> Iterator[ScriptedServer]:
        with scripted_anthropic(script) as api:
            for name, value in environment(api.url, home).items():
                monkeypatch.setenv(name, value)
            monkeypatch.setenv("CLAUDE_CLI_PATH", real_cli())
            yield api

    return behind
