"""Loads the server in a Python file: the object it names, or one made of its tools."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from clawkit.errors import ClawError, LoadError
from clawkit.tools.server import SdkMcpServerImpl
from clawkit.tools.tool import ClawTool, SdkMcpTool
from clawkit.wire.server import ServerCore

_FOLDERS: set[str] = set()
"""From where files were loaded."""


def load_server(target: str) -> ServerCore:
    """The server at `path/to/file.py[:name]`.

    With a name, the server (or a function that makes one) of that name. Without, the file's only
    server; and when it has none, a new one with every tool that the file defines.
    """
    path, name = split_target(target)
    module = _import(Path(path))
    if name:
        return _named(module, path, name)
    servers = {id(v): v for v in vars(module).values() if isinstance(v, ServerCore)}
    if len(servers) > 1:
        names = ", ".join(k for k, v in vars(module).items() if isinstance(v, ServerCore))
        raise LoadError(f"{path} has several servers ({names}); name one: {path}:NAME")
    if servers:
        return next(iter(servers.values()))
    return _gather(module, path)


def split_target(target: str) -> tuple[str, str]:
    """The file and the name in `path/to/file.py[:name]`."""
    path, _, name = (target, "", "") if Path(target).exists() else target.partition(":")
    return path, name


def _import(path: Path) -> ModuleType:
    if path.is_dir():
        raise LoadError(f"{path} is a directory; give a Python file")
    if not path.is_file():
        raise LoadError(f"{path}: no such file")
    if path.stem in sys.stdlib_module_names:
        raise LoadError(f"{path}: Python has a module of this name; give the file another one")
    if _is_taken(path):
        raise LoadError(f"{path}: a package of this name is installed; give the file another name")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise LoadError(f"{path}: not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder = str(path.resolve().parent)
    _FOLDERS.add(folder)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except ClawError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise LoadError(f"{path}: {reason}{_place(error)}") from error
    finally:
        # Its neighbours stay importable, but none stands in for what we import later.
        sys.path[:] = [*(entry for entry in sys.path if entry != folder), folder]
    return module


def _is_taken(path: Path) -> bool:
    """Whether loading the file would put it in the place of an installed package."""
    installed = [entry for entry in sys.path if entry not in _FOLDERS]
    spec = PathFinder.find_spec(path.stem, installed)
    if spec is None or spec.origin is None:
        return False
    return Path(spec.origin).resolve() != path.resolve()


def forget_modules(chosen: Callable[[str, Path], bool]) -> dict[str, ModuleType]:
    """Have Python read these modules, chosen by name and file, again; gives what it forgot."""
    gone: dict[str, ModuleType] = {}
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if isinstance(origin, str) and chosen(name, Path(origin)):
            gone[name] = sys.modules.pop(name)
            # Its compiled form is told from a newer one only if a second lies between the two.
            Path(importlib.util.cache_from_source(origin)).unlink(missing_ok=True)
    importlib.invalidate_caches()
    return gone


def _place(error: BaseException) -> str:
    """The place in the file where an error came from; empty for syntax errors."""
    frames = extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:
        return ""
    return f" (in {Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _named(module: ModuleType, path: str, name: str) -> ServerCore:
    found: Any = getattr(module, name, None)
    if callable(found) and not isinstance(found, ClawTool):
        found = found()
    if not isinstance(found, ServerCore):
        raise LoadError(f"{path} has no server called {name!r}")
    return found


def _gather(module: ModuleType, path: str) -> SdkMcpServerImpl:
    server = SdkMcpServerImpl(Path(path).stem, str(getattr(module, "__version__", "0.1.0")))
    for value in vars(module).values():
        if isinstance(value, ClawTool | SdkMcpTool):
            server.register_tool(value)  # pyright: ignore[reportUnknownArgumentType]
    if not server.tools:
        raise LoadError(f"{path}: no server and no tools; decorate a function with @claw_tool")
    return server
