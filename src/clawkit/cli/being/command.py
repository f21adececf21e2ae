"""`claw being`: Beings, each a memory with its own walls: made, listed, served, deleted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clawkit.cli.being.clients import keys, serve, stdio, tokens
from clawkit.cli.being.copies import backup, export_, import_, quota, restore
from clawkit.cli.being.opened_store import (
    AsJson,
    BeingArgument,
    MemoryPlace,
    StoreOption,
    fail,
    opened,
    reported,
)
from clawkit.cli.output import print_json, shown

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.records import Being

app = typer.Typer(
    help="Beings: memories that any MCP client can use, each with its own walls.",
    no_args_is_help=True,
)
app.command()(serve)
app.command()(stdio)
app.command("export")(export_)
app.command("import")(import_)
app.command()(quota)
app.command()(backup)
app.command()(restore)
app.add_typer(tokens, name="token")
app.add_typer(keys, name="key")


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called.")],
    being_id: Annotated[
        str, typer.Option("--id", metavar="UUID", help="Its id, if it must be a certain one.")
    ] = "",
    soul: Annotated[str, typer.Option(help="Who it is, for the system prompt.")] = "",
    soul_file: Annotated[
        Path | None, typer.Option("--soul-file", metavar="FILE", help="The same from a file.")
    ] = None,
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Make a Being that remembers nothing yet."""
    verb = "being create"
    with reported(verb):
        who = _soul(verb, soul, soul_file)
        known = _checked_id(verb, being_id)
    with opened(verb, MemoryPlace(store, "none")) as keeper:
        namesakes = sum(1 for other in keeper.every() if other.name == name)
        being = keeper.create(name, known)
        if who:
            from clawkit.memory.caller import Caller

            keeper.open(being).structured(Caller(), "souls", "append", content=who, key=being.name)
        if as_json:
            print_json({"id": being.id, "name": being.name, "created": being.created})
            return
        print(f"Made {shown(being.name)}: {being.id}")
        print(f"`claw being token create {being.id}` lets a client in.", file=sys.stderr)
        if namesakes:
            print(
                "Another Being has this name: commands know the two by their ids.", file=sys.stderr
            )


def _soul(verb: str, soul: str, file: Path | None) -> str:
    if soul and file is not None:
        raise fail(verb, "give either --soul or --soul-file", 2)
    if file is None:
        return soul.strip()
    try:
        return file.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise fail(verb, f"{file} cannot be read: {reason}") from None


def _checked_id(verb: str, being_id: str) -> str | None:
    import uuid

    if not being_id:
        return None
    try:
        return str(uuid.UUID(being_id))
    except ValueError:
        raise fail(verb, f"an id is a UUID, and {shown(being_id)!r} is none", 2) from None


@app.command("list")
def list_(store: StoreOption = "", as_json: AsJson = False) -> None:
    """List the Beings of a store."""
    place = MemoryPlace(store, "none")
    with reported("being list"):
        begun = place.is_begun()
    if not begun:
        _print_beings([], place, as_json=as_json)
        return
    with opened("being list", place) as keeper:
        _print_beings([_listed(keeper, one) for one in keeper.every()], place, as_json=as_json)


def _listed(keeper: BeingStore, being: Being) -> dict[str, Any]:
    from clawkit.memory.store import nodes

    with keeper.database.read(being.n) as unit:
        memories = sum(nodes.counts(unit).values())
    return {
        "id": being.id,
        "name": being.name,
        "created": being.created,
        "memories": memories,
    }


def _print_beings(found: list[dict[str, Any]], place: MemoryPlace, *, as_json: bool) -> None:
    from clawkit.cli.being.output import day, print_table
    from clawkit.memory.store.store_address import shown as shown_address

    if as_json:
        print_json(found)
    elif found:
        head = ("id", "memories", "made", "name")
        rows = [(b["id"], f"{b['memories']:,}", day(b["created"]), b["name"]) for b in found]
        print_table(head, rows)
    else:
        print(f"There are no Beings in {shown_address(place.address)}.")
        print("`claw being create NAME` makes one.")


@app.command()
def show(being: BeingArgument, store: StoreOption = "", as_json: AsJson = False) -> None:
    """Show how a Being stands: how much it remembers, who may reach it, what goes on."""
    with opened("being show", MemoryPlace(store, "none")) as keeper:
        from clawkit.cli.being.output import being_lines
        from clawkit.memory import quotas
        from clawkit.memory.model_keys import has_key
        from clawkit.memory.secret_filter import allows_secrets
        from clawkit.memory.store import token_hashes as stored

        found = keeper.find(being)
        memory = keeper.open(found)
        figures = memory.figures()
        soul = memory.structured(_reader(), "souls", "get")["entries"]
        with keeper.database.registry() as connection:
            tokens = stored.of_being(connection, found.n)
            quota = quotas.quota_of(connection, found.n)
        told = {
            "id": found.id,
            "name": found.name,
            "created": found.created,
            "store": keeper.database.address,
            **figures,
            "model_key": has_key(keeper, found),
            "keeps_secrets": allows_secrets(keeper.database, found),
            "quota": quotas.shown(quota),
            "tokens": tokens,
            "soul": soul[-1]["content"] if soul else "",
        }
        if as_json:
            print_json(told)
            return
        for line in being_lines(told, keeper.clock()):
            print(line)


def _reader() -> Any:
    from clawkit.memory.caller import Caller

    return Caller()


@app.command("allow-secrets")
def allow_secrets(
    being: BeingArgument,
    off: Annotated[bool, typer.Option("--off", help="Leave them out again.")] = False,
    store: StoreOption = "",
) -> None:
    """Let a Being keep passwords, keys and card numbers, which are else left out of it."""
    with opened("being allow-secrets", MemoryPlace(store, "none")) as keeper:
        from clawkit.memory import secret_filter

        found = keeper.find(being)
        secret_filter.allow_secrets(keeper.database, found, on=not off)
        if off:
            print(f"{shown(found.name)} leaves secrets out from now on; what it has, it keeps.")
        else:
            print(f"{shown(found.name)} keeps secrets from now on: whoever may read it, sees them.")


@app.command()
def delete(
    being: BeingArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = "",
) -> None:
    """Delete a Being and all that it remembers; only an export brings it back."""
    verb = "being delete"
    with opened(verb, MemoryPlace(store, "none")) as keeper:
        from clawkit.cli.being.output import losses

        found = keeper.find(being)
        if not yes:
            if not sys.stdin.isatty():
                raise fail(verb, "nobody is there to be asked: give --yes to delete it", 2)
            for line in losses(keeper, found):
                print(line)
            if not typer.confirm(f"Delete {shown(found.name)} for good?", default=False):
                print("Nothing was deleted.")
                raise typer.Exit(1)
        keeper.delete(found)
        print(f"Deleted {shown(found.name)}.")
