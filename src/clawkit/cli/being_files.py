"""`claw being export` and `claw being import`: memories as files."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, Literal

import typer

from clawkit.cli.being_opening import (
    AsJson,
    BeingArgument,
    EmbedderOption,
    Place,
    Progress,
    StoreOption,
    fail,
    opened,
    reported,
    say_removed,
)
from clawkit.cli.being_vectors import make_vectors
from clawkit.cli.rows import print_json, shown

if TYPE_CHECKING:
    from clawkit.memory.imports.importing import Brought
    from clawkit.memory.imports.reading import Reading
    from clawkit.memory.keeper import Keeper
    from clawkit.memory.records import Being

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
    with opened(verb, Place(store, "none")) as keeper:
        from clawkit.memory.bundling import export

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
    where = Place(store, embedder)
    with reported(verb), _file(verb, place) as source:
        from clawkit.memory.imports.formats import format_of, read

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


def _report(verb: str, reading: Reading, *, skip_bad: bool) -> None:
    """Say what could not be read; nothing is imported then, unless that is wanted."""
    for problem in reading.problems[:_MOST_PROBLEMS]:
        print(f"claw {verb}: {shown(str(problem))}", file=sys.stderr)
    more = len(reading.problems) - _MOST_PROBLEMS
    if more > 0:
        print(f"claw {verb}: and {more:,} lines more", file=sys.stderr)
    if reading.problems and not skip_bad:
        raise fail(verb, "nothing was imported: correct these lines, or give --skip-bad")


def _bring(keeper: Keeper, being: Being, reading: Reading, *, dry_run: bool) -> Brought:
    from clawkit.memory.imports.importing import bring

    with Progress("Importing") as progress:
        return bring(keeper, being, reading, dry_run=dry_run, advance=progress.show)


def _print_brought(being: Being, brought: Brought, *, dry_run: bool) -> None:
    from clawkit.cli.being_text import counted
    from clawkit.memory import secrecy

    done = "Would import" if dry_run else "Imported"
    print(f"{done} into {shown(being.name)}: {counted(brought)}.")
    if brought.known:
        print(f"{brought.known:,} were known already.")
    say_removed(secrecy.said(brought.removed, being))


def _import_bundle(
    verb: str, where: Place, file: Path, called: str, *, dry_run: bool, as_json: bool
) -> None:
    from clawkit.cli.being_text import counted
    from clawkit.memory import bundle, bundling

    with opened(verb, where) as keeper, file.open("rb") as opened_file:
        known = _known(keeper, called)
        if dry_run:
            contents = bundle.check(opened_file, file.name)
            print(f"Would import into {shown(called)}: {counted(contents)}.")
            return
        total = sum(1 for _ in opened_file)
        opened_file.seek(0)
        with Progress("Importing") as progress:
            being, contents = bundling.load(
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
        print(f"Imported into {shown(being.name)}{new}: {counted(contents)}.")


def _known(keeper: Keeper, called: str) -> Being | None:
    """The Being that is meant, if there is one: an id, or a name that only one has."""
    from clawkit.errors import BeingError

    named = [being for being in keeper.every() if called in (being.id, being.name)]
    if len(named) > 1:
        raise BeingError(f"several Beings are called {called!r}: say which by its id")
    return named[0] if named else None
