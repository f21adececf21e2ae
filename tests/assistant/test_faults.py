"""What can go wrong around a running assistant: nothing is lost, the error is clear, no orphan."""

from __future__ import annotations

import random
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.assistant.orders import assistant, order, text_of, write_config
from tests.assistant.providers.scripted import scripted_anthropic
from tests.assistant.providers.steps import Hang, Request, Say, Step
from tests.assistant.replies import provider_config
from tests.claw import claw
from tests.ordinary_user import become_ordinary_user
from tests.processes import PATIENCE, StdioServer


def store_of(home: Path) -> Path:
    return home / "data" / "claw" / "sessions.db"


@pytest.mark.parametrize("seed", range(6))
def test_a_kill_at_any_point_loses_at_most_the_turn_it_hit(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    answered: list[int] = []
    number = 0
    for _ in range(3):
        with assistant(tmp_path) as server:
            for _ in range(chance.randint(1, 4)):
                number += 1
                server.ask(order(f"Fact {number} is F{number}.", number, sessionKey="k"))
                answered.append(number)
            number += 1
            server.send(order(f"Fact {number} is F{number}.", number, sessionKey="k"))
            time.sleep(chance.random() * 0.05)
            server.process.kill()
    home = {"CLAW_HOME": str(tmp_path)}
    export = claw("sessions", "export", "k", code=0, env=home).stdout
    for one in answered:
        assert f"Fact {one} is F{one}." in export
    with assistant(tmp_path) as server:
        reply = server.ask(order("What is fact 1?", 99, sessionKey="k"))
    assert "F1" in text_of(reply)


def test_two_servers_on_one_session_take_turns_and_lose_nothing(tmp_path: Path) -> None:
    def echo(request: Request) -> Step:
        return Say(f"({request.last_text})", pause=0.01)

    with scripted_anthropic(echo) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path) as one, assistant(tmp_path) as other:
            for n in range(10):
                for name, server in (("one", one), ("other", other)):
                    server.send(order(f"{name} {n}", f"{name} {n}", sessionKey="k"))
            for name, server in (("one", one), ("other", other)):
                replies = {r["id"]: r for r in (server.receive() for _ in range(10))}
                for n in range(10):
                    assert text_of(replies[f"{name} {n}"]) == f"({name} {n})"
        lengths = sorted(len(request.messages) for request in provider.requests)
    assert lengths == list(range(1, 41, 2))


def test_a_store_that_is_no_database_is_named_and_can_be_set_aside(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    store.parent.mkdir(parents=True)
    store.write_bytes(b"this is no database " * 1000)
    with assistant(tmp_path) as server:
        reply = server.ask(order("hello"))
        assert reply["result"]["isError"] is True
        assert "sessions.db" in text_of(reply)
        assert "doctor --fix" in text_of(reply)
    # It may find other things to say about this machine.
    claw("doctor", "--fix", env={"CLAW_HOME": str(tmp_path)})
    kept = [file for file in store.parent.iterdir() if file.name.startswith("sessions.db")]
    assert any(b"this is no database" in file.read_bytes() for file in kept)
    with assistant(tmp_path) as server:
        assert server.ask(order("hello"))["result"]["isError"] is False


def limited_files() -> None:
    """No file may grow beyond this: for the process, the disk is full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))


def unlucky(home: Path, before: Callable[[], None]) -> StdioServer:
    """A server that is limited before it starts.

    Python's own modules may stand where an ordinary user cannot read: this one is needed late.
    """
    code = (
        f"import sys, tomllib, {__name__}; "
        f"from {before.__module__} import {before.__name__} as limit; limit(); "
        "sys.argv = ['openclaw', 'mcp-server']; "
        "from clawkit.cli import main; main()"
    )
    return StdioServer(sys.executable, "-c", code, env={"CLAW_HOME": str(home)})


def test_a_full_disk_is_said_and_nothing_is_damaged(tmp_path: Path) -> None:
    server = unlucky(tmp_path, limited_files)
    try:
        failed: list[Any] = []
        kept: list[int] = []
        for n in range(40):
            reply = server.ask(order(f"{n} " + "many words " * 2000, n, sessionKey="k"))
            (failed if reply["result"]["isError"] else kept).append(n)
            if reply["result"]["isError"]:
                assert "full" in text_of(reply)
                assert "sessions.db" in text_of(reply)
        assert failed
        assert kept
    finally:
        server.stop()
    with assistant(tmp_path) as healthy:
        reply = healthy.ask(order("and now?", 99, sessionKey="k"))
        assert reply["result"]["isError"] is False


def test_a_data_directory_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    home = tmp_path / "readonly"
    (home / "data" / "claw").mkdir(parents=True)
    for folder in (tmp_path.parent, tmp_path, home):
        folder.chmod(0o755)
    for folder in (home, home / "data", home / "data" / "claw"):
        folder.chmod(0o555)
    server = unlucky(home, become_ordinary_user)
    try:
        reply = server.ask(order("hello"))
    finally:
        server.stop()
        for folder in (home, home / "data", home / "data" / "claw"):
            folder.chmod(0o755)
    assert reply["result"]["isError"] is True
    assert "sessions.db" in text_of(reply) or "data" in text_of(reply)
    assert "ermission" in text_of(reply) or "writ" in text_of(reply)


def test_a_provider_that_hangs_is_given_up(tmp_path: Path) -> None:
    with scripted_anthropic(lambda _: Hang()) as provider:
        config = provider_config(provider).replace("retries = 1", "retries = 0\ntimeout = 0.5")
        write_config(tmp_path, config)
        with assistant(tmp_path) as server:
            reply = server.ask(order("hello"))
    assert reply["result"]["isError"] is True
    assert "0.5 s" in text_of(reply)


def test_a_server_killed_with_an_external_server_leaves_no_orphan(tmp_path: Path) -> None:
    child = "import sys, time\nfor line in sys.stdin: pass"
    with scripted_anthropic([Hang()]) as provider:
        more = (
            f'[mcp.servers.quiet]\ncommand = "{sys.executable}"\nargs = ["-c", {child!r}]\n'
            "timeout = 0.3\n"
        )
        write_config(tmp_path, provider_config(provider) + more.replace("'", '"'))
        with assistant(tmp_path) as server:
            server.send(order("hello", meta={"progressToken": 1}))
            server.receive()
            children = psutil.Process(server.process.pid).children(recursive=True)
            server.process.kill()
            server.process.wait(PATIENCE)
    _, left = psutil.wait_procs(children, timeout=PATIENCE)
    assert not left


MODEL = """
from clawkit.errors import ModelError

class Unspeakable(ModelError):
    def __str__(self):
        raise RuntimeError("no words for it")

class Model:
    name, context = "mute/one", 1000
    def __init__(self, settings):
        pass
    async def stream(self, prompt):
        raise Unspeakable("mute", "")
        yield
    async def close(self):
        pass
"""


@pytest.mark.parametrize("options", [(), ("--verbose",)])
def test_an_error_whose_text_cannot_be_made_is_answered_all_the_same(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    about = tmp_path / "site" / "mute_model-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: mute-model\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[clawkit.models]\nmute = mute_model:Model\n")
    (about.parent / "mute_model.py").write_text(MODEL)
    write_config(tmp_path, '[model]\nuse = "mute/one"\nretries = 0\n')
    with assistant(tmp_path, *options, env={"PYTHONPATH": str(about.parent)}) as server:
        reply = server.ask(order("Hello."))
        assert reply["result"]["isError"]
        assert "Unspeakable in the assistant" in text_of(reply)
        assert "no words" not in text_of(reply)
