"""`claw doctor`: what is wrong with this installation, what to do about it, and doing it."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, cast

import typer

from clawkit.errors import ClawError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import TextIOWrapper

    from clawkit.cli.doctor.checks import Check
    from clawkit.settings import Settings

_COLOURS = {"ok": "32", "warning": "33", "problem": "31"}
_INDENT = " " * 9


def doctor(
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be repaired, and say what was done.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Ask the model, the servers and a memory elsewhere, too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check the installation, the config and the store; without --deep, nothing is sent."""
    from clawkit.settings import settings

    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    try:
        # A file with tools may print while it loads.
        with redirect_stdout(sys.stderr):
            checks = list(examine(settings(), fix=fix, deep=deep))
    except ClawError as error:
        print(f"claw doctor: {error}", file=sys.stderr)
        raise typer.Exit(1) from None
    problems = [check for check in checks if check.state == "problem"]
    if as_json:
        import msgspec

        found = msgspec.json.encode({"ok": not problems, "checks": checks})
        print(msgspec.json.format(found, indent=2).decode())
    else:
        _print_checks(checks)
    raise typer.Exit(1 if problems else 0)


def examine(places: Settings, *, fix: bool, deep: bool = False) -> Iterator[Check]:
    """Every check, in the order in which one thing depends on another."""
    from clawkit.assistant.config import Config
    from clawkit.cli.doctor import checks
    from clawkit.cli.status import memory

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


def _print_checks(checks: list[Check]) -> None:
    from clawkit.cli.output import plural

    for check in checks:
        print("\n".join(_lines(check)))
    count = {s: sum(check.state == s for check in checks) for s in ("problem", "warning")}
    print()
    if not any(count.values()):
        print("Everything is in order.")
        return
    print(f"{plural(count['problem'], 'problem')}, {plural(count['warning'], 'warning')}.")


def _lines(check: Check) -> Iterator[str]:
    from clawkit.cli.reply_screen import can_style
    from clawkit.guard.scan import visible

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
    if not sys.stdout.isatty():
        return [text]
    width = max(shutil.get_terminal_size((80, 24)).columns - len(_INDENT), 20)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
