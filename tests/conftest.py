"""What every test gets: asyncio as the only event loop, and a home of its own."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from clawkit.models import retries
from clawkit.settings import settings as read_once
from tests import needs
from tests.processes import PATIENCE, ROOT

# How fast the machine is says nothing about the code.
settings.register_profile("any-speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any-speed")
settings.register_profile("quick", settings.get_profile("any-speed"), max_examples=20)

# A shell starts what runs in the background with Ctrl-C ignored, nohup what outlives its terminal
# with hang-ups ignored, and programs pass that on.
signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP"):
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_configure(config: pytest.Config) -> None:
    closed = needs.closed_folder(ROOT)
    if closed is not None and os.name == "posix" and os.getuid() == 0:
        pytest.exit(
            f"Only root may enter {closed}. For root, tests start PostgreSQL and others as an "
            "ordinary user: clone to where everybody can read.",
            returncode=4,
        )
    needs.register(config)
    if "not process" in config.option.markexpr:
        config.pluginmanager.register(needs.ProcessWatch())


def pytest_collection() -> None:
    gc.disable()


def pytest_collection_finish() -> None:
    """What was imported and collected lasts: the garbage collector need not look at it again."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    needs.mark(items)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, so that no test sees or touches the person's own files."""
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("CLAW_HOME", str(place / "claw"))
    monkeypatch.setenv("CLAW_MEMORY_PATIENCE", str(PATIENCE))
    # What this machine runs is none of a test's business, unless it is about that.
    monkeypatch.setenv("CLAW_SEARCH_PATIENCE", "0")
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.001)  # no provider here needs a rest
    for variable in ("CLAW_STORE", "CLAW_EMBEDDER", "CLAW_MODEL", "OLLAMA_HOST", "LLAMA_ARG_PORT"):
        monkeypatch.delenv(variable, raising=False)
    # To read whom this machine trusts takes each client of a test longer than most tests take.
    monkeypatch.setenv("SSL_CERT_DIR", str(place))
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    read_once.cache_clear()  # a test before may have read those of its own home
    return place
