"""The commands on the guard's pages are run, in the order in which they stand there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.claw import claw
from tests.guard.guarded_server import guarded
from tests.processes import PATIENCE, ROOT

BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
TOML = re.compile(r"^```toml\n(.*?)^```", re.DOTALL | re.MULTILINE)
FIXTURE = re.compile(r"^```json\n(\{\n.*?)^```", re.DOTALL | re.MULTILINE)


def commands(page: str) -> list[list[str]]:
    text = "".join(BLOCK.findall((ROOT / "docs" / page).read_text()))
    return [
        shlex.split(c, comments=True) for c in re.findall(r"^\$ claw (.*)$", text, re.MULTILINE)
    ]


def run(folder: Path, *words: str) -> str:
    return claw(*words, code=0, cwd=folder).stdout


def test_the_commands_of_the_guards_page_work(tmp_path: Path, home: Path) -> None:
    config = home / ".cursor" / "mcp.json"
    config.parent.mkdir()
    entry = {"mcpServers": {"files": {"command": "npx", "args": ["server", "/srv"]}}}
    config.write_text(json.dumps(entry, indent=2))
    before = config.read_bytes()
    seen: list[str] = []
    for words in commands("guard.md"):
        if words[0] == "log" and not seen.count("log"):
            with guarded(tmp_path, None) as guard:
                guard.call("tools/list", {}, 1)
                guard.tool("echo", id=2, text="x")
                guard.close_input()
                guard.process.wait(PATIENCE)
        run(tmp_path, *words)
        seen.append(words[0])
        wrapped = b"proxy" in config.read_bytes()
        assert wrapped == (words == ["wrap", "files"])
    assert config.read_bytes() == before
    assert {"wrap", "unwrap", "log", "pins", "status"} <= set(seen)


def test_the_commands_of_the_policy_page_work(tmp_path: Path) -> None:
    folder = tmp_path / "fixtures"
    folder.mkdir()
    (fixture,) = FIXTURE.findall((ROOT / "docs" / "policy.md").read_text())
    (folder / "read-ssh-key.json").write_text(fixture)
    for words in commands("policy.md"):
        run(tmp_path, *words)


@pytest.mark.parametrize("page", ["guard.md", "policy.md"])
def test_every_policy_on_a_page_is_one(page: str, tmp_path: Path) -> None:
    for number, text in enumerate(TOML.findall((ROOT / "docs" / page).read_text())):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        run(tmp_path, "policy", "show", "--policy", str(file))
