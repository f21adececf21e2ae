"""The assistant in every client's file and out again: right form in between, every byte back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from clawkit.errors import HostError
from clawkit.hosts.clients import CLIENTS, Machine, client_called, project_files, user_files
from clawkit.hosts.documents import dialect_of
from clawkit.hosts.documents.nodes import data_at
from clawkit.hosts.entries import Stdio, is_assistant, launch_of
from clawkit.hosts.finding import Scope
from clawkit.hosts.installed import installed_file, records
from clawkit.hosts.installing import Order, entry_for, install, remove, survey
from clawkit.hosts.ledger import backups_directory
from clawkit.hosts.unwrapping import unwrap
from clawkit.hosts.wrapping import wrap
from tests.hosts.samples import BY_CLIENT, SAMPLES, Sample

ARGV = ("/opt/claw/bin/openclaw", "mcp-server")
EMPTY_FILES = {
    "nothing": "",
    "a BOM": "\ufeff",
    "blank lines": "\n\n",
    "blank lines of Windows": "\r\n\r\n",
}
JSON_FILES = {
    **EMPTY_FILES,
    "an empty object": "{}",
    "an empty object and a line end": "{}\n",
    "a wide empty object": "{ }",
    "an empty object over lines": "{\n}\n",
    "an empty object of Windows": "{\r\n}\r\n",
    "an empty object after a BOM": "\ufeff{}",
    "a comment": "// mine\n",
    "a comment without a line end": "// mine",
    "a comment in an empty object": "{\n  // nothing yet\n}",
    "a comment in a line": "{ /* nothing yet */ }",
    "another key": '{\n  "theme": "dark"\n}\n',
    "another key on one line": '{"theme": "dark"}',
    "another key with tabs": '{\n\t"theme": "dark"\n}\n',
    "another key and a trailing comma": '{\n    "theme": "dark",\n}\n',
    "another key with a comment": '{\n  "theme": "dark" // at night\n}\n',
    "another key with a long comment": '{\n  "theme": "dark" /* at night */\n}\n',
    "another key, a comma and a comment": '{\n  "theme": "dark", // at night\n  // more\n}\n',
    "another key, of Windows": '\ufeff{\r\n  "theme": "dark"\r\n}\r\n',
    "a closing brace on the last line": '{\n  "theme": "dark" }',
}
SERVERS = {
    "an empty object": "{}",
    "an empty object over lines": "{\n  }",
    "a server": '{\n    "x": {"command": "x"}\n  }',
    "a server and a comma": '{\n    "x": {"command": "x"},\n  }',
    "a server and a comment": '{\n    "x": {"command": "x"} // the last one\n  }',
    "a server on one line": '{"x": {"command": "x"}}',
    "a comment only": "{\n    // none yet\n  }",
}
TOML_FILES = {
    **EMPTY_FILES,
    "a comment": "# mine\n",
    "a key": 'model = "gpt"\n',
    "a key without a line end": 'model = "gpt"',
    "a key of Windows": 'model = "gpt"\r\n',
    "another table": '[profiles.fast]\nmodel = "mini"\n',
    "a server": '[mcp_servers.x]\ncommand = "x" # mine\n\n# others\n[profiles.fast]\na = 1\n',
    "a server with a table": '[mcp_servers.x]\ncommand = "x"\n[mcp_servers.x.env]\nA = "b"',
    "servers' own table": "[mcp_servers]\n",
    "dotted servers": 'mcp_servers.x.command = "x"\n',
}
YAML_FILES = {
    **EMPTY_FILES,
    "a comment": "# mine\n",
    "a key": "GOOSE_MODEL: claude # big\n",
    "a key without a line end": "GOOSE_MODEL: claude",
    "a key of Windows": "GOOSE_MODEL: claude\r\n",
    "empty servers": "extensions: {}\nGOOSE_MODE: auto\n",
    "no servers": "extensions:\nGOOSE_MODE: auto\n",
    "no servers and a comment": "extensions: # none yet\nGOOSE_MODE: auto\n",
    "a server": "extensions:\n    x:\n        cmd: x\n\n# the end\nGOOSE_MODE: auto\n",
    "a server at the end": "extensions:\n  x:\n    cmd: x",
    "a server in brackets": "extensions: {x: {cmd: x}}\n",
    "a start of the document": "---\nGOOSE_MODE: auto\n",
}


def order_for(home: Path, **changes: Any) -> Order:
    machine = Machine(str(home), {}, "linux")
    return Order(**{"name": "openclaw", "argv": ARGV, "machine": machine, **changes})


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
    assert isinstance(launch, Stdio)
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


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.client)
def test_every_clients_own_file_gets_it_and_gives_every_byte_back(
    sample: Sample, home: Path
) -> None:
    path = sample.write(home)
    before = path.read_bytes().decode()
    between = comes_and_goes(home, sample.client, path)
    old, new = before.splitlines(), between.splitlines()
    assert [line for line in old if line not in new] in ([], *([line] for line in old))
    assert ("\r\n" in before) == ("\r\n" in between)
    assert between.count("\n") - between.count("\r\n") in (0, between.count("\n"))


@pytest.mark.parametrize("text", JSON_FILES.values(), ids=JSON_FILES)
@pytest.mark.parametrize("client", ["cursor", "openclaw"])
def test_json_with_no_servers_yet(text: str, client: str, home: Path) -> None:
    between = comes_and_goes(home, client, written(home, client, text))
    if "//" not in text and "/*" not in text and not text.endswith(",\n}\n"):
        json.loads(between.removeprefix("\ufeff"))


@pytest.mark.parametrize("text", SERVERS.values(), ids=SERVERS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_json_with_a_table_of_servers(text: str, newline: str, home: Path) -> None:
    whole = f'{{\n  "mcpServers": {text},\n  "theme": "dark"\n}}\n'.replace("\n", newline)
    comes_and_goes(home, "cursor", written(home, "cursor", whole))


@pytest.mark.parametrize("text", TOML_FILES.values(), ids=TOML_FILES)
def test_toml(text: str, home: Path) -> None:
    between = comes_and_goes(home, "codex", written(home, "codex", text))
    tomllib.loads(between.removeprefix("\ufeff"))
    assert "[mcp_servers.openclaw]" in between


@pytest.mark.parametrize("text", YAML_FILES.values(), ids=YAML_FILES)
def test_yaml(text: str, home: Path) -> None:
    between = comes_and_goes(home, "goose", written(home, "goose", text))
    assert yaml.safe_load(between)["extensions"]["openclaw"]["cmd"] == ARGV[0]


def test_what_is_added_looks_like_its_neighbours(home: Path) -> None:
    cursor = BY_CLIENT["cursor"].write(home)
    install(client_called("cursor"), order_for(home))
    assert cursor.read_text().endswith(
        '\t\t},\n\t\t"openclaw": {\n\t\t\t"type": "stdio",\n'
        f'\t\t\t"command": "{ARGV[0]}",\n\t\t\t"args": ["mcp-server"]\n\t\t}}\n\t}}\n}}\n'
    )
    openclaw = BY_CLIENT["openclaw"].write(home)
    install(client_called("openclaw"), order_for(home))
    assert f"      openclaw: {{\n        command: '{ARGV[0]}',\n" in openclaw.read_text()
    codex = BY_CLIENT["codex"].write(home)
    install(client_called("codex"), order_for(home))
    text = codex.read_bytes().decode()
    assert (
        'X-Team = "FIGMA_TEAM"\r\n\r\n[mcp_servers.openclaw]\r\n'
        f'command = "{ARGV[0]}"\r\nargs = ["mcp-server"]\r\n\r\n[profiles.fast]'
    ) in text
    goose = BY_CLIENT["goose"].write(home)
    install(client_called("goose"), order_for(home))
    assert "\n    enabled: true\n  openclaw:\n    type: stdio\n    name: openclaw\n" in (
        goose.read_text()
    )


def test_a_comment_stays_with_the_line_it_belongs_to(home: Path) -> None:
    path = written(home, "cursor", '{\n  "mcpServers": {\n    "x": {} // mine\n  }\n}\n')
    install(client_called("cursor"), order_for(home))
    assert '    "x": {}, // mine\n    "openclaw": {\n' in path.read_text()


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


@pytest.mark.parametrize(
    ("argv", "ours"),
    [
        (("openclaw", "mcp-server"), True),
        (("C:\\bin\\clawdbot.exe", "mcp-server", "-v"), True),
        (("/venv/bin/python", "-m", "clawkit", "mcp-server"), True),
        (("/bin/clawai", "proxy", "--", "/bin/openclaw", "mcp-server"), True),
        (("npx", "openclaw", "mcp-server"), False),
        (("python", "-m", "other", "mcp-server"), False),
        (("openclaw",), False),
        ((), False),
    ],
)
def test_what_starts_the_assistant(argv: tuple[str, ...], ours: bool) -> None:
    assert is_assistant(argv) is ours


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
    scope = Scope(project=home / "none", machine=order.machine)
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
        from clawkit.hosts.installing import Order, install, remove
        order = Order(sys.argv[2], ("/bin/openclaw", "mcp-server"))
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
        return [child.communicate(timeout=60)[0].strip() for child in children]

    assert all_of("install") == ["installed"] * 4
    assert {f"mine{number}" for number in range(4)} <= set(data_of("cursor", path)["mcpServers"])
    assert all_of("remove") == ["removed"] * 4
    assert path.read_bytes() == before
