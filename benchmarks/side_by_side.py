"""Measures two trees of Clawkit in turns, with one environment: what a change costs or saves.

`python -m benchmarks.side_by_side TREE cold_start guard_latency` takes TREE as it was before, such
as a clone of an earlier commit, and the folder it is called in as it is now. Both run the quick
benchmarks, each with its own source first on the path, one after the other, several times. The rows
of peers, whose code is the same in both, show how much the machine itself varies.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

Figure = tuple[str, str, str]
"""The benchmark, the row and the column of a figure."""

USUAL = (
    *("cold_start", "in_process", "stdio_throughput", "guard_latency"),
    *("assistant_start", "assistant_order", "memory_speed"),
)


def measured(tree: Path, names: list[str], target: Path) -> dict[Figure, float]:
    """The figures of one run of the benchmarks in a tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    command = (sys.executable, "-m", "benchmarks", "--quick", "--json", str(target), *names)
    subprocess.run(
        command, cwd=tree, env=environment, stdout=subprocess.DEVNULL, stderr=2, check=False
    )
    return dict(_figures(json.loads(target.read_bytes())["reports"]))


def _figures(reports: list[dict[str, object]]) -> Iterator[tuple[Figure, float]]:
    for report in reports:
        rows = report["rows"]
        assert isinstance(rows, list)
        for row in rows:
            for column, value in row.items():
                if isinstance(value, int | float):
                    yield (str(report["name"]), str(row["name"]), column), float(value)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__)
    parser.add_argument("before", type=Path, metavar="TREE")
    parser.add_argument("names", nargs="*", default=list(USUAL))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    trees = (options.before.resolve(), Path.cwd())
    found: dict[Figure, tuple[list[float], list[float]]] = defaultdict(lambda: ([], []))
    with TemporaryDirectory() as folder:
        for turn in range(options.rounds):
            # Who comes first changes, so that neither always has the warmer machine.
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                target = Path(folder) / "figures.json"
                for figure, value in measured(trees[side], options.names, target).items():
                    found[figure][side].append(value)
    print("| benchmark | row | figure | before | now | now / before |\n|---|---|---|---|---|---|")
    for (name, row, column), (before, now) in found.items():
        if before and now and median(before):
            first, second = median(before), median(now)
            figures = f"{first:.4g} | {second:.4g} | {second / first:.2f}"
            print(f"| {name} | {row} | {column} | {figures} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
