"""A person who runs `claw login` and has a browser."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx2

from tests.claw import CLAW, Done, environment
from tests.processes import PATIENCE

Browser = Callable[[str], str]
"""What becomes of an address: the one that the browser ends at, and was not asked for yet; or
nothing."""


def follows(address: str) -> str:
    """A browser at a server that agrees by itself."""
    response = httpx2.get(address, timeout=PATIENCE)
    assert response.status_code in (302, 303, 307), response.text
    return response.headers["location"]


def log_in(
    *arguments: str | Path,
    browser: Browser = follows,
    pastes: bool = False,
    code: int = 0,
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run `claw login` to its end; the answer is brought to its port, or pasted."""
    command = [*CLAW, "login", *map(str, arguments), "--no-browser"]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**(env or {})),
    )
    assert process.stdin is not None
    assert process.stderr is not None
    clock = threading.Timer(PATIENCE, process.kill)
    clock.start()
    try:
        said = ""
        for line in process.stderr:
            said += line
            if line.startswith("  http"):
                place = browser(line.strip())
                if pastes:
                    process.stdin.write(f"something else\n{place}\n")
                    process.stdin.flush()
                elif place:
                    assert httpx2.get(place, timeout=PATIENCE).status_code == 200
        assert process.stdout is not None
        printed = process.stdout.read()
        process.stdin.close()
        status = process.wait(PATIENCE)
    finally:
        clock.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close() if pipe is not None else None
    assert status == code, f"{command}: {status}\n{printed}{said}"
    assert "Traceback" not in said, said
    return subprocess.CompletedProcess(command, status, printed, said)
