"""A call that a path allows waits for calls that could change where the path leads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.guard.guarded_server import Guarded, guarded, records


def policy(folder: Path, timeout: float = 60) -> str:
    allowed = json.dumps(f"{folder}/work/**")
    return f"""
[limits]
path_timeout = {timeout}

[[rule]]
action = "allow"
tool = "read_file"
args.path = {allowed}

[[rule]]
action = "allow"
tool = ["act", "echo"]
"""


def send(guard: Guarded, id: int, tool: str, **arguments: Any) -> None:
    params = {"name": tool, "arguments": arguments}
    guard.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})


def file_in(folder: Path) -> str:
    (folder / "work").mkdir()
    (folder / "work" / "a.txt").write_text("plain")
    return str(folder / "work" / "a.txt")


def heard(guard: Guarded, word: str) -> bool:
    return word.encode() in guard.journal.read_bytes()


def test_it_goes_on_when_the_other_call_has_ended(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    with guarded(tmp_path, policy(tmp_path)) as guard:
        send(guard, 1, "act", do="hold")
        send(guard, 2, "read_file", path=path)
        # What needs no path is not kept back.
        assert guard.tool("echo", 3, text="still here")["id"] == 3
        assert not heard(guard, "read_file")
        send(guard, 4, "act", do="release")
        answers = {reply["id"]: reply for reply in (guard.receive() for _ in range(3))}
    assert answers.keys() == {1, 2, 4}
    assert answers[2]["result"]["content"][0]["text"] == "plain"


def test_it_is_judged_again(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    (tmp_path / "secret").write_text("secret")
    with guarded(tmp_path, policy(tmp_path)) as guard:
        send(guard, 1, "act", do="hold")
        send(guard, 2, "read_file", path=path)
        guard.tool("echo", 3, text="both have arrived")
        Path(path).unlink()
        Path(path).symlink_to(tmp_path / "secret")
        send(guard, 4, "act", do="release")
        answers = {reply["id"]: reply for reply in (guard.receive() for _ in range(3))}
        assert answers[2]["error"]["code"] == -32001
        assert not heard(guard, "read_file")


def test_it_is_refused_when_the_other_call_does_not_end(tmp_path: Path, home: Path) -> None:
    path = file_in(tmp_path)
    with guarded(tmp_path, policy(tmp_path, 0.1)) as guard:
        send(guard, 1, "act", do="hold")
        send(guard, 2, "read_file", path=path)
        refused = guard.receive()
        assert refused["id"] == 2
        assert "'act' still runs" in refused["error"]["message"]
        assert not heard(guard, "read_file")
    (record,) = [each for each in records(home) if each.get("tool") == "read_file"]
    assert (record["kind"], record["decision"]) == ("call", "deny")


def test_a_call_that_is_cancelled_while_it_waits_never_reaches_the_server(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    with guarded(tmp_path, policy(tmp_path)) as guard:
        send(guard, 1, "act", do="hold")
        send(guard, 2, "read_file", path=path)
        guard.send(
            {
                "jsonrpc": "2.0",
                "method": "notifications/cancelled",
                "params": {"requestId": 2},
            }
        )
        send(guard, 4, "act", do="release")
        assert {guard.receive()["id"], guard.receive()["id"]} == {1, 4}
        assert guard.tool("echo", 5, text="next")["id"] == 5
        assert not heard(guard, "read_file")


def test_many_calls_at_once_are_all_answered_though_the_client_is_gone(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    with guarded(tmp_path, policy(tmp_path)) as guard:
        for id in range(1, 51):
            send(guard, id, "read_file", path=path)
        guard.close_input()
        answers = [guard.receive() for _ in range(50)]
    assert sorted(answer["id"] for answer in answers) == list(range(1, 51))
    assert all("result" in answer for answer in answers)


def test_calls_that_only_read_do_not_wait_for_each_other(tmp_path: Path) -> None:
    path = file_in(tmp_path)
    reads = {
        "name": "act",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": True},
    }
    with guarded(tmp_path, policy(tmp_path)) as guard:
        listed = json.dumps({"tools": [reads]}).encode()
        guard.tool("act", 1, do="set", method="tools/list", data=_base64(listed))
        guard.call("tools/list", None, 2)
        send(guard, 3, "act", do="hold")
        assert guard.tool("read_file", 4, path=path)["id"] == 4


def _base64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()
