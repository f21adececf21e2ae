"""`claw being`: Beings, each a memory with its own walls: made, listed, served, deleted."""

from __future__ import annotations

import shlex
import sys
import uuid
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.clients import keys, share, stdio, tokens
from clawkit.cli.being.copies import backup, export_, import_, quota, restore
from clawkit.cli.being.options import BeingArgument, StoreOption
from clawkit.cli.being.output import being_lines, day, losses
from clawkit.cli.being.serve import serve
from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    Yes,
    command_group,
    confirm,
    print_json,
    print_lines,
)
from clawkit.cli.tables import print_table
from clawkit.memory import being_store, secret_filter
from clawkit.memory.being_store import BeingStore
from clawkit.memory.model_keys import has_key
from clawkit.memory.records import Being
from clawkit.memory.store import nodes
from clawkit.memory.structured_memory import EntryRequest
from clawkit.memory.tokens import Caller, of_being
from clawkit.system.addresses import shown_address
from clawkit.text.normalization import visible

app = command_group("Beings: memories that any MCP client can use, each with its own walls.")
app.command()(share)
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
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Make a Being that remembers nothing yet."""
    who = _soul(soul, soul_file)
    known = _checked_id(being_id)
    with opened(MemoryPlace(address, "none")) as store:
        being = store.create(name, known)
        if who:
            store.open(being).structured(
                Caller(), EntryRequest("souls", "append", content=who, key=being.name)
            )
        if as_json:
            print_json({"id": being.id, "name": being.name, "created": being.created})
            return
        print(f"Made {visible(being.name)}: {being.id}")
        share = f"`claw being share {shlex.quote(being.name)}`"
        print(f"{visible(share)} lets somebody's client in.", file=sys.stderr)


def _soul(soul: str, file: Path | None) -> str:
    if soul and file is not None:
        raise CommandFailure("give either --soul or --soul-file", 2)
    if file is None:
        return soul.strip()
    try:
        return file.read_text(encoding="utf-8-sig").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise CommandFailure(f"{file} cannot be read: {reason}") from None


def _checked_id(being_id: str) -> str | None:
    if not being_id:
        return None
    try:
        return str(uuid.UUID(being_id))
    except ValueError:
        raise CommandFailure(f"an id is a UUID, and {visible(being_id)!r} is none", 2) from None


@app.command("list")
def list_(address: StoreOption = "", as_json: AsJson = False) -> None:
    """List the Beings of a store."""
    place = MemoryPlace(address, "none")
    found: list[dict[str, Any]] = []
    if place.is_begun():
        with opened(place) as store:
            found = [_listed(store, one) for one in store.every()]
    if as_json:
        print_json(found)
    elif found:
        rows = [(b["id"], f"{b['memories']:,}", day(b["created"]), b["name"]) for b in found]
        print_table([("id", "memories", "made", "name"), *rows])
    else:
        print(f"There are no Beings in {shown_address(place.address)}.")
        print("`claw being create NAME` makes one.")


def _listed(store: BeingStore, being: Being) -> dict[str, Any]:
    with store.database.read(being.n) as unit:
        memories = sum(nodes.counts(unit).values())
    about = {"id": being.id, "name": being.name, "created": being.created}
    return {**about, "memories": memories}


@app.command()
def show(being: BeingArgument, address: StoreOption = "", as_json: AsJson = False) -> None:
    """Show how a Being stands: how much it remembers, who may reach it, what goes on."""
    with opened(MemoryPlace(address, "none")) as store:
        found = store.find(being)
        memory = store.open(found)
        figures = memory.figures()
        soul = memory.structured(Caller(), EntryRequest("souls", "get"))["entries"]
        with store.database.registry() as connection:
            tokens = of_being(connection, found.n)
            quota = being_store.quota_of(connection, found.n)
        told = {
            "id": found.id,
            "name": found.name,
            "created": found.created,
            "store": store.database.address,
            **figures,
            "model_key": has_key(store, found),
            "keeps_secrets": secret_filter.allows_secrets(store.database, found),
            "quota": msgspec.structs.asdict(quota),
            "tokens": tokens,
            "soul": soul[-1]["content"] if soul else "",
        }
        print_lines(being_lines(told, store.clock()), told, as_json=as_json)


@app.command("allow-secrets")
def allow_secrets(
    being: BeingArgument,
    off: Annotated[bool, typer.Option("--off", help="Leave them out again.")] = False,
    address: StoreOption = "",
) -> None:
    """Let a Being keep passwords, keys and card numbers, which are else left out of it."""
    with opened(MemoryPlace(address, "none")) as store:
        found = store.find(being)
        secret_filter.allow_secrets(store.database, found, on=not off)
        if off:
            print(f"{visible(found.name)} leaves secrets out from now on; what it has, it keeps.")
        else:
            print(
                f"{visible(found.name)} keeps secrets from now on: whoever may read it, sees them."
            )


@app.command()
def delete(
    being: BeingArgument,
    yes: Yes = False,
    address: StoreOption = "",
) -> None:
    """Delete a Being and all that it remembers; only an export brings it back."""
    with opened(MemoryPlace(address, "none")) as store:
        found = store.find(being)
        if not yes:
            question = f"Delete {visible(found.name)} for good?"
            lost = losses(store, found)
            confirm(question, "Nothing was deleted.", "give --yes to delete it", lost)
        store.delete(found)
        print(f"Deleted {visible(found.name)}.")
