"""`claw pins`: what each server was seen with, and what of it waits for a person."""

from __future__ import annotations

import json
import re
import sys
from contextlib import redirect_stdout
from difflib import unified_diff
from typing import Annotated, Any

import typer

from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    Yes,
    command_group,
    pass_on,
    print_ascii_json,
    refuse_guarded_servers,
)
from clawkit.cli.tables import print_table
from clawkit.guard import locations
from clawkit.guard.call_display import spelled
from clawkit.guard.pins import Kind, Pin, Pinned, Pins, label, pinned_servers, suspicions_of
from clawkit.text.normalization import visible

app = command_group(
    "Show what each server was seen with, and accept what changed.", invoke_without_command=True
)

Server = Annotated[
    str, typer.Argument(metavar="SERVER", help="The server, as `claw pins` names it.")
]


@app.callback()
def pins(context: typer.Context, as_json: AsJson = False) -> None:
    """Show what each server was seen with, and accept what changed."""
    pass_on(context)
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
    if server:
        _print_offers(_pins(server), as_json=as_json)
    else:
        _print_servers(list(pinned_servers(locations.pins_directory())), as_json=as_json)


@app.command()
def show(
    server: Server,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A tool, or `prompt:NAME`, `template:URI`, ….")
    ],
    as_json: AsJson = False,
) -> None:
    """Show something as it was accepted, and what is different in what waits."""
    kind, pin = _one(_pins(server), name)
    if as_json:
        about = {"server": server, kind.noun: name, "state": _state(pin), "reason": pin.reason}
        seen = {"accepted": pin.accepted, "pending": pin.pending}
        print_ascii_json({**about, **seen, "suspect": list(suspicions_of(pin))})
    else:
        _print_pin(name, pin)


@app.command()
def accept(
    server: Server,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to accept.")] = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Everything of the server that waits.")
    ] = False,
    yes: Yes = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what was accepted as JSON, the rest to stderr.")
    ] = False,
) -> None:
    """Let what is in quarantine pass again, after showing what changed."""
    refuse_guarded_servers()
    if bool(name) == everything:
        raise CommandFailure("give a NAME, or --all", 2)
    with redirect_stdout(sys.stderr if as_json else sys.stdout):
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
        print_ascii_json({"server": server, "accepted": accepted, "not_accepted": refused})
    raise typer.Exit(1 if refused else 0)


@app.command()
def forget(server: Server, as_json: AsJson = False) -> None:
    """Drop the pins of a server: what it lists next is taken as it is."""
    if not _pins(server).forget():
        raise CommandFailure(f"no server named '{server}' is pinned; `claw pins` lists those")
    if as_json:
        print_ascii_json({"server": server, "forgotten": True})
        return
    print(f"Forgot {visible(server)}; its tools are pinned again when it lists them next.")


def _accept(found: Pins, name: str, kind: Kind, pin: Pin, *, yes: bool) -> bool:
    _print_pin(name, pin)
    if not yes and not sys.stdin.isatty():
        advice = "look at the difference above, then give --yes"
        raise CommandFailure(f"nobody is there to be asked; {advice}", 2)
    # The question does not go to stdout if that is where JSON is wanted.
    question, err = f"Accept {visible(name)}?", sys.stdout is sys.stderr
    if not yes and not typer.confirm(question, default=False, err=err):
        print("Not accepted.")
        return False
    shown = pin.pending or pin.accepted or {}
    found.accept(str(shown.get(kind.key)), shown, kind)
    print(f"Accepted {visible(name)}.")
    return True


def _pins(server: str) -> Pins:
    return Pins(locations.pins_directory(), server)


def _one(found: Pins, name: str) -> tuple[Kind, Pin]:
    offered = _offers(found)
    if name not in offered:
        advice = f"`claw pins list {found.server}` lists them"
        raise CommandFailure(f"{found.server} has no tool '{name}'; {advice}")
    return offered[name]


def _offers(found: Pins) -> dict[str, tuple[Kind, Pin]]:
    """All that a server offers, by what people call it. Tools come first and keep their names."""
    offers: dict[str, tuple[Kind, Pin]] = {}
    for kind, name, pin in found.everything():
        offers.setdefault(label(kind, name), (kind, pin))
    return offers


def _waiting(found: Pins) -> dict[str, tuple[Kind, Pin]]:
    """What a person should look at: what is in quarantine, and what steers the model."""
    return {
        name: (kind, pin)
        for name, (kind, pin) in _offers(found).items()
        if pin.pending is not None or suspicions_of(pin)
    }


def _print_servers(servers: list[Pinned], *, as_json: bool) -> None:
    if as_json:
        print_ascii_json(servers)
        return
    if not servers:
        print("No server is pinned yet: a server is when its tools are first listed.")
        return
    rows: list[tuple[str, ...]] = [
        ("server", "tools", "prompts", "templates", "resources", "to look at")
    ]
    for s in servers:
        names = [f"{visible(name, 60)} (in quarantine)" for name in s.quarantined]
        names += [f"{visible(name, 60)} (steers the model)" for name in s.suspect]
        counts = map(str, (s.tools, s.prompts, s.templates, s.resources))
        rows.append((visible(s.server, 60), *counts, ", ".join(names)))
    print_table(rows)
    first = next((s for s in servers if s.quarantined or s.suspect), None)
    if first is not None:
        name = visible((*first.quarantined, *first.suspect)[0])
        print(f"\nLook at one with `claw pins show {visible(first.server)} {name}`.")


def _print_offers(found: Pins, *, as_json: bool) -> None:
    offers = {name: pin for name, (_, pin) in _offers(found).items()}
    if as_json:
        print_ascii_json(offers)
        return
    rows = [(visible(name, 60), _state(pin), _summary(pin)) for name, pin in offers.items()]
    print_table([("name", "state", "description"), *rows])


def _state(pin: Pin) -> str:
    if pin.pending:
        return "in quarantine"
    return "steers the model" if suspicions_of(pin) else "accepted"


def _summary(pin: Pin) -> str:
    definition = pin.accepted or pin.pending or {}
    text = definition.get("description") or definition.get("instructions") or ""
    return visible(str(text).partition("\n")[0], 60)


def _print_pin(name: str, pin: Pin) -> None:
    print(f"{visible(name)}: {_state(pin)}")
    if pin.reason:
        print(visible(pin.reason))
    if found := suspicions_of(pin):
        print(f"It tries to steer the model ({', '.join(found)}). Once you have looked: accept it.")
    accepted, pending = _lines(pin.accepted), _lines(pin.pending)
    if pin.pending is None or pin.accepted is None:
        print("\n".join(accepted or pending))
        return
    print("\n".join(unified_diff(accepted, pending, "accepted", "pending", n=3, lineterm="")))


def _lines(definition: dict[str, Any] | None) -> list[str]:
    """A definition in lines that can be compared; a text of several lines is several."""
    if definition is None:
        return []
    written = json.dumps(definition, indent=2, sort_keys=True, ensure_ascii=False)
    written = re.sub(r"(?<!\\)((?:\\\\)*\\n)", r"\1\n        ", written)
    # A line is never cut: what a person accepts, they must have been able to read.
    return [spelled(line) for line in written.split("\n")]
