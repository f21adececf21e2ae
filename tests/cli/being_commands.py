"""The commands about memory as real processes, without vectors unless a test wants them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from tests.processes import PATIENCE

CLAW = (sys.executable, "-m", "clawkit")


def run(
    *arguments: str,
    code: int = 0,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, without a terminal; it must end with `code`."""
    done = subprocess.run(
        (*CLAW, *arguments),
        capture_output=True,
        encoding="utf-8",
        timeout=PATIENCE,
        check=False,
        env={**os.environ, "PYTHONUTF8": "1", "CLAW_EMBEDDER": "none", **(env or {})},
        input=stdin or "",
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def as_json(*arguments: str, env: Mapping[str, str] | None = None) -> Any:
    return json.loads(run(*arguments, "--json", env=env).stdout)


def said(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    return run(*arguments, env=env).stdout


def refused(
    *arguments: str,
    code: int = 1,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """What a command says that does not do what it was asked for."""
    done = run(*arguments, code=code, stdin=stdin, env=env)
    assert done.stdout == ""
    return done.stderr
