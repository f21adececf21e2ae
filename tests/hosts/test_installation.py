"""The assistant in every client's file and out again: right form in between, every byte back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import HostError
from clawkit.hosts.clients import CLIENTS, Machine, client_called, project_files, user_files
from clawkit.hosts.discovery import SearchScope
from clawkit.hosts.entries import our_server, served_file
from clawkit.hosts.installation import install, installed_file, remove, survey
from clawkit.hosts.ledger import backups_directory
from clawkit.hosts.wrap import unwrap, wrap
from tests.hosts.installs import data_of, order_for, written
from tests.hosts.samples import BY_CLIENT, SAMPLES, Sample
from tests.processes import PATIENCE


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.id)
def test_a_file_is_made_where_the_clients_directory_is_and_goes_with_the_entry(
    client: Any, home: Path
) -> None:
    machine = Machine(str(home), {}, "linux")
    path = Path(user_files(client, machine)[0])
    outcome = install(client, order_for(home))
    assert outcome.action == "failed"
    assert f"{client.title} is not installed here: there is no " in outcome.note
    assert not path.exists()
    (home / ".claude").mkdir() if client.id == "claude-code" else path.parent.mkdir(parents=True)
    assert install(client, order_for(home)).action == "installed"
    assert path.stat().st_mode & 0o777 == 0o600
    assert data_of(client.id, path)
    assert remove(client, order_for(home)).action == "removed"
    assert not path.exists()
    assert path.parent.is_dir()


def test_claude_codes_directory_does_not_make_a_file_for_claude_desktop(home: Path) -> None:
    (home / ".claude").mkdir()
    assert install(client_called("claude-desktop"), order_for(home)).action == "failed"
    documented = home / ".claude" / "claude_desktop_config.json"
    documented.write_text("{}")
    assert install(client_called("claude-desktop"), order_for(home)).action == "installed"
    assert "openclaw" in documented.read_text()


@pytest.mark.parametrize(
    "client", [one for one in CLIENTS if one.project], ids=lambda client: client.id
)
def test_a_projects_file_and_its_directory_come_and_go(client: Any, home: Path) -> None:
    project = home / "project"
    project.mkdir()
    order = order_for(home, project=project)
    assert install(client, order).action == "failed"
    machine = Machine(str(home), {}, "linux")
    own = Path(user_files(client, machine)[0]).parent
    (home / ".claude" if client.id == "claude-code" else own).mkdir(parents=True)
    outcome = install(client, order)
    assert outcome.action == "installed", outcome
    assert "do not commit it" in outcome.note
    assert Path(outcome.file) == project_files(client, project)[0]
    assert remove(client, order).action == "removed"
    assert list(project.iterdir()) == []


def test_a_client_without_project_files_says_so(home: Path) -> None:
    with pytest.raises(HostError, match="LM Studio keeps no servers in a project"):
        install(client_called("lmstudio"), order_for(home, project=home))


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["openclaw", "mcp-server"]},
        {"url": "https://example.com/mcp"},
        {"command": "openclaw", "args": ["gateway"]},
        {},
        "words",
    ],
)
def test_an_entry_of_that_name_which_is_something_else_is_left_alone(
    entry: Any, home: Path
) -> None:
    path = written(home, "cursor", json.dumps({"mcpServers": {"openclaw": entry}}))
    before = path.read_bytes()
    outcome = install(client_called("cursor"), order_for(home))
    assert outcome.action == "failed"
    assert "mcpServers.openclaw is there and is something else" in outcome.note
    outcome = remove(client_called("cursor"), order_for(home))
    assert outcome.action == "failed"
    assert "is not the assistant: take it out by hand" in outcome.note
    assert path.read_bytes() == before
    assert install(client_called("cursor"), order_for(home, name="mine")).action == "installed"


def test_an_entry_as_the_documents_write_it_counts_as_installed(home: Path) -> None:
    entry = {"command": "openclaw", "args": ["mcp-server", "--verbose"]}
    written(home, "cursor", json.dumps({"mcpServers": {"openclaw": entry}}))
    outcome = install(client_called("cursor"), order_for(home))
    assert outcome.action == "unchanged"
    assert "already installed as `openclaw mcp-server --verbose`" in outcome.note


def test_which_file_a_command_serves_is_known_behind_the_guard_too() -> None:
    assert served_file(("claw", "serve", "/tools/weather.py")) == "/tools/weather.py"
    guarded = ("/bin/clawai", "proxy", "--", "/bin/claw", "serve", "--reload", "/w.py:sky")
    assert served_file(guarded) == "/w.py:sky"
    assert served_file(("npx", "serve", "/tools/weather.py")) == ""
    assert served_file(("claw", "mcp-server")) == ""


@pytest.mark.parametrize(
    ("argv", "ours"),
    [
        (("openclaw", "mcp-server"), "assistant"),
        (("C:\\bin\\clawdbot.exe", "mcp-server", "-v"), "assistant"),
        (("/venv/bin/python", "-m", "clawkit", "mcp-server"), "assistant"),
        (("/bin/clawai", "proxy", "--", "/bin/openclaw", "mcp-server"), "assistant"),
        (("claw", "being", "stdio", "team"), "memory"),
        (("/venv/bin/python", "-m", "clawkit", "being", "stdio", "team"), "memory"),
        (("claw", "serve", "/tools/weather.py"), "tools"),
        (("/bin/clawai", "proxy", "--", "/bin/claw", "serve", "--reload", "/w.py:sky"), "tools"),
        (("claw", "being", "serve"), ""),
        (("npx", "openclaw", "mcp-server"), ""),
        (("python", "-m", "other", "mcp-server"), ""),
        (("openclaw",), ""),
        ((), ""),
    ],
)
def test_which_of_our_servers_a_command_starts(argv: tuple[str, ...], ours: str) -> None:
    assert our_server(argv) == ours


NEIGHBOURS = {
    "cursor": ('{\n  "theme": "dark"\n}\n', '{\n  "theme": "dark",\n  "new": 1\n}\n'),
    "codex": ("a = 1\n", "b = 1\na = 1\n"),
    "goose": ("A: b\n", "A: b\nC: d\n"),
}


@pytest.mark.parametrize("client", NEIGHBOURS)
def test_what_others_wrote_meanwhile_stays(client: str, home: Path) -> None:
    before, wanted = NEIGHBOURS[client]
    path = written(home, client, before)
    install(client_called(client), order_for(home))
    text = path.read_text()
    changed = {
        "cursor": lambda: text.replace('"theme": "dark",', '"theme": "dark",\n  "new": 1,'),
        "codex": lambda: "b = 1\n" + text,
        "goose": lambda: text + "C: d\n",
    }[client]()
    assert changed != text
    path.write_text(changed)
    outcome = remove(client_called(client), order_for(home))
    assert outcome.action == "removed", outcome
    assert "only the entry was taken out" in outcome.note
    assert path.read_text() == wanted


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.client)
def test_without_a_record_the_entry_alone_is_cut_out(sample: Sample, home: Path) -> None:
    path = sample.write(home)
    before = path.read_bytes()
    install(client_called(sample.client), order_for(home))
    installed_file().unlink()
    outcome = remove(client_called(sample.client), order_for(home))
    assert outcome.action == "removed", outcome
    assert path.read_bytes() == before


def test_an_entry_behind_the_guard_is_unwrapped_first(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    cursor, order = client_called("cursor"), order_for(home)
    install(cursor, order)
    scope = SearchScope(project=home / "none", machine=order.machine)
    wrap("openclaw", scope)
    assert install(cursor, order).note == "already installed, behind the guard"
    outcome = remove(cursor, order)
    assert (outcome.action, "`claw unwrap openclaw` first" in outcome.note) == ("failed", True)
    unwrap("openclaw", scope)
    assert remove(cursor, order).action == "removed"
    assert path.read_bytes() == before


def test_a_dry_run_says_what_it_would_do_and_does_nothing(home: Path) -> None:
    path = BY_CLIENT["zed"].write(home)
    before = path.read_bytes()
    outcome = install(client_called("zed"), order_for(home, dry_run=True))
    assert outcome.action == "installed"
    assert outcome.text.startswith('    "openclaw": {\n      "command"')
    assert path.read_text().splitlines()[outcome.line - 2].strip().startswith('"an-extension"')
    assert path.read_bytes() == before
    assert not installed_file().exists()


def test_the_file_as_it_was_is_kept(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    install(client_called("cursor"), order_for(home))
    assert [file.read_bytes() for file in backups_directory().iterdir()] == [before]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "The file was left as it is"),
        ("[]", "its outermost value is no table of values"),
        ('{"mcpServers": []}', "mcpServers is no table of values"),
        ('{"mcpServers": null}', "`mcpServers` is not written as a table"),
        ("\udcff", "is not UTF-8 here"),
    ],
)
def test_a_file_that_cannot_be_used_is_left_alone(text: str, problem: str, home: Path) -> None:
    path = written(home, "cursor", "")
    path.write_bytes(text.encode(errors="surrogateescape"))
    before = path.read_bytes()
    outcome = install(client_called("cursor"), order_for(home))
    assert outcome.action == "failed"
    assert str(path) in outcome.note
    assert problem in outcome.note
    assert path.read_bytes() == before


def test_a_link_is_followed_and_stays_a_link(home: Path) -> None:
    real = home / "dotfiles.json"
    real.write_text("{}\n")
    path = home / ".cursor" / "mcp.json"
    path.parent.mkdir()
    path.symlink_to(real)
    install(client_called("cursor"), order_for(home))
    assert path.is_symlink()
    assert "openclaw" in real.read_text()
    remove(client_called("cursor"), order_for(home))
    assert real.read_text() == "{}\n"
    real.unlink()
    outcome = install(client_called("cursor"), order_for(home))
    assert outcome.action == "failed"
    assert "is not a file" in outcome.note


def test_the_survey_tells_every_client(home: Path) -> None:
    BY_CLIENT["zed"].write(home)
    BY_CLIENT["codex"].write(home)
    written(home, "cursor", "{")
    written(home, "gemini", '{"mcpServers": {"openclaw": {"command": "x"}}}')
    install(client_called("zed"), order_for(home))
    states = {one.client: one.state for one in survey(order_for(home))}
    assert set(states) == {client.id for client in CLIENTS}
    assert {name: state for name, state in states.items() if state != "no such client"} == {
        "zed": "installed",
        "codex": "not installed",
        "cursor": "cannot be read",
        "gemini": "something else",
    }


def test_many_at_once_leave_every_entry_there(home: Path) -> None:
    path = BY_CLIENT["cursor"].write(home)
    before = path.read_bytes()
    program = textwrap.dedent("""
        import sys
        from clawkit.hosts.clients import client_called
        from clawkit.hosts.installation import InstallOrder, install, remove
        order = InstallOrder(sys.argv[2], ("/bin/openclaw", "mcp-server"))
        act = install if sys.argv[1] == "install" else remove
        print(act(client_called("cursor"), order).action)
    """)

    def all_of(verb: str) -> list[str]:
        children = [
            subprocess.Popen(
                [sys.executable, "-c", program, verb, f"mine{number}"],
                stdout=subprocess.PIPE,
                env=dict(os.environ),
                text=True,
            )
            for number in range(4)
        ]
        return [child.communicate(timeout=PATIENCE)[0].strip() for child in children]

    assert all_of("install") == ["installed"] * 4
    assert {f"mine{number}" for number in range(4)} <= set(data_of("cursor", path)["mcpServers"])
    assert all_of("remove") == ["removed"] * 4
    assert path.read_bytes() == before


def test_a_token_is_in_no_file_that_others_can_read(home: Path, tmp_path: Path) -> None:
    cursor = client_called("cursor")
    remote = {"argv": (), "url": "https://m.example/mcp/team", "token": "brt_secret"}
    path = written(home, "cursor", "{}")
    path.chmod(0o644)
    told = install(cursor, order_for(home, **remote))
    assert path.stat().st_mode & 0o777 == 0o600
    assert "others on this machine can no longer read the file" in told.note
    install(cursor, order_for(home, **remote, project=tmp_path))
    assert (tmp_path / ".cursor" / "mcp.json").stat().st_mode & 0o777 == 0o600
    other = written(home, "windsurf", "{}")
    other.chmod(0o644)
    assert install(client_called("windsurf"), order_for(home)).note == ""
    assert other.stat().st_mode & 0o777 == 0o644
