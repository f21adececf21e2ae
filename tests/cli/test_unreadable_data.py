"""A data directory that its user may not read: no command takes it for an empty one."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clawkit.cli.app import app
from clawkit.settings import settings
from tests.ordinary_user import NOBODY

EMPTY = ("recall key", "memory", "memory --json", "being list", "being list --json")


def run(command: str) -> Result:
    return CliRunner().invoke(app, shlex.split(command), prog_name="claw")


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory of a memory, for somebody who may not look into it: root may do all."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        for name in ("CLAW_HOME", "HOME"):
            monkeypatch.setenv(name, place)
        monkeypatch.setenv("CLAW_EMBEDDER", "none")
        settings.cache_clear()
        data = settings().data
        run("remember 'The key is under the mat'")
        # What is imported now need not be read by somebody who may not.
        assert [run(command).exit_code for command in (*EMPTY, "pins", "status")] == [0] * 7
        data.chmod(0)
        is_root = os.geteuid() == 0
        if is_root:
            Path(place, "data").chmod(0o755)
            os.seteuid(NOBODY)
        try:
            yield data
        finally:
            if is_root:
                os.seteuid(0)
            data.chmod(0o700)


@pytest.mark.parametrize("command", EMPTY)
def test_a_memory_out_of_reach_is_an_error_and_no_empty_memory(data: Path, command: str) -> None:
    done = run(command)
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{data / 'beings.db'}: the store of memories cannot be used (Permission" in done.stderr


def test_pins_out_of_reach_are_an_error_and_no_empty_list(data: Path) -> None:
    done = run("pins")
    assert (done.exit_code, done.stdout) == (1, "")
    assert f"{data / 'guard' / 'pins'}: cannot be read: Permission denied" in done.stderr


def test_status_says_of_each_part_that_it_is_out_of_reach(data: Path) -> None:
    done = run("status")
    assert done.exit_code == 1
    said = " ".join(done.stdout.split())
    for part in ("beings.db: the store of memories cannot be used", "pins: cannot be read"):
        assert part in said
    assert f"{data / 'logins'} cannot be read: Permission denied" in said


def test_without_a_store_there_is_nothing_to_recall() -> None:
    done = run("recall key")
    assert (done.exit_code, done.stdout) == (0, "No relevant memories found.\n")
