"""The proxy between a client and a process: bytes, order, signals, status, nothing left over."""

from __future__ import annotations

import base64
import json
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.claw import CLAW, claw
from tests.guard.guarded_server import ALLOW_ALL, guarded, records
from tests.processes import PATIENCE, StdioServer


def test_what_is_allowed_reaches_the_server_byte_for_byte(tmp_path: Path) -> None:
    arguments = b'{"arguments":{"text":"\\u00e9 \xc3\xa9"},"name":"echo"}'
    line = b'{"id" : 1,"jsonrpc":"2.0", "method":"tools/call","params":' + arguments + b" }"
    with guarded(tmp_path) as guard:
        guard.write(line + b"\n")
        assert guard.receive()["result"]["content"][0]["text"] == "é é"
        assert guard.heard() == [line]


def test_a_guard_that_runs_first_makes_folders_for_their_owner_only(
    tmp_path: Path, home: Path
) -> None:
    usual = os.umask(0o022)  # what the guard inherits
    try:
        with guarded(tmp_path, ALLOW_ALL, "--name", "files") as guard:
            guard.initialize()
            guard.call("tools/list", {}, 1)
    finally:
        os.umask(usual)
    made = [home / "claw", *(path for path in (home / "claw").rglob("*") if path.is_dir())]
    assert {path.stat().st_mode & 0o777 for path in made} == {0o700}


def test_a_byte_order_mark_before_a_line_is_taken_away(tmp_path: Path) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    with guarded(tmp_path) as guard:
        guard.write(b"\xef\xbb\xbf" + line + b"\n")
        assert guard.receive()["result"] == {}
        assert guard.heard() == [line]


def test_a_denied_call_is_answered_with_the_rule_and_never_reaches_the_server(
    tmp_path: Path,
) -> None:
    policy = """
[[rule]]
action = "deny"
tool = "tool_shell"
description = "Block all shell execution"

[[rule]]
action = "allow"
tool = "*"
description = "Everything else"
"""
    with guarded(tmp_path, policy) as guard:
        reply = guard.tool("tool_shell", command="rm -rf /")
        assert reply["error"]["code"] == -32001
        assert reply["error"]["message"] == "Denied by policy: Block all shell execution"
        assert "Everything else" not in json.dumps(reply)
        assert guard.tool("echo", id=2, text="still here")["result"]
        assert len(guard.heard()) == 1


def test_without_a_policy_every_call_is_denied_and_the_client_is_told_how_to_make_one(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path, None) as guard:
        assert guard.initialize()["result"]["serverInfo"]["name"] == "victim"
        assert "policy init" in guard.tool("echo", text="x")["error"]["message"]
        assert "policy init" in guard.stderr


def test_a_policy_that_changes_counts_from_the_next_call(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        assert "result" in guard.tool("echo", id=1, text="x")
        guard.policy.write_text(
            '[[rule]]\naction = "deny"\ntool = "echo"\ndescription = "No more"\n'
        )
        assert "No more" in guard.tool("echo", id=2, text="x")["error"]["message"]
        guard.policy.write_text('[[rule]]\naction = "perhaps"\ntool = "echo"\n')
        message = guard.tool("echo", id=3, text="x")["error"]["message"]
        assert "policy.toml:2" in message
        assert "perhaps" in message
        guard.policy.write_text(ALLOW_ALL)
        os.utime(guard.policy, (1, 1))
        assert "result" in guard.tool("echo", id=4, text="x")


def test_a_policy_that_is_half_written_allows_nothing_anew(tmp_path: Path) -> None:
    narrow = '[[rule]]\naction = "allow"\ntool = "echo"\nargs.text = "fine"\n'
    with guarded(tmp_path, narrow) as guard:
        assert "result" in guard.tool("echo", id=1, text="fine")
        guard.policy.write_text(narrow.partition("args")[0])
        os.utime(guard.policy, (2**33, 2**33))  # just now, however slow this machine is
        assert "just changed" in guard.tool("echo", id=2, text="other")["error"]["message"]
        assert "result" in guard.tool("echo", id=3, text="fine")


def test_the_servers_errors_reach_the_clients_terminal() -> None:
    server = "import sys; print('hello from the server', file=sys.stderr); sys.exit(7)"
    done = claw("proxy", "--", sys.executable, "-c", server, code=7)
    assert "hello from the server" in done.stderr
    assert done.stdout == ""


def test_a_command_that_does_not_exist_is_said_to(tmp_path: Path) -> None:
    done = claw("proxy", "--", tmp_path / "nothing", code=1)
    assert "cannot start" in done.stderr
    assert "No such file" in done.stderr


def test_end_of_input_ends_the_server_and_every_answer_still_arrives(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        for number in range(50):
            params = {"name": "echo", "arguments": {"text": str(number)}}
            guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        guard.close_input()
        answers = [guard.receive()["id"] for _ in range(50)]
        assert answers == list(range(50))
        assert guard.process.wait(PATIENCE) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_a_signal_to_the_guard_ends_the_server_too(tmp_path: Path, number: signal.Signals) -> None:
    with guarded(tmp_path) as guard:
        guard.initialize()
        server = psutil.Process(guard.process.pid).children()[0]
        guard.process.send_signal(number)
        assert guard.process.wait(PATIENCE) in (128 + number, 1)
        assert not server.is_running()


def test_a_killed_guard_leaves_no_server_behind(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        guard.initialize()
        server = psutil.Process(guard.process.pid).children()[0]
        guard.process.kill()
        server.wait(PATIENCE)


def test_a_server_that_dies_answers_every_call_in_flight_with_an_error(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        for number in (1, 2):
            params = {"name": "act", "arguments": {"do": "hold"}}
            guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        params = {"name": "act", "arguments": {"do": "exit", "status": 5}}
        guard.send({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": params})
        replies = [guard.receive() for _ in range(3)]
        assert {reply["id"] for reply in replies} == {1, 2, 3}
        assert all("status 5" in reply["error"]["message"] for reply in replies)
        assert guard.process.wait(PATIENCE) == 5


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_wrapped_server_in_a_shell_is_ended_with_all_that_it_started(
    number: signal.Signals,
) -> None:
    command = (
        "sh",
        "-c",
        f"{sys.executable} -c 'import time; time.sleep(600)' & cat > /dev/null; wait",
    )
    guard = StdioServer(*CLAW, "proxy", "--", *command)
    try:
        deadline = time.monotonic() + PATIENCE
        # The shell, its two programs, and the one that watches over them.
        while len(started := psutil.Process(guard.process.pid).children(recursive=True)) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        guard.process.send_signal(number)
        guard.process.wait(PATIENCE)
        assert psutil.wait_procs(started, timeout=PATIENCE)[1] == []
    finally:
        guard.stop()


def test_a_guard_that_is_ended_while_its_server_starts_ends_the_server(tmp_path: Path) -> None:
    mark = str(tmp_path)
    command = ("sh", "-c", "kill -TERM $PPID; tail -f /dev/null", mark)
    guard = StdioServer(*CLAW, "proxy", "--", *command)
    try:
        assert guard.process.wait(PATIENCE) == 128 + signal.SIGTERM
        commands = [one.info["cmdline"] or [] for one in psutil.process_iter(["cmdline"])]
        assert not [command for command in commands if mark in command]
    finally:
        guard.stop()


def test_the_server_gets_the_clients_environment_as_it_is(tmp_path: Path) -> None:
    with guarded(tmp_path, GITHUB_TOKEN="t", OTHER="o") as guard:
        names = guard.tool("act", do="environment")["result"]["content"][0]["text"].split()
        assert {"GITHUB_TOKEN", "OTHER", "PATH"} <= set(names)


def test_env_in_the_policy_narrows_what_a_server_gets(tmp_path: Path) -> None:
    policy = ALLOW_ALL + '[env]\nallow = ["PATH"]\n[env.github]\nallow = ["PATH", "GITHUB_*"]\n'
    seen: dict[str, set[str]] = {}
    for name in ("github", "other"):
        folder = tmp_path / name
        folder.mkdir()
        with guarded(folder, policy, "--name", name, GITHUB_TOKEN="t", OTHER="o") as guard:
            text = guard.tool("act", do="environment")["result"]["content"][0]["text"]
            seen[name] = set(text.split()) - {"LC_CTYPE", "CLAW_GUARDED"}
    assert seen == {"github": {"PATH", "GITHUB_TOKEN"}, "other": {"PATH"}}


def test_records_link_a_call_its_answer_its_list_and_its_client(tmp_path: Path, home: Path) -> None:
    with guarded(tmp_path, ALLOW_ALL, "--name", "files") as guard:
        guard.initialize()
        guard.call("tools/list", {}, 2)
        guard.tool("echo", id=3, text="hello", password="hunter2")
        guard.close_input()
        guard.process.wait(PATIENCE)
    found = records(home)
    call = next(r for r in found if r["kind"] == "call" and r.get("tool") == "echo")
    answer = next(r for r in found if r.get("of") == call["id"])
    listed = next(r for r in found if r["kind"] == "list")
    assert call["server"] == "files"
    assert call["client"] == "tester/7"
    assert call["decision"] == "allow"
    assert call["rule"] == 1
    assert call["arguments"]["text"] == "hello"
    assert "hunter2" not in json.dumps(found)
    assert call["listed"] == listed["id"]
    assert "echo" in listed["arguments"]["names"]
    assert answer["latency_ms"] > 0
    assert len(answer["digest"]) == 64
    assert {r["host"].split("-")[0] for r in found} == {str(os.getpid())}


def test_an_unknown_method_passes_and_is_logged(tmp_path: Path, home: Path) -> None:
    with guarded(tmp_path) as guard:
        assert guard.call("made/up", {"a": 1}, 9)["result"] == {}
    record = next(r for r in records(home) if r.get("method") == "made/up")
    assert record["decision"] == "pass"


def test_a_server_that_ends_is_over_even_if_something_it_started_keeps_its_output() -> None:
    guard = StdioServer(*CLAW, "proxy", "--", "sh", "-c", "sleep 60 & read line; exit 3")
    try:
        reply = guard.call("initialize", {"capabilities": {}})
        assert "status 3" in reply["error"]["message"]
        assert guard.process.wait(PATIENCE) == 3
    finally:
        guard.stop()


def test_a_client_that_leaves_a_server_that_does_not_read_takes_it_along(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW_ALL)
    sleeper = (sys.executable, "-c", "import time; time.sleep(600)")
    guard = StdioServer(*CLAW, "proxy", "--policy", str(policy), "--", *sleeper)
    try:
        params = {"name": "echo", "arguments": {"text": "x" * 3_000_000}}
        guard.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        started = psutil.Process(guard.process.pid).children()
        guard.close_input()
        assert guard.process.wait(PATIENCE) == 128 + signal.SIGTERM
        assert psutil.wait_procs(started, timeout=PATIENCE)[1] == []
    finally:
        guard.stop()


def test_a_very_large_message_passes_in_linear_time(tmp_path: Path) -> None:
    with guarded(tmp_path) as guard:
        text = "x" * 24_000_000
        assert guard.tool("echo", text=text)["result"]["content"][0]["text"] == text


def test_noise_on_the_servers_output_is_left_out(tmp_path: Path) -> None:
    server = (
        "import sys, json\n"
        "for line in sys.stdin:\n"
        "    print('Starting up ...', flush=True)\n"
        "    reply = {'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'result': {}}\n"
        "    print(json.dumps(reply), flush=True)\n"
    )
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW_ALL)
    command = (*CLAW, "proxy", "--policy", str(policy), "--", sys.executable, "-c", server)
    guard = StdioServer(*command)
    try:
        assert guard.call("ping", {}) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    finally:
        guard.stop()


@pytest.mark.parametrize(
    ("method", "key", "uri"),
    [
        ("resources/list", "resources", "uri"),
        ("resources/templates/list", "resourceTemplates", "uriTemplate"),
    ],
)
def test_the_log_of_a_list_has_the_addresses_that_rules_decide_on(
    tmp_path: Path, home: Path, method: str, key: str, uri: str
) -> None:
    listed = {key: [{"name": "harmless" * 100, uri: f"file:///etc/{n}"} for n in range(9)]}
    with guarded(tmp_path) as guard:
        encoded = base64.b64encode(json.dumps(listed).encode()).decode()
        guard.tool("act", do="set", method=method, data=encoded)
        guard.call(method, {}, id=2)
        guard.close_input()
        guard.process.wait(PATIENCE)
    (record,) = (one for one in records(home) if one["kind"] == "list")
    assert record["arguments"]["uris"] == [f"file:///etc/{n}" for n in range(9)]
    assert record["arguments"]["names"][0].startswith("harmless")
