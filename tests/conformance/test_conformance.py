"""Owns the proof that a server made with Clawkit conforms to MCP, in both eras."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.suite import Suite
from tests.processes import PATIENCE, ROOT

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
REQUIRED = {HANDSHAKE: 30, MODERN: 37}

# The suite itself skips this one: it does not listen yet where the notifications are sent.
SKIPPED_TASKS_SCENARIO = "tasks-status-notifications"
# It has remarks only for a server that answers with JSON where nothing has to be streamed.
ONLY_REMARKS = {HANDSHAKE: {"server-sse-polling"}, MODERN: set[str]()}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a fixture server that lives as long as the tests in this file."""
    log = tmp_path_factory.mktemp("server") / "stderr"
    command = (sys.executable, "-m", "tests.conformance.server", "--port", "0")
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stderr=stderr)
    try:
        yield _announced(process, log)
        assert process.poll() is None, f"the server ended: {log.read_text()}"
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def _announced(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        said, line_end, _ = log.read_text().partition("\n")
        if line_end:
            return said.rpartition(" is at ")[2]
        time.sleep(0.02)
    raise AssertionError(f"the server said no address: {log.read_text()}")


@pytest.fixture(scope="module")
def suite(url: str, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    return Suite(url, tmp_path_factory.mktemp("results"))


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
def test_every_scenario_that_a_revision_requires_passes(revision: str, suite: Suite) -> None:
    required = suite.requirements(revision).scored
    assert len(required) == REQUIRED[revision]
    run = suite.revision(revision)
    assert not (complaints := run.complaints(required)), "\n".join(complaints)
    assert run.exit_code == 0, run.output[-4000:]


def test_every_tasks_scenario_passes_but_the_one_that_the_suite_skips(suite: Suite) -> None:
    names = [n for n in suite.requirements(MODERN).unscored if n.startswith("tasks-")]
    assert len(names) == 10
    names.remove(SKIPPED_TASKS_SCENARIO)
    run = suite.revision(MODERN)
    assert not (complaints := run.complaints(names)), "\n".join(complaints)
    assert run.statuses(SKIPPED_TASKS_SCENARIO) == {"SKIPPED"}


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
def test_the_other_scenarios_that_are_run_without_a_score_pass_too(
    revision: str, suite: Suite
) -> None:
    unscored = suite.requirements(revision).unscored
    others = {name for name in unscored if not name.startswith("tasks-")} - ONLY_REMARKS[revision]
    assert others
    run = suite.revision(revision)
    assert not (complaints := run.complaints(sorted(others))), "\n".join(complaints)
    for name in ONLY_REMARKS[revision]:
        assert run.statuses(name) == {"INFO"}


def test_a_failed_scenario_and_one_that_was_not_run_are_both_noticed(
    url: str, tmp_path: Path
) -> None:
    astray = Suite(url + "-of-nobody", tmp_path)
    run = astray.run("astray", "--scenario", "tools-list", "--spec-version", HANDSHAKE)
    failed, missing = run.complaints(["tools-list", "ping"])
    assert failed.startswith("tools-list: FAILURE tools-list")
    assert missing.startswith("ping: has no results")
    assert run.exit_code == 1
