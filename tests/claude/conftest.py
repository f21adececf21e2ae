"""Every test here has an empty environment: the CLI would see what this process has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.settings import settings
from tests.claude.cli import real_cli
from tests.claude.shop import RULES

_KEPT = ("PATH", "HOME", "CLAW_HOME", "PYTEST_CURRENT_TEST")


@pytest.fixture(autouse=True)
def bare(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the machine but PATH, and the test's own home."""
    assert os.environ["HOME"] == str(home)
    for name in set(os.environ).difference(_KEPT):
        monkeypatch.delenv(name)
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.fixture(params=["newest", "oldest"])
def each_cli(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test runs with the newest CLI, and with the oldest that a policy is accepted for."""
    monkeypatch.setenv("CLAUDE_CLI_PATH", real_cli(request.param))


@pytest.fixture
def project(home: Path) -> Path:
    """The directory that the CLI works in."""
    place = home / "project"
    place.mkdir()
    return place


@pytest.fixture
def policy(project: Path) -> Path:
    file = project.parent / "policy.toml"
    file.write_text(RULES.format(project=project))
    return file
