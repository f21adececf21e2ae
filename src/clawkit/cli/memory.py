"""`claw memory`: what your Being remembers, to look through, correct and undo."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import Struct

from clawkit.cli.being_opening import (
    AsJson,
    BeingOption,
    EmbedderOption,
    Place,
    Progress,
    StoreOption,
    opened,
    reported,
    say_removed,
)
from clawkit.cli.being_vectors import make_few_vectors, make_vectors, say_missing
from clawkit.cli.memory_person import person
from clawkit.cli.rows import print_json, shown

if TYPE_CHECKING:
    from clawkit.memory.keeper import Keeper
    from clawkit.memory.memory import Memory
    from clawkit.memory.records import Change, LedgerEntry, Node

app = typer.Typer(help="What your Being remembers.", invoke_without_command=True)

NodeArgument = Annotated[
    str, typer.Argument(metavar="MEMORY", help="Its id, or the beginning of it.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would change; change nothing.")]


class Given(Struct, frozen=True):
    """What was said before the verb."""

    being: str = ""
    store: str = ""
    embedder: str = ""
    as_json: bool = False


def given_for(
    context: typer.Context, being: str, store: str, embedder: str = "", *, as_json: bool = False
) -> Given:
    """What was said before the verb and behind it."""
    before: Given = context.obj
    return Given(
        being or before.being,
        store or before.store,
        embedder or before.embedder,
        as_json or before.as_json,
    )


class Mine:
    """The memory that a command is about."""

    def __init__(self, keeper: Keeper, memory: Memory) -> None:
        self.keeper = keeper
        self.memory = memory

    def node(self, called: str) -> Node:
        """The memory of an id, or of the beginning of one."""
        from clawkit.memory.viewing import node_called

        with self.keeper.database.read(self.memory.being.n) as unit:
            return node_called(unit, called)

    def told(self, entries: Sequence[LedgerEntry]) -> list[str]:
        """Entries of the history in words."""
        from clawkit.cli.memory_history import History

        wide = max(len(str(entry.n)) for entry in entries)
        with self.keeper.database.read(self.memory.being.n) as unit:
            found = History(unit)
            return [found.line(entry, wide) for entry in entries]

    def changed(self, changes: Sequence[Change]) -> list[str]:
        """What was changed, in words."""
        from clawkit.cli.memory_history import History

        with self.keeper.database.read(self.memory.being.n) as unit:
            return list(History(unit).changed(changes))

    def say_undo(self) -> None:
        for entry in self.memory.ledger(1):
            print(f"`claw memory undo {entry.n}` undoes this.", file=sys.stderr)


@contextmanager
def opened_memory(verb: str, given: Given, *, embedding: bool = True) -> Generator[Mine]:
    """The memory that is meant. What needs no vectors loads no embedder."""
    place = Place(given.store, given.embedder if embedding else "none")
    with opened(f"memory {verb}".rstrip(), place) as keeper:
        if place.remote:
            note = f"the assistant's memory is at {place.remote}; this is the one on this machine"
            print(f"claw memory: {shown(note)}", file=sys.stderr)
        yield Mine(keeper, keeper.open(place.own(keeper, given.being)))


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
    context.obj = Given(being, store, embedder, as_json)
    if context.invoked_subcommand is None:
        _overview(context.obj, recent)


def _overview(given: Given, recent: int) -> None:
    from clawkit.memory.store.opening import shown as shown_address

    place = Place(given.store)
    with reported("memory"):
        begun = place.is_begun()
    if not begun and not given.as_json:
        print(f"Nothing is remembered yet in {shown_address(place.address)}.")
        print('`claw remember "…"` is a beginning.')
        return
    with opened_memory("", given, embedding=False) as mine:
        from clawkit.memory.viewing import view

        found = view(mine.keeper.database, mine.memory.being, recent)
        if given.as_json:
            print_json(found)
            return
        from clawkit.cli.memory_view import print_view

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
        from clawkit.cli.memory_view import hit_lines, hits_json

        make_few_vectors(mine.keeper, mine.memory.being)
        with Progress("Searching") as progress:
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
        from clawkit.cli.memory_view import node_lines

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
        from clawkit.cli.memory_view import outcome_lines

        if not dry_run:
            make_vectors(mine.keeper, mine.memory.being)
        with Progress("Tidying up") as progress:
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
app.command()(person)


def _today() -> str:
    return datetime.now().astimezone().date().isoformat()


def _short(node: Node) -> str:
    return f"{shown(node.text)} ({node.id[:8]})"
