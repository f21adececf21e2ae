"""Tools that do not want to end, for tests of the end of input."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
import threading
import time

from clawkit import Context, SdkMcpServerImpl

server = SdkMcpServerImpl("stubborn", "1.0.0")
CHILD = """
import os, signal, sys, time
if "stubborn" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
time.sleep(900)
"""


@server.tool
async def wait(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "waited"


@server.tool
def block(seconds: float) -> str:
    time.sleep(seconds)
    return "blocked"


@server.tool
async def block_everything(context: Context) -> None:
    """The mistake of a beginner: nothing else runs meanwhile, not even the door."""
    context.log("info", "blocking")
    await asyncio.sleep(0.1)
    time.sleep(900)  # noqa: ASYNC251


@server.tool
async def swallow(context: Context) -> None:
    context.log("info", "swallowing")
    while True:
        try:
            await asyncio.sleep(900)
        except asyncio.CancelledError:
            context.log("info", "not me")


@server.tool
def leave_thread() -> str:
    threading.Thread(target=time.sleep, args=(120,), daemon=False).start()
    return "left"


@server.tool
def leave_child(how: str, in_shell: bool) -> int:
    """A child, or a shell that waits for one, which is what most command tools run."""
    command = [sys.executable, "-c", CHILD, how]
    if in_shell:
        command = ["sh", "-c", f"{shlex.join(command)} & wait"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    return int(child.stdout.readline())
