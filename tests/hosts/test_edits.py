"""TOML and YAML, where an entry is more than a pair of braces."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import yaml

from clawkit.errors import HostError
from clawkit.hosts.documents.edits import dialect_of, edit_entry, replace_entry
from clawkit.hosts.documents.nodes import Format, data_at

KEYS = ("servers", "me")
LOCAL = {"command": "/bin/clawai", "args": ["proxy", "--", "npx", "-y"]}


def edited(format: Format, text: str, **new: Any) -> str:
    """The text after the edit, once it is sure that the way back is byte-identical."""
    dialect = dialect_of(format)
    old = data_at(dialect.open(text, "f").data, KEYS)
    change = edit_entry(dialect, text, "f", KEYS, {**old, **new})
    assert replace_entry(dialect, change.text, "f", KEYS, change.before, old).text == text
    return change.text


TOML_FORMS = {
    "a table": '[servers.me]\ncommand = "npx"\nargs = ["-y"]\n',
    "an inline table": 'servers.me = { command = "npx", args = ["-y"] }\n',
    "a table in a table": '[servers]\nme = { command = "npx", args = ["-y"] } # c\nyou = {}\n',
    "inline all the way": 'servers = { you = {}, me = { command = "npx", args = ["-y"] } }\n',
    "quoted keys": '[ "servers" . \'me\' ]\n"command" = \'npx\'\nargs = [ "-y", ]\n',
    "after arrays of tables": '[[x]]\n[servers.me]\ncommand="npx"\nargs=["-y"]\n[[x]]\n',
    "its env first": '[servers.me.env]\nA = "b"\n[servers.me]\ncommand = "npx"\nargs = ["-y"]',
    "strings of every kind": 'a = """x\n[servers.me]\n""""\nb = \'\'\'y"\'\'\'\'\n[servers.me]\n'
    "command = '''npx'''\nargs = [\"\"\"-y\"\"\"]\nwhen = 1979-05-27 07:32:00Z\n",
    "no newline at the end": '[servers.me]\ncommand = "npx"\nargs = ["-y"]',
}


@pytest.mark.parametrize("text", TOML_FORMS.values(), ids=TOML_FORMS)
def test_toml_is_edited_however_it_is_written(text: str) -> None:
    after = tomllib.loads(edited("toml", text, **LOCAL))
    before = tomllib.loads(text)
    assert after["servers"]["me"] == {**before["servers"]["me"], **LOCAL}


def test_a_multi_line_array_in_toml_stays_one_with_its_comments() -> None:
    text = '[servers.me]\ncommand = "npx"\nargs = [\n  "-y", # yes\n]\n'
    assert edited("toml", text, **LOCAL) == (
        '[servers.me]\ncommand = "/bin/clawai"\n'
        'args = [\n  "proxy",\n  "--",\n  "npx",\n  "-y", # yes\n]\n'
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('[servers]\nme.command = "npx"\nme.args = []\n', "spread over dotted keys"),
        (
            '[servers.me]\ncommand = "npx"\nargs = []\n[x]\n[servers.me.env]\nA = "b"\n',
            "other tables stand between",
        ),
    ],
)
def test_toml_that_cannot_be_edited_in_one_place_says_so(text: str, problem: str) -> None:
    with pytest.raises(HostError, match=problem):
        edited("toml", text, **LOCAL)


YAML_FORMS = {
    "a block": "servers:\n  me:\n    command: npx\n    args:\n    - -y\n",
    "deeper": "servers:\n    me:\n        command: npx # c\n        args:\n          - -y\n",
    "in brackets": "servers: {me: {command: npx, args: [-y]}, you: {}}\n",
    "args in brackets": 'servers:\n  me:\n    command: "npx"\n    args: ["-y"]   # c\n  you: {}\n',
    "after a document mark": "%YAML 1.1\n---\nservers:\n  me:\n    args: [-y]\n    command: npx\n",
    "args over lines": "servers:\n  me:\n    args: [\n      -y, # yes\n    ]\n    command: 'npx'\n",
    "text last": "servers:\n  me:\n    command: npx\n    args: [-y]\n    x: |\n      a\n\n\ny: 1",
    "an anchor of others": "d: &d {}\nservers:\n  you: *d\n  me:\n    command: npx\n    args: [-y]",
    "CRLF": "servers:\r\n  me:\r\n    command: npx\r\n    args:\r\n      - -y\r\n",
}


@pytest.mark.parametrize("text", YAML_FORMS.values(), ids=YAML_FORMS)
def test_yaml_is_edited_however_it_is_written(text: str) -> None:
    after = yaml.safe_load(edited("yaml", text, **LOCAL))
    before = yaml.safe_load(text)
    assert after["servers"]["me"] == {**before["servers"]["me"], **LOCAL}


@pytest.mark.parametrize("word", ["yes", "1.5", "null", "a: b", "- x", "#c", "", "é\t", "😀"])
def test_a_yaml_string_stays_a_string(word: str) -> None:
    text = "servers:\n  me:\n    command: npx\n    args:\n    - -y\n"
    after = yaml.safe_load(edited("yaml", text, command=word, args=[word, "-y"]))
    assert after["servers"]["me"] == {"command": word, "args": [word, "-y"]}


def test_yaml_that_takes_its_command_from_an_anchor_is_refused() -> None:
    text = "base: &base\n  command: npx\nservers:\n  me:\n    <<: *base\n    args: [-y]\n"
    with pytest.raises(HostError):
        edited("yaml", text, **LOCAL)
    with pytest.raises(HostError, match="replace the YAML alias"):
        edited("yaml", "base: &b {command: npx, args: [-y]}\nservers: {me: *b}\n", **LOCAL)


@pytest.mark.parametrize(
    ("format", "text", "problem"),
    [
        ("toml", "a = 1\nb = = 2\n", "f:2: Invalid value"),
        ("toml", "a = 1\na = 2\n", "f:2: Cannot overwrite a value"),
        ("yaml", "a: 1\nb: [1\nc: 2\n", "f:3: "),
        ("yaml", "a: 1\n\tb: 2\n", "f:2: "),
    ],
)
def test_a_broken_file_is_named_with_its_line(format: Format, text: str, problem: str) -> None:
    with pytest.raises(HostError) as caught:
        dialect_of(format).open(text, "f")
    assert str(caught.value).startswith(problem)
    assert "left as it is" in str(caught.value)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{\n  "a": 1, // one\n  "url": "u"\n}', '{\n  "a": 1 // one\n}'),
        ('{\n  "url": "u", // one\n  "a": 1\n}', '{\n  // one\n  "a": 1\n}'),
        ('{ "a": 1, "url": "u" }', '{ "a": 1 }'),
        ('{ "a": 1, // c\n "url": "u" }', '{ "a": 1 // c\n }'),
        ('{"a": 1, "url": "u",}', '{"a": 1,}'),
        ('{"url": "u"}', "{}"),
    ],
)
def test_a_field_leaves_no_stray_comma_behind(before: str, after: str) -> None:
    text = f'{{"servers": {{"me": {before}}}}}'
    dialect = dialect_of("json")
    old = data_at(dialect.open(text, "f").data, KEYS)
    new = {key: value for key, value in old.items() if key != "url"}
    assert edit_entry(dialect, text, "f", KEYS, new).after == after
