"""`claw status`: the state of assistant, memory, guard and logins, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.memory.place import MemoryPlace
from clawkit.assistant.sessions.repair import left_problem
from clawkit.cli.being.output import JOBS, tidied, waiting
from clawkit.cli.commands import AsJson, Project, print_json
from clawkit.cli.login import login_state
from clawkit.cli.status.assistant import assistant_lines, assistant_state
from clawkit.cli.tables import terminal_width, wrapped
from clawkit.errors import ClawError
from clawkit.guard.status import GuardStatus, ServerState
from clawkit.guard.status import overview as guard_overview
from clawkit.memory.being_store import DEFAULT_BEING
from clawkit.memory.embed.embedder import DEFAULT
from clawkit.memory.embed.factory import embedder
from clawkit.memory.statistics import BeingState, StoreOverview, overview
from clawkit.settings import settings
from clawkit.store import open_store
from clawkit.store.salvage import is_emptied, missing_parts
from clawkit.store.sqlite import SqliteDatabase, sound_store
from clawkit.system.addresses import shown_address
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
    guard = guard_overview(project)
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
            lines += [("problem", logins.problem)] if logins.problem else []
            _print_section("logins", lines)
    works = assistant.works and not memory.problem and guard.works and not logins.problem
    raise typer.Exit(0 if works else 1)


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
    return "\n".join(wrapped(text, width, start, " " * (len(start) + 2)))


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


_MOST_PROBLEMS = 5


class MemoryState(Struct, frozen=True):
    """All that `claw status` says about memory."""

    store: str
    embedder: str
    begun: bool = False
    remote: str = ""
    found: StoreOverview | None = None
    problem: str = ""


def memory_state() -> MemoryState:
    """Look at the store, if there is one; what cannot be read is a problem, not the end."""
    place = MemoryPlace()
    try:
        state = MemoryState(
            shown_address(place.address), place.embedder, place.is_begun(), place.config.memory.url
        )
    except ClawError:
        # The assistant's section says what is wrong with the config.
        return MemoryState("", "", problem="unknown: the config cannot be used")
    missing = missing_token(place)
    try:
        if place.embedder != DEFAULT:  # which is always there, and loading it takes a while
            embedder(place.embedder)
        problems = damage(place)
        if state.begun and not problems:
            state = _with_overview(state, place)
    except ClawError as error:
        problems = [str(error)]
    problem = "; ".join(filter(None, (missing, *problems[:_MOST_PROBLEMS])))
    return msgspec.structs.replace(state, problem=problem)


def missing_token(place: MemoryPlace) -> str:
    """What the assistant will say when it wants to remember elsewhere and may not."""
    options = place.config.memory
    if not options.url or not options.enabled:
        return ""
    try:
        keys = Keys(place.config)
        if keys.find(options.token_env) is not None:
            return ""
    except ClawError as error:
        return str(error)
    return (
        f"the assistant cannot remember at {options.url}: {options.token_env} is set neither in "
        f"the environment nor in {keys.file}; `claw being token create` makes one over there"
    )


def _with_overview(state: MemoryState, place: MemoryPlace) -> MemoryState:
    with closing(open_store(place.address)) as database:
        found = overview(database, place.config.memory.being or DEFAULT_BEING)
    return msgspec.structs.replace(state, found=found)


def memory_lines(state: MemoryState, *, asked: bool) -> Iterator[tuple[str, str]]:
    """The lines, each with the name of its part."""
    if state.store:
        yield "store", state.store
        yield "embedder", state.embedder
    if state.remote:
        untried = "" if asked else "; not tried: `claw status --deep` asks it"
        yield "remote", f"the assistant remembers at {state.remote}{untried}"
    if state.problem:
        yield "problem", state.problem
    elif not state.begun:
        yield "beings", 'none yet; `claw remember "…"` or a session of the assistant begins one'
    if state.found is not None:
        yield from _found_lines(state.found)


def _found_lines(found: StoreOverview) -> Iterator[tuple[str, str]]:
    count = f"{counted(found.beings, 'Being')}, {counted(found.memories, 'memory')}"
    yield "beings", f"{count}; `claw being list` lists them"
    if found.own is not None:
        yield "yours", _one_line(found.own)
    for job in found.jobs:
        kind = JOBS.get(job.kind, job.kind)
        yield "job", f"{kind} of {job.being} failed {counted(job.tries, 'time')}: {job.problem}"


def _one_line(one: BeingState) -> str:
    parts = [f"{one.name}: {counted(one.memories, 'memory')}", tidied(one.last_patrol)]
    if one.waiting_scenes:
        parts.insert(1, waiting(one.waiting_scenes))
    return f"{', '.join(parts)}; `claw memory` shows it"


def damage(place: MemoryPlace) -> list[str]:
    """What is wrong with the file of an embedded store. Raises StoreError where it is unusable."""
    file = place.file
    if file is None:
        return []
    if not place.is_begun():
        return list(filter(None, [left_problem(file)]))
    if is_emptied(file):
        return [f"{file}: it is empty, so whatever was in it is lost"]
    with closing(SqliteDatabase(file)) as database, database.registry() as connection:
        with closing(sound_store()) as sound:
            found = missing_parts(connection.raw, sound)
        found += [text for (text,) in connection.rows("PRAGMA quick_check") if text != "ok"]
        orphans = connection.rows("PRAGMA foreign_key_check")
    found += [f"{table}: row {row} belongs to no Being" for table, row, _, _ in orphans]
    return [f"{file}: {problem}" for problem in found]
