"""What to paste into each client to reach a server: by its address, or by its command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable

from clawkit.hosts.clients import CLIENTS, ClientApp
from clawkit.hosts.documents.edits import add_entry, dialect_of
from clawkit.hosts.entries import Data
from clawkit.hosts.installation import InstallOrder, entry_for
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
    """For every client; `token` is what stands for the bearer token, if the server wants one."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    more = f" --header {shlex.quote(f'Authorization: Bearer {token}')}" if token else ""
    command = f"claude mcp add --transport http {shlex.quote(name)} {shlex.quote(url)}{more}"
    return _for_all(name, lambda client: remote_entry(client, name, url, headers), command)


def pastes_for_command(order: InstallOrder) -> tuple[PasteText, ...]:
    """For every client that is to start the server itself."""
    command = f"claude mcp add {shlex.quote(order.name)} -- {shlex.join(order.argv)}"
    return _for_all(order.name, lambda client: entry_for(client, order), command)


def remote_entry(client: ClientApp, name: str, url: str, headers: dict[str, str]) -> Data:
    """The entry of a server over HTTP as this client writes one."""
    form = client.form
    keys = [key for key, transport in form.urls if transport != "sse"]
    if not keys:  # It only starts commands: this is the usual one between it and an address.
        more = [part for key, value in headers.items() for part in ("--header", f"{key}:{value}")]
        return {form.command: "npx", form.args: ["-y", "mcp-remote", url, *more]}
    entry: Data = {} if form.http is None else {form.kinds[0]: form.http}
    if client.id == "goose":
        entry["name"] = name
    entry[keys[0]] = url
    if headers:
        entry[form.headers] = headers
    also = ("enabled", "timeout")
    return {**entry, **{key: value for key, value in client.also.items() if key in also}}


def _for_all(
    name: str, entry: Callable[[ClientApp], Data], claude_code: str
) -> tuple[PasteText, ...]:
    found: list[PasteText] = []
    for client in CLIENTS:
        if client.id == "claude-code":
            found.append(PasteText(client.title, "in a terminal", claude_code))
            continue
        place = client.places[0].format_map(_ROOTS)
        found.append(PasteText(client.title, place, _written(client, name, entry(client))))
    return tuple(found)


def _written(client: ClientApp, name: str, entry: Data) -> str:
    """The entry with what stands around it in a file that has nothing else."""
    keys = (*client.keys[0], name)
    if client.format != "json":
        return add_entry(dialect_of(client.format), "", client.title, keys, entry).text.strip("\n")
    for key in reversed(keys):
        entry = {key: entry}
    return json.dumps(entry, ensure_ascii=False)
