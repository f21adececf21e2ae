"""Work in real processes of its own: several at once, or one that is killed."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.processes import PATIENCE

ROOT = Path(__file__).parent.parent.parent.parent


def run_together(work: str, arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """What a function `module:name` gives in as many processes as there are arguments.

    They begin when all of them are ready.
    """
    running = [_start(work, one) for one in arguments]
    try:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [_result(process) for process in running]
    finally:
        for process in running:
            _end(process)


@contextmanager
def running(work: str, arguments: Sequence[Any]) -> Iterator[subprocess.Popen[str]]:
    """A process that works on its own, and writes lines; it is killed at the end."""
    process = _start(work, arguments)
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        yield process
    finally:
        _end(process)


def _start(work: str, arguments: Sequence[Any]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.memory.store.together", work, json.dumps(arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )


def _result(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    last = process.stdout.readline()
    assert process.wait(PATIENCE) == 0
    return json.loads(last)


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(PATIENCE)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def _main(work: str, arguments: str) -> None:
    module, _, name = work.partition(":")
    function = getattr(importlib.import_module(module), name)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    sys.stdout.write(json.dumps(function(*json.loads(arguments))) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
