"""Reads a command line: which package, program or image it starts, and with which arguments.

Whatever could make it start something else makes it unknown: an option that is not known, a program
that is not in one of the usual folders, a folder or a variable that a container gets.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["npm", "pypi", "modules", "programs", "images"]


class Started(NamedTuple):
    """What a command line starts, and the arguments of that."""

    kind: Kind
    name: str
    arguments: tuple[str, ...]


_PROGRAM_ENDS = (".exe", ".cmd", ".bat", ".ps1")
_QUIET = frozenset({"-y", "--yes", "-q", "--quiet"})
_PYTHON = re.compile(r"python(?:3(?:\.\d+)?)?")
# A version is a number or a word for one: `..`, `x.tgz` and, for Python, any other word are files.
_NPM = re.compile(
    r"(@?[\w.-]+(?:/[\w.-]+)?)(?:@(?!.*\.(?:tgz|tar|gz)\Z)(?:[\^~]?\d[\w.+-]*|[a-z]+))?",
    re.IGNORECASE,
)
_PYPI = re.compile(r"([\w.-]+?)(?:@latest|(?:@|==)\d[\w.+!]*)?")
_IMAGE = re.compile(r"([\w./-]+?)(?::[\w.-]+)?(?:@sha256:[0-9a-f]{64})?")
_IN_NODE_MODULES = re.compile(
    r"(?:.*[/\\])?node_modules[/\\](@[\w.-]+[/\\][\w.-]+|[\w.-]+)[/\\](?:(?!node_modules|\.\.).)+\.[cm]?js"
)
_CONTAINER_FLAGS = frozenset({"-i", "--interactive", "--rm", "--init", "-t", "-it", "-ti"})
# Variables that say whom a server talks to, and how. Others (PATH) may say what it runs.
_SETTING = re.compile(
    r"(?:(?:GITHUB|GITLAB|JIRA|CONFLUENCE|ATLASSIAN|DATABASE|POSTGRES|MEMORY|USE)_\w+"
    r"|TZ|LOCAL_TIMEZONE|READ_ONLY_MODE|ENABLED_TOOLS|TOOLSETS|LANG|LC_\w+"
    r"|LOG|LOG_\w+|\w+_LOG_LEVEL|DEBUG|NO_COLOR|MCP_(?:VERY_)?VERBOSE"
    r"|PYTHONUNBUFFERED|PYTHONUTF8|PYTHONIOENCODING|NODE_ENV|NODE_NO_WARNINGS"
    r"|(?i:https?_proxy|no_proxy)|SSL_CERT_FILE|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS)(?:=.*)?",
    re.DOTALL,
)
_FOR_A_SHELL = re.compile(r"[&|<>^%\"!()\r\n]")
_SYSTEM_FOLDERS = (
    *("/usr/", "/bin/", "/opt/", "/nix/store/", "/snap/", "/Applications/", "/Library/"),
    *("/home/linuxbrew/.linuxbrew/", "C:/Program Files/", "C:/Program Files (x86)/"),
)
_USER_FOLDERS = (
    *(".local/bin/", ".local/lib/", ".local/pipx/", ".local/share/uv/", ".local/share/mise/"),
    *(".local/share/pipx/", ".local/share/pnpm/", ".local/share/fnm/", "Library/pnpm/"),
    *(".nvm/", ".volta/", ".bun/", ".asdf/", ".pyenv/", ".nodenv/", ".npm-global/", ".cargo/bin/"),
    *(".nix-profile/", ".docker/bin/", ".rd/bin/", "go/bin/", "miniconda3/", "anaconda3/"),
    *("AppData/Local/Programs/", "AppData/Roaming/npm/", "AppData/Roaming/uv/"),
)


def started(command: Sequence[str], home: str) -> Started | None:
    """What a command starts; None where that is not certain."""
    if not command or not _is_usual(command[0], home, bare=True):
        return None
    program, rest = _bare(command[0]), tuple(command[1:])
    if program == "cmd" or command[0].lower().endswith((".cmd", ".bat")):
        if any(map(_FOR_A_SHELL.search, rest)):
            return None
        if program == "cmd":
            return started(rest[1:], home) if rest[:1] in (("/c",), ("/C",)) else None
    if program in ("npx", "bunx"):
        return _package("npm", _NPM, rest)
    if program == "uvx":
        return _uvx(rest)
    if (program, rest[:2]) == ("uv", ("tool", "run")):
        return _uvx(rest[2:])
    if (program, rest[:1]) == ("pipx", ("run",)):
        return _package("pypi", _PYPI, rest[1:])
    if _PYTHON.fullmatch(program):
        words = rest[1:] if rest[:1] == ("-u",) else rest
        return (
            Started("modules", words[1], words[2:]) if words[:1] == ("-m",) and words[1:] else None
        )
    if program in ("docker", "podman") and rest[:1] == ("run",):
        return _container(rest[1:])
    if program == "node":
        return _script(rest, home)
    return Started("programs", program, rest)


def is_setting(variable: str) -> bool:
    """Whether a variable of an entry, by its name, leaves it what is started."""
    return _SETTING.fullmatch(variable) is not None


def _is_usual(path: str, home: str, *, bare: bool = False) -> bool:
    """Whether a program is in a folder for programs, of the system, the person or our own; `bare`
    names are looked up in such folders."""
    slashed = path.replace("\\", "/")
    if "/" not in slashed:
        return bare and ":" not in slashed
    if ".." in slashed.split("/"):
        return False
    own = (f"{home}/{folder}" for folder in _USER_FOLDERS)
    ours = (f"{folder}/" for folder in (sys.prefix, sys.base_prefix))
    folders = (each.replace("\\", "/") for each in (*_SYSTEM_FOLDERS, *own, *ours))
    return slashed.startswith(tuple(folders))


def _bare(path: str) -> str:
    name = re.split(r"[/\\]", path)[-1].lower()
    return next((name.removesuffix(end) for end in _PROGRAM_ENDS if name.endswith(end)), name)


def _package(kind: Kind, form: re.Pattern[str], words: Sequence[str]) -> Started | None:
    """The first word that is no harmless option, if it is a package and perhaps its version."""
    place = next((at for at, word in enumerate(words) if word not in _QUIET), len(words))
    if words[place : place + 1] == ("--",):
        place += 1
    found = form.fullmatch(words[place]) if place < len(words) else None
    return None if found is None else Started(kind, found[1], tuple(words[place + 1 :]))


def _uvx(words: Sequence[str]) -> Started | None:
    if words[:1] != ("--from",):
        return _package("pypi", _PYPI, words)
    inner = _package("pypi", _PYPI, words[1:])
    # A package's program of another name is another server.
    if inner is None or inner.arguments[:1] != (inner.name,):
        return None
    return inner._replace(arguments=inner.arguments[1:])


def _script(words: Sequence[str], home: str) -> Started | None:
    found = _IN_NODE_MODULES.fullmatch(words[0]) if words else None
    if found is None or not _is_usual(words[0], home):
        return None
    return Started("npm", found[1].replace("\\", "/"), tuple(words[1:]))


def _container(words: Sequence[str]) -> Started | None:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        option, has_value, value = words[at].partition("=")
        if words[at] in _CONTAINER_FLAGS:
            at += 1
        elif option in ("-e", "--env"):
            setting = value if has_value else "".join(words[at + 1 : at + 2])
            if not is_setting(setting):
                return None
            at += 1 if has_value else 2
        else:
            return None
    found = _IMAGE.fullmatch(words[at]) if at < len(words) else None
    return None if found is None else Started("images", found[1], tuple(words[at + 1 :]))
