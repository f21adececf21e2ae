"""What to paste into each client to reach a server: by its address, or by its command."""

from __future__ import annotations

import json
import shlex

from clawkit.hosts.clients import CLIENTS, ClientApp
from clawkit.hosts.documents.edits import add_entry, dialect_of
from clawkit.hosts.entries import Data
from clawkit.hosts.installation import InstallOrder, entry_for, remote_entry
from clawkit.wire.http.page import PasteText

_ROOTS = {
    "home": "~",
    "config": "~/.config",
    "support": "…",
    "claude": "~",
    "codex": "~/.codex",
    "openclaw": "~/.openclaw/openclaw.json",
}


def pastes_for_url(name: str, url: str, token: str = "") -> tuple[PasteText, ...]:
    """What to paste for an address, for every client; `token` stands for a bearer token."""
    return tuple(paste_for_url(client, name, url, token) for client in CLIENTS)


def paste_for_url(client: ClientApp, name: str, url: str, token: str = "") -> PasteText:
    """What to paste for an address, for one client; `token` is the token or a placeholder."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    more = f" --header {shlex.quote(f'Authorization: Bearer {token}')}" if token else ""
    command = f"claude mcp add --transport http {shlex.quote(name)} {shlex.quote(url)}{more}"
    return _paste(client, name, remote_entry(client, name, url, headers), command)


def pastes_for_command(order: InstallOrder) -> tuple[PasteText, ...]:
    """What to paste for a command, for every client."""
    command = f"claude mcp add {shlex.quote(order.name)} -- {shlex.join(order.argv)}"
    return tuple(
        _paste(client, order.name, entry_for(client, order), command) for client in CLIENTS
    )


def _paste(client: ClientApp, name: str, entry: Data, claude_code: str) -> PasteText:
    if client.id == "claude-code":
        return PasteText(client.title, "in a terminal", claude_code)
    place = client.places[0].format_map(_ROOTS)
    return PasteText(client.title, place, _written(client, name, entry))


def _written(client: ClientApp, name: str, entry: Data) -> str:
    """The entry with what stands around it in a file that has nothing else."""
    keys = (*client.keys[0], name)
    if client.format != "json":
        return add_entry(dialect_of(client.format), "", client.title, keys, entry).text.strip("\n")
    for key in reversed(keys):
        entry = {key: entry}
    return json.dumps(entry, ensure_ascii=False)
