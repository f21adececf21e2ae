"""`claw status`: how things stand on this machine, and what to do next."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from clawkit.cli.commands import AsJson, Project, print_json
from clawkit.cli.login import login_state
from clawkit.cli.status.assistant import assistant_lines, assistant_state
from clawkit.cli.status.memory import memory_lines, memory_state
from clawkit.cli.tables import terminal_width
from clawkit.guard.status import GuardStatus, ServerState, overview
from clawkit.settings import settings
from clawkit.text.counts import counted
from clawkit.text.normalization import visible

_LONGEST = 2000


def status(
    project: Project = Path(),
    deep: Annotated[
        bool,
        typer.Option(
            "--deep", help="Really ask the model and a memory elsewhere, start the servers."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show assistant, memory, guard, logins: model, tools; Beings; servers, policy, pins."""
    assistant = assistant_state(settings(), deep=deep)
    memory = memory_state()
    guard = overview(project)
    logins = login_state()
    if as_json:
        told = {"assistant": assistant, "memory": memory, "guard": guard}
        print_json({**told, "logins": logins.logins, "logins_problem": logins.problem})
    else:
        _print_section("assistant", assistant_lines(assistant))
        _print_section("memory", memory_lines(memory, asked=deep))
        _print_section("guard", _guard(guard))
        if logins.lines or logins.problem:
            lines = [("login", line) for line in logins.lines]
            _print_section("logins", [*lines, *_problem(logins.problem)])
    works = assistant.works and not memory.problem and guard.works and not logins.problem
    raise typer.Exit(0 if works else 1)


def _problem(text: str) -> Iterator[tuple[str, str]]:
    if text:
        yield "problem", text


def _print_section(title: str, lines: Iterable[tuple[str, str]]) -> None:
    width = terminal_width()
    print(title)
    before = ""
    for name, text in lines:
        print(_fitted(f"  {'' if name == before else name:<10} ", visible(text, _LONGEST), width))
        before = name


def _fitted(start: str, text: str, width: int | None) -> str:
    """One line, or several that break between words, for eyes."""
    if width is None or len(start) + len(text) <= width:
        return f"{start}{text}"
    return textwrap.fill(
        text,
        max(width, len(start) + 20),
        initial_indent=start,
        subsequent_indent=" " * (len(start) + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _guard(found: GuardStatus) -> Iterator[tuple[str, str]]:
    """The lines, each with the name of its part."""
    policy = found.policy
    yield "policy", policy.file
    rules = (
        counted(policy.rules, "rule") if policy.rules else "no rule in it: every call is refused"
    )
    yield "policy", policy.problem or rules
    if found.servers is None:
        yield "servers", "unknown: see the problem below"
    elif not found.servers:
        yield "servers", "no client on this machine has an MCP server"
    for server in found.servers or ():
        yield "servers", _server(server)
    yield "pins", _pins(found)
    yield "approvals", _approvals(found)
    yield "log", _log(found)
    for problem in found.problems:
        yield "problem", problem


def _server(server: ServerState) -> str:
    one = server.standing
    text = f"{one.server:<18} {one.client:<16} "
    note = f": {one.note}" if one.note else ""
    if one.state == "not wrapped" and not one.transport:
        return f"{text}cannot be wrapped{note}"
    if one.state == "not wrapped":
        return f"{text}not wrapped; `claw wrap {one.server}` puts the guard before it"
    text = f"{text}{one.state}{note}"
    if one.transport != "stdio" or one.state == "wrapped elsewhere":
        return text
    if server.environment is None:
        return f"{text}; environment: all of its client's"
    base = ("the base",) if server.base else ()
    return f"{text}; environment: {', '.join((*base, *server.environment)) or 'nothing'}"


def _pins(found: GuardStatus) -> str:
    tools = sum(server.tools for server in found.pins)
    waiting = [f"{s.server}: {', '.join(s.quarantined)}" for s in found.pins if s.quarantined]
    suspect = [f"{s.server}: {', '.join(s.suspect)}" for s in found.pins if s.suspect]
    text = f"{counted(tools, 'tool')} of {counted(len(found.pins), 'server')}"
    if waiting:
        text = f"{text}; quarantined: {'; '.join(waiting)}"
    if suspect:
        text = f"{text}; try to steer the model: {'; '.join(suspect)}"
    return f"{text}; see `claw pins`" if waiting or suspect else text


def _approvals(found: GuardStatus) -> str:
    if found.pending is None:
        return "nobody watches; `claw approvals` in a terminal answers what rules want to be asked"
    return f"{found.pending} waiting for an answer in `claw approvals`"


def _log(found: GuardStatus) -> str:
    if found.log_bytes < 0:
        return f"{found.log_directory} (cannot be used: see the problem below)"
    size = "empty"
    if found.log_bytes:
        kilobytes = max(1, round(found.log_bytes / 1000))
        size = f"{kilobytes} KB" if kilobytes < 1000 else f"{kilobytes / 1000:.1f} MB"
    return f"{found.log_directory} ({size}); `claw log` reads it"
