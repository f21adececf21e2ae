"""Finds the installed Claude CLI and checks that it is new enough."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from clawkit.errors import UNREADABLE_JSON, CliNotFoundError, CliVersionError
from clawkit.system.processes import KILL, send_signal

_OLDEST = (2, 1, 0)
_OLDEST_VERBATIM = (2, 1, 248)
_WHY_VERBATIM = " to take prompts as they are, where an older one reads the files that they name"
_INSTALL = "install it with `npm install -g @anthropic-ai/claude-code`"
_ADVICE = f"{_INSTALL}, or name it with CLAUDE_CLI_PATH or cli_path"
_PATIENCE = 20.0
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


def find_cli(chosen: Path | str | None, environment: Mapping[str, str] | None = None) -> str:
    """The CLI that the options name, `CLAUDE_CLI_PATH`, PATH, or one of the usual places."""
    environment = os.environ if environment is None else environment
    for source, path in (
        ("cli_path", chosen),
        ("CLAUDE_CLI_PATH", environment.get("CLAUDE_CLI_PATH")),
    ):
        if path:
            return _named(source, Path(path).expanduser())
    found = shutil.which("claude", path=environment.get("PATH"))
    if found:
        return found
    for place in _usual_places(environment):
        if _runs(place):
            return str(place)
    raise CliNotFoundError(f"the Claude CLI is not on PATH nor in its usual places: {_ADVICE}")


def _named(source: str, path: Path) -> str:
    if _runs(path):
        return str(path.absolute())  # the CLI is started in another directory
    what = "cannot be run" if path.exists() else "does not exist"
    raise CliNotFoundError(f"{source} is {path}, which {what}: correct it, or {_INSTALL}")


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _usual_places(environment: Mapping[str, str]) -> list[Path]:
    home = Path(environment.get("HOME") or Path.home())
    return [
        home / ".claude" / "local" / "claude",
        home / ".local" / "bin" / "claude",
        home / ".npm-global" / "bin" / "claude",
        home / "node_modules" / ".bin" / "claude",
        Path("/usr/local/bin/claude"),
        Path("/opt/homebrew/bin/claude"),
    ]


def check_version(cli: str, said: str, *, verbatim: bool = False) -> str:
    """The version in what the CLI says of itself; raises for one that is too old.

    `verbatim` is whether it has to take prompts as they are.
    """
    found = _VERSION.search(said)
    if found is None:
        raise CliVersionError(f"{cli} says its version is {said[:80]!r}: is it the CLI?")
    oldest, why = (_OLDEST_VERBATIM, _WHY_VERBATIM) if verbatim else (_OLDEST, "")
    if tuple(map(int, found.groups())) < oldest:
        needed = ".".join(map(str, oldest))
        raise CliVersionError(
            f"{cli} is {found[0]}, and {needed} or newer is needed{why}: `claude update`"
        )
    return found[0]


async def ask_version(cli: str, environment: Mapping[str, str]) -> str:
    return await _output(cli, "--version", environment=environment)


async def is_logged_in(cli: str, environment: Mapping[str, str]) -> bool:
    """Whether the CLI has an account of its own, not only a key in these variables."""
    said = await _output(cli, "auth", "status", "--json", environment=environment)
    try:
        status = msgspec.json.decode(said, type=_LoginStatus)
    except UNREADABLE_JSON:  # an older CLI, which has no such command
        return False
    return status.loggedIn and status.authMethod != "api_key"


class _LoginStatus(msgspec.Struct):
    loggedIn: bool = False  # noqa: N815 - named by the CLI
    authMethod: str = ""  # noqa: N815 - named by the CLI


async def _output(cli: str, *arguments: str, environment: Mapping[str, str]) -> str:
    """What the CLI says before it ends."""
    try:
        process = await asyncio.create_subprocess_exec(
            cli,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=dict(environment),
        )
    except OSError as error:
        raise CliNotFoundError(f"{cli} cannot be started: {error.strerror}") from None
    try:
        async with asyncio.timeout(_PATIENCE):
            output, _ = await process.communicate()
    except TimeoutError:
        raise CliVersionError(
            f"{cli} {' '.join(arguments)} says nothing for {_PATIENCE:g} s"
        ) from None
    finally:
        if process.returncode is None:
            send_signal(process.pid, KILL)
            await process.wait()
    return output.decode(errors="replace").strip()
