"""The MCP clients we know: where each keeps its servers, in which format, and in which form."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.formats import Format

Transport = Literal["http", "sse"]


class Machine(msgspec.Struct, frozen=True):
    """What decides where files are: the home, the environment, and `sys.platform`."""

    home: str
    environment: Mapping[str, str]
    platform: str


class EntryForm(msgspec.Struct, frozen=True):
    """How a client writes an entry.

    command     the program, or the whole command line as a list where `args` is None
    urls        keys that hold a remote address, and the transport that the key alone implies
    kinds       keys that name the transport
    stdio       what such a key says for a local server; None: it is left out
    transport   of a remote entry that says nothing about it
    templates   who fills in `${…}` in headers: the client (in `env` too), only whoever sends
                them, or nobody
    """

    command: str = "command"
    args: str | None = "args"
    env: str = "env"
    urls: tuple[tuple[str, Transport | None], ...] = (("url", None),)
    kinds: tuple[str, ...] = ("type",)
    stdio: str | None = None
    transport: Transport = "http"
    headers: str = "headers"
    templates: Literal["client", "sender", "nobody"] = "client"


class ClientApp(msgspec.Struct, frozen=True):
    """One row of the table. `{…}` in a place is one of the roots below; `*` in keys is any key.

    directory   is there once the client is installed; that of its first place if not given
    """

    id: str
    title: str
    format: Format
    keys: tuple[tuple[str, ...], ...]
    places: tuple[str, ...]
    windows: tuple[str, ...] = ()
    project: tuple[str, ...] = ()
    form: EntryForm = EntryForm()
    directory: str = ""


_STDIO = EntryForm(stdio="stdio")
_SERVERS = (("mcpServers",),)
_CLINE = "Code/User/globalStorage/saoudrizwan.claude-dev"

CLIENTS: tuple[ClientApp, ...] = (
    ClientApp(
        "claude-desktop",
        "Claude Desktop",
        "json",
        _SERVERS,
        (
            "{support}/Claude/claude_desktop_config.json",
            "{home}/.claude/claude_desktop_config.json",
        ),
        form=EntryForm(urls=()),
    ),
    ClientApp(
        "claude-code",
        "Claude Code",
        "json",
        (("mcpServers",), ("projects", "*", "mcpServers")),
        ("{claude}/.claude.json",),
        project=(".mcp.json",),
        form=_STDIO,
        directory="{claude_directory}",
    ),
    ClientApp(
        "cursor",
        "Cursor",
        "json",
        _SERVERS,
        ("{home}/.cursor/mcp.json",),
        project=(".cursor/mcp.json",),
        form=_STDIO,
    ),
    ClientApp(
        "vscode",
        "VS Code",
        "json",
        (("servers",),),
        ("{support}/Code/User/mcp.json",),
        project=(".vscode/mcp.json",),
        form=_STDIO,
    ),
    ClientApp(
        "windsurf",
        "Windsurf",
        "json",
        _SERVERS,
        ("{home}/.codeium/windsurf/mcp_config.json",),
        form=EntryForm(urls=(("serverUrl", None), ("url", None))),
    ),
    ClientApp(
        "zed",
        "Zed",
        "json",
        (("context_servers",),),
        ("{config}/zed/settings.json",),
        windows=("{support}/Zed/settings.json",),
        project=(".zed/settings.json",),
    ),
    ClientApp(
        "codex",
        "Codex",
        "toml",
        (("mcp_servers",),),
        ("{codex}/config.toml",),
        project=(".codex/config.toml",),
        form=EntryForm(headers="http_headers", templates="nobody"),
    ),
    ClientApp(
        "gemini",
        "Gemini CLI",
        "json",
        _SERVERS,
        ("{home}/.gemini/settings.json",),
        project=(".gemini/settings.json",),
        form=EntryForm(urls=(("httpUrl", "http"), ("url", "sse"))),
    ),
    ClientApp(
        "goose",
        "Goose",
        "yaml",
        (("extensions",),),
        ("{config}/goose/config.yaml",),
        windows=("{support}/Block/goose/config/config.yaml",),
        form=EntryForm(
            command="cmd", env="envs", urls=(("uri", None),), stdio="stdio", templates="sender"
        ),
    ),
    ClientApp(
        "cline",
        "Cline",
        "json",
        _SERVERS,
        (f"{{support}}/{_CLINE}/settings/cline_mcp_settings.json",),
        form=EntryForm(stdio="stdio", transport="sse"),
    ),
    ClientApp(
        "openclaw",
        "OpenClaw",
        "json",
        (("mcp", "servers"),),
        ("{openclaw}",),
        form=EntryForm(kinds=("transport", "type"), transport="sse"),
    ),
    ClientApp("lmstudio", "LM Studio", "json", _SERVERS, ("{home}/.lmstudio/mcp.json",)),
    ClientApp(
        "opencode",
        "opencode",
        "json",
        (("mcp",),),
        ("{config}/opencode/opencode.json", "{config}/opencode/opencode.jsonc"),
        project=(
            "opencode.json",
            "opencode.jsonc",
            ".opencode/opencode.json",
            ".opencode/opencode.jsonc",
        ),
        form=EntryForm(args=None, env="environment", stdio="local"),
    ),
)


def client_called(name: str) -> ClientApp:
    for client in CLIENTS:
        if name.casefold() in (client.id, client.title.casefold()):
            return client
    known = ", ".join(client.id for client in CLIENTS)
    raise HostError(f"no client is called `{name}`: give one of {known}")


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
