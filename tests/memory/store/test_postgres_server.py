"""The server that the tests themselves run on."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.memory.store.together import ROOT

HOLD = """
import sys
from tests.memory.postgres import server
with server() as running:
    pid = (running.folder / "data" / "postmaster.pid").read_text().splitlines()[0]
    print(running.folder, pid, flush=True)
    sys.stdin.read()
"""


def test_the_server_ends_when_its_tests_are_killed() -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        folder, pid = holder.stdout.readline().split()
        assert psutil.pid_exists(int(pid))
        holder.kill()
    until = time.monotonic() + 30
    while psutil.pid_exists(int(pid)) or Path(folder).exists():
        assert time.monotonic() < until
        time.sleep(0.05)
