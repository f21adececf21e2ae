"""`claw memory`: what your Being remembers, to search, correct, undo, export and erase."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
import typer

from clawkit.assistant.config import Config
from clawkit.assistant.memory.place import MemoryPlace
from clawkit.assistant.sessions.store import SessionStore
from clawkit.cli.being.options import (
    BeingOption,
    EmbedderOption,
    ProgressLine,
    StoreOption,
    make_vectors,
    say_removed,
)
from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    command_group,
    confirm,
    output_file,
    pass_on,
    print_json,
    print_lines,
    require_new,
)
from clawkit.cli.memory import output
from clawkit.cli.memory.access import (
    Changed,
    LocalAccess,
    SearchRequest,
    local_access,
    memory_access,
)
from clawkit.errors import ClawError
from clawkit.memory.erasure import deletion
from clawkit.memory.erasure.person_search import ErasurePlan, ErasureRequest
from clawkit.memory.erasure.redaction import PersonMatcher
from clawkit.memory.records import Node, iso
from clawkit.memory.tokens import Caller
from clawkit.system.addresses import shown_address
from clawkit.text.normalization import visible

app = command_group("What your Being remembers.", invoke_without_command=True)

_NOT_FOUND = "No memory was found."
NodeArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Its id, or the beginning of it.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change; change nothing.")]


@app.callback()
def memory(
    context: typer.Context,
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",  # noqa: ARG001 - the verbs get it by pass_on
    recent: Annotated[
        int, typer.Option("--recent", "-n", min=0, help="How many recent memories to show.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what your Being remembers: topics, recent memories, new notes."""
    pass_on(context)
    place = MemoryPlace(address, "none")
    if context.invoked_subcommand is not None:
        return
    if not place.address_of(being) and not place.is_begun() and not as_json:
        print(f"Nothing is remembered yet in {shown_address(place.address)}.")
        print('`claw remember "…"` is a beginning.')
        return
    with memory_access(place, being) as mine:
        told = mine.view(recent)
    if told.records is None:
        output.print_text(told.text, as_json=as_json)
    elif as_json:
        print_json(told.records)
    else:
        output.print_view(told.records)


@app.command()
def search(
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY", help="Words, a question, or anything.")
    ],
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=1000, help="How many at most.")
    ] = 10,
    mode: Annotated[
        Literal["or", "and"], typer.Option(help="Whether any word or every word must be there.")
    ] = "or",
    explain: Annotated[bool, typer.Option("--explain", help="Show why each was found.")] = False,
    as_of: Annotated[str, typer.Option(metavar="DATE", help="What was so then, not now.")] = "",
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Find memories, the best first; unlike `claw recall`, whatever they are worth."""
    asked = SearchRequest(" ".join(query), limit, explain, as_of, mode)
    with memory_access(MemoryPlace(address, embedder), being) as mine:
        output.print_found(mine.search(asked), _NOT_FOUND, as_json=as_json)


@app.command()
def show(
    node: NodeArgument,
    being: BeingOption = "",
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Show one memory: all that is known about it, and where it came from."""
    with memory_access(MemoryPlace(address, "none"), being) as mine:
        told = mine.show(node)
    if told.records is None:
        output.print_text(told.text, as_json=as_json)
        return
    found, now = told.records.node, told.records.now
    print_lines(output.node_lines(found, now), found, as_json=as_json)


@app.command()
def retract(
    node: NodeArgument,
    why: Annotated[str, typer.Option(help="The reason, for the history.")] = "",
    being: BeingOption = "",
    address: StoreOption = "",
) -> None:
    """Take a memory back: nothing recalls it any more; `undo` brings it back."""
    with memory_access(MemoryPlace(address, "none"), being) as mine:
        _say_changed("Taken back", mine.retract(node, why))


@app.command()
def replace(
    node: NodeArgument,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What is so now.")],
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",
) -> None:
    """Say what is so now in place of a memory that no longer holds."""
    with memory_access(MemoryPlace(address, embedder), being) as mine:
        _say_changed("Now", mine.replace(node, " ".join(text)))


@app.command()
def pin(
    node: NodeArgument,
    off: Annotated[bool, typer.Option("--off", help="Let it fade again.")] = False,
    being: BeingOption = "",
    address: StoreOption = "",
) -> None:
    """Let a memory never fade."""
    with local_access(being, address) as mine:
        found = mine.memory.pin(mine.node(node).id, not off, Caller())
        print(f"{'Not pinned any more' if off else 'Pinned'}: {_short(found)}")


@app.command()
def tidy(
    dry_run: DryRun = False,
    cap: Annotated[
        int | None,
        typer.Option(
            min=0, help="How many memories may fall asleep or be merged; without, a tenth of each."
        ),
    ] = None,
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Put memory in order: new notes, what fades, what says the same, small topics."""
    with local_access(being, address, embedder) as mine:
        if not dry_run:
            make_vectors(mine.store, mine.memory.being)
        with ProgressLine("Tidying up").begin():
            outcome = mine.memory.patrol(Caller(), cap=cap, dry_run=dry_run)
        told = output.outcome_lines(outcome, dry_run=dry_run)
        print_lines(told, outcome, as_json=as_json)
        if outcome.stopped:
            raise typer.Exit(1)


@app.command()
def history(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many changes.")] = 20,
    being: BeingOption = "",
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """List what was done to this memory, the newest first; `undo` takes a number from here."""
    with local_access(being, address) as mine:
        found = mine.memory.ledger(limit)
        wide = max((len(str(entry.n)) for entry in found), default=0)
        told = mine.told(lambda words: (output.history_line(words, entry, wide) for entry in found))
        print_lines(told or ("Nothing was done to this memory yet.",), found, as_json=as_json)


@app.command()
def undo(
    n: Annotated[int, typer.Argument(metavar="N", help="Its number, as `history` shows it.")],
    dry_run: DryRun = False,
    being: BeingOption = "",
    address: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Undo what was done, by its number in `history`; an undo can be undone."""
    with local_access(being, address) as mine:
        changes = mine.memory.undo(n, Caller(), dry_run)
        told = [f"  {line}" for line in mine.told(lambda words: words.changed(changes))]
        done = f"{'Would undo' if dry_run else 'Undid'} {n}."
        print_lines((*told, done), changes, as_json=as_json)


app.command("patrol", hidden=True)(tidy)
app.command("changes", hidden=True)(history)
app.command("ledger", hidden=True)(history)


def _say_changed(what: str, done: Changed) -> None:
    print(f"{what}: {_short(done.node)}")
    say_removed(done.removed)
    if done.entry is not None:
        print(f"`claw memory undo {done.entry}` undoes this.", file=sys.stderr)


def _short(node: Node) -> str:
    return f"{visible(node.text)} ({node.id[:8]})"


_ELSEWHERE = (
    "Not in this memory, and so not erased: backups and exports, and the files and histories of "
    "clients."
)


@app.command()
def person(
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
    dry_run: DryRun = False,
    receipt: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the receipt: what was erased, without content."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask; overwrite files that exist.")
    ] = False,
    being: BeingOption = "",
    address: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Show, export or erase what is remembered about one person."""
    if receipt is not None and not erase:
        raise CommandFailure("--receipt is for --erase", 2)
    for file in (export, receipt):
        require_new(file, yes=yes)
    with local_access(being, address, embedder) as mine:
        who = ErasureRequest(name, tuple(also or ()))
        plan = deletion.find(mine.store, mine.memory.being, who)
        if export is not None:
            _write(export, _exported(mine, plan))
            print(f"Wrote what there is about {visible(plan.person.name)} to {export}.")
        if not erase:
            _show(plan, as_json=as_json, quiet=export is not None)
            return
        if not dry_run and not plan.is_empty and not yes:
            question = f"Erase this about {visible(plan.person.name)} for good?"
            lines = output.plan_lines(plan)
            confirm(question, "Nothing was erased.", "give --yes to erase it", lines)
        if dry_run:
            _show(plan, as_json=as_json, quiet=False)
            print("Nothing was changed.", file=sys.stderr)
            return
        _erase(mine, who, plan, receipt, as_json=as_json)


def _erase(
    mine: LocalAccess, who: ErasureRequest, plan: ErasurePlan, file: Path | None, *, as_json: bool
) -> None:
    done = deletion.erase(mine.store, mine.memory.being, who)
    if file is not None:
        _write(file, done)
    if plan.edited:
        make_vectors(mine.store, mine.memory.being)
    print_lines(output.receipt_lines(done), done, as_json=as_json)
    named = output.name_of_memory(plan, mine.memory.being)
    for line in () if as_json else (*named, *_in_sessions(plan), _ELSEWHERE):
        print(line, file=sys.stderr)


def _in_sessions(plan: ErasurePlan) -> Iterator[str]:
    """Which of the assistant's sessions still have the name, and the command that deletes them."""
    named = PersonMatcher(plan.person.forms)
    found: dict[str, None] = {}
    try:
        for record in SessionStore(Config().store_file).export():
            key: str = record.get("session") or record["key"]
            if key not in found and any(map(named.mentions, _texts(record))):
                found[key] = None
    except ClawError as error:
        yield f"The assistant's sessions could not be searched: {visible(str(error))}"
        return
    if found:
        keys = shlex.join(found)
        yield f"The assistant's sessions still have it: `claw sessions delete {visible(keys)}`"


def _texts(value: object) -> Iterator[str]:
    """Every text within plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(cast("dict[str, object]", value).values()))
    elif isinstance(value, list):
        for one in cast("list[object]", value):
            yield from _texts(one)


def _show(plan: ErasurePlan, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        print_json({**output.plan_json(plan), "may_be_about": output.maybe_json(plan)})
    elif not quiet:
        print_lines(output.plan_lines(plan))


def _exported(mine: LocalAccess, plan: ErasurePlan) -> dict[str, Any]:
    being = mine.memory.being
    head = {"memory_of": being.name, "memory_id": being.id, "at": iso(mine.store.clock())}
    return {**head, **output.plan_json(plan)}


def _write(file: Path, value: object) -> None:
    with output_file(file) as out:
        out.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
