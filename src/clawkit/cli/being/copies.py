"""`claw being export`, `import`, `backup`, `restore` and `quota`: copies and their limits."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import typer
from msgspec import structs

from clawkit.assistant.memory.place import MemoryPlace, opened
from clawkit.cli.being.options import (
    BeingArgument,
    EmbedderOption,
    ProgressLine,
    StoreOption,
    make_vectors,
    say_removed,
)
from clawkit.cli.being.output import totals
from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    Overwrite,
    output_file,
    print_json,
    print_lines,
    require_new,
)
from clawkit.cli.tables import fact_lines
from clawkit.memory import being_store, bundle, secret_filter
from clawkit.memory.being_store import BeingStore
from clawkit.memory.bundle import export
from clawkit.memory.records import Being
from clawkit.memory.store.beings import calls_made
from clawkit.system.addresses import shown_address as without_secrets
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

if TYPE_CHECKING:
    from clawkit.memory.imports.importer import ImportResult
    from clawkit.memory.imports.readers import ImportedFiles
    from clawkit.memory.store.backup import StoreContents

_MOST_PROBLEMS = 20


def export_(
    being: BeingArgument,
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Where to write; stdout, without.")
    ] = None,
    yes: Overwrite = False,
    address: StoreOption = "",
) -> None:
    """Write all that a Being remembers as one file; the same memory gives the same bytes."""
    require_new(file, yes=yes)
    with opened(MemoryPlace(address, "none")) as store:
        found = store.find(being)
        lines = -2
        with output_file(file) as output:
            for line in export(store.database, found):
                output.write(line)
                lines += 1
        if file is not None:
            print(
                f"Wrote {counted(lines, 'record')} of {visible(found.name)} to {file}.",
                file=sys.stderr,
            )


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
    address: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Give a Being what was remembered elsewhere; the same file twice adds nothing."""
    where = MemoryPlace(address, embedder)
    with _file(place) as source:
        from clawkit.memory.imports.readers import format_of, read

        form = format_of(source) if kind == "auto" else kind
        if form == "bundle":
            called = being or ("imported" if str(place) == "-" else place.stem)
            _import_bundle(where, source, called, dry_run=dry_run, as_json=as_json)
            return
        reading = read(source, form, as_memories=as_memories)
        _report(reading, skip_bad=skip_bad)
        with opened(where) as store:
            found = where.own(store, being)
            brought = _bring(store, found, reading, dry_run=dry_run)
            if not dry_run:
                make_vectors(store, found)
        if as_json:
            print_json({"being": found.id, "dry_run": dry_run, "imported": brought})
        else:
            _print_brought(found, brought, dry_run=dry_run)


@contextmanager
def _file(place: Path) -> Generator[Path]:
    """What is to be read; what comes from stdin is put into a file, as it is read twice."""
    if str(place) != "-":
        if not os.path.lexists(place):
            raise CommandFailure(f"{place} is not there")
        yield place
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "stdin"
        with file.open("wb") as written:
            shutil.copyfileobj(sys.stdin.buffer, written)
        yield file


def _report(reading: ImportedFiles, *, skip_bad: bool) -> None:
    """Say what could not be read; nothing is imported then, unless that is wanted."""
    problems = [str(problem) for problem in reading.problems[:_MOST_PROBLEMS]]
    more = len(reading.problems) - _MOST_PROBLEMS
    problems += [f"and {counted(more, 'line')} more"] if more > 0 else []
    if problems and not skip_bad:
        advice = "nothing was imported: correct these lines, or give --skip-bad"
        raise CommandFailure("\n".join((*problems, advice)))
    for problem in problems:
        print(f"claw being import: {visible(problem)}", file=sys.stderr)


def _bring(
    store: BeingStore, being: Being, reading: ImportedFiles, *, dry_run: bool
) -> ImportResult:
    from clawkit.memory.imports.importer import bring

    with ProgressLine("Importing") as progress:
        return bring(store, being, reading, dry_run=dry_run, advance=progress.show)


def _print_brought(being: Being, brought: ImportResult, *, dry_run: bool) -> None:
    done = "Would import" if dry_run else "Imported"
    print(f"{done} into {visible(being.name)}: {totals(brought)}.")
    if brought.known:
        print(f"{counted(brought.known, 'was', 'were')} known already.")
    say_removed(secret_filter.said(brought.removed, being))


def _import_bundle(
    where: MemoryPlace, file: Path, called: str, *, dry_run: bool, as_json: bool
) -> None:

    with opened(where) as store, file.open("rb") as opened_file:
        known = _known(store, called)
        if dry_run:
            contents = bundle.check(opened_file, file.name)
            print(f"Would import into {visible(called)}: {totals(contents)}.")
            return
        total = sum(1 for _ in opened_file)
        opened_file.seek(0)
        with ProgressLine("Importing") as progress:
            being, contents = bundle.load(
                store,
                opened_file,
                file.name,
                into=known or called,
                advance=lambda lines: progress.show(lines, total),
            )
        make_vectors(store, being)
        if as_json:
            print_json({"being": being.id, "id": being.id, "imported": contents})
            return
        new = "" if known else f", a new Being ({being.id})"
        print(f"Imported into {visible(being.name)}{new}: {totals(contents)}.")


def _known(store: BeingStore, called: str) -> Being | None:
    """The Being that is meant, if there is one: by its id or its name."""
    return next((being for being in store.every() if called in (being.id, being.name)), None)


_NONE = "none"
_LARGEST = (1 << 53) - 1
_CALLED = {"calls": "calls today"}


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
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Show or set how much a Being may hold and how often it may be called."""
    asked = {"memories": memories, "bytes": size, "calls": calls}
    given = {name: _limit(f"--{name}", text) for name, text in asked.items() if text.strip()}
    with opened(MemoryPlace(address, "none")) as store:
        found = store.find(being)
        with store.database.registry(write=bool(given)) as connection:
            allowed = being_store.quota_of(connection, found.n)
            if given:
                allowed = structs.replace(allowed, **given)
                being_store.set_quota(connection, found.n, allowed)
        with store.database.read(found.n) as unit:
            used = being_store.used(unit)
            today = calls_made(unit, int(store.clock() // 86_400))
        counted = None if allowed.calls is None else today
        limits = msgspec.structs.asdict(allowed)
        has = {"memories": used.memories, "bytes": used.bytes, "calls": counted}
        told = {name: {"used": has[name], "limit": limits[name]} for name in limits}
        facts = {_CALLED.get(name, name): _of(one) for name, one in told.items()}
        lines = (visible(found.name), *fact_lines(facts, 12))
        print_lines(lines, {"being": found.id, **told}, as_json=as_json)


def _limit(option: str, text: str) -> int | None:
    text = text.strip().lower()
    if text == _NONE:
        return None
    number = text.replace(",", "").replace("_", "")
    if not number.isascii() or not number.isdigit() or int(number) > _LARGEST:
        raise CommandFailure(f"{option} is a number or `none`, not {visible(text)!r}", 2)
    return int(number)


def _of(one: dict[str, Any]) -> str:
    limit = one["limit"]
    if one["used"] is None:
        return "not counted without a limit"
    return f"{one['used']:,} " + ("(no limit)" if limit is None else f"of {limit:,}")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the copy.")],
    yes: Overwrite = False,
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Copy a whole SQLite store with all Beings and tokens, also while servers write to it."""
    from clawkit.memory.store.backup import back_up

    place = _sqlite(MemoryPlace(address, "none"), "`pg_dump` copies it")
    require_new(file, yes=yes)
    if file.exists() and place.exists() and file.samefile(place):
        raise CommandFailure(f"{file} is the store itself: name another file")
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
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Put a copy in the place of the SQLite store; the one that was there is kept beside it."""
    from clawkit.memory.store import backup as copies

    place = _sqlite(MemoryPlace(address, "none"), "`pg_restore` brings a copy back")
    if not file.is_file():
        raise CommandFailure(f"{file} is not there")
    if place.exists() and file.samefile(place):
        raise CommandFailure(f"{file} is the store itself: name the copy")
    if place.exists() and not yes:
        held = copies.look(file)
        raise CommandFailure(
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


def _sqlite(place: MemoryPlace, otherwise: str) -> Path:
    """The file of an embedded store; another kind has tools of its own."""
    if place.file is None:
        address = without_secrets(place.address)
        raise CommandFailure(f"{address} is a database server: {otherwise}")
    return place.file


def _held(held: StoreContents) -> str:
    return f"{counted(held.beings, 'Being')} with {counted(held.memories, 'memory')}"
