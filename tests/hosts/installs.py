"""Installing for tests: an order, a file, and the whole way there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clawkit.hosts.clients import Machine, client_called, user_files
from clawkit.hosts.documents.edits import dialect_of
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.entries import StdioLaunch, launch_of
from clawkit.hosts.installation import InstallOrder, entry_for, install, records, remove

ARGV = ("/opt/claw/bin/openclaw", "mcp-server")


def order_for(home: Path, **changes: Any) -> InstallOrder:
    machine = Machine(str(home), {}, "linux")
    return InstallOrder(**{"name": "openclaw", "argv": ARGV, "machine": machine, **changes})


def written(home: Path, client: str, text: str) -> Path:
    machine = Machine(str(home), {}, "linux")
    path = Path(user_files(client_called(client), machine)[0])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def data_of(client: str, path: Path) -> Any:
    dialect = dialect_of(client_called(client).format)
    return dialect.open(path.read_bytes().decode(), str(path)).data


def comes_and_goes(home: Path, client: str, path: Path) -> str:
    """Install, look, remove; gives the text in between."""
    order, row = order_for(home), client_called(client)
    before, mode = path.read_bytes(), path.stat().st_mode
    data = data_of(client, path)
    outcome = install(row, order)
    assert outcome.action == "installed", outcome
    between = path.read_bytes().decode()
    after = data_of(client, path)
    entry = data_at(after, (*row.keys[0], "openclaw"))
    assert entry == entry_for(row, order)
    launch = launch_of(row.form, entry)
    assert isinstance(launch, StdioLaunch)
    assert launch.argv == ARGV
    assert without(after, (*row.keys[0], "openclaw")) == without(data, ())
    assert path.stat().st_mode == mode
    again = install(row, order)
    assert (again.action, again.note) == ("unchanged", "already installed")
    assert path.read_bytes().decode() == between
    removed = remove(row, order)
    assert (removed.action, removed.note) == ("removed", ""), removed
    assert path.read_bytes() == before
    assert records() == ()
    return between


def without(data: Any, keys: tuple[str, ...]) -> Any:
    """The data without the entry, and without empty tables, which come and go with it."""
    if not isinstance(data, dict):
        return data
    left = {
        key: without(value, keys[1:] if keys[:1] == (key,) else ())
        for key, value in data.items()
        if keys != (key,)
    }
    return {key: value for key, value in left.items() if value not in ({}, None)}
