"""A home with a short path, a console in it, and a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from playwright.sync_api import Browser

from clawkit.settings import settings
from tests.browser import running_browser
from tests.console.browser import (
    RunningConsole,
    Visitor,
    running_console,
    visiting,
)


@pytest.fixture
def claw_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:  # noqa: ARG001 - after it
    """Its path leaves room for a socket's name, which has to be short."""
    with TemporaryDirectory(prefix="claw-") as folder:
        monkeypatch.setenv("CLAW_HOME", folder)
        settings.cache_clear()
        yield Path(folder)
    settings.cache_clear()


@pytest.fixture
def console(claw_home: Path) -> Iterator[RunningConsole]:  # noqa: ARG001 - in that home
    with running_console() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


@pytest.fixture
def visitor(browser: Browser) -> Iterator[Visitor]:
    with visiting(browser) as one:
        yield one
