"""`claw guard selftest`: known attacks against a guard, ours or another's, and what held."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from clawkit.cli.commands import AsJson, CommandFailure, command_group, print_json
from clawkit.cli.tables import terminal_width, wrapped
from clawkit.guard.selftest.bench import SelftestOptions
from clawkit.guard.selftest.runner import Attack, all_attacks, require_serving, run
from clawkit.guard.selftest.scratch import OURS, Scratch, described
from clawkit.guard.selftest.verdicts import AttackOutcome, NotHeld
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

app = command_group("Try the guard out.")
_BIG = 1024
_USUAL = 64
_BELOW = " " * 17
_MOST_LINES = 4


@app.callback()
def common() -> None:
    """Try the guard out."""


@app.command()
def selftest(
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="-- COMMAND",
            help="The guard's command line; without, our own. {server} is replaced by the server's "
            "command line (or it is appended), {policy} by the policy file, {cwd} by the server's "
            "directory, {audit} by a directory for the log.",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only attacks whose name has this in it; can be given again."
        ),
    ] = None,
    as_json: AsJson = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the scratch folder.")] = False,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="An empty or new folder to work in, so that a policy can name it."
        ),
    ] = None,
    big: Annotated[
        bool, typer.Option("--big", help="Send a line of 1 GB instead of 64 MB.")
    ] = False,
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How long to wait for an answer.")
    ] = 10.0,
    print_policy: Annotated[
        bool,
        typer.Option(
            "--print-policy", help="Print the policy that is used, and what it must deny."
        ),
    ] = False,
) -> None:
    """Send known attacks through a guard to a gullible server, and show what it withstands."""
    if print_policy:
        print(described((root or Path("/path/of/--root")).absolute()))
        return
    attacks = _chosen(only)
    options = SelftestOptions(tuple(command or OURS), patience, _BIG if big else _USUAL)
    with _folder(root, keep) as folder:
        scratch = Scratch(folder)
        try:
            require_serving(options, scratch)
        except NotHeld as error:
            raise CommandFailure(f"an allowed call is not served: {error}") from None
        outcomes = run(attacks, options, scratch)
        done = _print_json(outcomes) if as_json else _print_table(outcomes)
    raise typer.Exit(0 if all(outcome.held for outcome in done) else 1)


def _chosen(only: list[str] | None) -> list[Attack]:
    chosen = [
        attack for attack in all_attacks() if not only or any(part in attack.name for part in only)
    ]
    if not chosen:
        raise typer.BadParameter(
            f"no attack has {' or '.join(only or [])} in its name", param_hint="--only"
        )
    return chosen


@contextmanager
def _folder(root: Path | None, keep: bool) -> Generator[Path]:
    if root is None and not keep:
        with tempfile.TemporaryDirectory(prefix="claw-selftest-") as folder:
            yield Path(folder)
        return
    folder = root or Path(tempfile.mkdtemp(prefix="claw-selftest-"))
    if folder.exists() and any(folder.iterdir()):
        raise typer.BadParameter(f"{folder} is not empty", param_hint="--root")
    try:
        yield folder
    finally:
        if keep:
            print(f"What was left behind is in {folder}", file=sys.stderr)
        else:
            _empty(folder)


def _empty(folder: Path) -> None:
    """Leave the folder that was given, without what was put there."""
    for item in folder.iterdir():
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        else:
            item.unlink()


def _print_json(outcomes: Iterator[AttackOutcome]) -> list[AttackOutcome]:
    done = list(outcomes)
    print_json(done)
    return done


def _print_table(outcomes: Iterator[AttackOutcome]) -> list[AttackOutcome]:
    done: list[AttackOutcome] = []
    row = ""
    for outcome in outcomes:
        if outcome.row != row:
            row = outcome.row
            print(f"\n{row}" if done else row)
        print(_outcome_text(outcome), flush=True)
        done.append(outcome)
    _print_count(done)
    return done


def _outcome_text(outcome: AttackOutcome) -> str:
    """One line; in a terminal that is too narrow, what was seen stands below, in a few."""

    start = f"  {outcome.result:<13}  {outcome.attack:<42}"
    seen = visible(outcome.seen)
    width = terminal_width()
    if width is None or len(start) + 2 + len(seen) <= width:
        return f"{start}  {seen}".rstrip()
    return "\n".join([start.rstrip(), *wrapped(seen, width, _BELOW, _BELOW, _MOST_LINES)])


def _print_count(done: list[AttackOutcome]) -> None:
    counts: dict[str, int] = {}
    for outcome in done:
        counts[outcome.result] = counts.get(outcome.result, 0) + 1
    said = ", ".join(f"{number} {result}" for result, number in sorted(counts.items(), key=_order))
    print(f"\n{counted(len(done), 'attack')}: {said}.")
    failed = [outcome.attack for outcome in done if not outcome.held]
    if failed:
        print(f"Look at one with its files: claw guard selftest --only {failed[0]} --keep")


def _order(count: tuple[str, int]) -> tuple[bool, str]:
    return count[0] != "held", count[0]
