"""`claw approvals`: the calls that wait for a person, answered in a terminal or by scripts."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from clawkit.errors import ClawError

if TYPE_CHECKING:
    from clawkit.guard.approvals import Ask

app = typer.Typer(
    add_completion=False, help="Answer the calls that a `prompt` rule holds, in a live view."
)


class Choice(StrEnum):
    """What a script may answer; `always` is for a person who has read the rule."""

    once = "once"
    session = "session"
    tool = "tool"
    deny = "deny"


@app.callback(invoke_without_command=True)
def approvals(context: typer.Context) -> None:
    """Answer the calls that a `prompt` rule holds, in a live view."""
    from clawkit.system.watchdog import in_guarded_server

    if in_guarded_server():
        _refuse("a guarded server may not answer for a person: use a terminal of your own")
    if context.invoked_subcommand is None:
        raise typer.Exit(_live())


@app.command("list")
def show(
    as_json: Annotated[bool, typer.Option("--json", help="Print the questions as JSON.")] = False,
) -> None:
    """List the calls that wait in the open view."""
    from clawkit.guard.approval_window import pending
    from clawkit.guard.locations import approvals_folder

    asks = pending(approvals_folder())
    if as_json:
        import msgspec

        found = {"view": asks is not None, "pending": msgspec.to_builtins(asks or [])}
        print(json.dumps(found, indent=2))
    elif asks is None:
        print("No view is open: run `claw approvals` in a terminal to be asked there.")
    elif not asks:
        print("Nothing waits.")
    else:
        _print_asks(asks)


@app.command()
def answer(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="The question, as `claw approvals list` shows it.")
    ],
    choice: Annotated[
        Choice, typer.Argument(metavar="CHOICE", help="once, session, tool or deny.")
    ],
) -> None:
    """Answer a call that waits in the open view.

    The exit status is 0 where the call went as it was answered, 3 where it did not, because the
    answer came too late or was refused, 4 where its guard has not confirmed it yet, and 1 where
    it cannot be answered.
    """
    from clawkit.guard.approval_window import answer_by_script
    from clawkit.guard.locations import approvals_folder

    outcome = answer_by_script(approvals_folder(), id, choice.value)
    if outcome is None:
        _refuse("no view is open: run `claw approvals` in a terminal", " answer")
    if outcome.state != "counted":
        _refuse(outcome.problem, " answer", _STATUSES[outcome.state])


_STATUSES = {"refused": 1, "otherwise": 3, "unconfirmed": 4}


def _refuse(problem: str, command: str = "", status: int = 1) -> NoReturn:
    print(f"claw approvals{command}: {problem}", file=sys.stderr)
    raise typer.Exit(status)


def _live() -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        text = "needs a terminal; `claw approvals list` and `answer` work without one"
        print(f"claw approvals: {text}", file=sys.stderr)
        return 2
    from clawkit.cli.approvals.live_view import run
    from clawkit.guard.approval_window import ApprovalWindow
    from clawkit.guard.locations import approvals_folder
    from clawkit.system.processes import close_to_others

    close_to_others()
    try:
        with ApprovalWindow(approvals_folder()) as view, _alone_at_terminal():
            return run(view)
    except ClawError as error:
        print(f"claw approvals: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


@contextmanager
def _alone_at_terminal() -> Generator[None]:
    """Let no other program open this terminal meanwhile, to write on it or to take what it says."""
    import fcntl  # not on Windows, where no view gets this far
    import termios

    fcntl.ioctl(sys.stdin, termios.TIOCEXCL)
    try:
        yield
    finally:
        with suppress(OSError):  # it may be gone
            fcntl.ioctl(sys.stdin, termios.TIOCNXCL)


def _print_asks(asks: list[Ask]) -> None:
    from clawkit.guard.approval_answers import is_whole
    from clawkit.guard.call_display import call_lines
    from clawkit.text.normalization import visible

    for ask in asks:
        left = f"{max(0, round(ask.deadline - time.time()))} s left"
        print(f"{visible(ask.id)}  {visible(ask.server)}  {left}")
        for line in call_lines(ask.call) if is_whole(ask) else ["not what was asked about"]:
            print(f"    {line}")
    print("Answer in the view, or with `claw approvals answer ID once|session|tool|deny`.")
