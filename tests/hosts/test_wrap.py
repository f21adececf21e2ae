from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import HostError
from clawkit.hosts.clients import Machine, client_called
from clawkit.hosts.discovery import HostFile, HostFileContent, SearchScope
from clawkit.hosts.guarded_entry import launcher
from clawkit.hosts.ledger import Item, backups_directory, items, ledger_file, locked
from clawkit.hosts.wrap import Report, WrapPlan, carry_out, unwrap, wrap
from clawkit.system.files import FileChangedError, read_source, replace_source
from tests.hosts.samples import BY_CLIENT, KEY, SAMPLES, TOKEN
from tests.processes import ROOT

PROGRAM = launcher()[0]


def scope_of(home: Path, client: str | None = None) -> SearchScope:
    return SearchScope(client, home / "project", Machine(str(home), {}, "linux"))


def actions(report: Report) -> list[tuple[str, str]]:
    return [(change.client, change.action) for change in report.changes]


def cursor(home: Path, **servers: Any) -> Path:
    path = home / ".cursor/mcp.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}, indent=2))
    return path


def test_the_program_is_an_absolute_path_that_exists() -> None:
    assert Path(PROGRAM).is_absolute()
    assert Path(PROGRAM).is_file()


def test_a_second_wrap_changes_nothing_and_says_so(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    wrap(None, scope_of(home))
    once, ledger = path.read_bytes(), items()
    report = wrap(None, scope_of(home))
    assert actions(report) == [("cursor", "unchanged")] * 2
    assert {change.note for change in report.changes} == {"already wrapped"}
    assert (path.read_bytes(), items()) == (once, ledger)


def test_an_entry_that_somebody_wrapped_by_hand_is_left_alone(home: Path) -> None:
    path = cursor(home, a={"command": "clawai", "args": ["proxy", "--", "npx", "x"]})
    before = path.read_bytes()
    note = f"already wrapped by hand; its program is `clawai`, not `{PROGRAM}`"
    assert wrap("a", scope_of(home)).changes[0].note == note
    assert (path.read_bytes(), items()) == (before, ())


def test_our_own_program_is_not_worth_a_word_where_somebody_wrote_it_by_hand(home: Path) -> None:
    cursor(home, a={"command": PROGRAM, "args": ["proxy", "--", "npx", "x"]})
    assert wrap("a", scope_of(home)).changes[0].note == "already wrapped by hand"


def test_the_backup_before_our_first_change_stays_beside_the_last_one(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    wrap("filesystem", scope_of(home))
    wrap(None, scope_of(home))
    last = path.read_bytes()
    unwrap(None, scope_of(home))
    backups = {
        one.name.partition("-")[2]: one.read_bytes() for one in backups_directory().iterdir()
    }
    assert backups == {"first-mcp.json": before, "mcp.json": last}


def test_a_server_of_several_clients_is_wrapped_in_all_of_them(home: Path) -> None:
    paths = {sample.client: sample.write(home) for sample in SAMPLES}
    before = {client: path.read_bytes() for client, path in paths.items()}
    assert actions(wrap("filesystem", scope_of(home, "zed"))) == [("zed", "wrapped")]
    report = wrap("filesystem", scope_of(home))
    assert {client for client, action in actions(report) if action == "wrapped"} == {
        sample.client for sample in SAMPLES
    } - {"zed"}
    assert not unwrap(None, scope_of(home)).failed
    assert {client: path.read_bytes() for client, path in paths.items()} == before


def test_a_server_that_is_not_there_is_answered_with_those_that_are(home: Path) -> None:
    BY_CLIENT["cursor"].write(home)
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text("{\n  broken")
    with pytest.raises(HostError) as caught:
        wrap("nope", scope_of(home))
    text = str(caught.value)
    assert "no client has a server called `nope`; found: filesystem, sentry" in text
    assert "settings.json:2: expected `:`" in text


def test_nothing_is_made_for_a_client_that_is_not_there(home: Path) -> None:
    assert wrap(None, scope_of(home)) == Report(())
    assert list(home.iterdir()) == []


def test_a_dry_run_writes_nothing_at_all_and_shows_no_secret(home: Path) -> None:
    paths = [sample.write(home) for sample in SAMPLES]
    before = [path.read_bytes() for path in paths]
    report = wrap(None, scope_of(home), dry_run=True)
    assert [path.read_bytes() for path in paths] == before
    assert not ledger_file().parent.exists()
    shown = "".join(change.before + change.after for change in report.changes)
    assert "proxy" in shown
    assert TOKEN not in shown
    assert KEY not in shown


def test_arguments_and_addresses_are_shown_without_what_they_hide(home: Path) -> None:
    secret = "hunter2hunter2"
    cursor(
        home,
        a={
            "command": "x",
            "args": ["--api-key", secret, f"--token={secret}", "-H", f"Auth: {secret}"],
        },
        b={"url": f"https://u:{secret}@a.example/mcp?key={secret}", "auth_token": secret},
        c={"command": "x", "args": [f"postgres://u:{secret}@db/x"], "env": {"A": secret}},
    )
    report = wrap(None, scope_of(home), dry_run=True)
    assert secret not in repr(report)
    assert '"--api-key"' in report.changes[0].before


def test_a_file_that_cannot_be_parsed_is_never_touched_and_others_go_on(home: Path) -> None:
    broken = home / ".lmstudio/mcp.json"
    broken.parent.mkdir()
    broken.write_text('{"mcpServers": {\n  "a": {"command": "x" "args": []}}}')
    before = broken.read_bytes()
    BY_CLIENT["cursor"].write(home)
    report = wrap(None, scope_of(home))
    assert actions(report) == [("cursor", "wrapped")] * 2
    assert report.failed
    assert report.problems[0].startswith(f"{broken}:2: expected `,` or `}}`")
    assert broken.read_bytes() == before


def test_a_file_in_another_encoding_is_refused_with_its_line(home: Path) -> None:
    path = cursor(home)
    path.write_bytes(b'{\n "a": "\xff"}')
    assert wrap(None, scope_of(home)).problems == (
        f"{path}:2: is not UTF-8 here. The file was left as it is",
    )


def test_a_symlink_stays_one_and_its_target_is_edited_in_its_mode(home: Path) -> None:
    target = home / "dotfiles" / "cursor.json"
    target.parent.mkdir()
    BY_CLIENT["cursor"].write(home).rename(target)
    target.chmod(0o640)
    link = home / ".cursor/mcp.json"
    link.symlink_to("../dotfiles/cursor.json")
    before = target.read_bytes()
    wrap(None, scope_of(home))
    assert link.is_symlink()
    assert target.read_bytes() != before
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    unwrap(None, scope_of(home))
    assert target.read_bytes() == before
    assert sorted(path.name for path in target.parent.iterdir()) == ["cursor.json"]


def test_a_read_only_file_is_left_alone_and_named(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    path.chmod(0o444)
    before = path.read_bytes()
    report = wrap(None, scope_of(home))
    assert report.problems == (f"{path}: is read-only: make it writable (chmod u+w) and try again",)
    assert path.read_bytes() == before
    path.chmod(0o644)
    assert not wrap(None, scope_of(home)).failed


def test_the_file_as_it_was_is_kept_in_our_own_directory(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    wrap(None, scope_of(home))
    (backup,) = backups_directory().iterdir()
    assert backup.read_bytes() == before
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


def test_a_file_that_changed_since_it_was_read_is_not_overwritten(home: Path) -> None:
    path = cursor(home, a={"command": "x"})
    source = read_source(path)
    path.write_text('{"written": "by the client"}')
    with pytest.raises(FileChangedError):
        replace_source(source, "{}")
    assert path.read_text() == '{"written": "by the client"}'
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


def test_a_file_that_changes_while_it_is_planned_is_planned_again(home: Path) -> None:
    path = cursor(home)
    writes = iter(['{"by": "the client"}', '{"by": "the client again"}'])

    def plan(reading: HostFileContent, _known: Sequence[Item]) -> WrapPlan:
        path.write_text(next(writes, path.read_text()))
        return WrapPlan(reading.text + "\n", ())

    file = HostFile(client_called("cursor"), path)
    assert not carry_out([file], plan, dry_run=False).failed
    assert path.read_text() == '{"by": "the client again"}\n'


def test_a_file_that_never_rests_is_given_up(home: Path) -> None:
    path = cursor(home)

    def plan(reading: HostFileContent, _known: Sequence[Item]) -> WrapPlan:
        path.write_text(path.read_text() + " ")
        return WrapPlan(reading.text + "\n", ())

    report = carry_out([HostFile(client_called("cursor"), path)], plan, dry_run=False)
    assert report.problems == (f"{path}: keeps changing: close Cursor and try again",)


def test_an_attempt_that_got_no_further_than_the_ledger_is_simply_repeated(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    wrap(None, scope_of(home))
    first = {item.keys: item.id for item in items()}
    path.write_bytes(before)
    wrap(None, scope_of(home))
    assert {item.keys: item.id for item in items()} == first
    path.write_bytes(before)
    assert actions(unwrap(None, scope_of(home))) == [("cursor", "unchanged")] * 2
    assert (path.read_bytes(), items()) == (before, ())


def test_a_project_has_its_own_entries_and_they_carry_a_warning(home: Path) -> None:
    path = home / "project" / ".mcp.json"
    path.parent.mkdir()
    path.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    report = wrap("a", scope_of(home))
    assert "do not commit it" in report.changes[0].note
    elsewhere = SearchScope(None, home / "other", Machine(str(home), {}, "linux"))
    assert actions(unwrap("a", elsewhere)) == [("claude-code", "unwrapped")]
    assert path.read_text() == '{"mcpServers": {"a": {"command": "x"}}}'


def test_an_entry_that_cannot_be_wrapped_does_not_stop_the_others(home: Path) -> None:
    cursor(home, a={"url": "https://a.example", "oauth": {"x": 1}}, b={"command": "x"}, c={})
    report = wrap(None, scope_of(home))
    assert [change.action for change in report.changes] == ["unchanged", "wrapped", "unchanged"]
    assert report.changes[0].note.startswith("skipped: it has `oauth`")
    assert not report.failed
    assert wrap("a", scope_of(home)).failed
    assert report.changes[2].note == "not wrapped: it has neither a command nor an address"


def test_two_processes_that_wrap_at_once_lose_nothing(home: Path) -> None:
    names = [f"server-{number}" for number in range(6)]
    path = cursor(home, **{name: {"command": "npx", "args": [name]} for name in names})
    before = path.read_bytes()
    script = (
        "import sys; from pathlib import Path; from clawkit.hosts.discovery import SearchScope; "
        "from clawkit.hosts.wrap import wrap; sys.stdin.readline(); "
        "[wrap(name, SearchScope(project=Path(sys.argv[1]))) for name in sys.argv[2:]]"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(home), *part],
            stdin=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "HOME": str(home)},
        )
        for part in (names, names[::-1])
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write(b"\n")
        child.stdin.flush()
    for child in children:
        child.communicate()
        assert child.returncode == 0
    data = json.loads(path.read_bytes())["mcpServers"]
    assert {name: data[name]["args"] for name in names} == {
        name: ["proxy", "--", "npx", name] for name in names
    }
    assert sorted(item.server for item in items()) == names
    assert not unwrap(None, scope_of(home)).failed
    assert path.read_bytes() == before


def test_a_wrap_waits_for_whoever_holds_the_ledger(home: Path) -> None:
    cursor(home, a={"command": "x"})
    script = (
        "from clawkit.hosts.discovery import SearchScope; from clawkit.hosts.wrap import wrap; "
        "print('ready', flush=True); wrap('a', SearchScope())"
    )
    with locked():
        child = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=home, env={**os.environ}
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(0.3)
    child.communicate()
    assert child.returncode == 0
    assert len(items()) == 1
