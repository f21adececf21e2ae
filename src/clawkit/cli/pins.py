"""`claw pins`: the tools that each server was seen with, and those that wait for a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from clawkit.errors import ClawError

if TYPE_CHECKING:
    from io import TextIOWrapper

    from clawkit.guard.pins import Pin, Pinned, Pins

app = typer.Typer(
    help="Show which tools each server was seen with, and accept those that changed.",
    invoke_without_command=True,
)

Server = Annotated[
    str, typer.Argument(metavar="SERVER", help="The server, as `claw pins` names it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.callback()
def pins(context: typer.Context, as_json: AsJson = False) -> None:
    """Show which tools each server was seen with, and accept those that changed."""
    # Names come from servers, and not every terminal can print them.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    if context.invoked_subcommand is None:
        list_pins(as_json=as_json)


@app.command("list")
def list_pins(
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="The tools of this server only.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the servers that are pinned, or the tools of one."""
    from clawkit.guard import places
    from clawkit.guard.pins import pinned_servers

    with _reported():
        if server:
            _print_tools(_pins(server), as_json=as_json)
        else:
            _print_servers(pinned_servers(places.pins_directory()), as_json=as_json)


@app.command()
def show(
    server: Server,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool to look at.")],
    as_json: AsJson = False,
) -> None:
    """Show a tool as it was accepted, and what is different in the one that waits."""
    with _reported():
        pin = _one(_pins(server), tool)
    if as_json:
        about = {"server": server, "tool": tool, "state": _state(pin), "reason": pin.reason}
        _print_json({**about, "accepted": pin.accepted, "pending": pin.pending})
    else:
        _print_pin(tool, pin)


@app.command()
def accept(
    server: Server,
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool to accept.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Every tool of the server that waits.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was accepted as JSON, the rest to stderr.")
    ] = False,
) -> None:
    """Let tools in quarantine pass again, after showing what changed."""
    if bool(tool) == everything:
        _fail("name one TOOL, or give --all", code=2)
    with _reported(), redirect_stdout(sys.stderr if as_json else sys.stdout):
        found = _pins(server)
        waiting = _waiting(found)
        names = list(waiting) if everything else [tool]
        if not everything:
            _one(found, tool)
        names = [name for name in names if name in waiting]
        if not names:
            print("Nothing waits to be accepted.")
        accepted = [name for name in names if _accept(found, name, waiting[name], yes=yes)]
    refused = [name for name in names if name not in accepted]
    if as_json:
        _print_json({"server": server, "accepted": accepted, "not_accepted": refused})
    raise typer.Exit(1 if refused else 0)


@app.command()
def forget(server: Server, as_json: AsJson = False) -> None:
    """Drop the pins of a server: what it lists next is taken as it is."""
    from clawkit.guard.scan import visible

    with _reported():
        if not _pins(server).forget():
            _fail(f"no server named '{visible(server)}' is pinned; `claw pins` lists those")
    if as_json:
        _print_json({"server": server, "forgotten": True})
        return
    print(f"Forgot {visible(server)}; its tools are pinned again when it lists them next.")


def _accept(found: Pins, name: str, pin: Pin, *, yes: bool) -> bool:
    from clawkit.guard.scan import visible

    _print_pin(name, pin)
    if not yes and not sys.stdin.isatty():
        _fail("nobody is there to be asked; look at the difference above, then give --yes")
    if not yes and not _confirmed(f"Accept {visible(name)}?"):
        print("Not accepted.")
        return False
    found.accept(name, pin.pending or {})
    print(f"Accepted {visible(name)}.")
    return True


def _confirmed(question: str) -> bool:
    # Not to stdout if that is where JSON is wanted.
    return typer.confirm(question, default=False, err=sys.stdout is sys.stderr)


def _pins(server: str) -> Pins:
    from clawkit.guard import places
    from clawkit.guard.pins import Pins

    return Pins(places.pins_directory(), server)


def _one(found: Pins, tool: str) -> Pin:
    from clawkit.guard.scan import visible

    pin = found.tools().get(tool)
    if pin is None:
        server = visible(found.server)
        _fail(f"{server} has no tool '{visible(tool)}'; `claw pins list {server}` lists them")
    return pin


def _waiting(found: Pins) -> dict[str, Pin]:
    return {name: pin for name, pin in found.tools().items() if pin.pending is not None}


def _print_servers(servers: Iterable[Pinned], *, as_json: bool) -> None:
    import msgspec

    from clawkit.guard.scan import visible

    servers = list(servers)
    if as_json:
        print(json.dumps(msgspec.to_builtins(servers), indent=2))
        return
    if not servers:
        print("No server is pinned yet: a server is when its tools are first listed.")
        return
    rows = [("server", "tools", "in quarantine")]
    rows += [
        (
            visible(s.server, 60),
            str(s.tools),
            ", ".join(visible(name, 60) for name in s.quarantined),
        )
        for s in servers
    ]
    _print_table(rows)
    first = next((s for s in servers if s.quarantined), None)
    if first is not None:
        name = visible(first.quarantined[0])
        print(f"\nLook at one with `claw pins show {visible(first.server)} {name}`.")


def _print_tools(found: Pins, *, as_json: bool) -> None:
    import msgspec

    from clawkit.guard.scan import visible

    tools = found.tools()
    if as_json:
        print(json.dumps(msgspec.to_builtins(tools), indent=2))
        return
    rows = [("tool", "state", "description")]
    rows += [(visible(name, 60), _state(pin), _summary(pin)) for name, pin in tools.items()]
    _print_table(rows)


def _state(pin: Pin) -> str:
    return "in quarantine" if pin.pending else "accepted"


def _print_json(found: dict[str, Any]) -> None:
    print(json.dumps(found, indent=2))


def _summary(pin: Pin) -> str:
    from clawkit.guard.scan import visible

    definition = pin.accepted or pin.pending or {}
    return visible(str(definition.get("description", "")).partition("\n")[0], 60)


def _print_table(rows: list[tuple[str, str, str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for row in rows:
        print(f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}".rstrip())


def _print_pin(name: str, pin: Pin) -> None:
    from difflib import unified_diff

    from clawkit.guard.scan import visible

    print(f"{visible(name)}: {_state(pin)}")
    if pin.reason:
        print(visible(pin.reason))
    accepted, pending = _lines(pin.accepted), _lines(pin.pending)
    if pin.pending is None or pin.accepted is None:
        print("\n".join(accepted or pending))
        return
    print("\n".join(unified_diff(accepted, pending, "accepted", "pending", n=3, lineterm="")))


def _lines(definition: dict[str, Any] | None) -> list[str]:
    """A definition in lines that can be compared; a text of several lines is several."""
    import re

    from clawkit.guard.scan import visible

    if definition is None:
        return []
    written = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False)
    written = re.sub(r"(?<!\\)((?:\\\\)*\\n)", r"\1\n        ", written)
    # A line is never cut: what a person accepts, they must have been able to read.
    return [visible(line, len(line)) for line in written.split("\n")]


@contextmanager
def _reported() -> Generator[None]:
    try:
        yield
    except ClawError as error:
        _fail(str(error))


def _fail(problem: str, code: int = 1) -> NoReturn:
    print(f"claw pins: {problem}", file=sys.stderr)
    raise typer.Exit(code)
