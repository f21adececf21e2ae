"""`claw sessions`: what the assistant was told and answered; to list, read, export and delete."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, NoReturn, cast

import typer
from msgspec import Struct

from clawkit.cli.chat.input import HISTORY
from clawkit.cli.output import print_json
from clawkit.errors import ClawError

if TYPE_CHECKING:
    from io import TextIOWrapper

    from clawkit.assistant.sessions.records import SessionInfo
    from clawkit.assistant.sessions.store import SessionStore

app = typer.Typer(
    help="List what the assistant was told, session by session.", invoke_without_command=True
)

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="file|PATH",
        help="`file` is the store that the assistant uses; a path is another one.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Active = Annotated[
    int | None, typer.Option(metavar="MIN", min=1, help="Only those used in the last MIN minutes.")
]
Everything = Annotated[bool, typer.Option("--all", help="Also those in which nothing was said.")]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="The session, as `claw sessions` names it.")
]


class SessionsCommandOptions(Struct, frozen=True):
    """What was said before the verb."""

    store: str
    as_json: bool


def _given(context: typer.Context, store: str, *, as_json: bool = False) -> SessionsCommandOptions:
    """What was said before the verb and behind it."""
    before: SessionsCommandOptions = context.obj
    return SessionsCommandOptions(store or before.store, as_json or before.as_json)


@app.callback()
def sessions(
    context: typer.Context,
    store: StoreOption = "file",
    active: Active = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """List what the assistant was told, session by session, the last used first."""
    # Keys and titles are what somebody wrote, and not every terminal can print them.
    cast("TextIOWrapper", sys.stdout).reconfigure(errors="backslashreplace")
    context.obj = SessionsCommandOptions(store, as_json)
    if context.invoked_subcommand is None:
        _list(context.obj, active, everything=everything)


@app.command("list")
def list_(
    context: typer.Context,
    store: StoreOption = "",
    active: Active = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """The same as `claw sessions` alone."""
    _list(_given(context, store, as_json=as_json), active, everything=everything)


def _list(given: SessionsCommandOptions, active: int | None, *, everything: bool) -> None:
    from clawkit.cli.sessions.output import is_begun

    with _reported():
        file = _file(given.store)
        all_of_them = _open(file).list_sessions(active)
    found = [one for one in all_of_them if everything or is_begun(one)]
    if given.as_json:
        print_json(found)
    elif found:
        _print_list(found)
    else:
        _say_nothing_found(file, active, empty=len(all_of_them))


@app.command()
def show(
    context: typer.Context, key: Key, store: StoreOption = "", as_json: AsJson = False
) -> None:
    """Show what was said in a session."""
    given = _given(context, store, as_json=as_json)
    with _reported():
        opened = _existing(_file(given.store))
        _named(opened, (key,))
        found = opened.show(key)
    if given.as_json:
        print_json(found)
        return
    from clawkit.cli.sessions.output import transcript

    for line in transcript(found, time.time()):
        print(line)


@app.command()
def export(
    context: typer.Context,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]…", help="Only these sessions.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Overwrite FILE if it exists.")] = False,
    store: StoreOption = "",
) -> None:
    """Write sessions as JSON lines: everything that was said, pictures too."""
    import msgspec

    from clawkit.cli.output import plural

    if output is not None and os.path.lexists(output) and not yes:
        _fail(f"{output} is already there: give --yes to overwrite it")
    lines = 0
    with _reported():
        opened = _open(_file(_given(context, store).store))
        _named(opened, keys or ())
        with _opened(output) as file:
            for record in opened.export(keys or None):
                lines += file.write(msgspec.json.encode(record) + b"\n") > 0
    if output is not None:
        print(f"Wrote {plural(lines, 'line')} to {output}.")


@app.command()
def delete(
    context: typer.Context,
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="The sessions to delete.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: StoreOption = "",
) -> None:
    """Delete sessions, and everything that was said in them."""
    from clawkit.cli.output import plural

    with _reported():
        file = _file(_given(context, store).store)
        opened = _existing(file)
        wanted = _named(opened, tuple(dict.fromkeys(keys)))
        if not yes:
            _ask(wanted)
        deleted = sum(opened.delete(one.key) for one in wanted)
    print(f"Deleted {plural(deleted, 'session')}.")
    history = file.with_name(HISTORY)
    if history.exists() and any(one.origin == "chat" for one in wanted):
        print(f"What was typed in `claw chat` is still in {history}, for the arrow keys.")


def _ask(wanted: Sequence[SessionInfo]) -> None:
    from clawkit.cli.output import plural
    from clawkit.cli.sessions.output import table

    if not sys.stdin.isatty():
        _fail("nobody is there to be asked: give --yes to delete without a question", code=2)
    for line in table(wanted, time.time(), _width()):
        print(line)
    if not typer.confirm(f"Delete {plural(len(wanted), 'session')} for good?", default=False):
        print("Nothing was deleted.")
        raise typer.Exit(1)


def _named(opened: SessionStore, keys: Sequence[str]) -> list[SessionInfo]:
    from clawkit.guard.scan import visible

    known = {one.key: one for one in opened.list_sessions()}
    for key in keys:
        if key not in known:
            _fail(f"there is no session '{visible(key, 100)}'; `claw sessions` lists them")
    return [known[key] for key in keys]


def _file(store: str) -> Path:
    """The store that is meant; one that was named by its path must be there."""
    if store == "file":
        from clawkit.assistant.config import Config

        # Where the store is does not depend on the rest of the config, which may be broken.
        return Config().store_file
    try:
        file = Path(store).expanduser()
    except RuntimeError:
        _fail(f"{store}: there is no such home")
    try:
        problem = "" if stat.S_ISREG(file.stat().st_mode) else "is not a file"
    except (FileNotFoundError, NotADirectoryError):
        problem = "does not exist"
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    if problem:
        _fail(f"{file} {problem}: give `file` or the path of a store of sessions")
    return file


def _existing(file: Path) -> SessionStore:
    if not os.path.lexists(file):
        _fail(f"there are no sessions yet: {file} is not there")
    return _open(file)


def _open(file: Path) -> SessionStore:
    from clawkit.assistant.sessions.store import SessionStore

    return SessionStore(file)


@contextmanager
def _opened(output: Path | None) -> Generator[BinaryIO]:
    """Where the export goes. A file is for its owner only, and there when it is whole."""
    if output is None:
        yield sys.stdout.buffer
        return
    beside = output.with_name(f".{output.name}.{os.getpid()}.tmp")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
        beside.replace(output)
    except OSError as error:
        _fail(f"{output} cannot be written: {error.strerror}")
    finally:
        beside.unlink(missing_ok=True)


def _print_list(found: Sequence[SessionInfo]) -> None:
    from clawkit.cli.sessions.output import table

    for line in table(found, time.time(), _width()):
        print(line)


def _say_nothing_found(file: Path, active: int | None, *, empty: int) -> None:
    from clawkit.assistant.sessions.repair import left_problem
    from clawkit.cli.output import plural

    if problem := left_problem(file):
        _fail(f"{problem}: `claw doctor --fix` saves what can be read of it")
    if empty:
        print(f"Nothing was said in any session; --all lists {plural(empty, 'empty one')}.")
        return
    if active is not None and os.path.lexists(file):
        print(f"No session was used in the last {plural(active, 'minute')}.")
        return
    print(f"There are no sessions in {file}.")
    print("A message to the assistant begins one: an order from an MCP client (`claw install` adds")
    print('the server to one), `claw ask "…"`, or `claw chat`.')


def _width() -> int | None:
    """Lines are cut for eyes, not for programs that read them."""
    return shutil.get_terminal_size((80, 24)).columns if sys.stdout.isatty() else None


@contextmanager
def _reported() -> Generator[None]:
    try:
        yield
    except ClawError as error:
        _fail(_advised(error))
    except BrokenPipeError:
        # Whoever read it has seen enough; what is left in the buffer has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def _advised(error: ClawError) -> str:
    """An error of the store; the advice in it is for our own."""
    from clawkit.assistant.config import Config
    from clawkit.assistant.sessions.database import is_damage
    from clawkit.errors import StoreError

    text = str(error)
    if not isinstance(error, StoreError) or not is_damage(error):
        return text
    if text.startswith(f"{Config().store_file}:"):
        return text
    return f"{text.rpartition(': ')[0]}: give `file` or the path of a store of sessions"


def _fail(problem: str, code: int = 1) -> NoReturn:
    print(f"claw sessions: {problem}", file=sys.stderr)
    raise typer.Exit(code)
