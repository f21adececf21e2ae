"""A CLI that says what was recorded, as long as it hears what was recorded."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

from tests.claude.record import Scrubber

_PATIENCE = 300


def replay(recording: str, verdict: str) -> None:
    """Play the CLI's part to the end, then leave a verdict and wait to be ended."""
    lines = [json.loads(line) for line in Path(recording).read_text().splitlines()]
    scrubber, early = Scrubber(), []
    for number, line in enumerate(lines, 1):
        if line["from"] == "cli":
            print(json.dumps(line["message"]), flush=True)  # noqa: T201 - it is what a CLI does
        else:
            _hear(line["message"], early, scrubber, number)
    Path(verdict).write_text(json.dumps(early))
    sys.stdin.read()


def _hear(expected: Any, early: list[Any], scrubber: Scrubber, number: int) -> None:
    """Wait for a message; what the host says before it was due is kept for later."""

    def give_up(*_: object) -> None:
        sys.exit(f"line {number}: expected {json.dumps(expected)}; heard {json.dumps(early)}")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE)
    while expected not in early:
        said = sys.stdin.readline()
        if not said:
            give_up()
        early.append(scrubber.host(json.loads(said)))
    signal.alarm(0)
    early.remove(expected)
