"""The assistant's section of `claw status`: what it is made of, and whether that works."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.config import Config, McpServer, config_file, read_config
from clawkit.assistant.memory.remote_backend import check_remote
from clawkit.assistant.model_choice import (
    CLAUDE_CLI,
    ChosenModel,
    choose,
    known_providers,
    open_model,
)
from clawkit.assistant.redaction import redact
from clawkit.assistant.sessions.store import SessionStore
from clawkit.assistant.toolbox.external_server import ExternalServer
from clawkit.assistant.toolbox.python_tools import ToolFiles
from clawkit.claude.installation import ask_version, check_version, find_cli
from clawkit.cli.sessions import is_begun
from clawkit.cli.tables import ago
from clawkit.errors import ClawError
from clawkit.hosts.guarded_entry import shown_address
from clawkit.models.retries import ping
from clawkit.settings import Settings
from clawkit.system.files import write_problem
from clawkit.text.counts import counted
from clawkit.wire.calls import Workers

ANOTHER_MODEL = "`claw setup` chooses one of those that it finds here"

NOT_TRIED = "not tried: `claw status --deep` asks the model"
_MOST_PROBLEMS = 5
_DEEPEST = 60.0
"""Seconds after which a part that says nothing is taken for one that does not work."""
_MEMORY = 10.0
"""The same for a memory elsewhere, for which an answer waits only half of that."""


class KeyState(Struct, frozen=True):
    """Which variable a model wants its key from, and where it was found: "" for nowhere."""

    variable: str
    where: str


class ModelState(Struct, frozen=True):
    """The model that answers, or the problem with the choice."""

    name: str = ""
    why: str = ""
    language_model: bool = False
    key: KeyState | None = None
    fallbacks: tuple[str, ...] = ()
    problem: str = ""


class SessionsState(Struct, frozen=True):
    """The store; `last` is when a session was used last, in seconds since 1970."""

    file: str
    count: int = 0
    last: float | None = None
    problem: str = ""


class ToolsState(Struct, frozen=True):
    """What the model may call."""

    directory: str
    files: tuple[str, ...]
    servers: dict[str, str]
    """Each server with its command or address."""
    problems: tuple[str, ...] = ()
    """The files that do not load."""


class Tried(Struct, frozen=True):
    """What came of asking a part."""

    name: str
    ok: bool
    seconds: float
    detail: str


class AssistantState(Struct, frozen=True):
    """All that `claw status` says about the assistant. With a `problem` there is no config."""

    config: str
    configured: bool
    problem: str = ""
    model: ModelState | None = None
    sessions: SessionsState | None = None
    tools: ToolsState | None = None
    transcription: str = ""
    workspace: str = ""
    tried: tuple[Tried, ...] | None = None
    full: tuple[str, ...] = ()
    """Directories that nothing can be written to, each with the reason."""

    @property
    def works(self) -> bool:
        """Whether nothing is broken, and everything that was asked answered."""
        parts = (self.model, self.sessions)
        return not (
            self.problem
            or self.full
            or any(part is not None and part.problem for part in parts)
            or (self.tools is not None and self.tools.problems)
            or any(not one.ok for one in self.tried or ())
        )


def assistant_state(places: Settings, *, deep: bool) -> AssistantState:
    """Look at everything; what cannot be read is a problem, not the end."""
    file = config_file(places)
    configured = os.path.lexists(file)
    try:
        config = read_config(places)
    except ClawError as error:
        tried = () if deep else None
        problem = redact(str(error))
        full = _full(places.config, places.data)
        return AssistantState(str(file), configured, problem=problem, tried=tried, full=full)
    keys = Keys(config)
    found = AssistantState(
        config=str(file),
        configured=configured,
        model=_model(config, keys),
        sessions=_sessions(config),
        tools=_tools(config),
        transcription=config.transcription.provider,
        workspace=str(config.workspace),
        full=_full(places.config, places.data, config.workspace),
    )
    if deep:
        found = msgspec.structs.replace(found, tried=try_everything(config, keys))
    return found


def _full(*directories: Path) -> tuple[str, ...]:
    found = ((directory, write_problem(directory)) for directory in directories)
    return tuple(f"{directory} cannot be written to: {full}" for directory, full in found if full)


def key_of(chosen: ChosenModel, config: Config, keys: Keys) -> KeyState | None:
    """Where the key of a chosen model is; None where it needs none that we know of."""
    provider = known_providers(config).get(chosen.provider)
    if provider is None or not provider.key_env:
        return None
    found = keys.find(provider.key_env)
    return KeyState(provider.key_env, found.where if found else "")


async def check_model(chosen: ChosenModel, config: Config, keys: Keys) -> None:
    """Raise what is wrong with a model, as far as that shows before it is asked."""
    await open_model(chosen, config, keys).close()
    if chosen.provider == CLAUDE_CLI:
        cli = find_cli(None)
        check_version(cli, await ask_version(cli, os.environ), verbatim=True)


def _model(config: Config, keys: Keys) -> ModelState:
    found = ModelState()
    try:
        first, *fallbacks = choose(config, keys)
        found = ModelState(
            name=first.name,
            why=first.why,
            language_model=first.provider != "offline",
            key=key_of(first, config, keys),
            fallbacks=tuple(one.name for one in fallbacks),
        )
        asyncio.run(check_model(first, config, keys))
    except ClawError as error:
        return msgspec.structs.replace(found, problem=redact(str(error), keys))
    return found


def _sessions(config: Config) -> SessionsState:
    file = config.store_file
    try:
        if problems := SessionStore(file).check():
            return SessionsState(str(file), problem="; ".join(problems[:_MOST_PROBLEMS]))
        found = [one for one in SessionStore(file).list_sessions() if is_begun(one)]
    except ClawError as error:
        return SessionsState(str(file), problem=str(error))
    return SessionsState(str(file), len(found), max((one.updated for one in found), default=None))


def _tools(config: Config) -> ToolsState:
    return ToolsState(
        str(config.tools_directory),
        tuple(file.name for file in tool_files(config)),
        {name: _place(server) for name, server in config.mcp.servers.items() if server.enabled},
        tool_problems(config),
    )


def tool_problems(config: Config) -> tuple[str, ...]:
    """The files with tools that do not load, found out by loading them."""
    files = ToolFiles(config.tools_directory)
    with redirect_stdout(sys.stderr):  # a file may print while it loads
        asyncio.run(files.refresh())
    return tuple(files.problems())


def tool_files(config: Config) -> list[Path]:
    """The Python files whose tools the model may call."""
    try:
        found = sorted(config.tools_directory.glob("*.py"))
    except OSError:
        return []
    return [file for file in found if not file.name.startswith("_")]


def _place(server: McpServer) -> str:
    return shown_address(server.url) if server.url else Path(server.command).name


def try_everything(config: Config, keys: Keys) -> tuple[Tried, ...]:
    """Ask the model, the servers and a memory elsewhere, all at once."""
    return asyncio.run(_try_everything(config, keys))


async def _try_everything(config: Config, keys: Keys) -> tuple[Tried, ...]:
    servers = {name: one for name, one in config.mcp.servers.items() if one.enabled}
    parts = [_timed("model", ping_model(config, keys), keys)]
    parts += [
        _timed(name, _count_tools(name, server, keys), keys) for name, server in servers.items()
    ]
    if config.memory.enabled and config.memory.url:
        parts.append(_timed("remote memory", _ask_memory(config, keys), keys, _MEMORY))
    return tuple(await asyncio.gather(*parts))


async def _timed(
    name: str, asking: Coroutine[Any, Any, str], keys: Keys, seconds: float = _DEEPEST
) -> Tried:
    began = time.monotonic()
    ok = False
    try:
        async with asyncio.timeout(seconds):
            detail = await asking
        ok = True
    except ClawError as error:
        detail = redact(str(error), keys)
    except TimeoutError:
        detail = f"no answer in {seconds:.0f} seconds"
    return Tried(name, ok, round(time.monotonic() - began, 3), detail)


async def ping_model(config: Config, keys: Keys, use: str = "") -> str:
    """Ask the model that is chosen, or another one, for a word; what it says, and how fast."""
    model = open_model(choose(config, keys, use)[0], config, keys)
    try:
        return await ping(model)
    finally:
        await model.close()


async def _ask_memory(config: Config, keys: Keys) -> str:
    asked = {"options": config.memory, "keys": keys}
    await Workers(1).start(check_remote, asked).outcome  # a daemon: it may never end
    return f"{config.memory.url} answers"


async def _count_tools(name: str, server: McpServer, keys: Keys) -> str:
    started = ExternalServer(name, server, keys)
    try:
        found = await started.offers()
        if started.problem:
            raise ClawError(started.problem)
        return "; ".join((counted(len(found), "tool"), *started.problems))
    finally:
        await started.close()


def assistant_lines(found: AssistantState) -> Iterator[tuple[str, str]]:
    if found.model is not None:
        yield from _model_lines(found.model, asked=found.tried is not None)
    if found.sessions is not None:
        yield from _sessions_lines(found.sessions)
    if found.tools is not None:
        yield from _tools_lines(found.tools)
    if not found.problem:
        yield "audio", _audio(found.transcription)
        yield "workspace", found.workspace
    absent = "" if found.configured else " (not there: the defaults count)"
    yield "config", f"{found.config}{absent}"
    for one in found.tried or ():
        # What the model answers has its time in it.
        time_taken = "" if one.ok and one.name == "model" else f" ({one.seconds:.2f} s)"
        yield "asked", f"{one.name}: {'' if one.ok else 'failed: '}{one.detail}{time_taken}"
    for problem in (found.problem, *found.full):
        if problem:
            yield "problem", problem


def _model_lines(model: ModelState, *, asked: bool) -> Iterator[tuple[str, str]]:
    if not model.name:
        yield "model", f"none: {model.problem}"
        return
    yield "model", f"{model.name} ({model.why})"
    if model.problem:
        yield "model", f"cannot answer: {model.problem}"
    elif not model.language_model:
        yield "model", f"it is not a language model; {ANOTHER_MODEL}"
    if model.fallbacks:
        yield "model", f"when it gives no answer: {', '.join(model.fallbacks)}"
    if model.key is not None:
        where = f"in the {model.key.where}" if model.key.where else "not set"
        untried = "" if asked or not model.key.where else f"; {NOT_TRIED}"
        yield "key", f"{model.key.variable}, {where.replace('the .env', '.env')}{untried}"


def _sessions_lines(sessions: SessionsState) -> Iterator[tuple[str, str]]:
    yield "sessions", sessions.file
    if sessions.problem:
        yield "sessions", f"cannot be used: {sessions.problem}"
    elif sessions.last is None:
        yield "sessions", 'none yet; `claw ask "…"` or an order from an MCP client begins one'
    else:
        count = counted(sessions.count, "session")
        last = ago(time.time() - sessions.last)
        yield "sessions", f"{count}, the last used {last}; `claw sessions` lists them"


def _tools_lines(tools: ToolsState) -> Iterator[tuple[str, str]]:
    files = ", ".join(tools.files)
    yield "tools", f"{files} in {tools.directory}" if files else f"no file in {tools.directory}"
    for name, place in tools.servers.items():
        yield "tools", f"server {name}: {place}"
    for problem in tools.problems:
        yield "tools", f"does not load: {problem}"


def _audio(provider: str) -> str:
    if provider:
        return f"transcribed by {provider}"
    return "accepted, not transcribed; [transcription] in the config chooses who does"
