"""Times one server line to line inside this process (`python -m benchmarks.inline`).

Each contender gets a fresh interpreter, so that nobody pays for another's imports or garbage.
"""

import argparse
import asyncio
import importlib
import json
import time
from collections.abc import Awaitable, Callable

from benchmarks.messages import Era, call, check_reply

Answer = Callable[[bytes], Awaitable[bytes]]

WARM_UP_CALLS = 200


async def microseconds_a_call(module: str, era: Era, calls: int) -> float:
    """CPU time of one call, averaged over `calls` calls made one after the other."""
    lines = [call(era, number, "add", a=2, b=3) for number in range(1, calls + 1)]
    async with importlib.import_module(module).answering(era) as answer:
        for line in lines[:WARM_UP_CALLS]:
            check_reply(await answer(line), "5")
        start = time.process_time_ns()
        for line in lines:
            await answer(line)
        spent = time.process_time_ns() - start
        check_reply(await answer(lines[-1]), "5")
    return spent / 1000 / calls


def main() -> None:
    """Print the figure as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("module")
    parser.add_argument("era")
    parser.add_argument("calls", type=int)
    options = parser.parse_args()
    figure = asyncio.run(microseconds_a_call(options.module, options.era, options.calls))
    print(json.dumps(figure))


if __name__ == "__main__":
    main()
