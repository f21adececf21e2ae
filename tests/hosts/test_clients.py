from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from clawkit.errors import HostError
from clawkit.hosts.clients import (
    CLIENTS,
    Machine,
    client_called,
    project_files,
    user_files,
)

LINUX = Machine("/home/me", {}, "linux")
MAC = Machine("/Users/me", {}, "darwin")
WINDOWS = Machine("C:\\Users\\me", {"APPDATA": "C:\\Users\\me\\AppData\\Roaming"}, "win32")
SUPPORT = "/Users/me/Library/Application Support"
ROAMING = "C:\\Users\\me\\AppData\\Roaming"
CLINE = "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

FIRST_PLACES = [
    ("claude-desktop", LINUX, "/home/me/.config/Claude/claude_desktop_config.json"),
    ("claude-desktop", MAC, f"{SUPPORT}/Claude/claude_desktop_config.json"),
    ("claude-desktop", WINDOWS, f"{ROAMING}\\Claude\\claude_desktop_config.json"),
    ("claude-code", LINUX, "/home/me/.claude.json"),
    ("claude-code", WINDOWS, "C:\\Users\\me\\.claude.json"),
    ("cursor", MAC, "/Users/me/.cursor/mcp.json"),
    ("vscode", LINUX, "/home/me/.config/Code/User/mcp.json"),
    ("vscode", MAC, f"{SUPPORT}/Code/User/mcp.json"),
    ("vscode", WINDOWS, f"{ROAMING}\\Code\\User\\mcp.json"),
    ("windsurf", LINUX, "/home/me/.codeium/windsurf/mcp_config.json"),
    ("zed", MAC, "/Users/me/.config/zed/settings.json"),
    ("zed", WINDOWS, f"{ROAMING}\\Zed\\settings.json"),
    ("codex", LINUX, "/home/me/.codex/config.toml"),
    ("gemini", LINUX, "/home/me/.gemini/settings.json"),
    ("goose", MAC, "/Users/me/.config/goose/config.yaml"),
    ("goose", WINDOWS, f"{ROAMING}\\Block\\goose\\config\\config.yaml"),
    ("cline", MAC, f"{SUPPORT}/Code/User/{CLINE}"),
    ("openclaw", LINUX, "/home/me/.openclaw/openclaw.json"),
    ("lmstudio", LINUX, "/home/me/.lmstudio/mcp.json"),
    ("opencode", WINDOWS, "C:\\Users\\me\\.config\\opencode\\opencode.json"),
]


@pytest.mark.parametrize(("client", "machine", "place"), FIRST_PLACES)
def test_a_client_keeps_its_servers_where_its_system_has_them(
    client: str, machine: Machine, place: str
) -> None:
    assert str(user_files(client_called(client), machine)[0]) == place


@pytest.mark.parametrize(
    ("client", "variable", "value", "place"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "/srv/claude", "/srv/claude/.claude.json"),
        ("codex", "CODEX_HOME", "/srv/codex", "/srv/codex/config.toml"),
        ("openclaw", "OPENCLAW_CONFIG_PATH", "~/claw.json5", "/home/me/claw.json5"),
        ("zed", "XDG_CONFIG_HOME", "/srv/config", "/srv/config/zed/settings.json"),
        ("vscode", "XDG_CONFIG_HOME", "/srv/config", "/srv/config/Code/User/mcp.json"),
    ],
)
def test_a_variable_moves_it(client: str, variable: str, value: str, place: str) -> None:
    machine = Machine("/home/me", {variable: value}, "linux")
    assert str(user_files(client_called(client), machine)[0]) == place


def test_claude_desktop_has_the_second_documented_place() -> None:
    places = [str(path) for path in user_files(client_called("claude-desktop"), MAC)]
    assert places[1] == "/Users/me/.claude/claude_desktop_config.json"


def test_projects_have_files_of_their_own() -> None:
    project = PurePosixPath("/src/app")
    found = {client.id: project_files(client, project) for client in CLIENTS}
    assert {name: str(paths[0]) for name, paths in found.items() if paths} == {
        "claude-code": "/src/app/.mcp.json",
        "cursor": "/src/app/.cursor/mcp.json",
        "vscode": "/src/app/.vscode/mcp.json",
        "zed": "/src/app/.zed/settings.json",
        "codex": "/src/app/.codex/config.toml",
        "gemini": "/src/app/.gemini/settings.json",
        "opencode": "/src/app/opencode.json",
    }


def test_a_client_goes_by_its_id_or_its_title() -> None:
    assert client_called("VS Code") is client_called("vscode")


def test_an_unknown_client_is_told_the_known_ones() -> None:
    with pytest.raises(HostError, match=r"no client is called `emacs`: give one of claude-desktop"):
        client_called("emacs")
