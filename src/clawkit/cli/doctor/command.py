"""`claw doctor`: what is wrong with this installation, what to do about it, and doing it."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Annotated

import typer

from clawkit.assistant.config import Config
from clawkit.cli.commands import AsJson, print_lines
from clawkit.cli.doctor import checks
from clawkit.cli.doctor.checks import Check
from clawkit.cli.reply_screen import can_style
from clawkit.cli.status import memory
from clawkit.cli.tables import terminal_width
from clawkit.settings import Settings, settings
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

_COLOURS = {"ok": "32", "warning": "33", "problem": "31"}
_INDENT = " " * 9


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired, and say what was done.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Ask the model, the servers and a memory elsewhere, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check the installation, the config and the store; without --deep, nothing is sent."""
    # A file with tools may print while it loads.
    with redirect_stdout(sys.stderr):
        found = list(examine(settings(), fix=fix, deep=deep))
    problems = [check for check in found if check.state == "problem"]
    print_lines(_report(found), {"ok": not problems, "checks": found}, as_json=as_json)
    raise typer.Exit(1 if problems else 0)


def examine(places: Settings, *, fix: bool, deep: bool = False) -> Iterator[Check]:
    """Every check, in the order in which one thing depends on another."""
    yield from checks.check_program()
    yield from checks.check_directories(places, fix=fix)
    yield from checks.check_env(places.config / ".env", fix=fix)
    config, check = checks.check_config(places)
    yield check
    assumed = config or Config(places=places)
    yield checks.check_workspace(assumed, fix=fix)
    yield checks.check_store(assumed.store_file, fix=fix)
    yield checks.check_leftovers(assumed.store_file, fix=fix)
    yield from memory.check_memory(fix=fix, deep=deep)
    if config is not None:
        yield from checks.check_assistant(config, deep=deep)
    yield from checks.check_clients()
    yield checks.check_policy()


def _report(found: list[Check]) -> Iterator[str]:
    for check in found:
        yield from _lines(check)
    count = {s: sum(check.state == s for check in found) for s in ("problem", "warning")}
    yield ""
    if any(count.values()):
        yield f"{counted(count['problem'], 'problem')}, {counted(count['warning'], 'warning')}."
    else:
        yield "Everything is in order."


def _lines(check: Check) -> Iterator[str]:
    coloured = can_style(sys.stdout)
    word = f"{check.state:<7}"
    start = f"\x1b[{_COLOURS[check.state]}m{word}\x1b[0m" if coloured else word
    first, *rest = _wrapped(visible(f"{check.name}: {check.detail}"))
    yield f"{start}  {first}"
    yield from (f"{_INDENT}{line}" for line in rest)
    for said in filter(None, (check.fixed and f"fixed: {check.fixed}", check.hint)):
        yield from (f"{_INDENT}{line}" for line in _wrapped(visible(said)))


def _wrapped(text: str) -> list[str]:
    """For eyes, in lines that break between words."""
    width = terminal_width()
    if width is None:
        return [text]
    room = max(width - len(_INDENT), 20)
    return textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False)
