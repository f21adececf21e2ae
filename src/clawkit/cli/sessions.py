"""`claw sessions`: what the assistant was told and answered; to list, read, export and delete."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from clawkit.assistant.config import Config
from clawkit.assistant.sessions.database import is_damage
from clawkit.assistant.sessions.records import SessionInfo, Transcript
from clawkit.assistant.sessions.repair import left_problem
from clawkit.assistant.sessions.store import SessionStore
from clawkit.cli.chat import HISTORY
from clawkit.cli.commands import (
    AsJson,
    CommandFailure,
    Overwrite,
    Yes,
    command_group,
    confirm,
    output_file,
    pass_on,
    print_lines,
    require_new,
)
from clawkit.cli.tables import ago, minute, shorten, table_lines, terminal_width
from clawkit.errors import StoreError
from clawkit.models.messages import unknown_outcome
from clawkit.models.protocol import Image, Part, Text, ToolCall
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

app = command_group(
    "List what the assistant was told, session by session.", invoke_without_command=True
)

StoreOption = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="file|PATH",
        help="`file` is the store that the assistant uses; a path is another one.",
    ),
]
Active = Annotated[
    int | None, typer.Option(metavar="MIN", min=1, help="Only those used in the last MIN minutes.")
]
Everything = Annotated[bool, typer.Option("--all", help="Also those in which nothing was said.")]
Key = Annotated[
    str, typer.Argument(metavar="KEY", help="The session, as `claw sessions` names it.")
]

_USUAL_TITLE = 60
_OPTIONAL = ("model", "messages", "state", "last used")
"""Columns that a narrow terminal does without, the first ones first."""
_LONGEST_ARGUMENTS = 200
_NAMES = {"user": "you", "assistant": "assistant", "tool": "tool"}
_STATES = {
    "": "idle",
    "end": "idle",
    "command": "idle",
    "length": "cut short",
    "refusal": "declined",
    "lost": "interrupted",
}


@app.callback()
def sessions(
    context: typer.Context,
    store: StoreOption = "file",
    active: Active = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """List what the assistant was told, session by session, the last used first."""
    pass_on(context)
    if context.invoked_subcommand is None:
        list_(store, active, everything, as_json)


@app.command("list")
def list_(
    store: StoreOption = "file",
    active: Active = None,
    everything: Everything = False,
    as_json: AsJson = False,
) -> None:
    """The same as `claw sessions` alone."""
    file = _file(store)
    with _advised():
        all_of_them = SessionStore(file).list_sessions(active)
    found = [one for one in all_of_them if everything or is_begun(one)]
    if found or as_json:
        print_lines(table(found, time.time(), terminal_width()), found, as_json=as_json)
    else:
        print_lines(_nothing_found(file, active, empty=len(all_of_them)))


@app.command()
def show(key: Key, store: StoreOption = "file", as_json: AsJson = False) -> None:
    """Show what was said in a session."""
    with _advised():
        opened = _existing(_file(store))
        _named(opened, (key,))
        found = opened.show(key)
    print_lines(transcript(found, time.time()), found, as_json=as_json)


@app.command()
def export(
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY]…", help="Only these sessions.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write to this file, not to stdout."),
    ] = None,
    yes: Overwrite = False,
    store: StoreOption = "file",
) -> None:
    """Write sessions as JSON lines: everything that was said, pictures too."""
    require_new(output, yes=yes)
    lines = 0
    with _advised():
        opened = SessionStore(_file(store))
        _named(opened, keys or ())
        with output_file(output) as file:
            for record in opened.export(keys or None):
                lines += file.write(msgspec.json.encode(record) + b"\n") > 0
    if output is not None:
        print(f"Wrote {counted(lines, 'line')} to {output}.")


@app.command()
def delete(
    keys: Annotated[list[str], typer.Argument(metavar="KEY…", help="The sessions to delete.")],
    yes: Yes = False,
    store: StoreOption = "file",
) -> None:
    """Delete sessions, and everything that was said in them."""
    file = _file(store)
    with _advised():
        opened = _existing(file)
        wanted = _named(opened, tuple(dict.fromkeys(keys)))
        if not yes:
            confirm(
                f"Delete {counted(len(wanted), 'session')} for good?",
                "Nothing was deleted.",
                "give --yes to delete without a question",
                table(wanted, time.time(), terminal_width()),
            )
        deleted = sum(opened.delete(one.key) for one in wanted)
    print(f"Deleted {counted(deleted, 'session')}.")
    history = file.with_name(HISTORY)
    if history.exists() and any(one.origin == "chat" for one in wanted):
        print(f"What was typed in `claw chat` is still in {history}, for the arrow keys.")


def _named(opened: SessionStore, keys: Sequence[str]) -> list[SessionInfo]:
    known = {one.key: one for one in opened.list_sessions()}
    for key in keys:
        if key not in known:
            name = visible(key, 100)
            raise CommandFailure(f"there is no session '{name}'; `claw sessions` lists them")
    return [known[key] for key in keys]


def _file(store: str) -> Path:
    """The store that is meant; one that was named by its path must be there."""
    if store == "file":
        # Where the store is does not depend on the rest of the config, which may be broken.
        return Config().store_file
    file, problem = Path(store), ""
    try:
        file = file.expanduser()
        problem = "" if stat.S_ISREG(file.stat().st_mode) else "is not a file"
    except RuntimeError:
        raise CommandFailure(f"{store}: there is no such home") from None
    except (FileNotFoundError, NotADirectoryError):
        problem = "does not exist"
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    if problem:
        raise CommandFailure(f"{file} {problem}: give `file` or the path of a store of sessions")
    return file


def _existing(file: Path) -> SessionStore:
    if not os.path.lexists(file):
        raise CommandFailure(f"there are no sessions yet: {file} is not there")
    return SessionStore(file)


def _nothing_found(file: Path, active: int | None, *, empty: int) -> Iterator[str]:
    if problem := left_problem(file):
        raise CommandFailure(f"{problem}: `claw doctor --fix` saves what can be read of it")
    if empty:
        yield f"Nothing was said in any session; --all lists {counted(empty, 'empty one')}."
    elif active is not None and os.path.lexists(file):
        yield f"No session was used in the last {counted(active, 'minute')}."
    else:
        yield f"There are no sessions in {file}."
        yield "A message to the assistant begins one: an order from an MCP client (`claw install`"
        yield 'adds the server to one), `claw ask "…"`, or `claw chat`.'


@contextmanager
def _advised() -> Generator[None]:
    """An error of another store than our own gives no advice about ours."""
    try:
        yield
    except StoreError as error:
        text = str(error)
        if not is_damage(error) or text.startswith(f"{Config().store_file}:"):
            raise
        advice = "give `file` or the path of a store of sessions"
        raise CommandFailure(f"{text.rpartition(': ')[0]}: {advice}") from None


def state(session: SessionInfo) -> str:
    """What a session does, or how its last turn ended if that was not well."""
    if session.running:
        return "running"
    how = session.last_reason.partition(":")[0]
    return _STATES.get(how, how)


def is_begun(session: SessionInfo) -> bool:
    """Whether there is anything in it: a first message that failed leaves nothing but a name."""
    return session.running or session.messages > 0


def table(sessions: Sequence[SessionInfo], now: float, width: int | None) -> list[str]:
    """A line for each session that fits into `width`, for eyes; for programs keys are whole."""
    rows = [("session", "messages", "last used", "model", "state", "begins with")]
    rows += [
        (
            one.key,
            str(one.messages),
            ago(now - one.updated),
            one.model or "-",
            state(one),
            shorten(visible(one.title[: _USUAL_TITLE + 1]), _USUAL_TITLE)
            if width is None
            else one.title,
        )
        for one in sessions
    ]
    return table_lines(rows, width, _OPTIONAL)


def transcript(found: Transcript, now: float) -> Iterator[str]:
    """What is known about a session, and who said what in it."""
    yield from _heading(found.info, now)
    if found.summary:
        yield ""
        yield "summary of what came first"
        yield from _indented(found.summary)
    epoch = 0
    for saved in found.messages:
        if saved.epoch != epoch:
            epoch = saved.epoch
            yield ""
            yield "begun anew: what stands above is no longer remembered"
        yield ""
        yield f"{_NAMES[saved.message.role]}, {minute(saved.created)}"
        for part in saved.message.parts:
            yield from _indented(_part(part))


def _heading(session: SessionInfo, now: float) -> Iterator[str]:
    yield visible(session.key, len(session.key))
    parts = [
        f"{counted(session.messages, 'message')} in {counted(session.turns, 'turn')}",
        f"begun {minute(session.created)}",
        f"last used {ago(now - session.updated)}",
        session.model,
        state(session),
        "" if session.named else "goes after 30 days without use",
    ]
    yield f"  {', '.join(visible(part, len(part)) for part in parts if part)}"


def _indented(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield f"  {visible(line, len(line))}".rstrip()


def _part(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, Image):
        return f"[{part.name}: {part.mime_type}, {max(1, len(part.data) // 1000)} KB]"
    if isinstance(part, ToolCall):
        arguments = json.dumps(part.arguments, ensure_ascii=False)
        return f"[calls {part.name} {visible(arguments, _LONGEST_ARGUMENTS)}]"
    inner = "\n".join(_part(one) for one in part.parts)
    if part == unknown_outcome(part.call_id):
        return f"[outcome not known] {inner}"
    return f"[failed] {inner}" if part.is_error else inner
