"""`claw being quota`, `backup` and `restore`: how much a Being may hold, and copies of a store."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clawkit.cli.being_opening import (
    AsJson,
    BeingArgument,
    Place,
    StoreOption,
    fail,
    opened,
    reported,
)
from clawkit.cli.rows import print_json, shown

if TYPE_CHECKING:
    from clawkit.memory.store.backup import Held

_NONE = "none"
_LARGEST = (1 << 53) - 1


def quota(
    being: BeingArgument,
    memories: Annotated[
        str, typer.Option(metavar="N|none", help="Memories it may hold, with what waits.")
    ] = "",
    size: Annotated[
        str, typer.Option("--bytes", metavar="N|none", help="Bytes of text it may hold.")
    ] = "",
    calls: Annotated[
        str, typer.Option(metavar="N|none", help="Calls of its tools a day, UTC.")
    ] = "",
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Show or set how much a Being may hold and how often it may be called."""
    verb = "being quota"
    with reported(verb):
        asked = {"memories": memories, "bytes": size, "calls": calls}
        given = {
            name: _limit(verb, f"--{name}", text) for name, text in asked.items() if text.strip()
        }
    with opened(verb, Place(store, "none")) as keeper:
        from msgspec import structs

        from clawkit.memory import quotas
        from clawkit.memory.store import calls as counted

        found = keeper.find(being)
        with keeper.database.registry(write=bool(given)) as connection:
            allowed = quotas.quota_of(connection, found.n)
            if given:
                allowed = structs.replace(allowed, **given)
                quotas.set_quota(connection, found.n, allowed)
        with keeper.database.read(found.n) as unit:
            used = quotas.used(unit)
            today = counted.made(unit, int(keeper.clock() // 86_400))
        limits = quotas.shown(allowed)
        has = {"memories": used.memories, "bytes": used.bytes, "calls": today}
        told = {name: {"used": has[name], "limit": limits[name]} for name in limits}
        if as_json:
            print_json({"being": found.id, **told})
            return
        print(shown(found.name))
        for name, one in told.items():
            what = "calls today" if name == "calls" else name
            print(f"  {what:<12} {_of(one)}")


def _limit(verb: str, option: str, text: str) -> int | None:
    text = text.strip().lower()
    if text == _NONE:
        return None
    number = text.replace(",", "").replace("_", "")
    if not number.isascii() or not number.isdigit() or int(number) > _LARGEST:
        raise fail(verb, f"{option} is a number or `none`, not {shown(text)!r}", 2)
    return int(number)


def _of(one: dict[str, Any]) -> str:
    limit = one["limit"]
    return f"{one['used']:,} " + ("(no limit)" if limit is None else f"of {limit:,}")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the copy.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Overwrite FILE if it exists.")] = False,
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Copy a whole SQLite store with all Beings and tokens, also while servers write to it."""
    verb = "being backup"
    with reported(verb):
        from clawkit.memory.store.backup import back_up

        place = _sqlite(verb, Place(store, "none"), "`pg_dump` copies it")
        if os.path.lexists(file) and not yes:
            raise fail(verb, f"{file} is already there: give --yes to overwrite it")
        if file.exists() and place.exists() and file.samefile(place):
            raise fail(verb, f"{file} is the store itself: name another file")
        held = back_up(place, file)
        if as_json:
            print_json({"file": str(file), "held": held})
            return
        print(f"Copied {_held(held)} to {file}.")
        print("It holds all that is remembered: keep it as safe as the store.", file=sys.stderr)


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `claw being backup` wrote.")],
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Put it in the place of a store that is there.")
    ] = False,
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Put a copy in the place of the SQLite store; the one that was there is kept beside it."""
    verb = "being restore"
    with reported(verb):
        from clawkit.memory.store import backup as copies

        place = _sqlite(verb, Place(store, "none"), "`pg_restore` brings a copy back")
        if not file.is_file():
            raise fail(verb, f"{file} is not there")
        if place.exists() and file.samefile(place):
            raise fail(verb, f"{file} is the store itself: name the copy")
        if place.exists() and not yes:
            held = copies.look(file)
            raise fail(
                verb,
                f"{place} is there already: give --yes to put {_held(held)} in its place; what is "
                "there now is kept beside it",
            )
        done = copies.restore(file, place)
        if as_json:
            before = None if done.before is None else str(done.before)
            print_json({"store": str(place), "held": done.held, "before": before})
            return
        print(f"Restored {_held(done.held)} into {place}.")
        if done.before is not None:
            print(f"What was there before is now {done.before}.")


def _sqlite(verb: str, place: Place, otherwise: str) -> Path:
    """The file of an embedded store; another kind has tools of its own."""
    from clawkit.memory.store.opening import shown as without_secrets

    scheme, _, rest = place.address.partition(":")
    if scheme != "sqlite":
        address = without_secrets(place.address)
        raise fail(verb, f"{address} is a database server: {otherwise}")
    return Path(rest.removeprefix("//")).expanduser()


def _held(held: Held) -> str:
    beings = "1 Being" if held.beings == 1 else f"{held.beings:,} Beings"
    memories = "1 memory" if held.memories == 1 else f"{held.memories:,} memories"
    return f"{beings} with {memories}"
