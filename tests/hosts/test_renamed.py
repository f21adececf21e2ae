"""Entries that a person renamed, copied or moved after they were wrapped keep their record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clawkit.hosts.clients import Machine
from clawkit.hosts.discovery import SearchScope, status
from clawkit.hosts.guarded_entry import launcher
from clawkit.hosts.ledger import items, ledger_file, remote
from clawkit.hosts.wrap import unwrap, wrap
from tests.hosts.samples import SAMPLES, Sample
from tests.work_counter import calls

SECRET = "hunter2" * 3
LOCAL = {"command": "npx", "args": ["-y", "x"]}
REMOTE = {"url": "https://a.example/mcp", "headers": {"Authorization": SECRET}}


def scope_of(home: Path, client: str | None = None) -> SearchScope:
    return SearchScope(client, home / "project", Machine(str(home), {}, "linux"))


def cursor(home: Path, servers: dict[str, Any], folder: str = "") -> Path:
    path = home / folder / ".cursor/mcp.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}, indent=2))
    return path


def wrapped(home: Path, entry: dict[str, Any]) -> tuple[Path, dict[str, Any]]:
    path = cursor(home, {"a": entry})
    assert not wrap("a", scope_of(home)).failed
    return path, servers_in(path)["a"]


def servers_in(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text())["mcpServers"]


def notes(home: Path, server: str | None = None) -> list[tuple[str, str, str]]:
    changes = unwrap(server, scope_of(home)).changes
    return [(one.server, one.action, one.note) for one in changes]


@pytest.mark.parametrize("server", [None, "b"], ids=["all", "by its new name"])
@pytest.mark.parametrize("entry", [LOCAL, REMOTE], ids=["local", "remote"])
def test_a_renamed_entry_comes_back_under_its_new_name(
    home: Path, entry: Any, server: str | None
) -> None:
    path, guarded = wrapped(home, entry)
    cursor(home, {"b": guarded})
    assert notes(home, server) == [("b", "unwrapped", "")]
    assert servers_in(path) == {"b": entry}
    assert items() == ()


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.client for sample in SAMPLES])
def test_a_renamed_entry_comes_back_in_every_format(home: Path, sample: Sample) -> None:
    path = sample.write(home)
    before = path.read_bytes()
    name = sample.remote or sample.local
    assert not wrap(name, scope_of(home)).failed
    path.write_bytes(renamed(path.read_bytes(), name, "other-name"))
    assert b"other-name" in path.read_bytes()
    report = unwrap(None, scope_of(home))
    assert [one.server for one in report.changes if one.action == "unwrapped"] == ["other-name"]
    assert renamed(path.read_bytes(), "other-name", name) == before
    assert items() == ()


def renamed(data: bytes, old: str, new: str) -> bytes:
    """As a key: in quotes or before a colon, or in the headers of tables."""
    text = data.decode()
    for form in ('"{}":', "'{}':", "\n  {}:", "\n    {}:", "[mcp_servers.{}]", "[mcp_servers.{}."):
        text = text.replace(form.format(old), form.format(new))
    return text.encode()


def test_the_old_name_of_a_renamed_entry_tells_the_new_one(home: Path) -> None:
    _, guarded = wrapped(home, REMOTE)
    cursor(home, {"b": guarded})
    assert notes(home, "a") == [("a", "unchanged", "it is called `b` now: unwrap that")]
    assert len(items()) == 1
    (standing,) = status(scope_of(home)).servers
    assert (standing.server, standing.transport) == ("b", "http")
    assert standing.note == "it was wrapped as `mcpServers.a`"
    assert wrap("b", scope_of(home)).changes[0].note == "already wrapped"


def test_a_new_entry_under_the_old_name_does_not_take_the_record_over(home: Path) -> None:
    path, guarded = wrapped(home, REMOTE)
    new = {"url": "https://b.example/mcp", "headers": {"Authorization": "new"}}
    cursor(home, {"a": new, "b": guarded})
    assert not wrap(None, scope_of(home)).failed
    assert len({item.id for item in items()}) == 2
    assert not unwrap(None, scope_of(home)).failed
    assert servers_in(path) == {"a": new, "b": REMOTE}
    assert items() == ()


def test_a_record_stays_as_long_as_a_copy_of_its_entry_names_it(home: Path) -> None:
    path, guarded = wrapped(home, REMOTE)
    cursor(home, {"a": guarded, "copy": guarded})
    assert notes(home, "a") == [("a", "unwrapped", "")]
    assert remote(items()[0].id).headers == REMOTE["headers"]
    assert notes(home, "copy") == [("copy", "unwrapped", "")]
    assert servers_in(path) == {"a": REMOTE, "copy": REMOTE}
    assert items() == ()


def test_an_entry_that_moved_to_another_file_comes_back_there(home: Path) -> None:
    path, guarded = wrapped(home, REMOTE)
    cursor(home, {})
    other = cursor(home, {"b": guarded}, "project")
    assert notes(home, "a") == [
        ("a", "unchanged", "its entry stands in another file now; kept in the ledger")
    ]
    assert ("b", "unwrapped", "") in notes(home)
    assert (servers_in(path), servers_in(other)) == ({}, {"b": REMOTE})
    assert items() == ()


@pytest.mark.parametrize("broken", [False, True], ids=["readable", "not to be parsed"])
def test_an_entry_of_another_client_keeps_the_record_it_names(home: Path, broken: bool) -> None:
    _, guarded = wrapped(home, REMOTE)
    cursor(home, {})
    other = home / ".lmstudio/mcp.json"
    other.parent.mkdir()
    other.write_text(json.dumps({"mcpServers": {"a": guarded}}) + "}" * broken)
    before = other.read_bytes()
    assert unwrap("a", scope_of(home, "cursor")).changes[0].note.endswith("kept in the ledger")
    report = unwrap(None, scope_of(home))
    assert report.failed
    assert SECRET in ledger_file().read_text()
    assert other.read_bytes() == before


@pytest.mark.parametrize("entry", [LOCAL, REMOTE], ids=["local", "remote"])
def test_a_file_that_is_gone_takes_no_record_with_it(home: Path, entry: Any) -> None:
    path, _ = wrapped(home, entry)
    away = path.rename(home / "away.json")
    assert notes(home) == [("a", "unchanged", "its file is gone; kept in the ledger")]
    assert [one.note for one in status(scope_of(home)).servers] == ["its file is gone"]
    away.rename(path)
    assert notes(home) == [("a", "unwrapped", "")]
    assert servers_in(path) == {"a": entry}


@pytest.mark.parametrize("server", [None, "a"], ids=["all", "by name"])
def test_a_file_that_cannot_be_read_takes_no_record_with_it(home: Path, server: str | None) -> None:
    path, _ = wrapped(home, REMOTE)
    good = path.read_text()
    path.write_text("{")
    assert notes(home, server) == [("a", "failed", "its file cannot be read; kept in the ledger")]
    path.write_text(good)
    assert notes(home, server) == [("a", "unwrapped", "")]


def test_a_remote_record_that_nobody_names_goes_with_its_entry(home: Path) -> None:
    wrapped(home, REMOTE)
    cursor(home, {})
    assert notes(home) == [("a", "unchanged", "the entry is gone; removed from the ledger")]
    assert items() == ()


def test_a_foreign_program_called_like_ours_is_named_and_wrapped(home: Path) -> None:
    evil = home / "evil" / "claw"
    evil.parent.mkdir()
    evil.touch()
    path, guarded = wrapped(home, LOCAL)
    cursor(home, {"a": {**guarded, "command": str(evil)}})
    (standing,) = status(scope_of(home)).servers
    assert standing.state == "changed since"
    assert standing.note.startswith(f"its program is `{evil}`, not `")
    assert f"its program is `{evil}`, not `" in wrap("a", scope_of(home)).changes[0].note
    entry = servers_in(path)["a"]
    assert entry["command"] == launcher()[0]
    assert entry["args"][:3] == ["proxy", "--", str(evil)]


def test_a_long_history_is_read_once_for_all_servers(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode, read = json.JSONDecoder.raw_decode, [0]

    def counted(self: json.JSONDecoder, text: str, start: int = 0) -> tuple[Any, int]:
        value, end = decode(self, text, start)
        read[0] += end - start
        return value, end

    def there_and_back() -> None:
        assert not wrap(None, scope_of(home)).failed
        assert not unwrap(None, scope_of(home)).failed

    servers = {f"s{n}": {**(LOCAL if n % 2 else REMOTE), "n": n} for n in range(10)}
    turns = [{"display": f"prompt {n}", "pastedContents": {}} for n in range(100)]
    projects = {f"/p/{n}": {"history": turns, "mcpServers": {}} for n in range(310)}
    path = home / ".claude.json"
    path.write_text(json.dumps({"projects": projects, "mcpServers": servers}, indent=2))
    before = path.read_bytes()
    assert len(before) > 2_600_000
    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert calls(there_and_back) < len(before) / 10, "`json` reads it, not a loop of ours"
    assert len(before) < read[0] < 1.5 * len(before)
    assert path.read_bytes() == before
