"""Our commands as a person's shell would run them: to their end, in the test's home, in time."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.processes import PATIENCE

PROGRAMS = Path(sys.executable).parent
CLAW = (sys.executable, "-m", "clawkit")
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENROUTER_API_KEY")

Done = subprocess.CompletedProcess[str]


def environment(**more: str) -> dict[str, str]:
    """The test's own, without anybody's keys."""
    kept = {name: value for name, value in os.environ.items() if name not in KEYS}
    return {**kept, "PYTHONUTF8": "1", "TERM": "xterm-256color", **more}


def finished(
    *command: str | Path,
    code: int | None = None,
    stdin: str | bytes | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run a program to its end, without a terminal; with `code`, if that matters.

    `env` is added to the test's own environment.
    """
    done = subprocess.run(
        command,
        input=stdin.encode() if isinstance(stdin, str) else stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        cwd=cwd,
        env=environment(**(env or {})),
        timeout=PATIENCE,
        check=False,
    )
    stdout, stderr = done.stdout.decode(), done.stderr.decode()
    assert code in (None, done.returncode), f"{command}: {done.returncode}\n{stdout}{stderr}"
    return subprocess.CompletedProcess(done.args, done.returncode, stdout, stderr)


def claw(
    *arguments: str | Path,
    code: int | None = None,
    stdin: str | bytes | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run one of our commands to its end; none may end in a traceback."""
    done = finished(*CLAW, *arguments, code=code, stdin=stdin, cwd=cwd, env=env)
    assert "Traceback" not in done.stderr, done.stderr
    return done
