"""Every client's file, wrapped and unwrapped: right form in between, every byte back at the end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.hosts.clients import CLIENTS, Machine, client_called
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.documents.edits import dialect_of
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.entries import RemoteLaunch, StdioLaunch, is_guarded, launch_of
from clawkit.hosts.guarded_entry import launcher
from clawkit.hosts.ledger import items, remote, wrapped_command
from clawkit.hosts.wrap import unwrap, wrap
from tests.hosts.samples import BY_CLIENT, KEY, SAMPLES, TOKEN, Sample

LOCAL = [(sample, sample.local) for sample in SAMPLES]
REMOTE = [(sample, sample.remote) for sample in SAMPLES if sample.remote]
PROGRAM = launcher()[0]


def named(value: object) -> str:
    return value.client if isinstance(value, Sample) else str(value)


def scope_of(home: Path) -> SearchScope:
    machine = Machine(str(home), {}, "linux")
    return SearchScope(project=home / "no-project", machine=machine)


def entry_of(sample: Sample, path: Path, server: str) -> dict[str, Any]:
    client = client_called(sample.client)
    data = dialect_of(client.format).open(path.read_bytes().decode(), str(path)).data
    return data_at(data, (*client.keys[0], server))


def test_there_is_a_sample_of_every_client() -> None:
    assert set(BY_CLIENT) == {client.id for client in CLIENTS}


@pytest.mark.parametrize(("sample", "server"), LOCAL + REMOTE, ids=named)
def test_wrap_and_unwrap_give_every_byte_back(sample: Sample, server: str, home: Path) -> None:
    path = sample.write(home)
    before = path.read_bytes()
    report = wrap(server, scope_of(home))
    assert not report.failed, report
    assert [change.action for change in report.changes] == ["wrapped"]
    assert path.read_bytes() != before
    report = unwrap(server, scope_of(home))
    assert not report.failed, report
    assert path.read_bytes() == before
    assert items() == ()


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_all_at_once_come_back_too_even_one_by_one(sample: Sample, home: Path) -> None:
    path = sample.write(home)
    before = path.read_bytes()
    assert not wrap(None, scope_of(home)).failed
    for item in items():
        assert not unwrap(item.server, scope_of(home)).failed
    assert path.read_bytes() == before


@pytest.mark.parametrize(("sample", "server"), LOCAL, ids=named)
def test_a_local_entry_gets_the_documented_form(sample: Sample, server: str, home: Path) -> None:
    path = sample.write(home)
    form = client_called(sample.client).form
    before = entry_of(sample, path, server)
    old = launch_of(form, before)
    assert isinstance(old, StdioLaunch)
    wrap(server, scope_of(home))
    after = entry_of(sample, path, server)
    new = launch_of(form, after)
    assert isinstance(new, StdioLaunch)
    assert new.argv == (PROGRAM, "proxy", "--", *old.argv)
    launch_keys = {form.command, form.args}
    assert {key: after[key] for key in after if key not in launch_keys} == {
        key: before[key] for key in before if key not in launch_keys
    }
    assert wrapped_command(old.argv).servers == (server,)


@pytest.mark.parametrize(("sample", "server"), REMOTE, ids=named)
def test_a_remote_entry_becomes_a_local_one_without_secrets(
    sample: Sample, server: str, home: Path
) -> None:
    path = sample.write(home)
    form = client_called(sample.client).form
    old = launch_of(form, entry_of(sample, path, server))
    assert isinstance(old, RemoteLaunch)
    wrap(server, scope_of(home))
    after = entry_of(sample, path, server)
    new = launch_of(form, after)
    assert isinstance(new, StdioLaunch)
    (item,) = items()
    assert new.argv == (PROGRAM, "proxy", "--entry", item.id, "--url", old.url.partition("?")[0])
    assert is_guarded(new.argv)
    assert TOKEN not in str(after)
    assert KEY not in str(after)
    assert not {key for key, _ in form.urls} & set(after)
    assert not {"headers", "http_headers", "env_http_headers", "bearer_token_env_var"} & set(after)
    assert {after[key] for key in form.kinds if key in after} <= {form.stdio}


@pytest.mark.parametrize(("sample", "server"), REMOTE, ids=named)
def test_the_proxy_finds_the_address_and_every_header(
    sample: Sample, server: str, home: Path
) -> None:
    path = sample.write(home)
    form = client_called(sample.client).form
    old = launch_of(form, entry_of(sample, path, server))
    assert isinstance(old, RemoteLaunch)
    wrap(server, scope_of(home))
    env = entry_of(sample, path, server).get(form.env, {})
    given = {"GITHUB_TOKEN": "t1", "FIGMA_TOKEN": "t2", "FIGMA_TEAM": "t3", **env}
    (item,) = items()
    target = remote(item.id, given)
    assert (target.name, target.url, target.transport) == (server, old.url, old.transport)
    expected = {name: value.replace("${GITHUB_TOKEN}", "t1") for name, value in old.headers.items()}
    if sample.client == "codex":
        expected |= {"Authorization": "Bearer t2", "X-Team": "t3"}
    assert target.headers == expected


def test_codex_is_told_to_pass_the_variables_on(home: Path) -> None:
    sample = BY_CLIENT["codex"]
    path = sample.write(home)
    wrap("figma", scope_of(home))
    assert entry_of(sample, path, "figma")["env_vars"] == ["FIGMA_TOKEN", "FIGMA_TEAM"]


def test_what_a_client_fills_in_stays_in_the_entry_as_a_template(home: Path) -> None:
    sample = BY_CLIENT["vscode"]
    path = sample.write(home)
    wrap("github", scope_of(home))
    env = entry_of(sample, path, "github")["env"]
    assert env == {"CLAW_HEADER_AUTHORIZATION": "Bearer ${input:token}"}


@pytest.mark.parametrize("sample", SAMPLES, ids=named)
def test_only_the_lines_of_the_entry_change(sample: Sample, home: Path) -> None:
    path = sample.write(home)
    before = path.read_bytes().splitlines(keepends=True)
    wrap(sample.local, scope_of(home))
    after = path.read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(before) if sample.local.encode() in line)
    assert after[: first + 1][:first] == before[:first]
    kept = [line for line in before if line in after]
    assert len(before) - len(kept) <= 2
    newline = b"\r\n" if b"\r\n" in before[0] else b"\n"
    assert all(line.endswith(newline) for line in after[:-1])
