"""`claw being export`, `import`, `backup`, `restore` and `quota`: copies and their limits."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Literal

import typer

from clawkit.cli.being.opened_store import (
    AsJson,
    BeingArgument,
    EmbedderOption,
    MemoryPlace,
    ProgressLine,
    StoreOption,
    fail,
    make_vectors,
    opened,
    reported,
    say_removed,
)
from clawkit.cli.output import print_json, shown

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.imports.imported import ImportedFiles
    from clawkit.memory.imports.importer import ImportResult
    from clawkit.memory.records import Being
    from clawkit.memory.store.backup import StoreContents

_MOST_PROBLEMS = 20


def export_(
    being: BeingArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to write; stdout, without.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Overwrite FILE if it exists.")] = False,
    store: StoreOption = "",
) -> None:
    """Write all that a Being remembers as one file; the same memory gives the same bytes."""
    verb = "being export"
    if file is not None and os.path.lexists(file) and not yes:
        raise fail(verb, f"{file} is already there: give --yes to overwrite it")
    with opened(verb, MemoryPlace(store, "none")) as keeper:
        from clawkit.memory.bundle_transfer import export

        found = keeper.find(being)
        lines = -2
        with _written(verb, file) as output:
            for line in export(keeper.database, found):
                output.write(line)
                lines += 1
        if file is not None:
            print(f"Wrote {lines:,} records of {shown(found.name)} to {file}.", file=sys.stderr)


@contextmanager
def _written(verb: str, file: Path | None) -> Generator[BinaryIO]:
    """Where the export goes. A file is for its owner only, and there when it is whole."""
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    beside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
        beside.replace(file)
    except OSError as error:
        raise fail(verb, f"{file} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


def import_(
    place: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|FOLDER", help="A bundle, a folder of Markdown, JSON lines; - for stdin."
        ),
    ],
    being: Annotated[
        str,
        typer.Option(
            "--being",
            metavar="BEING",
            help="Who gets it; your own without. A bundle makes a new one of that name.",
        ),
    ] = "",
    kind: Annotated[
        Literal["auto", "bundle", "markdown", "jsonl", "server-memory"],
        typer.Option("--format", help="What it is, if its first line does not tell."),
    ] = "auto",
    as_memories: Annotated[
        bool, typer.Option("--as-memories", help="jsonl: each message becomes a memory.")
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Import what can be read, leave out the rest.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be imported; change nothing.")
    ] = False,
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Give a Being what was remembered elsewhere; the same file twice adds nothing."""
    verb = "being import"
    where = MemoryPlace(store, embedder)
    with reported(verb), _file(verb, place) as source:
        from clawkit.memory.imports.importer import format_of, read

        form = format_of(source) if kind == "auto" else kind
        if form == "bundle":
            _import_bundle(
                verb, where, source, being or _stem(place), dry_run=dry_run, as_json=as_json
            )
            return
        reading = read(source, form, as_memories=as_memories)
        _report(verb, reading, skip_bad=skip_bad)
        with opened(verb, where) as keeper:
            found = where.own(keeper, being)
            brought = _bring(keeper, found, reading, dry_run=dry_run)
            if not dry_run:
                make_vectors(keeper, found)
        if as_json:
            print_json({"being": found.id, "dry_run": dry_run, "imported": brought})
        else:
            _print_brought(found, brought, dry_run=dry_run)


def _stem(place: Path) -> str:
    return "imported" if str(place) == "-" else place.stem


@contextmanager
def _file(verb: str, place: Path) -> Generator[Path]:
    """What is to be read; what comes from stdin is put into a file, as it is read twice."""
    if str(place) != "-":
        if not os.path.lexists(place):
            raise fail(verb, f"{place} is not there")
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stdin"
        with file.open("wb") as written:
            shutil.copyfileobj(sys.stdin.buffer, written)
        yield file


def _report(verb: str, reading: ImportedFiles, *, skip_bad: bool) -> None:
    """Say what could not be read; nothing is imported then, unless that is wanted."""
    for problem in reading.problems[:_MOST_PROBLEMS]:
        print(f"claw {verb}: {shown(str(problem))}", file=sys.stderr)
    more = len(reading.problems) - _MOST_PROBLEMS
    if more > 0:
        print(f"claw {verb}: and {more:,} lines more", file=sys.stderr)
    if reading.problems and not skip_bad:
        raise fail(verb, "nothing was imported: correct these lines, or give --skip-bad")


def _bring(
    keeper: BeingStore, being: Being, reading: ImportedFiles, *, dry_run: bool
) -> ImportResult:
    from clawkit.memory.imports.importer import bring

    with ProgressLine("Importing") as progress:
        return bring(keeper, being, reading, dry_run=dry_run, advance=progress.show)


def _print_brought(being: Being, brought: ImportResult, *, dry_run: bool) -> None:
    from clawkit.cli.being.output import totals
    from clawkit.memory import secret_filter

    done = "Would import" if dry_run else "Imported"
    print(f"{done} into {shown(being.name)}: {totals(brought)}.")
    if brought.known:
        print(f"{brought.known:,} were known already.")
    say_removed(secret_filter.said(brought.removed, being))


def _import_bundle(
    verb: str, where: MemoryPlace, file: Path, called: str, *, dry_run: bool, as_json: bool
) -> None:
    from clawkit.cli.being.output import totals
    from clawkit.memory import bundle, bundle_transfer

    with opened(verb, where) as keeper, file.open("rb") as opened_file:
        known = _known(keeper, called)
        if dry_run:
            contents = bundle.check(opened_file, file.name)
            print(f"Would import into {shown(called)}: {totals(contents)}.")
            return
        total = sum(1 for _ in opened_file)
        opened_file.seek(0)
        with ProgressLine("Importing") as progress:
            being, contents = bundle_transfer.load(
                keeper,
                opened_file,
                file.name,
                into=known or called,
                advance=lambda lines: progress.show(lines, total),
            )
        make_vectors(keeper, being)
        if as_json:
            print_json({"being": being.id, "id": being.id, "imported": contents})
            return
        new = "" if known else f", a new Being ({being.id})"
        print(f"Imported into {shown(being.name)}{new}: {totals(contents)}.")


def _known(keeper: BeingStore, called: str) -> Being | None:
    """The Being that is meant, if there is one: an id, or a name that only one has."""
    from clawkit.errors import BeingError

    named = [being for being in keeper.every() if called in (being.id, being.name)]
    if len(named) > 1:
        raise BeingError(f"several Beings are called {called!r}: say which by its id")
    return named[0] if named else None


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
    with opened(verb, MemoryPlace(store, "none")) as keeper:
        from msgspec import structs

        from clawkit.memory import quotas
        from clawkit.memory.store import beings as counted

        found = keeper.find(being)
        with keeper.database.registry(write=bool(given)) as connection:
            allowed = quotas.quota_of(connection, found.n)
            if given:
                allowed = structs.replace(allowed, **given)
                quotas.set_quota(connection, found.n, allowed)
        with keeper.database.read(found.n) as unit:
            used = quotas.used(unit)
            today = counted.calls_made(unit, int(keeper.clock() // 86_400))
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

        place = _sqlite(verb, MemoryPlace(store, "none"), "`pg_dump` copies it")
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

        place = _sqlite(verb, MemoryPlace(store, "none"), "`pg_restore` brings a copy back")
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


def _sqlite(verb: str, place: MemoryPlace, otherwise: str) -> Path:
    """The file of an embedded store; another kind has tools of its own."""
    from clawkit.memory.store.store_address import shown as without_secrets

    scheme, _, rest = place.address.partition(":")
    if scheme != "sqlite":
        address = without_secrets(place.address)
        raise fail(verb, f"{address} is a database server: {otherwise}")
    return Path(rest.removeprefix("//")).expanduser()


def _held(held: StoreContents) -> str:
    beings = "1 Being" if held.beings == 1 else f"{held.beings:,} Beings"
    memories = "1 memory" if held.memories == 1 else f"{held.memories:,} memories"
    return f"{beings} with {memories}"
