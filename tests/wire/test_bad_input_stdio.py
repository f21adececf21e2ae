"""Whatever a client writes to stdin: an error where one is due, only messages on stdout, and life
goes on. Every test meets the server twice: as the plain loop that it starts as, and after the first
call has made it an event loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clawkit.wire.stdio import MAX_LINE
from tests.processes import PATIENCE, StdioServer, serving, stdio_server
from tests.wire.samples.messages import (
    CAPABILITIES_KEY,
    DAMAGED,
    GARBAGE,
    MARK,
    MODERN,
    PING,
    SAMPLES,
    VERSION_KEY,
    Message,
    call,
    history,
    in_text,
    line,
    modern,
    notification,
    request,
    text,
    until,
)


@pytest.fixture(params=["plain loop", "event loop"])
def server(request: pytest.FixtureRequest) -> Iterator[StdioServer]:
    """A server that must be alive after the test, say nothing more, and end well."""
    with stdio_server(*serving(SAMPLES / "workshop.py")) as child:
        if request.param == "event loop":
            assert text(child.ask(call("warm", "echo", text="warm"))) == "warm"
        yield child
        assert text(child.ask(call("last", "echo", text="alive"))) == "alive"
        child.close_input()
        with pytest.raises(EOFError):
            child.receive()
        assert child.process.wait(PATIENCE) == 0


def refused(reply: Message, code: int, id: Any = None) -> str:
    """The words of an error reply that is to have this code and this id."""
    assert reply["jsonrpc"] == "2.0"
    assert reply["id"] == id
    assert reply["error"]["code"] == code
    assert "result" not in reply
    assert reply["error"]["message"]
    return reply["error"]["message"]


def test_what_is_not_json_is_a_parse_error_with_no_id(server: StdioServer) -> None:
    for garbage in GARBAGE.values():
        server.write(garbage + b"\n")
        refused(server.receive(), -32700)


def test_a_parse_error_has_the_id_where_that_can_be_read(server: StdioServer) -> None:
    for damaged in DAMAGED.values():
        server.write(damaged + b"\n")
        refused(server.receive(), -32700, 1)
    server.write(in_text(b"\\ud83d") + b"\n")
    assert "\\ud83d is half of a character" in refused(server.receive(), -32700, 1)


def test_a_byte_order_mark_before_a_line_is_overlooked(server: StdioServer) -> None:
    server.write(MARK + PING + b"\n")
    assert server.receive()["result"] == {}
    server.write(MARK + line(request(7, 5)))
    refused(server.receive(), -32600, 7)
    server.write(MARK + MARK + PING + b"\n")
    refused(server.receive(), -32700)


def test_json_nested_a_hundred_thousand_levels_deep_is_refused(server: StdioServer) -> None:
    for opening, ending in ((b"[", b"]"), (b'{"a":', b"1}"), (b'{"id":1,"params":', b"}")):
        server.write(opening * 100_000 + b"\n")
        refused(server.receive(), -32700)
        server.write(opening * 100_000 + ending * 100_000 + b"\n")
        refused(server.receive(), -32700)


def test_json_about_as_deep_as_can_be_read_is_answered_either_way(server: StdioServer) -> None:
    for depth in (500, *range(900, 1040, 4)):
        nested = b"[" * depth + b"]" * depth
        server.write(line(call(1, "take", value="?")).replace(b'"?"', nested))
        reply = server.receive()
        if "error" in reply:
            refused(reply, -32700, 1)
        else:
            assert text(reply)
        server.write(nested + b"\n")
        assert server.receive()["error"]["code"] in (-32700, -32600)


def test_a_batch_is_refused_in_every_revision(server: StdioServer) -> None:
    one, told = request(1, "ping"), notification("notifications/initialized")
    for revision in ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"):
        opening = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "t"}}
        reply = server.ask(request(0, "initialize", opening))
        assert reply["result"]["protocolVersion"] == revision
        batches: list[list[Any]] = [[], [1, 2], [one], [one, modern(one)], [told], [[one]]]
        for batch in batches:
            server.send(batch)
            assert "batch" in refused(server.receive(), -32600)


def test_json_that_is_no_object_is_refused(server: StdioServer) -> None:
    for value in (None, True, 1, 1.5, "ping", 10**400):
        server.send(value)
        refused(server.receive(), -32600)


def test_an_id_that_is_no_string_and_no_integer_is_refused(server: StdioServer) -> None:
    for id in (None, True, False, 1.5, 1.0, {}, {"a": 1}, [], [1]):
        server.send(request(id, "ping"))
        assert '"id"' in refused(server.receive(), -32600)


def test_params_that_are_no_object_are_refused(server: StdioServer) -> None:
    for params in ([], [1], None, "text", 5, True):
        server.send({**request("x", "tools/list"), "params": params})
        assert '"params"' in refused(server.receive(), -32600, "x")


def test_a_method_that_is_no_string_is_refused(server: StdioServer) -> None:
    for method in (5, None, True, [], {}, ["ping"]):
        server.send(request(7, method))
        assert '"method"' in refused(server.receive(), -32600, 7)


def test_another_version_of_json_rpc_is_refused(server: StdioServer) -> None:
    for version in ("1.0", 2.0, 2, None, ["2.0"], "2.0 "):
        server.send({**request(7, "ping"), "jsonrpc": version})
        assert '"jsonrpc"' in refused(server.receive(), -32600, 7)


def test_a_message_without_a_version_of_json_rpc_is_refused(server: StdioServer) -> None:
    server.send({"id": 7, "method": "ping"})
    refused(server.receive(), -32600, 7)


def test_an_object_that_is_no_message_is_refused(server: StdioServer) -> None:
    server.send({"jsonrpc": "2.0", "id": 7})
    refused(server.receive(), -32600, 7)
    server.send({"jsonrpc": "2.0"})
    refused(server.receive(), -32600)
    server.send({"jsonrpc": "2.0", "id": 7, "result": {}, "error": {}})
    refused(server.receive(), -32600, 7)


def test_every_string_and_every_integer_is_an_id(server: StdioServer) -> None:
    for id in (0, -1, 2**53 + 1, 2**64, 10**399, "", "1", "ключ\0\n", "x" * 10_000):
        assert server.ask(request(id, "ping"))["result"] == {}
        assert server.ask(call(id, "echo", text="a"))["id"] == id


def test_an_integer_of_four_hundred_digits_goes_through_a_tool(server: StdioServer) -> None:
    number = int("123456789" * 45)
    reply = server.ask(call(1, "give-back", value=number))
    assert reply["result"]["structuredContent"]["value"] == number
    assert text(server.ask(call(2, "add", a=number, b=1))) == str(number + 1)


def test_an_integer_of_a_million_digits_is_refused(server: StdioServer) -> None:
    server.write(line(request("?", "ping")).replace(b'"?"', b"9" * 1_000_000))
    refused(server.receive(), -32700)


def test_text_of_every_kind_comes_back_as_it_was(server: StdioServer) -> None:
    for said in ("", "\0", "a\r\nb\u2028c\x85d", "🦀 ключ \ufeff \uffff", '"\\/\b\f\t', "\x7f\x1f"):
        assert text(server.ask(call(1, "echo", text=said))) == said


def test_a_message_may_arrive_byte_by_byte(server: StdioServer) -> None:
    for byte in line(call(1, "echo", text="ä bit at a time")):
        server.write(bytes([byte]))
    assert text(server.receive()) == "ä bit at a time"


def test_two_messages_and_a_half_may_arrive_in_one_write(server: StdioServer) -> None:
    half, rest = line(request(3, "ping"))[:20], line(request(3, "ping"))[20:]
    server.write(line(request(1, "ping")) + line(request(2, "ping")) + half)
    assert [server.receive()["id"], server.receive()["id"]] == [1, 2]
    server.write(rest)
    assert server.receive()["id"] == 3


def test_garbage_between_two_messages_disturbs_neither(server: StdioServer) -> None:
    server.write(line(request(1, "ping")) + b"garbage\n" + line(request(2, "ping")))
    replies = [server.receive() for _ in range(3)]
    assert [reply["id"] for reply in replies] == [1, None, 2]


def test_blank_lines_and_carriage_returns_are_passed_over(server: StdioServer) -> None:
    server.write(b"\n\r\n  \n\t\n" + line(request(1, "ping")).replace(b"\n", b"\r\n") + b"\n\n")
    assert server.receive() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_line_over_the_limit_is_refused_and_the_next_one_is_answered(server: StdioServer) -> None:
    for _ in range(MAX_LINE // 2**20 + 1):
        server.write(b"x" * 2**20)
    server.write(b"\n" + line(request(2, "ping")))
    assert str(MAX_LINE) in refused(server.receive(), -32600)
    assert server.receive()["id"] == 2


def test_a_line_of_twenty_megabytes_is_answered(server: StdioServer) -> None:
    said = "x" * 20_000_000
    assert text(server.ask(call(1, "echo", text=said))) == said


def test_an_unknown_method_is_not_found_in_either_era(server: StdioServer) -> None:
    for method in ("tools/destroy", "", "x" * 100_000, "initialize/", "tasks/list"):
        refused(server.ask(request(1, method)), -32601, 1)
        refused(server.ask(modern(request(2, method))), -32601, 2)
    refused(server.ask(modern(request(3, "ping"))), -32601, 3)
    refused(server.ask(modern(request(4, "initialize"))), -32601, 4)
    refused(server.ask(request(5, "subscriptions/listen", {"notifications": {}})), -32601, 5)


def test_an_unknown_tool_is_an_error_of_the_request(server: StdioServer) -> None:
    for name in ("nobody", "", "x" * 100_000, None, 5, ["echo"], {"echo": 1}):
        wanted = request(1, "tools/call", {"name": name, "arguments": {}})
        refused(server.ask(wanted), -32602, 1)
        refused(server.ask(modern(wanted)), -32602, 1)


def test_arguments_that_are_no_object_are_an_error_of_the_request(server: StdioServer) -> None:
    for arguments in ("text", 5, [1], [{"text": "a"}]):
        wanted = request(1, "tools/call", {"name": "echo", "arguments": arguments})
        assert "arguments" in refused(server.ask(wanted), -32602, 1)


def test_invalid_arguments_are_a_short_text_for_the_model_that_names_them(
    server: StdioServer,
) -> None:
    for arguments, named in (
        ({}, "a"),
        ({"a": 1}, "b"),
        ({"a": 1, "b": "2"}, "b"),
        ({"a": 1.5, "b": 2}, "a"),
        ({"a": True, "b": 2}, "a"),
        ({"a": None, "b": 2}, "a"),
        ({"a": 1, "b": 2, "colour": 3}, "colour"),
    ):
        reply = server.ask(call(1, "add", **arguments))
        assert reply["result"]["isError"] is True
        said = text(reply)
        assert said.startswith(f"Invalid arguments for add: {named}: ")
        assert len(said) < 200
        assert "\n" not in said


def test_wrong_meta_is_an_error_of_the_request(server: StdioServer) -> None:
    missing, wrong = {VERSION_KEY: MODERN}, {VERSION_KEY: 5, CAPABILITIES_KEY: {}}
    listed = {VERSION_KEY: MODERN, CAPABILITIES_KEY: []}
    for meta in ("text", 5, [1], {VERSION_KEY: None}, missing, wrong, listed):
        refused(server.ask(request(1, "tools/list", {"_meta": meta})), -32602, 1)
    old = {VERSION_KEY: "1999-01-01", CAPABILITIES_KEY: {}}
    reply = server.ask(request(1, "tools/list", {"_meta": old}))
    refused(reply, -32022, 1)
    assert reply["error"]["data"] == {"supported": [MODERN], "requested": "1999-01-01"}


def test_extensions_that_are_no_object_are_an_error_of_the_request(server: StdioServer) -> None:
    for extensions in (5, True, "text", ["io.modelcontextprotocol/tasks"]):
        reply = server.ask(modern(call(1, "long-work"), {"extensions": extensions}))
        assert reply["error"]["code"] in (-32602, -32021)


def test_responses_that_nobody_waits_for_are_passed_over(server: StdioServer) -> None:
    for id in (1, "claw-unknown", 10**400):
        server.send({"jsonrpc": "2.0", "id": id, "result": {"roots": []}})
        server.send({"jsonrpc": "2.0", "id": id, "error": {"code": 1, "message": "no"}})
        server.send({"jsonrpc": "2.0", "id": id, "error": "no object"})
    assert server.ask(request(2, "ping"))["id"] == 2


def test_an_error_response_is_never_answered_with_an_error(server: StdioServer) -> None:
    """Two peers that did would go on forever; since 2025-11-25 such a response needs no id."""
    server.send({"jsonrpc": "2.0", "error": {"code": -32700, "message": "Parse error"}})
    server.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
    server.send(request(1, "ping"))
    assert server.receive()["id"] == 1


def test_notifications_that_nobody_knows_are_passed_over(server: StdioServer) -> None:
    for method in ("notifications/unknown", "", "tools/call", "initialize", "x" * 100_000):
        server.send(notification(method))
        server.send(notification(method, {"name": "wait", "arguments": {"seconds": 0}}))
    server.send(notification("notifications/cancelled"))
    server.send(notification("notifications/cancelled", {"requestId": None}))
    server.send(notification("notifications/cancelled", {"requestId": {"a": [1]}}))
    server.send(notification("notifications/progress", {"progressToken": 5, "progress": "far"}))
    assert server.ask(request(1, "ping"))["id"] == 1
    assert history(server) == []


@pytest.mark.parametrize("second", [call(1, "echo", text="b"), request(1, "ping")])
def test_an_id_in_flight_cannot_be_used_again(server: StdioServer, second: Message) -> None:
    server.write(line(call(1, "wait", seconds=1)) + line(second))  # one piece, read at once
    replies = [server.receive(), server.receive()]
    assert "1" in refused(replies[0], -32600, 1)
    assert text(replies[1]) == "wait"
    assert text(server.ask(call(1, "echo", text="used again"))) == "used again"


def test_an_id_in_flight_as_a_number_is_another_as_a_string(server: StdioServer) -> None:
    server.write(line(call(1, "wait", seconds=0.5)) + line(call("1", "echo", text="b")))
    replies = {reply["id"]: text(reply) for reply in (server.receive(), server.receive())}
    assert replies == {1: "wait", "1": "b"}


def test_nothing_that_a_tool_prints_reaches_the_client(server: StdioServer) -> None:
    for how in ("print", "stdout", "descriptor", "child"):
        assert text(server.ask(call(1, "say", how=how))) == how
    until(lambda: "printed by a child" in server.stderr)
    assert "printed by a tool" in server.stderr
    assert "written to descriptor 1" in server.stderr


def test_neither_a_tool_nor_its_child_can_read_what_the_client_writes(server: StdioServer) -> None:
    for who, heard in (("tool", ""), ("child", "0")):
        server.send(call(1, "hear", who=who))
        server.send(call(2, "echo", text="not yours"))
        replies = {reply["id"]: text(reply) for reply in (server.receive(), server.receive())}
        assert replies == {1: heard, 2: "not yours"}


def test_what_a_tool_reports_is_a_notification_or_nothing(server: StdioServer) -> None:
    """What cannot be written as JSON is the tool's problem, and no error without an id."""
    server.send(call(1, "report-nonsense", {"progressToken": 1}))
    while (message := server.receive()).get("id") != 1:
        assert {*message} == {"jsonrpc", "method", "params"}
    assert text(message) == "reported"


@pytest.mark.parametrize("tool", ["leave", "leave-at-once", "give-up"])
def test_a_tool_that_ends_itself_is_answered_and_does_not_end_the_server(
    server: StdioServer, tool: str
) -> None:
    server.send(call(1, "wait", seconds=0.5))
    server.send(call(2, tool))
    replies = {reply["id"]: reply for reply in (server.receive(), server.receive())}
    reply = replies[2]
    assert reply["result"]["isError"] if "result" in reply else refused(reply, -32603, 2)
    assert text(replies[1]) == "wait"
