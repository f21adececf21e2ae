"""The commands on the guard's pages are run, in the order in which they stand there."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import httpx2
import pytest

from tests.claw import CLAW, claw, environment
from tests.guard.guarded_server import guarded
from tests.guard.http.worlds import Script, call, obliging
from tests.processes import PATIENCE, ROOT
from tests.test_docs_assistant import blocks

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


def guards_over_http() -> list[list[str]]:
    """Every guard over HTTP that the pages start, at a free port."""
    shown = [
        block for page in ("guard.md", "login.md") for block in blocks(ROOT / "docs" / page, "sh")
    ]
    lines = re.findall(r"^claw (proxy --listen .*)$", "\n".join(shown), re.MULTILINE)
    assert len(lines) >= 5
    return [shlex.split(line.replace("8100", "0"), comments=True) for line in lines]


def test_the_guards_over_http_on_the_pages_start(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guard.md").read_text()
    made = re.findall(r"^(openssl .*)$", page, re.MULTILINE)
    assert len(made) == 1
    subprocess.run(made[0], shell=True, cwd=tmp_path, check=True, timeout=PATIENCE)
    token = (tmp_path / "token").read_text().strip()
    (tmp_path / "policy.toml").write_text('[[rule]]\naction = "allow"\ntool = "*"\n')
    with Script(obliging) as script:
        for words in guards_over_http():
            local = [script.address if "mcp.example.com" in word else word for word in words]
            command = (*CLAW, *local, "--policy", "policy.toml")
            with subprocess.Popen(
                command, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True
            ) as process:
                assert process.stderr is not None
                line = process.stderr.readline()
                try:
                    assert " is at http://" in line, line
                    address = line.split(" is at ")[1].strip()
                    headers = {"X-Claw-Token": token}
                    told = httpx2.post(address, json=call("t"), headers=headers, timeout=PATIENCE)
                    assert told.status_code == (401 if "--login" in words else 200)
                finally:
                    process.terminate()
