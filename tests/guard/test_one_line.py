"""A message is one line for every reader, whatever that reader takes for the end of one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.wire import jsonrpc
from tests.claw import CLAW
from tests.guard.guarded_server import ALLOW_ALL, guarded
from tests.nodejs import node_program
from tests.processes import ROOT, StdioServer, stdio_server

POLICY = f'[[rule]]\naction = "deny"\ntool = "shell"\n\n{ALLOW_ALL}'
DENIED = (
    '{"jsonrpc":"2.0","id":"hidden","method":"tools/call",'
    '"params":{"name":"shell","arguments":{"command":"touch"}}}'
)
OFFICIAL = """
from pathlib import Path
from mcp.server.mcpserver import MCPServer

server = MCPServer("files")

@server.tool()
def shell(command: str) -> str:
    Path(MARK).write_text(command)
    return "done"

@server.tool()
def echo(text: str) -> str:
    return text

server.run()
"""


def hiding(id: int) -> bytes:
    """A ping in which a call stands on a line of its own, for readers that end one at `\\r`."""
    ping = (
        f'{{"jsonrpc":"2.0","id":{id},"method":"ping","params":{{"_meta":{{"x":\r{DENIED}\r}}}}}}'
    )
    return ping.encode() + b"\n"


@contextmanager
def guard_of(folder: Path, *server: str) -> Iterator[StdioServer]:
    policy = folder / "policy.toml"
    policy.write_text(POLICY)
    with stdio_server(*CLAW, "proxy", "--policy", str(policy), "--", *server) as guard:
        yield guard


def answer_to(guard: StdioServer, id: Any) -> dict[str, Any]:
    """The answer to one request, and none to what was hidden in another."""
    while (message := guard.receive()).get("id") != id:
        assert message.get("id") != "hidden"
    return message


def test_a_call_behind_a_carriage_return_does_not_run_on_the_official_server(
    tmp_path: Path,
) -> None:
    mark, program = tmp_path / "ran", tmp_path / "server.py"
    program.write_text(f"MARK = {str(mark)!r}\n{OFFICIAL}")
    about = {"name": "t", "version": "1"}
    start = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    with guard_of(tmp_path, sys.executable, str(program)) as guard:
        guard.call("initialize", start, "start")
        guard.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        guard.write(hiding(5))
        assert "result" in answer_to(guard, 5)
        text = "one\u2028two\u2029three\x85four"
        guard.send(
            {
                "jsonrpc": "2.0",
                "id": 6,
                "method": "tools/call",
                "params": {"name": "echo", "arguments": {"text": text}},
            }
        )
        assert answer_to(guard, 6)["result"]["content"][0]["text"].startswith("one")
    assert not mark.exists()


def test_a_server_that_reads_with_node_s_readline_gets_each_message_in_one_line(
    tmp_path: Path,
) -> None:
    program = str(ROOT / "tests" / "node" / "readline_server.mjs")
    call = {"name": "echo", "arguments": {"text": "one\u2028two\u2029three\x85four"}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}
    with guard_of(tmp_path, node_program(), program) as guard:
        guard.write(hiding(6))
        assert answer_to(guard, 6)["result"]["method"] == "ping"
        guard.write(json.dumps(message, ensure_ascii=False).encode() + b"\r\n")
        heard = answer_to(guard, 7)["result"]
    assert heard["name"] == "echo"
    assert json.loads(heard["line"]) == message


def test_a_question_behind_a_carriage_return_does_not_reach_the_client(tmp_path: Path) -> None:
    asked = '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{}}'
    answer = f'{{"jsonrpc":"2.0","id":@ID@,"result":{{"a":1.50,"_meta":{{"x":\r{asked}\r}}}}}}'
    with guarded(tmp_path) as guard:
        guard.send(_act(answer.encode()))
        line = guard.receive_line()
    assert line.decode().splitlines() == [answer.replace("\r", "").replace("@ID@", "9")]


def _act(data: bytes) -> dict[str, Any]:
    import base64

    arguments = {"do": "write", "data": base64.b64encode(data).decode(), "silent": True}
    params = {"name": "act", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.sampled_from([None, "\t", "\r", "\n "]))
def test_it_is_the_same_message_in_one_line(value: Any, indent: str | None) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=indent).replace("\n", "\r\n")
    line = jsonrpc.one_line(text.encode("utf-8", "surrogatepass"))
    assert len(line.decode("utf-8", "surrogatepass").splitlines()) == 1
    assert json.loads(line.decode("utf-8", "surrogatepass")) == value


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85"], ids=ascii)
def test_what_our_own_servers_write_is_one_line_for_every_reader(separator: str) -> None:
    message = jsonrpc.success(1, {"text": f"a{separator}b"})
    for encoded in (jsonrpc.encode(message), jsonrpc.encode_reply(message)):
        assert len(encoded.decode().splitlines()) == 1
        assert json.loads(encoded) == message
