"""The commands, as a person types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from clawkit.cli.app import COMMANDS, imported
from clawkit.cli.tables import table_lines
from clawkit.system.addresses import is_loopback_host
from clawkit.text.counts import counted
from tests.claw import claw
from tests.processes import PATIENCE, ROOT, http_server, serving, stdio_server
from tests.wire.samples.messages import request
from tests.wire.samples.peers import Peer

CALCULATOR = ROOT / "examples" / "calculator.py"


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_the_commands(flag: str) -> None:
    done = claw(flag)
    assert done.returncode == 0
    assert "serve" in done.stdout
    assert "tools" in done.stdout
    assert "--http" in claw("serve", flag).stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_says_about_a_command_what_the_command_says_itself(name: str) -> None:
    help = typer.main.get_command(imported(name)).help or ""
    assert help.partition("\n")[0] == COMMANDS[name]


@pytest.mark.parametrize("imports", ["clawkit.cli.app", "clawkit.cli.remember"])
def test_ctrl_c_at_the_very_start_is_no_traceback(imports: str) -> None:
    program = f"""
import sys
class Interrupt:
    def find_spec(self, name, *rest):
        if name == {imports!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
sys.argv = ["claw", "remember", "x"]
from clawkit.cli import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_one_is_counted_in_the_singular_and_thousands_are_set_apart() -> None:
    assert counted(1, "memory") == "1 memory"
    assert counted(2, "memory") == "2 memories"
    assert counted(0, "tool") == "0 tools"
    assert counted(1234, "new note waits", "new notes wait") == "1,234 new notes wait"


def test_a_table_is_cut_for_eyes_only_and_leaves_out_what_it_can_do_without() -> None:
    rows = [("name", "size", "about"), ("a" * 30, "1", "many words " * 9)]
    assert table_lines(rows) == [
        f"name{' ' * 28}size  about",
        f"{'a' * 30}  1     {('many words ' * 9).strip()}",
    ]
    narrow = table_lines(rows, 30, ("size",))
    assert [len(line) <= 30 for line in narrow] == [True, True]
    assert narrow[0].split() == ["name", "about"]


def test_version_is_printed() -> None:
    assert claw("--version").stdout.startswith("clawkit 0.")


@pytest.mark.parametrize("script", ["claw", "openclaw", "clawdbot", "clawai"])
def test_the_program_is_installed_under_its_four_names(script: str) -> None:
    program = Path(sys.executable).parent / script
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("clawkit")


def test_tools_lists_what_a_file_offers() -> None:
    done = claw("tools", str(CALCULATOR))
    assert done.returncode == 0
    assert "calculator" in done.stdout
    assert "repeat?" in done.stdout


def test_what_a_file_says_cannot_command_the_terminal(tmp_path: Path) -> None:
    file = tmp_path / "loud.py"
    text = r"""from clawkit import claw_tool


@claw_tool
def shout() -> str:
    "\x1b]0;owned\x07\x1b[2J Shout \u202e."
    return ""
"""
    file.write_text(text)
    shown = claw("tools", str(file), code=0).stdout
    assert "Shout" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


@pytest.mark.parametrize("group", ["being", "policy", "guard", "memory", "sessions", "approvals"])
def test_completion_is_offered_in_one_place(group: str) -> None:
    assert "-completion" not in claw(group, "--help", code=0).stdout


def test_tools_as_json_are_the_definitions() -> None:
    offered = json.loads(claw("tools", str(CALCULATOR), "--json").stdout)
    assert [tool["name"] for tool in offered["tools"]] == ["calculator", "echo"]
    assert offered["prompts"] == []


def test_what_a_file_prints_does_not_disturb_the_json(tmp_path: Path) -> None:
    file = tmp_path / "noisy.py"
    file.write_text("print('loading')\n" + CALCULATOR.read_text())
    done = claw("tools", str(file), "--json")
    assert len(json.loads(done.stdout)["tools"]) == 2
    assert "loading" in done.stderr


def test_the_host_names_it_answers_to_can_be_chosen() -> None:
    with http_server(CALCULATOR, "--allow-host", "tools.example") as url, Peer(url) as peer:
        assert peer.post(request(1, "ping")).status_code == 403
        assert peer.post(request(1, "ping"), Host="tools.example").status_code == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.0.0.2", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("tools.example", False),
    ],
)
def test_an_address_that_others_can_reach_is_known_as_such(host: str, local: bool) -> None:
    assert is_loopback_host(host) is local


@pytest.mark.parametrize("command", ["serve", "tools"])
def test_a_file_that_is_not_there_is_a_clear_error(command: str) -> None:
    done = claw(command, "nothing.py")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == f"claw {command}: nothing.py: no such file\n"


def test_options_of_http_need_http_and_a_port_must_exist() -> None:
    assert "need --http" in claw("serve", str(CALCULATOR), "--sessions").stderr
    assert "65535" in claw("serve", str(CALCULATOR), "--http", "99999").stderr


def test_the_hook_of_a_file_guards_it_over_http(tmp_path: Path) -> None:
    file = tmp_path / "guarded.py"
    file.write_text(
        """
from clawkit import SdkMcpServerImpl
from clawkit.errors import AccessError
from clawkit.wire.session import Principal

def authenticate(request, message):
    if request.headers.get("authorization") != "Bearer let-me-in":
        raise AccessError("Who are you?")
    return Principal("ada")

server = SdkMcpServerImpl("guarded", "1.0.0", authenticate=authenticate)
"""
    )
    with http_server(file) as url, Peer(url) as peer:
        assert peer.post(request(1, "ping")).status_code == 401
        assert peer.post(request(1, "ping"), Authorization="Bearer let-me-in").status_code == 200


def test_a_port_that_is_taken_is_a_clear_error() -> None:
    with http_server(CALCULATOR) as url:
        port = url.split(":")[2].split("/")[0]
        done = claw("serve", str(CALCULATOR), "--http", port)
    assert done.returncode == 1
    assert "cannot listen on 127.0.0.1" in done.stderr


def test_serve_speaks_stdio() -> None:
    with stdio_server(*serving(f"{CALCULATOR}:server")) as server:
        params = {"name": "calculator", "arguments": {"operation": "add", "a": 2, "b": 3}}
        reply = server.call("tools/call", params)
        assert reply["result"]["content"] == [{"type": "text", "text": "Result: 5"}]


def test_what_a_file_prints_while_it_loads_does_not_reach_the_client(tmp_path: Path) -> None:
    file = tmp_path / "noisy.py"
    file.write_text("print('loading')\n" + CALCULATOR.read_text())
    with stdio_server(*serving(file)) as server:
        assert server.call("ping")["result"] == {}
        server.close_input()
        server.process.wait(PATIENCE)
        assert "loading" in server.stderr


def test_the_example_with_state_counts() -> None:
    with stdio_server(*serving(ROOT / "examples" / "counter.py")) as server:
        params = {"name": "count", "arguments": {"thing": "crow"}}
        texts = [server.call("tools/call", params)["result"]["content"][0]["text"] for _ in "ab"]
        assert texts == ["crow: seen 1 times", "crow: seen 2 times"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    "words",
    [
        ("install", "nosuch"),
        ("wrap", "x", "--client", "nosuch"),
        ("policy", "profiles", "nosuch"),
        ("policy", "explain", "tool", "no-argument"),
        ("install", "cursor", "--name", "a b"),
        ("remember", "x", "--when", "2026-13-01"),
        ("log", "--since", "foo"),
        ("new", "class"),
        ("ask", ""),
        ("ask", "--session", "", "hi"),
        ("chat", "--session", ""),
        ("memory", "show", "xx"),
        ("being", "create", ""),
        ("proxy", "--url", "nosuch"),
        ("call", "--url", "nosuch", "tool"),
        ("setup",),
    ],
)
def test_what_can_never_be_given_ends_with_status_2_and_a_sentence(words: tuple[str, ...]) -> None:
    done = claw(*words, code=2)
    assert done.stderr
    assert "Traceback" not in done.stderr
