"""The ways of an order, of a guarded call and of a served tool's call, all over stdio.

The server runs in a process of its own, which is watched. A client calls once, so that everything
is loaded; what counts is the way of the second call. The order is answered by the offline model.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.assistant_model import TOOL
from benchmarks.contenders import HERE
from benchmarks.guards import SERVER, our_policy
from benchmarks.measure import Child, Command, running
from benchmarks.messages import call, opening, ready
from benchmarks.walks import lines_since, mark, watch

OUT = "BENCH_WALK"
MESSAGE = "Please put the tomatoes on the list."


def order() -> list[str]:
    """`openclaw mcp-server` gets a message."""
    return _walk(["mcp-server"], TOOL, message=MESSAGE)


def served_call() -> list[str]:
    """A function that `claw serve` serves is called."""
    return _walk(["serve", str(HERE / "servers" / "ours_stdio.py")], "add", a=1, b=2)


def guarded_call() -> list[str]:
    """A call passes the guard, which allows it by the last of ten rules."""
    with tempfile.TemporaryDirectory(prefix="bench-walk-") as folder:
        policy = Path(folder, "policy.toml")
        policy.write_text(our_policy(10), encoding="utf-8")
        return _walk(["proxy", "--policy", str(policy), "--", *SERVER], "echo", text="hello")


def _walk(arguments: list[str], tool: str, **given: Any) -> list[str]:
    with tempfile.TemporaryDirectory(prefix="bench-walk-") as folder:
        out = Path(folder, "walk")
        argv = (sys.executable, "-m", "benchmarks.walks.stdio", *arguments)
        environment = {"HOME": folder, "CLAW_HOME": folder, OUT: str(out)}
        with running(Command(argv, HERE.parent, environment)) as child:
            child.exchange(opening("legacy"), replies=1)
            child.exchange(ready("legacy"), replies=0)
            _call(child, 1, tool, given)
            begin = mark(out)
            _call(child, 2, tool, given)
            return lines_since(out, begin)


def _call(child: Child, number: int, tool: str, given: dict[str, Any]) -> None:
    child.exchange(call("legacy", number, tool, **given), replies=1)
    time.sleep(1)  # what is done when the answer is there


def main() -> None:
    """Be `claw` with these arguments, and be watched."""
    from clawkit.cli import main as claw

    watch(Path(os.environ[OUT]))
    sys.argv[0] = "claw"
    claw()


if __name__ == "__main__":
    main()
