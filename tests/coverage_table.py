"""`make coverage`: how many lines of each room the tests ran, out of coverage's JSON."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path


def table(report: Path) -> str:
    """The rooms as a table in Markdown, the whole package last."""
    lines: Counter[str] = Counter()
    run: Counter[str] = Counter()
    for file, found in json.loads(report.read_text())["files"].items():
        inside = Path(file).parts[2:]  # below src/clawkit
        for room in (inside[0] if len(inside) > 1 else "top", "all"):
            lines[room] += found["summary"]["num_statements"]
            run[room] += found["summary"]["covered_lines"]
    rows = [f"| {room} | {lines[room]} | {run[room] / lines[room]:.1%} |" for room in _order(lines)]
    return "\n".join(("| room | statements | run by tests |", "|---|--:|--:|", *rows))


def _order(rooms: Counter[str]) -> list[str]:
    return [*sorted(rooms.keys() - {"all", "top"}), "top", "all"]


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))  # noqa: T201
