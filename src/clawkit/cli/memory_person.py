"""`claw memory person`: all that is remembered about one person, shown, written down, erased."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from clawkit.cli.being_opening import AsJson, BeingOption, EmbedderOption, StoreOption, fail
from clawkit.cli.rows import print_json, shown
from clawkit.errors import ClawError

if TYPE_CHECKING:
    from clawkit.cli.memory import Mine
    from clawkit.memory.erasure.erasing import Receipt
    from clawkit.memory.erasure.finding import Plan, Who

_VERB = "memory person"
_ELSEWHERE = (
    "Not in this memory, and so not erased: backups and exports, and the files and histories of "
    "clients."
)


def person(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Whose: only this name counts, as it is.")
    ],
    also: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another name of the same person; can be repeated."),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all of it into a file, as JSON.")
    ] = None,
    erase: Annotated[
        bool, typer.Option("--erase", help="Erase it for good: no undo brings it back.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what --erase would do; change nothing.")
    ] = False,
    receipt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the receipt: what was erased, without content."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; overwrite files that exist.")
    ] = False,
    being: BeingOption = "",
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Show, export or erase what is remembered about one person."""
    from clawkit.cli.memory import given_for, opened_memory
    from clawkit.memory.erasure.finding import Who

    _check(erase=erase, receipt=receipt, files=(export, receipt), yes=yes)
    given = given_for(context, being, store, embedder, as_json=as_json)
    with opened_memory("person", given) as mine:
        from clawkit.memory.erasure.erasing import find

        who = Who(name, tuple(also or ()))
        plan = find(mine.keeper, mine.memory.being, who)
        if export is not None:
            _write(export, _exported(mine, plan))
            print(f"Wrote what there is about {shown(plan.person.name)} to {export}.")
        if not erase:
            _show(plan, as_json=given.as_json, quiet=export is not None)
            return
        if not dry_run and not plan.is_empty and not yes:
            _ask(plan)
        if dry_run:
            _show(plan, as_json=given.as_json, quiet=False)
            print("Nothing was changed.", file=sys.stderr)
            return
        _erase(mine, who, plan, receipt, as_json=given.as_json)


def _check(*, erase: bool, receipt: Path | None, files: tuple[Path | None, ...], yes: bool) -> None:
    if receipt is not None and not erase:
        raise fail(_VERB, "--receipt is for --erase", 2)
    for file in files:
        if file is not None and os.path.lexists(file) and not yes:
            raise fail(_VERB, f"{file} is already there: give --yes to overwrite it")


def _ask(plan: Plan) -> None:
    if not sys.stdin.isatty():
        raise fail(_VERB, "nobody is there to be asked: give --yes to erase it", 2)
    _show(plan, as_json=False, quiet=False)
    if not typer.confirm(f"Erase this about {shown(plan.person.name)} for good?", default=False):
        print("Nothing was erased.")
        raise typer.Exit(1)


def _erase(mine: Mine, who: Who, plan: Plan, file: Path | None, *, as_json: bool) -> None:
    from clawkit.cli.being_vectors import make_vectors
    from clawkit.cli.memory_person_text import name_of_memory, receipt_lines
    from clawkit.memory.erasure.erasing import erase

    done: Receipt = erase(mine.keeper, mine.memory.being, who)
    if file is not None:
        _write(file, done)
    if plan.edited:
        make_vectors(mine.keeper, mine.memory.being)
    if as_json:
        print_json(done)
        return
    for line in receipt_lines(done):
        print(line)
    for line in (*name_of_memory(plan, mine.memory.being), *_in_sessions(plan), _ELSEWHERE):
        print(line, file=sys.stderr)


def _in_sessions(plan: Plan) -> Iterator[str]:
    """Which of the assistant's sessions still have the name, and the command that deletes them."""
    from clawkit.assistant.config import Config
    from clawkit.assistant.sessions.store import Store
    from clawkit.memory.erasure.naming import Matcher

    named = Matcher(plan.person.forms)
    found: dict[str, None] = {}
    try:
        for record in Store(Config().store_file).export():
            key: str = record.get("session") or record["key"]
            if key not in found and any(map(named.mentions, _texts(record))):
                found[key] = None
    except ClawError as error:
        yield f"The assistant's sessions could not be searched: {shown(str(error))}"
        return
    if found:
        keys = shlex.join(found)
        yield f"The assistant's sessions still have it: `claw sessions delete {shown(keys)}`"


def _texts(value: object) -> Iterator[str]:
    """Every text within plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(cast("dict[str, object]", value).values()))
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _texts(one)


def _show(plan: Plan, *, as_json: bool, quiet: bool) -> None:
    from clawkit.cli.memory_person_text import maybe_json, plan_json, plan_lines

    if as_json:
        print_json({**plan_json(plan), "may_be_about": maybe_json(plan)})
    elif not quiet:
        for line in plan_lines(plan):
            print(line)


def _exported(mine: Mine, plan: Plan) -> dict[str, Any]:
    from clawkit.cli.memory_person_text import plan_json
    from clawkit.memory.structured import iso

    being = mine.memory.being
    head = {"memory_of": being.name, "memory_id": being.id, "at": iso(mine.keeper.clock())}
    return {**head, **plan_json(plan)}


def _write(file: Path, value: object) -> None:
    """Into a file for its owner only, which is there when it is whole."""
    import msgspec

    data = msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
    beside = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            out.write(data)
        beside.replace(file)
    except OSError as error:
        raise fail(_VERB, f"{file} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)
