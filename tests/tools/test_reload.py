"""A file that changes: which version answers, and what those who serve it are told."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.errors import LoadError
from clawkit.tools.reload import EVERY, ReloadedServer
from clawkit.wire.jsonrpc import Message
from clawkit.wire.session import Session

TOOL = """
from clawkit import claw_tool

@claw_tool
def say() -> str:
    return WORD
"""
FILE = "from {helper} import WORD\n" + TOOL


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose modules are forgotten afterwards."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def written(path: Path, text: str) -> Path:
    """Write it as of another moment: what has the same time and size is the same."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    if before:
        os.utime(path, ns=(before + 1_000, before + 1_000))
    return path


async def said(server: ReloadedServer) -> str:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "say"}}
    reply = await server.as_server.handle_jsonrpc(request)
    assert reply is not None
    return reply["result"]["content"][0]["text"]


async def test_a_change_of_the_file_or_of_what_it_imports_counts(folder: Path) -> None:
    heard: list[str] = []
    written(folder / "reload_words.py", "WORD = 'one'")
    file = written(folder / "reload_one.py", FILE.format(helper="reload_words"))
    server = ReloadedServer(str(file), heard.append)
    assert await said(server) == "one"
    server.look()
    assert heard == []
    written(folder / "reload_words.py", "WORD = 'two'")  # as long as before, in the same second
    server.look()
    assert await said(server) == "two"
    written(file, FILE.format(helper="reload_words").replace("return WORD", "return WORD * 2"))
    server.look()
    assert await said(server) == "twotwo"
    assert heard == [f"{file} was loaded again (say)"] * 2


async def test_a_version_that_does_not_load_changes_nothing(folder: Path) -> None:
    heard: list[str] = []
    words = written(folder / "reload_more.py", "WORD = 'one'")
    file = written(folder / "reload_two.py", FILE.format(helper="reload_more"))
    server = ReloadedServer(str(file), heard.append)
    written(words, "WORD = (")
    server.look()
    assert await said(server) == "one"
    assert "SyntaxError" in heard[-1]
    assert heard[-1].endswith("; the version before goes on")
    written(words, "WORD = 'well'")
    server.look()
    assert await said(server) == "well"
    words.unlink()
    server.look()
    assert "ModuleNotFoundError" in heard[-1]
    file.unlink()
    server.look()
    assert await said(server) == "well"


async def test_a_change_while_the_file_is_loaded_again_counts_too(folder: Path) -> None:
    file = written(folder / "reload_seven.py", f"WORD = 'a'\n{TOOL}")

    def change_once_more(_: str) -> None:
        if "WORD = 'b'" in file.read_text():
            written(file, f"WORD = 'c'\n{TOOL}")

    server = ReloadedServer(str(file), change_once_more)
    written(file, f"WORD = 'b'\n{TOOL}")
    server.look()
    server.look()
    assert await said(server) == "c"


async def test_clients_are_told_and_keep_what_they_had(folder: Path) -> None:
    file = written(folder / "reload_three.py", f"WORD = 'a'\n{TOOL}")
    server = ReloadedServer(str(file), lambda _: None)
    told: list[Message] = []
    session = Session(told.append)
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    await server.as_server.handle_jsonrpc(message, session)
    seal = server.seal
    written(file, f"WORD = 'b'\n{TOOL}".replace("say", "shout"))
    server.look()
    assert [one["method"] for one in told] == ["notifications/tools/list_changed"]
    assert list(server.tools) == ["shout"]
    assert server.seal is seal


def test_a_file_that_does_not_load_at_first_is_an_error(folder: Path) -> None:
    file = written(folder / "reload_four.py", "(")
    with pytest.raises(LoadError, match="SyntaxError"):
        ReloadedServer(str(file), lambda _: None)


def test_installed_modules_and_ours_are_not_loaded_again(folder: Path) -> None:
    file = written(folder / "reload_five.py", f"import pyte\nWORD = ''\n{TOOL}")
    server = ReloadedServer(str(file), lambda _: None)
    core, installed = sys.modules["clawkit.wire.server"], sys.modules["pyte"]
    written(file, file.read_text() + "\n")
    server.look()
    assert sys.modules["clawkit.wire.server"] is core
    assert sys.modules["pyte"] is installed


def test_looking_for_changes_costs_next_to_nothing(folder: Path) -> None:
    file = written(folder / "reload_six.py", f"WORD = ''\n{TOOL}")
    server = ReloadedServer(str(file), lambda _: None)
    before = time.thread_time()
    for _ in range(20):
        server.look()
    assert (time.thread_time() - before) / 20 < 0.1 * EVERY
