"""An entry added to every form of file and taken out again: every byte comes back."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from clawkit.hosts.clients import client_called
from clawkit.hosts.installation import install
from tests.hosts.installs import ARGV, comes_and_goes, order_for, written
from tests.hosts.samples import BY_CLIENT, SAMPLES, Sample

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
