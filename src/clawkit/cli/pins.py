"""`claw pins`: what each server was seen with, and what of it waits for a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from clawkit.errors import ClawError

if TYPE_CHECKING:
    from io import TextIOWrapper

    from clawkit.guard.pins import Kind, Pin, Pinned, Pins

app = typer.Typer(
    help="Show what each server was seen with, and accept what changed.",
    invoke_without_command=True,
)

Server = Annotated[
    str, typer.Argument(metavar="SERVER", help="The server, as `claw pins` names it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@app.callback()
def pins(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what each server was seen with, and accept what changed."""
    # Names come from servers, and not every terminal can print them.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    if context.invoked_subcommand is None:
        list_pins(as_json=as_json)


@app.command("list")
def list_pins(
    server: Annotated[
        str, typer.Argument(metavar="SERVER", help="What this server offers only.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the servers that are pinned, or what one of them offers."""
    from clawkit.guard import locations
    from clawkit.guard.pins import pinned_servers

    with _reported():
        if server:
            _print_offers(_pins(server), as_json=as_json)
        else:
            _print_servers(pinned_servers(locations.pins_directory()), as_json=as_json)


@app.command()
def show(
    server: Server,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A tool, or `prompt:NAME`, `template:URI`, ….")
    ],
    as_json: AsJson = False,
) -> None:
    """Show something as it was accepted, and what is different in what waits."""
    with _reported():
        kind, pin = _one(_pins(server), name)
    if as_json:
        about = {"server": server, kind.noun: name, "state": _state(pin), "reason": pin.reason}
        seen = {"accepted": pin.accepted, "pending": pin.pending}
        _print_json({**about, **seen, "suspect": list(_suspicions(pin))})
    else:
        _print_pin(name, pin)


@app.command()
def accept(
    server: Server,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to accept.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Everything of the server that waits.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was accepted as JSON, the rest to stderr.")
    ] = False,
) -> None:
    """Let what is in quarantine pass again, after showing what changed."""
    if bool(name) == everything:
        _fail("give a NAME, or --all", code=2)
    with _reported(), redirect_stdout(sys.stderr if as_json else sys.stdout):
        found = _pins(server)
        waiting = _waiting(found)
        names = list(waiting) if everything else [name]
        if not everything:
            _one(found, name)
        names = [name for name in names if name in waiting]
        if not names:
            print("Nothing waits to be accepted.")
        accepted = [name for name in names if _accept(found, name, *waiting[name], yes=yes)]
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


def _accept(found: Pins, name: str, kind: Kind, pin: Pin, *, yes: bool) -> bool:
    from clawkit.guard.scan import visible

    _print_pin(name, pin)
    if not yes and not sys.stdin.isatty():
        _fail("nobody is there to be asked; look at the difference above, then give --yes")
    if not yes and not _confirmed(f"Accept {visible(name)}?"):
        print("Not accepted.")
        return False
    shown = pin.pending or pin.accepted or {}
    found.accept(str(shown.get(kind.key)), shown, kind)
    print(f"Accepted {visible(name)}.")
    return True


def _confirmed(question: str) -> bool:
    # Not to stdout if that is where JSON is wanted.
    return typer.confirm(question, default=False, err=sys.stdout is sys.stderr)


def _pins(server: str) -> Pins:
    from clawkit.guard import locations
    from clawkit.guard.pins import Pins

    return Pins(locations.pins_directory(), server)


def _one(found: Pins, name: str) -> tuple[Kind, Pin]:
    from clawkit.guard.scan import visible

    offered = _offers(found)
    if name not in offered:
        server = visible(found.server)
        _fail(f"{server} has no tool '{visible(name)}'; `claw pins list {server}` lists them")
    return offered[name]


def _offers(found: Pins) -> dict[str, tuple[Kind, Pin]]:
    """All that a server offers, by what people call it. Tools come first and keep their names."""
    from clawkit.guard.pins import label

    offers: dict[str, tuple[Kind, Pin]] = {}
    for kind, name, pin in found.everything():
        offers.setdefault(label(kind, name), (kind, pin))
    return offers


def _waiting(found: Pins) -> dict[str, tuple[Kind, Pin]]:
    """What a person should look at: what is in quarantine, and what steers the model."""
    return {
        name: (kind, pin)
        for name, (kind, pin) in _offers(found).items()
        if pin.pending is not None or _suspicions(pin)
    }


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
    heads = ("server", "tools", "prompts", "templates", "resources", "to look at")
    rows: list[tuple[str, ...]] = [heads]
    for s in servers:
        counts = (s.tools, s.prompts, s.templates, s.resources)
        names = [f"{visible(name, 60)} (in quarantine)" for name in s.quarantined]
        names += [f"{visible(name, 60)} (steers the model)" for name in s.suspect]
        rows.append((visible(s.server, 60), *map(str, counts), ", ".join(names)))
    _print_table(rows)
    first = next((s for s in servers if s.quarantined or s.suspect), None)
    if first is not None:
        name = visible((*first.quarantined, *first.suspect)[0])
        print(f"\nLook at one with `claw pins show {visible(first.server)} {name}`.")


def _print_offers(found: Pins, *, as_json: bool) -> None:
    import msgspec

    from clawkit.guard.scan import visible

    offers = _offers(found)
    if as_json:
        pins = {name: msgspec.to_builtins(pin) for name, (_, pin) in offers.items()}
        print(json.dumps(pins, indent=2))
        return
    rows: list[tuple[str, ...]] = [("name", "state", "description")]
    rows += [(visible(n, 60), _state(pin), _summary(pin)) for n, (_, pin) in offers.items()]
    _print_table(rows)


def _suspicions(pin: Pin) -> tuple[str, ...]:
    from clawkit.guard import pins

    return pins.suspicions_of(pin)


def _state(pin: Pin) -> str:
    if pin.pending:
        return "in quarantine"
    return "steers the model" if _suspicions(pin) else "accepted"


def _print_json(found: dict[str, Any]) -> None:
    print(json.dumps(found, indent=2))


def _summary(pin: Pin) -> str:
    from clawkit.guard.scan import visible

    definition = pin.accepted or pin.pending or {}
    text = definition.get("description") or definition.get("instructions") or ""
    return visible(str(text).partition("\n")[0], 60)


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())


def _print_pin(name: str, pin: Pin) -> None:
    from difflib import unified_diff

    from clawkit.guard.scan import visible

    print(f"{visible(name)}: {_state(pin)}")
    if pin.reason:
        print(visible(pin.reason))
    if found := _suspicions(pin):
        print(f"It tries to steer the model ({', '.join(found)}). Once you have looked: accept it.")
    accepted, pending = _lines(pin.accepted), _lines(pin.pending)
    if pin.pending is None or pin.accepted is None:
        print("\n".join(accepted or pending))
        return
    print("\n".join(unified_diff(accepted, pending, "accepted", "pending", n=3, lineterm="")))


def _lines(definition: dict[str, Any] | None) -> list[str]:
    """A definition in lines that can be compared; a text of several lines is several."""
    import re

    from clawkit.guard.call_display import spelled

    if definition is None:
        return []
    written = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False)
    written = re.sub(r"(?<!\\)((?:\\\\)*\\n)", r"\1\n        ", written)
    # A line is never cut: what a person accepts, they must have been able to read.
    return [spelled(line) for line in written.split("\n")]


@contextmanager
def _reported() -> Generator[None]:
    try:
        yield
    except ClawError as error:
        _fail(str(error))


def _fail(problem: str, code: int = 1) -> NoReturn:
    print(f"claw pins: {problem}", file=sys.stderr)
    raise typer.Exit(code)
