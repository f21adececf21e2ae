"""The official conformance suite finds the same behind a guard that allows everything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.suite import Suite
from tests.conformance.test_conformance import HANDSHAKE, MODERN, ONLY_REMARKS, REQUIRED
from tests.guard.http.worlds import reverse_proxy
from tests.processes import PATIENCE, ROOT


@contextmanager
def fixture_server(log: Path) -> Generator[str]:
    command = (sys.executable, "-m", "tests.conformance.server", "--port", "0")
    with log.open("wb") as rest:
        process = subprocess.Popen(command, cwd=ROOT, stdout=rest, stderr=subprocess.PIPE)
        assert process.stderr is not None
        try:
            yield process.stderr.readline().decode().strip().rpartition(" is at ")[2]
        finally:
            process.terminate()
            process.wait(PATIENCE)
            process.stderr.close()


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    folder = tmp_path_factory.mktemp("conformance")
    with (
        fixture_server(folder / "log") as upstream,
        reverse_proxy(upstream, folder, CLAW_HOME=str(folder / "claw")) as address,
    ):
        yield Suite(address.replace("127.0.0.1", "localhost"), folder / "results")


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
def test_every_scenario_passes_as_it_does_without_the_guard(revision: str, suite: Suite) -> None:
    requirements = suite.requirements(revision)
    run = suite.revision(revision)
    assert len(requirements.scored) == REQUIRED[revision]
    assert not (complaints := run.complaints(requirements.scored)), "\n".join(complaints)
    assert run.exit_code == 0, run.output[-4000:]
    others = {n for n in requirements.unscored if n != "tasks-status-notifications"}
    complaints = run.complaints(sorted(others - ONLY_REMARKS[revision]))
    assert not complaints, "\n".join(complaints)
