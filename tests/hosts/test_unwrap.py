from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import HostError
from clawkit.hosts.clients import Machine
from clawkit.hosts.discovery import SearchScope, status
from clawkit.hosts.guarded_entry import launcher
from clawkit.hosts.ledger import items, ledger_file
from clawkit.hosts.wrap import EntryChange, unwrap, wrap
from tests.hosts.samples import BY_CLIENT

ORIGINAL = {"command": "npx", "args": ["-y", "x"], "env": {"KEY": "v"}, "disabled": False}
REMOTE = {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "y"}}


def scope_of(home: Path) -> SearchScope:
    return SearchScope(project=home / "project", machine=Machine(str(home), {}, "linux"))


def write(home: Path, text: str) -> Path:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def wrapped(home: Path, entry: dict[str, Any]) -> Path:
    path = write(home, json.dumps({"mcpServers": {"a": entry}, "other": 1}, indent=1))
    assert not wrap("a", scope_of(home)).failed
    return path


def entry_of(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())["mcpServers"]["a"]


def rewrite(path: Path, **changes: Any) -> None:
    """What a client does that changes a setting and writes its whole file anew."""
    data = json.loads(path.read_text())
    data["mcpServers"]["a"] |= changes
    path.write_text(json.dumps(data, indent=4))


def only(changes: tuple[EntryChange, ...]) -> EntryChange:
    (change,) = changes
    return change


def test_what_changed_elsewhere_in_the_file_stays(home: Path) -> None:
    path = wrapped(home, ORIGINAL)
    path.write_text(path.read_text().replace('"other": 1', '"other": 2, "new": [1]'))
    assert not unwrap("a", scope_of(home)).failed
    data = json.loads(path.read_text())
    assert data == {"mcpServers": {"a": ORIGINAL}, "other": 2, "new": [1]}
    assert json.dumps(ORIGINAL, indent=1).replace("\n", "\n  ") in path.read_text()


@pytest.mark.parametrize("entry", [ORIGINAL, REMOTE], ids=["local", "remote"])
def test_a_client_that_wrote_its_file_anew_is_no_obstacle(home: Path, entry: Any) -> None:
    path = wrapped(home, entry)
    rewrite(path)
    change = only(unwrap("a", scope_of(home)).changes)
    assert (change.action, change.note) == ("unwrapped", "")
    assert entry_of(path) == entry


@pytest.mark.parametrize("entry", [ORIGINAL, REMOTE], ids=["local", "remote"])
def test_a_setting_that_was_changed_meanwhile_is_kept(home: Path, entry: Any) -> None:
    path = wrapped(home, entry)
    rewrite(path, disabled=True, autoApprove=["read"])
    change = only(unwrap("a", scope_of(home)).changes)
    assert change.action == "unwrapped"
    assert "`autoApprove` changed since it was wrapped and was kept" in change.note
    assert entry_of(path) == {**entry, "disabled": True, "autoApprove": ["read"]}


def test_an_entry_whose_command_was_changed_is_left_alone_and_says_why(home: Path) -> None:
    path = wrapped(home, ORIGINAL)
    rewrite(path, args=["proxy", "--", "npx", "-y", "other"])
    before = path.read_bytes()
    report = unwrap("a", scope_of(home))
    assert report.failed
    change = only(report.changes)
    assert change.note.startswith("`args` changed since it was wrapped, so it was left alone.")
    assert f"{ledger_file()}, under `original` of {items()[0].id}" in change.note
    assert path.read_bytes() == before
    assert len(items()) == 1


def test_an_entry_that_is_no_longer_wrapped_is_forgotten(home: Path) -> None:
    path = wrapped(home, ORIGINAL)
    write(home, json.dumps({"mcpServers": {"a": {"command": "new"}}}))
    change = only(unwrap("a", scope_of(home)).changes)
    assert change.note == "not wrapped any more; removed from the ledger"
    assert entry_of(path) == {"command": "new"}
    assert items() == ()


def test_an_entry_that_is_gone_is_forgotten(home: Path) -> None:
    wrapped(home, ORIGINAL)
    write(home, "{}")
    (standing,) = status(scope_of(home)).servers
    assert (standing.state, standing.note) == ("changed since", "the entry is gone")
    change = only(unwrap("a", scope_of(home)).changes)
    assert change.note == "the entry is gone; removed from the ledger"
    assert items() == ()


def test_what_was_wrapped_by_hand_or_lost_its_ledger_is_rebuilt(home: Path) -> None:
    text = '{"mcpServers": {"a": {"args": ["proxy", "--", "npx", "-y"], "command": "clawai"}}}'
    path = write(home, text)
    change = only(unwrap("a", scope_of(home)).changes)
    assert (change.action, change.note) == ("unwrapped", "rebuilt from the entry itself")
    assert path.read_text() == '{"mcpServers": {"a": {"args": ["-y"], "command": "npx"}}}'


def test_a_remote_entry_without_its_ledger_cannot_be_rebuilt(home: Path) -> None:
    path = wrapped(home, REMOTE)
    ledger_file().unlink()
    before = path.read_bytes()
    change = only(unwrap("a", scope_of(home)).changes)
    assert change.action == "failed"
    assert "the ledger has no record of it: write the entry again by hand" in change.note
    assert path.read_bytes() == before


def test_a_server_that_was_never_wrapped_is_unchanged(home: Path) -> None:
    write(home, json.dumps({"mcpServers": {"a": ORIGINAL}}))
    assert only(unwrap("a", scope_of(home)).changes).note == "not wrapped"
    with pytest.raises(HostError, match="no client has a server called `b`; found: a"):
        unwrap("b", scope_of(home))


def test_a_toml_file_in_another_layout_is_left_alone(home: Path) -> None:
    path = BY_CLIENT["codex"].write(home)
    wrap("filesystem", scope_of(home))
    text = path.read_bytes().decode().replace("\r\n", "\n")
    block = text[text.index("[mcp_servers.filesystem]") : text.index("# the remote one")]
    inline = '[mcp_servers]\nfilesystem = { command = "clawai", args = ["proxy", "--", "npx"] }\n'
    path.write_bytes(text.replace(block, inline).encode())
    before = path.read_bytes()
    change = only(unwrap("filesystem", scope_of(home)).changes)
    assert "its file was written anew in another layout, so it was left alone" in change.note
    assert path.read_bytes() == before


def test_a_guard_with_another_policy_or_home_is_not_called_wrapped(home: Path) -> None:
    proxy = {"command": launcher()[0], "args": ["proxy", "--", "npx"]}
    policy = home / "loose.toml"
    policy.write_text("")
    servers = {
        "policy": {**proxy, "args": ["proxy", "--policy", str(policy), "--", "npx"]},
        "gone": {**proxy, "args": ["proxy", f"--policy={home}/no.toml", "--", "npx"]},
        "moved": {**proxy, "env": {"CLAW_HOME": str(home / "other"), "KEY": "sk-secret"}},
        "before": {"command": "npx", "env": {"CLAW_HOME": str(home / "other")}},
        "same": {**proxy, "env": {"CLAW_HOME": str(home / "claw")}},
        "behind": {**proxy, "args": ["proxy", "--", "npx", "--policy", "x"]},
    }
    write(home, json.dumps({"mcpServers": servers}))
    again = {one.server: one.note for one in wrap(None, scope_of(home)).changes}
    assert f"its policy is {policy}" in again["policy"]
    found = {one.server: (one.state, one.note) for one in status(scope_of(home)).servers}
    other = home / "other"
    moved = (
        f"its policy is {other}/config/clawai/policy.toml (does not exist: everything is denied); "
        f"its log and pins are in {other}/data/claw/guard (does not exist yet)"
    )
    assert found == {
        "policy": ("wrapped elsewhere", f"its policy is {policy}"),
        "gone": (
            "wrapped elsewhere",
            f"its policy is {home}/no.toml (does not exist: everything is denied)",
        ),
        "moved": ("wrapped elsewhere", moved),
        "before": ("wrapped elsewhere", moved),
        "same": ("wrapped", "by hand"),
        "behind": ("wrapped", "by hand"),
    }


def test_status_tells_how_each_server_stands(home: Path) -> None:
    servers = {
        "plain": {"command": "npx"},
        "hand": {"command": "clawai", "args": ["proxy", "--", "npx"]},
        "moved": {"command": "/no/such/clawai", "args": ["proxy", "--", "npx"]},
        "ours": {"command": "npx"},
        "remote": {"url": "https://a.example/mcp"},
        "edited": {"command": "npx"},
        "replaced": {"command": "npx"},
        "nothing": {},
    }
    path = write(home, json.dumps({"mcpServers": servers}, indent=2))
    for name in ("ours", "remote", "edited", "replaced"):
        wrap(name, scope_of(home))
    data = json.loads(path.read_text())
    data["mcpServers"]["edited"]["disabled"] = True
    data["mcpServers"]["replaced"] = {"command": "new"}
    text = json.dumps(data, indent=2)
    for item in items():
        if item.server in ("ours", "remote"):
            written = json.dumps(json.loads(item.wrapped), indent=2).replace("\n", "\n    ")
            assert written in text
            text = text.replace(written, item.wrapped)
    path.write_text(text)
    found = {
        one.server: (one.state, one.transport, one.note) for one in status(scope_of(home)).servers
    }
    assert found == {
        "plain": ("not wrapped", "stdio", ""),
        "hand": ("wrapped", "stdio", f"by hand; its program is `clawai`, not `{launcher()[0]}`"),
        "moved": (
            "changed since",
            "stdio",
            "/no/such/clawai does not exist any more: unwrap it and wrap it again",
        ),
        "ours": ("wrapped", "stdio", ""),
        "remote": ("wrapped", "http", ""),
        "edited": ("changed since", "stdio", "it still goes through the guard"),
        "replaced": (
            "changed since",
            "stdio",
            "it no longer goes through the guard: wrap it again",
        ),
        "nothing": ("not wrapped", "", "it has neither a command nor an address"),
    }
