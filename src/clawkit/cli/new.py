"""`claw new`: a Python file with one tool, its test, and what to do next."""

from __future__ import annotations

import importlib.util
import keyword
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from clawkit.cli.commands import CommandFailure

_TOOL = '''"""Tools for any MCP client: `claw serve {file}` is their server."""

from clawkit import claw_tool


@claw_tool
def greet(name: str, times: int = 1) -> str:
    """Greet somebody.

    Args:
        name: Who is greeted.
        times: How often.
    """
    return " ".join([f"Hello, {{name}}!"] * times)
'''
_TEST = '''"""The tests of {file}: run them with `pytest`."""

from {module} import greet


def test_everybody_is_greeted_by_name() -> None:
    assert greet.fn("Ada") == "Hello, Ada!"
    assert greet.fn("Ada", times=2) == "Hello, Ada! Hello, Ada!"
'''
_NEXT = """Wrote {file} with the tool `greet`, and {test} with its test. Next:

  claw call {file} greet name=Ada       # call it
  pytest {test}                         # test it (pip install pytest)
  claw serve --reload {file} --http 8000  # serve it; what you change counts at once
  claw install cursor {file}            # or claude-code, vscode, …: `claw install` lists them

A function with @claw_tool is a tool: its signature is the schema, its docstring the description."""


def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="What the tools are for, such as weather.")
    ],
) -> None:
    """Write a Python file with one tool and its test, and say what to do next."""
    path = Path(name.removesuffix(".py"))
    folder, module = path.parent, path.name.replace("-", "_")
    _check(folder, module)
    file, test = folder / f"{module}.py", folder / f"test_{module}.py"
    for one in (file, test):
        if one.exists() or one.is_symlink():
            raise CommandFailure(f"{one} is already there: nothing was written")
    _write(file, _TOOL.format(file=file.name))
    _write(test, _TEST.format(file=file.name, module=module))
    print(_aligned(_NEXT.format(file=shlex.quote(str(file)), test=shlex.quote(str(test)))))


def _check(folder: Path, module: str) -> None:
    """A name that Python can import, and that hides nothing else."""
    if keyword.iskeyword(module):
        raise CommandFailure(
            f"{module!r} is a word of Python itself: give the file another name", 2
        )
    if not module.isidentifier() or not module.isascii():
        allowed = "use a to z, digits and _, and begin with a letter"
        raise CommandFailure(f"{module!r} cannot name a Python file here: {allowed}", 2)
    if not folder.is_dir():
        raise CommandFailure(f"{folder}: there is no such folder")
    if module in sys.stdlib_module_names or _is_installed(module):
        raise CommandFailure(
            f"Python has a module {module!r} already: give the file another name", 2
        )


def _is_installed(module: str) -> bool:
    here = {"", str(Path.cwd())}
    kept = list(sys.path)
    sys.path[:] = [place for place in kept if place not in here]
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False
    finally:
        sys.path[:] = kept


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8", newline="\n") as out:
            out.write(text)
    except OSError as error:
        raise CommandFailure(f"{file} cannot be written: {error.strerror}") from None


def _aligned(text: str) -> str:
    """The same with the comments behind commands below each other."""
    lines = [line.partition("#") for line in text.split("\n")]
    wide = max(len(command.rstrip()) for command, mark, _ in lines if mark)
    return "\n".join(
        f"{command.rstrip():<{wide}}  {mark}{rest}" if mark else command
        for command, mark, rest in lines
    )
