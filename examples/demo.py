"""`make demo`: a day with one assistant, one memory, an own tool and one guard; real clients."""

from __future__ import annotations

import asyncio
import os
import shutil
import struct
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zlib import compress, crc32

from mcp import Client, MCPError, StdioServerParameters, types
from rich.console import Console
from rich.padding import Padding
from rich.panel import Panel
from rich.syntax import Syntax
from rich.text import Text

HERE = Path(__file__).parent
GREENHOUSE = HERE / "greenhouse.py"
WIDTH = min(100, shutil.get_terminal_size().columns) if sys.stdout.isatty() else 100
console = Console(highlight=False, width=WIDTH)


def show_source() -> None:
    source = GREENHOUSE.read_text()
    shown = source[source.index("@server.tool(read_only") : source.index("@server.resource")]
    code = Syntax(shown.rstrip(), "python", background_color="default")
    title = "examples/greenhouse.py"
    console.print(Panel(code, title=title, title_align="left", border_style="dim"))


def told(home: Path) -> None:
    """The assistant in a terminal; here on the embedded default, without a key."""
    heading("Morning: you tell your assistant something, in a terminal", "claw ask")
    config = home / "config" / "claw" / "config.toml"
    config.parent.mkdir(mode=0o700, parents=True)
    config.write_text("[memory]\nshare = true  # what you tell it anywhere, it knows everywhere\n")
    for message in (
        "Remember that my favorite color is blue.",
        "Remember that the greenhouse is watered on Friday at 7.",
    ):
        asked(
            {"message": message, "sessionKey": "terminal"},
            claw(home, "ask", message, "--session", "terminal"),
        )


async def ordered(home: Path) -> None:
    """The same assistant, as any MCP client orders it."""
    heading("Your editor orders the same assistant, which knows", "openclaw mcp-server")
    target = StdioServerParameters(
        command=sys.executable, args=["-m", "clawkit", "mcp-server"], env={"CLAW_HOME": str(home)}
    )
    picture = {"data": b64encode(png(96, 64)).decode(), "mimeType": "image/png"}
    async with Client(target, mode="auto") as client:
        for order in (
            {"message": "What's my favorite color?", "sessionKey": "editor"},
            {"message": "When is the greenhouse watered?", "sessionKey": "editor"},
            {"message": "What is in this picture?", "sessionKey": "editor", "images": [picture]},
        ):
            result = await client.call_tool("order_openclaw", order)
            asked(order, getattr(result.content[0], "text", ""))


async def remembered(home: Path) -> None:
    """A memory for any agent: noted, put in order, recalled, and silent where nothing fits."""
    sys.path.insert(0, str(HERE))
    from demo_memory import remember_and_recall

    heading("Noon: your team's agents share a memory of their own", "claw being serve")
    await remember_and_recall(home, recalled)


def recalled(message: str, answer: str) -> None:
    console.print(f"   [cyan]→[/] {message}")
    console.print(Padding(Text(answer), (0, 0, 0, 5)))


def png(width: int, height: int) -> bytes:
    """A picture of a meadow under the sky."""
    blue, green = b"\x7e\xb6\xff", b"\x4c\xa6\x4c"
    rows = b"".join(b"\0" + (blue if y < height / 2 else green) * width for y in range(height))

    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", crc32(name + body))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def asked(order: dict[str, Any], answer: str) -> None:
    session = order.get("sessionKey", "a session of its own")
    attached = "  [dim]+ a picture[/]" if "images" in order else ""
    console.print(f"   [cyan]→[/] {order['message']}{attached}  [dim]({session})[/]")
    for line in filter(None, answer.splitlines()):
        console.print(Padding(Text(line), (0, 0, 0, 5)))


async def in_process() -> None:
    """The first door: a function call away."""
    sys.path.insert(0, str(HERE))
    from greenhouse import server

    heading("… called in process", "await server.handle_jsonrpc(...)")
    arguments = {"bed": "basil"}
    params = {"name": "moisture", "arguments": arguments}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    reply = await server.handle_jsonrpc(request)
    assert reply is not None
    said("moisture", arguments, reply["result"]["structuredContent"])


async def over(title: str, command: str, target: Any, mode: str) -> None:
    """The other doors: the official client, in either era of the protocol."""
    heading(title, command)
    async with Client(target, mode=mode, elicitation_callback=agree) as client:
        console.print(f"   speaks {client.protocol_version}", style="dim")
        for name, arguments in (
            ("moisture", {"bed": "basil"}),
            ("water", {"bed": "chillies", "litres": 6}),
            ("water", {"bed": "chillies", "litres": 60}),
            ("clear", {"bed": "basil"}),
        ):
            result = await client.call_tool(name, arguments, progress_callback=progressed)
            text = " ".join(b.text for b in result.content if isinstance(b, types.TextContent))
            said(name, arguments, text, failed=bool(result.is_error))


async def guarded(home: Path) -> None:
    """The same server, with a policy in front of it."""
    heading("Evening: a guard stands before it", "claw proxy -- claw serve …")
    policy = home / "config" / "clawai" / "policy.toml"
    policy.parent.mkdir(mode=0o700)
    shutil.copy(HERE / "policy.toml", policy)
    serve = [sys.executable, "-m", "clawkit", "serve", str(GREENHOUSE)]
    options = ["proxy", "--name", "greenhouse", "--"]
    target = StdioServerParameters(
        command=sys.executable,
        args=["-m", "clawkit", *options, *serve],
        env={"CLAW_HOME": str(home)},
    )
    async with Client(target, mode="legacy", elicitation_callback=decide) as client:
        for name, arguments in (
            ("moisture", {"bed": "basil"}),
            ("water", {"bed": "chillies", "litres": 6}),
            ("water", {"bed": "basil", "litres": 2}),
        ):
            try:
                result = await client.call_tool(name, arguments)
                said(name, arguments, getattr(result.content[0], "text", ""))
            except MCPError as error:
                said(name, arguments, error, failed=True)


def show_log(home: Path) -> None:
    heading("… and has written down what happened", "claw log")
    console.print(claw(home, "log").rstrip(), style="dim", markup=False)


def claw(home: Path, *arguments: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "clawkit", *arguments]
    environment = {**os.environ, "CLAW_HOME": str(home)}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


async def decide(context: object, params: Any) -> types.ElicitResult:
    del context
    question = params.message.splitlines()[0]
    console.print(f"   [yellow]?[/] {question} [dim]the person allows it once[/]")
    return types.ElicitResult(action="accept", content={"decision": "allow once"})


async def agree(context: object, params: Any) -> types.ElicitResult:
    del context
    console.print(f"   [yellow]?[/] {params.message} [dim]the person says yes[/]")
    return types.ElicitResult(action="accept", content={})


async def progressed(progress: float, total: float | None, message: str | None) -> None:
    console.print(f"     [dim]{progress:g}/{total:g} … {message}[/]")


def heading(title: str, command: str) -> None:
    console.print(Text.assemble("\n", (title, "bold"), "   ", (command, "cyan")))


def said(name: str, arguments: dict[str, Any], answer: Any, *, failed: bool = False) -> None:
    called = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    mark = ("✗ ", "red") if failed else ("✓ ", "green")
    console.print(Text.assemble("   ", mark, f"{name}({called})", ("  →  ", "dim"), str(answer)))


@contextmanager
def http_server() -> Iterator[str]:
    command = [sys.executable, "-m", "clawkit", "serve", str(GREENHOUSE), "--http", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        yield process.stderr.readline().split(" is at ")[1].strip()
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()


async def main() -> None:
    console.print(
        Text("Clawkit: a day with one assistant, one memory and one guard, over MCP", style="bold")
    )
    home = new_home()
    await day(home)
    program = "claw" if shutil.which("claw") else ".venv/bin/claw"
    console.print(f'\nNext: [cyan]{program} ask "hello"[/], [cyan]{program} setup[/],')
    console.print(f"[cyan]{program} install[/], and docs/README.md")
    console.print("Look at this day in your browser, with its calls, policy, memory and sessions:")
    console.print(f"[cyan]CLAW_HOME={shown(home)} {program} console[/]\n", soft_wrap=True)


def new_home() -> Path:
    """An empty home that stays, so that the console can show what happened in it."""
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent / "build" / "demo"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(mode=0o700, parents=True)
    return home.resolve()


def shown(home: Path) -> str:
    """Its shortest name from here."""
    here = Path.cwd()
    return str(home.relative_to(here) if home.is_relative_to(here) else home)


async def day(home: Path) -> None:
    told(home)
    await ordered(home)
    await remembered(home)
    console.print(Text("\nAfternoon: you write a tool", style="bold"))
    show_source()
    await in_process()
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "clawkit", "serve", str(GREENHOUSE)]
    )
    await over("… over stdio", "claw serve examples/greenhouse.py", command, "legacy")
    with http_server() as url:
        await over(
            "… over HTTP",
            f"claw serve examples/greenhouse.py --http 0   ({url})",
            url,
            "2026-07-28",
        )
    await guarded(home)
    show_log(home)


if __name__ == "__main__":
    asyncio.run(main())
