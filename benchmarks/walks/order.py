"""The ways of one order and of one served call: `python -m benchmarks.walks.order [--list]`.

The server runs in a process of its own, whose profile hook writes down each call of the package's
functions; to go on after an `await` counts as a call. A client asks once, so that everything is
loaded; what is counted is the way of the second order, answered by the embedded default.
"""

import os
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks.assistant_model import TOOL
from benchmarks.contenders import HERE
from benchmarks.measure import Child, Command, running
from benchmarks.messages import call, opening, ready

OUT = "BENCH_WALK"
MESSAGE = "Please put the tomatoes on the list."


def watch(out: Path) -> None:
    """Write down each call of a function of the package from now on."""
    import clawkit

    root = f"{Path(clawkit.__file__).parent}{os.sep}"
    log = out.open("w", encoding="utf-8")
    lock, last = threading.Lock(), [""]

    def seen(frame: Any, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(root):
            with lock:
                name = frame.f_code.co_qualname
                log.write(f"\n{file[len(root) :]} | {name}" if file != last[0] else f", {name}")
                last[0] = file
                log.flush()

    threading.setprofile(seen)
    sys.setprofile(seen)


def serve(arguments: list[str]) -> None:
    """Be `openclaw` with these arguments, or serve the tools of a file, and be watched."""
    from clawkit.cli import main

    watch(Path(os.environ[OUT]))
    sys.argv = ["openclaw", *arguments]
    main()


def walk(arguments: tuple[str, ...], tool: str, **given: Any) -> list[str]:
    """The lines that the second call adds to the log."""
    with tempfile.TemporaryDirectory(prefix="bench-walk-") as folder:
        out = Path(folder, "walk")
        argv = (sys.executable, "-m", "benchmarks.walks.order", "--serve", *arguments)
        environment = {"HOME": folder, "CLAW_HOME": folder, OUT: str(out)}
        with running(Command(argv, HERE.parent, environment)) as child:
            child.exchange(opening("legacy"), replies=1)
            child.exchange(ready("legacy"), replies=0)
            _call(child, 1, tool, given)
            before = len(out.read_text(encoding="utf-8"))
            _call(child, 2, tool, given)
            return out.read_text(encoding="utf-8")[before:].partition("\n")[2].splitlines()


def _call(child: Child, number: int, tool: str, given: dict[str, Any]) -> None:
    child.exchange(call("legacy", number, tool, **given), replies=1)
    time.sleep(1)  # what is done when the answer is there


def main() -> None:
    """Count both ways."""
    ways = {
        "one order": walk(("mcp-server",), TOOL, message=MESSAGE),
        "one call of a served tool": walk(
            ("serve", str(HERE / "servers" / "ours_stdio.py")), "add", a=1, b=2
        ),
    }
    for name, lines in ways.items():
        if "--list" in sys.argv:
            print("\n".join(lines))
        files = {line.split(" | ")[0] for line in lines}
        print(f"{name}: {len(files)} files, {len(lines)} jumps between them")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2:])
    else:
        main()
