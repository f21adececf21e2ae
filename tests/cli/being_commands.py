"""The commands about memory as real processes, without vectors unless a test wants them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.claw import Done, claw


def run(
    *arguments: str,
    code: int = 0,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run a command, which must end with `code`."""
    return claw(*arguments, code=code, stdin=stdin, env={"CLAW_EMBEDDER": "none", **(env or {})})


def as_json(*arguments: str, env: Mapping[str, str] | None = None) -> Any:
    return json.loads(run(*arguments, "--json", env=env).stdout)


def said(*arguments: str, env: Mapping[str, str] | None = None) -> str:
    return run(*arguments, env=env).stdout


def refused(
    *arguments: str,
    code: int = 1,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
) -> str:
    """What a command says that does not do what it was asked for."""
    done = run(*arguments, code=code, stdin=stdin, env=env)
    assert done.stdout == ""
    return done.stderr
