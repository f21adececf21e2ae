"""`claw memory`: what your Being remembers, to search, correct, undo, export and erase."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
from msgspec import Struct

from clawkit.cli.being.opened_store import (
    AsJson,
    BeingOption,
    EmbedderOption,
    MemoryPlace,
    ProgressLine,
    StoreOption,
    fail,
    make_few_vectors,
    make_vectors,
    opened,
    reported,
    say_missing,
    say_removed,
)
from clawkit.cli.output import print_json, shown
from clawkit.errors import ClawError

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.erasure.deletion import Receipt
    from clawkit.memory.erasure.person_search import ErasurePlan, ErasureRequest
    from clawkit.memory.memory import Memory
    from clawkit.memory.records import Change, LedgerEntry, Node

app = typer.Typer(help="What your Being remembers.", invoke_without_command=True)

NodeArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Its id, or the beginning of it.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change; change nothing.")]


class MemoryCommandOptions(Struct, frozen=True):
    """What was said before the verb."""

    being: str = ""
    store: str = ""
    embedder: str = ""
    as_json: bool = False


def given_for(
    context: typer.Context, being: str, store: str, embedder: str = "", *, as_json: bool = False
) -> MemoryCommandOptions:
    """What was said before the verb and behind it."""
    before: MemoryCommandOptions = context.obj
    return MemoryCommandOptions(
        being or before.being,
        store or before.store,
        embedder or before.embedder,
        as_json or before.as_json,
    )


class OpenedMemory:
    """The memory that a command is about."""

    def __init__(self, keeper: BeingStore, memory: Memory) -> None:
        self.keeper = keeper
        self.memory = memory

    def node(self, called: str) -> Node:
        """The memory of an id, or of the beginning of one."""
        from clawkit.memory.statistics import node_called

        with self.keeper.database.read(self.memory.being.n) as unit:
            return node_called(unit, called)

    def told(self, entries: Sequence[LedgerEntry]) -> list[str]:
        """Entries of the history in words."""
        from clawkit.cli.memory.history import MemoryHistory

        wide = max(len(str(entry.n)) for entry in entries)
        with self.keeper.database.read(self.memory.being.n) as unit:
            found = MemoryHistory(unit)
            return [found.line(entry, wide) for entry in entries]

    def changed(self, changes: Sequence[Change]) -> list[str]:
        """What was changed, in words."""
        from clawkit.cli.memory.history import MemoryHistory

        with self.keeper.database.read(self.memory.being.n) as unit:
            return list(MemoryHistory(unit).changed(changes))

    def say_undo(self) -> None:
        for entry in self.memory.ledger(1):
            print(f"`claw memory undo {entry.n}` undoes this.", file=sys.stderr)


@contextmanager
def opened_memory(
    verb: str, given: MemoryCommandOptions, *, embedding: bool = True
) -> Generator[OpenedMemory]:
    """The memory that is meant. What needs no vectors loads no embedder."""
    place = MemoryPlace(given.store, given.embedder if embedding else "none")
    with opened(f"memory {verb}".rstrip(), place) as keeper:
        if place.remote:
            note = f"the assistant's memory is at {place.remote}; this is the one on this machine"
            print(f"claw memory: {shown(note)}", file=sys.stderr)
        yield OpenedMemory(keeper, keeper.open(place.own(keeper, given.being)))


@app.callback()
def memory(
    context: typer.Context,
    being: BeingOption = "",
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    recent: Annotated[
        int, typer.Option("--recent", "-n", min=0, help="How many recent memories to show.")
    ] = 10,
    as_json: AsJson = False,
) -> None:
    """Show what your Being remembers: topics, recent memories, new notes."""
    context.obj = MemoryCommandOptions(being, store, embedder, as_json)
    if context.invoked_subcommand is None:
        _overview(context.obj, recent)


def _overview(given: MemoryCommandOptions, recent: int) -> None:
    from clawkit.memory.store.store_address import shown as shown_address

    place = MemoryPlace(given.store)
    with reported("memory"):
        begun = place.is_begun()
    if not begun and not given.as_json:
        print(f"Nothing is remembered yet in {shown_address(place.address)}.")
        print('`claw remember "…"` is a beginning.')
        return
    with opened_memory("", given, embedding=False) as mine:
        from clawkit.memory.statistics import view

        found = view(mine.keeper.database, mine.memory.being, recent)
        if given.as_json:
            print_json(found)
            return
        from clawkit.cli.memory.output import print_view

        print_view(found)


@app.command()
def search(
    context: typer.Context,
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
    as_of: Annotated[str, typer.Option(metavar="DATE", help="What was known then, not now.")] = "",
    being: BeingOption = "",
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Find memories, the best first; unlike `claw recall`, whatever they are worth."""
    given = given_for(context, being, store, embedder, as_json=as_json)
    with opened_memory("search", given) as mine:
        from clawkit.cli.memory.output import hit_lines, hits_json

        make_few_vectors(mine.keeper, mine.memory.being)
        with ProgressLine("Searching") as progress:
            progress.begin()
            found = mine.memory.search(
                " ".join(query), limit=limit, mode=mode, explain=explain, as_of=as_of or None
            )
        if given.as_json:
            print_json({"kind": found.kind, "hits": hits_json(found.hits)})
            return
        for hit in found.hits:
            for line in hit_lines(hit):
                print(line)
        if not found.hits:
            print("No memory was found.")
        say_missing(mine.keeper, mine.memory.being, found.kind)


@app.command()
def show(
    context: typer.Context,
    node: NodeArgument,
    being: BeingOption = "",
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Show one memory: all that is known about it, and where it came from."""
    given = given_for(context, being, store, as_json=as_json)
    with opened_memory("show", given, embedding=False) as mine:
        from clawkit.cli.memory.output import node_lines

        found = mine.node(node)
        if given.as_json:
            print_json(found)
            return
        for line in node_lines(found):
            print(line)


@app.command()
def retract(
    context: typer.Context,
    node: NodeArgument,
    why: Annotated[str, typer.Option(help="The reason, for the history.")] = "",
    being: BeingOption = "",
    store: StoreOption = "",
) -> None:
    """Take a memory back: nothing recalls it any more; `undo` brings it back."""
    from clawkit.memory.caller import Caller

    with opened_memory("retract", given_for(context, being, store), embedding=False) as mine:
        found = mine.node(node)
        mine.memory.retract([found.id], Caller(), why)
        print(f"Taken back: {_short(found)}")
        mine.say_undo()


@app.command()
def replace(
    context: typer.Context,
    node: NodeArgument,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="What is so now.")],
    being: BeingOption = "",
    store: StoreOption = "",
    embedder: EmbedderOption = "",
) -> None:
    """Say what is so now in place of a memory that no longer holds."""
    import msgspec

    from clawkit.memory.caller import Caller

    with opened_memory("replace", given_for(context, being, store, embedder)) as mine:
        old = mine.node(node)
        scene = msgspec.structs.replace(old.scene, action=" ".join(text), when=(_today(),))
        sieve = mine.memory.sieve()
        new = mine.memory.supersede(old.id, scene, Caller(), sieve)
        print(f"Now: {_short(new)}")
        say_removed(sieve.said())
        mine.say_undo()


@app.command()
def pin(
    context: typer.Context,
    node: NodeArgument,
    off: Annotated[bool, typer.Option("--off", help="Let it fade again.")] = False,
    being: BeingOption = "",
    store: StoreOption = "",
) -> None:
    """Let a memory never fade."""
    from clawkit.memory.caller import Caller

    with opened_memory("pin", given_for(context, being, store), embedding=False) as mine:
        found = mine.memory.pin(mine.node(node).id, not off, Caller())
        print(f"{'Not pinned any more' if off else 'Pinned'}: {_short(found)}")


@app.command()
def tidy(
    context: typer.Context,
    dry_run: DryRun = False,
    cap: Annotated[
        int | None,
        typer.Option(
            min=0, help="How many memories may fall asleep or be merged; without, a tenth of each."
        ),
    ] = None,
    being: BeingOption = "",
    store: StoreOption = "",
    embedder: EmbedderOption = "",
    as_json: AsJson = False,
) -> None:
    """Put memory in order: new notes, what fades, what says the same, small topics."""
    from clawkit.memory.caller import Caller

    given = given_for(context, being, store, embedder, as_json=as_json)
    with opened_memory("tidy", given) as mine:
        from clawkit.cli.memory.output import outcome_lines

        if not dry_run:
            make_vectors(mine.keeper, mine.memory.being)
        with ProgressLine("Tidying up") as progress:
            progress.begin()
            outcome = mine.memory.patrol(Caller(), cap=cap, dry_run=dry_run)
        if given.as_json:
            print_json(outcome)
        else:
            for line in outcome_lines(outcome, dry_run=dry_run):
                print(line)
        if outcome.stopped:
            raise typer.Exit(1)


@app.command()
def history(
    context: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many changes.")] = 20,
    being: BeingOption = "",
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """List what was done to this memory, the newest first; `undo` takes a number from here."""
    given = given_for(context, being, store, as_json=as_json)
    with opened_memory("history", given, embedding=False) as mine:
        found = mine.memory.ledger(limit)
        if given.as_json:
            print_json(found)
        elif found:
            for line in mine.told(found):
                print(line)
        else:
            print("Nothing was done to this memory yet.")


@app.command()
def undo(
    context: typer.Context,
    n: Annotated[int, typer.Argument(metavar="N", help="Its number, as `history` shows it.")],
    dry_run: DryRun = False,
    being: BeingOption = "",
    store: StoreOption = "",
    as_json: AsJson = False,
) -> None:
    """Undo what was done, by its number in `history`; an undo can be undone."""
    from clawkit.memory.caller import Caller

    given = given_for(context, being, store, as_json=as_json)
    with opened_memory("undo", given, embedding=False) as mine:
        changes = mine.memory.undo(n, Caller(), dry_run)
        if given.as_json:
            print_json(changes)
            return
        for line in mine.changed(changes):
            print(f"  {line}")
        print(f"{'Would undo' if dry_run else 'Undid'} {n}.")


app.command("patrol", hidden=True)(tidy)
app.command("changes", hidden=True)(history)
app.command("ledger", hidden=True)(history)


def _today() -> str:
    return datetime.now().astimezone().date().isoformat()


def _short(node: Node) -> str:
    return f"{shown(node.text)} ({node.id[:8]})"


_PERSON = "memory person"
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
    from clawkit.memory.erasure.person_search import ErasureRequest

    _check(erase=erase, receipt=receipt, files=(export, receipt), yes=yes)
    given = given_for(context, being, store, embedder, as_json=as_json)
    with opened_memory("person", given) as mine:
        from clawkit.memory.erasure.deletion import find

        who = ErasureRequest(name, tuple(also or ()))
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
        raise fail(_PERSON, "--receipt is for --erase", 2)
    for file in files:
        if file is not None and os.path.lexists(file) and not yes:
            raise fail(_PERSON, f"{file} is already there: give --yes to overwrite it")


def _ask(plan: ErasurePlan) -> None:
    if not sys.stdin.isatty():
        raise fail(_PERSON, "nobody is there to be asked: give --yes to erase it", 2)
    _show(plan, as_json=False, quiet=False)
    if not typer.confirm(f"Erase this about {shown(plan.person.name)} for good?", default=False):
        print("Nothing was erased.")
        raise typer.Exit(1)


def _erase(
    mine: OpenedMemory, who: ErasureRequest, plan: ErasurePlan, file: Path | None, *, as_json: bool
) -> None:
    from clawkit.cli.being.opened_store import make_vectors
    from clawkit.cli.memory.output import name_of_memory, receipt_lines
    from clawkit.memory.erasure.deletion import erase

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


def _in_sessions(plan: ErasurePlan) -> Iterator[str]:
    """Which of the assistant's sessions still have the name, and the command that deletes them."""
    from clawkit.assistant.config import Config
    from clawkit.assistant.sessions.store import SessionStore
    from clawkit.memory.erasure.redaction import PersonMatcher

    named = PersonMatcher(plan.person.forms)
    found: dict[str, None] = {}
    try:
        for record in SessionStore(Config().store_file).export():
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


def _show(plan: ErasurePlan, *, as_json: bool, quiet: bool) -> None:
    from clawkit.cli.memory.output import maybe_json, plan_json, plan_lines

    if as_json:
        print_json({**plan_json(plan), "may_be_about": maybe_json(plan)})
    elif not quiet:
        for line in plan_lines(plan):
            print(line)


def _exported(mine: OpenedMemory, plan: ErasurePlan) -> dict[str, Any]:
    from clawkit.cli.memory.output import plan_json
    from clawkit.memory.structured_memory import iso

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
        raise fail(_PERSON, f"{file} cannot be written: {error.strerror}") from None
    finally:
        beside.unlink(missing_ok=True)


app.command()(person)
