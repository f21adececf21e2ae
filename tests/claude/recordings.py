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
    scrubber, early, ids = Scrubber(), [], {}
    for number, line in enumerate(lines, 1):
        if line["from"] == "cli":
            text = json.dumps(line["message"])
            for recorded, said in ids.items():
                text = text.replace(f'"{recorded}"', f'"{said}"')
            print(text, flush=True)  # noqa: T201 - it is what a CLI does
        else:
            ids |= _hear(line["message"], early, scrubber, number)
    Path(verdict).write_text(json.dumps(early))
    sys.stdin.read()


def _hear(expected: Any, early: list[Any], scrubber: Scrubber, number: int) -> dict[str, str]:
    """Wait for a message; what the host says before it was due is kept for later.

    Gives the id that the host chose this time for the one that is recorded.
    """

    def give_up(*_: object) -> None:
        sys.exit(f"line {number}: expected {json.dumps(expected)}; heard {json.dumps(early)}")

    recorded = expected.pop("uuid", None)
    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(_PATIENCE)
    while expected not in [message for message, _ in early]:
        said = sys.stdin.readline()
        if not said:
            give_up()
        message = json.loads(said)
        id = message.pop("uuid", None)
        early.append((scrubber.host(message), id))
    signal.alarm(0)
    place = [message for message, _ in early].index(expected)
    _, id = early.pop(place)
    return {} if recorded is None else {recorded: id}
