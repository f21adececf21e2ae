"""Tools that are slow, large, noisy or badly behaved, for tests of the doors."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Annotated, Any

from clawkit import Context, Field, SdkMcpServerImpl, ToolResult

server = SdkMcpServerImpl("workshop", "1.0.0")
noted: list[str] = []
_arrived = 0
_all_here = asyncio.Event()
_threads_meet = threading.Barrier(20)


@server.tool
async def history() -> list[str]:
    return noted


@server.tool
async def echo(text: str) -> str:
    return text


@server.tool
async def add(a: int, b: int) -> int:
    return a + b


@server.tool
async def give_back(value: Any) -> Any:
    return ToolResult(content=[], structured={"value": value})


@server.tool
async def take(value: Any) -> str:
    return f"took a {type(value).__name__}"


@server.tool
async def large(size: int) -> str:
    return "x" * size


@server.tool
async def wait(seconds: float, note: str = "wait") -> str:
    noted.append(f"{note} began")
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        noted.append(f"{note} cancelled")
        raise
    return note


@server.tool
def work(seconds: float, context: Context, note: str = "work") -> str:
    """Block a thread, looking now and then whether anybody still wants the answer."""
    noted.append(f"{note} began")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if context.cancelled:
            noted.append(f"{note} cancelled")
            return "nobody reads this"
        time.sleep(0.01)
    return note


@server.tool(concurrency=1)
async def serial(note: str, seconds: float = 0.01) -> str:
    noted.append(f"{note} began")
    await asyncio.sleep(seconds)
    noted.append(f"{note} ended")
    return note


@server.tool
async def meet(count: int) -> str:
    """Nobody is answered before everybody has come."""
    global _arrived  # noqa: PLW0603
    _arrived += 1
    if _arrived == count:
        _all_here.set()
    await _all_here.wait()
    return "met"


@server.tool
def meet_in_threads() -> str:
    _threads_meet.wait(300)
    return "met"


@server.tool(timeout=0.2)
async def hurried() -> None:
    await asyncio.sleep(60)


@server.tool(timeout=0.2)
def hurried_thread(context: Context) -> None:
    work.fn(60, context, "hurried thread")


@server.tool
def say(how: str) -> str:
    """Write to what a careless tool takes for stdout."""
    match how:
        case "print":
            print("printed by a tool")  # noqa: T201
        case "stdout":
            sys.stdout.write("written by a tool")
            sys.stdout.flush()
        case "descriptor":
            os.write(1, b"written to descriptor 1\n")
        case "child":
            subprocess.run([sys.executable, "-c", "print('printed by a child')"], check=True)
    return how


@server.tool
def hear(who: str) -> str:
    """Read what a careless tool takes for stdin."""
    if who == "tool":
        return sys.stdin.read()
    reading = "import sys; sys.exit(len(sys.stdin.read()))"
    return str(subprocess.run([sys.executable, "-c", reading], check=False).returncode)


@server.tool
async def report(count: int, size: int, context: Context) -> str:
    for number in range(count):
        context.progress(number, message="x" * size)
    return "reported"


@server.tool
async def report_nonsense(context: Context) -> str:
    """Report what cannot be written as JSON: an object, and half a character."""
    with suppress(TypeError, ValueError):
        context.log("error", {"no JSON": object()})
    with suppress(TypeError, ValueError):
        context.log("error", "\ud800")
    with suppress(TypeError, ValueError):
        context.progress(1, message="\ud800")
    return "reported"


@server.tool
def leave() -> None:
    sys.exit("a tool wanted to end the process")


@server.tool
async def leave_at_once() -> None:
    sys.exit("a tool wanted to end the process")


@server.tool
async def give_up() -> None:
    raise asyncio.CancelledError


@server.tool
async def place(
    region: Annotated[str, Field(header="Region")],
    floor: Annotated[int | None, Field(header="Floor")] = None,
    lit: Annotated[bool | None, Field(header="Lit")] = None,
) -> str:
    return f"{region} {floor} {lit}"


@server.tool(name="größe")
async def measure() -> str:
    return "large"


@server.tool
async def ask_person(context: Context) -> str:
    return (await context.elicit("Sure?")).action


@server.tool(task="required")
async def long_work() -> str:
    return "worked"


@server.resource("note://one")
def note() -> str:
    return "one"
