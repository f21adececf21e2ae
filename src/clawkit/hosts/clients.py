"""The MCP clients we know: where each keeps its servers, in which format, and in which form."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.nodes import Format

Transport = Literal["http", "sse"]


class Machine(msgspec.Struct, frozen=True):
    """What decides where files are: the home, the environment, and `sys.platform`."""

    home: str
    environment: Mapping[str, str]
    platform: str


class EntryForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a client writes an entry.

    command     the program, or the whole command line as a list where `args` is empty
    urls        keys that hold a remote address, and the transport that the key implies, if any
    kinds       keys that name the transport
    stdio       what such a key says for a local server; None: it is left out
    http        the same for a server over Streamable HTTP
    transport   of a remote entry that says nothing about it
    templates   who fills in `${…}` in headers: the client (in `env` too), only whoever sends
                them, or nobody
    """

    command: str = "command"
    args: str = "args"
    env: str = "env"
    urls: tuple[tuple[str, Transport | Literal[""]], ...] = (("url", ""),)
    kinds: tuple[str, ...] = ("type",)
    stdio: str | None = None
    http: str | None = None
    transport: Transport = "http"
    headers: str = "headers"
    templates: Literal["client", "sender", "nobody"] = "client"


class ClientApp(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table of clients.toml. `{…}` in a place is a root below; `*` in keys is any key.

    directory   is there once the client is installed; that of its first place if not given
    also        what the client wants to find in an entry of ours beside the command
    forms       whether it says that it shows a server's questions (elicitation)
    """

    id: str
    title: str
    places: tuple[str, ...]
    format: Format = "json"
    keys: tuple[tuple[str, ...], ...] = (("mcpServers",),)
    windows: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    form: EntryForm = EntryForm()
    directory: str = ""
    also: dict[str, str | int | bool] = {}
    forms: bool = False


def _read_clients() -> tuple[ClientApp, ...]:
    found = tomllib.loads(Path(__file__).with_name("clients.toml").read_text(encoding="utf-8"))
    return msgspec.convert(found["client"], tuple[ClientApp, ...])


CLIENTS = _read_clients()


def client_called(name: str) -> ClientApp:
    for client in CLIENTS:
        if name.casefold() in (client.id, client.title.casefold()):
            return client
    known = ", ".join(client.id for client in CLIENTS)
    raise HostError(f"no client is called `{name}`: give one of {known}").of_usage()


def this_machine() -> Machine:
    return Machine(str(Path.home()), os.environ, sys.platform)


def user_files(client: ClientApp, machine: Machine) -> tuple[PurePath, ...]:
    """Where the client keeps the person's servers on such a machine; the files need not exist."""
    windows = machine.platform == "win32"
    flavour = PureWindowsPath if windows else PurePosixPath
    places = client.windows if windows and client.windows else client.places
    roots = _roots(machine)
    return tuple(flavour(place.format_map(roots)) for place in places)


def file_patterns(client: ClientApp) -> tuple[str, ...]:
    """Globs for all files in which the client keeps servers, in any home and any project."""
    roots = {**_roots(Machine("**", {}, "linux")), "config": "**", "support": "**"}
    places = [place.format_map(roots) for place in (*client.places, *client.windows)]
    return tuple(dict.fromkeys((*places, *(f"**/{name}" for name in client.project))))


def user_directory(client: ClientApp, machine: Machine) -> PurePath:
    """What is there once the client is installed on such a machine."""
    first = user_files(client, machine)[0]
    if not client.directory:
        return first.parent
    return type(first)(client.directory.format_map(_roots(machine)))


def project_files(client: ClientApp, directory: PurePath) -> tuple[PurePath, ...]:
    return tuple(directory / name for name in client.project)


def _roots(machine: Machine) -> dict[str, str]:
    home = machine.home

    def given(variable: str, usual: str) -> str:
        value = machine.environment.get(variable) or usual
        return home + value[1:] if value.startswith("~/") else value

    config = given("XDG_CONFIG_HOME", f"{home}/.config")
    support = {
        "darwin": f"{home}/Library/Application Support",
        "win32": given("APPDATA", f"{home}/AppData/Roaming"),
    }
    return {
        "home": home,
        "config": config,
        "support": support.get(machine.platform, config),
        "claude": given("CLAUDE_CONFIG_DIR", home),
        "claude_directory": given("CLAUDE_CONFIG_DIR", f"{home}/.claude"),
        "codex": given("CODEX_HOME", f"{home}/.codex"),
        "openclaw": given("OPENCLAW_CONFIG_PATH", f"{home}/.openclaw/openclaw.json"),
    }
