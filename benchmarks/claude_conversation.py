"""Times a conversation through the real CLI (`python -m benchmarks.claude_conversation`)."""

import argparse
import asyncio
import importlib
import json
import time
from pathlib import Path

from benchmarks.messages import WrongReply
from benchmarks.servers.calling_model import ANSWER, CALLS, TOOL
from tests.claude.cli import environment, real_cli


async def measure(module: str, url: str, home: Path) -> dict[str, float]:
    """Milliseconds to connect, and of one call: by the clock, and of this process's own CPU."""
    conversing = importlib.import_module(module).conversing
    began = time.perf_counter()
    async with conversing(real_cli(), environment(url, home), str(home), TOOL) as say:
        connected, used = time.perf_counter(), time.process_time()
        answer = await say("Add.")
        spent, cpu = time.perf_counter() - connected, time.process_time() - used
    if answer != ANSWER:
        raise WrongReply(f"expected {ANSWER!r}, got {answer!r}")
    return {
        "connect": (connected - began) * 1000,
        "call": spent * 1000 / CALLS,
        "cpu": cpu * 1000 / CALLS,
    }


def main() -> None:
    """Print the figures as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("url")
    parser.add_argument("home", type=Path)
    options = parser.parse_args()
    print(json.dumps(asyncio.run(measure(options.module, options.url, options.home))))


if __name__ == "__main__":
    main()
