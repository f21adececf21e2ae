"""Commands that wait in a real terminal: Ctrl-C ends each with 130, and where servers listen."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from tests.claw import PROGRAMS, claw
from tests.cli.commands import plain_environment
from tests.guard.terminal import terminal

TOOLS = """from clawkit import claw_tool


@claw_tool
def now() -> str:
    "Now."
    return ""
"""
WAITING = {
    "mcp-server": "Ctrl-D ends it",
    "serve tools.py": "Ctrl-D ends it",
    "serve tools.py --http 0": " is at http://",
    "being serve --port 0 --embedder none": "Ctrl-C ends it",
    "being stdio team --embedder none": "Ctrl-D ends it",
    "being delete team": "[y/N]",
    "being key set team": "Model key",
    "proxy --url http://127.0.0.1:9/mcp --listen 0": "http://127.0.0.1",
}


@pytest.fixture(autouse=True)
def in_a_folder_with_tools(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)
    monkeypatch.chdir(home)
    (home / "tools.py").write_text(TOOLS)
    claw("being", "create", "team", code=0)


@pytest.mark.parametrize("command", WAITING)
def test_ctrl_c_ends_it_with_130_and_without_a_warning(command: str) -> None:
    with terminal(str(PROGRAMS / "claw"), *command.split(), width=200) as window:
        window.shows(WAITING[command])
        window.type("\x03")
        assert window.ends() == 130
        assert "Warning" not in window.output
        assert "Traceback" not in window.output


@pytest.mark.parametrize(
    "command", [each for each in WAITING if each.endswith(" 0") or "--port" in each]
)
def test_a_server_has_its_port_at_both_addresses_of_this_machine(command: str) -> None:
    """Else the links that say `localhost`, and clients' tokens, could reach another's program."""
    with terminal(str(PROGRAMS / "claw"), *command.split(), width=200) as window:
        window.shows(WAITING[command])
        sockets = psutil.Process(window.process.pid).net_connections("inet")
        places = {one.laddr for one in sockets if one.status == psutil.CONN_LISTEN}
        assert {place[0] for place in places} == {"127.0.0.1", "::1"}
        assert len({place[1] for place in places}) == 1
        window.type("\x03")
        window.ends()


@pytest.mark.parametrize("end", ["\x04", "\x03"], ids=["Ctrl-D", "Ctrl-C"])
def test_a_question_that_is_not_answered_changes_nothing(end: str) -> None:
    with terminal(str(PROGRAMS / "claw"), "being", "delete", "team", width=200) as window:
        window.shows("[y/N]")
        window.type(end)
        assert window.ends() == (130 if end == "\x03" else 1)
    assert "team" in claw("being", "list", code=0).stdout


@pytest.mark.parametrize(
    "command", ["ask hello", "remember Anna_likes_tea", "recall tea", "memory tidy", "doctor"]
)
def test_a_clean_end_leaves_no_warning(command: str) -> None:
    done = claw(*command.split(), env={"PYTHONWARNINGS": "default"})
    assert "Warning" not in done.stderr


def test_the_end_of_input_ends_a_chat_without_a_warning() -> None:
    done = claw("chat", stdin="hello\n", code=0, env={"PYTHONWARNINGS": "default"})
    assert "Warning" not in done.stderr
