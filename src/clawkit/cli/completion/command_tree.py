"""The commands with their options and arguments, as data; kept in a file for the next Tab.

To read them, every command is imported, which takes longer than anyone waits for a Tab. The file
counts as long as it is newer than the commands and of the same version.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from clawkit.errors import UNREADABLE_JSON
from clawkit.settings import settings
from clawkit.version import __version__

Values = Literal[
    "",
    "files",
    "folders",
    "beings",
    "clients",
    "logins",
    "policies",
    "servers",
    "sessions",
    "topics",
]
"""What stands for a value; nothing is known about those of the empty kind."""

_BY_OPTION: dict[str, Values] = {
    "--client": "clients",
    "--for": "clients",
    "--policy": "policies",
    "--server": "servers",
    "--session": "sessions",
}
_BY_METAVAR: dict[str, Values] = {
    "AUDIT": "files",
    "BEING": "beings",
    "CLIENT": "clients",
    "DIR": "folders",
    "FILE": "files",
    "FILE|FOLDER": "files",
    "KEY": "sessions",
    "NAME|URL": "logins",
    "SERVER": "servers",
    "TOPIC": "topics",
}
_SHORT = 70


class ParameterSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """An option or an argument: what its value may be, and whether it can be given again."""

    help: str = ""
    flag: bool = False
    values: Values = ""
    choices: tuple[str, ...] = ()
    again: bool = False


class CommandSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A command, with what may follow it."""

    help: str = ""
    commands: dict[str, CommandSpec] = {}
    options: dict[str, ParameterSpec] = {}
    arguments: tuple[ParameterSpec, ...] = ()


class _Kept(msgspec.Struct, frozen=True):
    version: str
    commands: CommandSpec


def command_tree() -> CommandSpec:
    """All commands, from the file if that is still true."""
    file = settings().data / "completion.json"
    with suppress(OSError, *UNREADABLE_JSON):
        kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
        if kept.version == __version__ and file.stat().st_mtime >= _newest_command():
            return kept.commands
    found = read_tree()
    with suppress(OSError):
        _keep(file, _Kept(__version__, found))
    return found


def _newest_command() -> float:
    places = os.walk(Path(__file__).parent.parent)
    files = (os.path.join(folder, name) for folder, _, names in places for name in names)  # noqa: PTH118 - one for each file, at every Tab
    return max(os.stat(file).st_mtime for file in files if file.endswith(".py"))  # noqa: PTH116 - likewise


def _keep(file: Path, kept: _Kept) -> None:
    from clawkit.system.files import make_private, write_whole

    make_private(file.parent)
    write_whole(file, msgspec.json.encode(kept))


def read_tree() -> CommandSpec:
    """All commands, from their code."""
    from typer.main import get_command

    from clawkit.cli.app import app, imported

    root: Any = get_command(app)
    root.commands = {name: get_command(imported(name)) for name in root.commands}
    return _spec(root)


def _spec(command: Any) -> CommandSpec:
    below = getattr(command, "commands", {})
    given = [one for one in command.params if not getattr(one, "hidden", False)]
    types = _types(command.callback)
    options = {
        name: _parameter(one, types) for one in given for name in _written(one, "option")
    } | {"--help": ParameterSpec("Show this message and exit.", flag=True)}
    return CommandSpec(
        help=_first(command.help),
        commands={name: _spec(one) for name, one in below.items() if not one.hidden},
        options=options,
        arguments=tuple(_parameter(one, types) for one in given for _ in _written(one, "argument")),
    )


def _written(parameter: Any, kind: str) -> Iterator[str]:
    if parameter.param_type_name == kind:
        yield from parameter.opts


def _parameter(parameter: Any, types: dict[str, Any]) -> ParameterSpec:
    named: list[Values] = [_BY_OPTION[name] for name in parameter.opts if name in _BY_OPTION]
    metavar = re.sub(r"\[:SERVER\]$|[\[\]…]", "", parameter.metavar or "")
    if not named and metavar in _BY_METAVAR:
        named = [_BY_METAVAR[metavar]]
    return ParameterSpec(
        help=_first(parameter.help),
        flag=bool(getattr(parameter, "is_flag", False)),
        values=named[0] if named else "",
        choices=_choices(types.get(parameter.name)),
        again=bool(getattr(parameter, "multiple", False)) or parameter.nargs == -1,
    )


def _types(function: Any) -> dict[str, Any]:
    if function is None:
        return {}
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    return {one.name: one.annotation for one in parameters}


def _choices(annotation: Any) -> tuple[str, ...]:
    """The words of a `Literal`, also of one that may be left out."""
    if get_origin(annotation) is Literal:
        return tuple(map(str, get_args(annotation)))
    return next((found for one in get_args(annotation) if (found := _choices(one))), ())


def _first(help: str | None) -> str:
    """The first sentence, without what would end a line."""
    text = " ".join((help or "").split("\n\n")[0].split())
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"
