"""Calls beside each other: none waits for another below the limits, limits hold, and cancelling
really cancels. The order of the replies shows it; no clock does.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.processes import StdioServer, serving, stdio_server
from tests.wire.samples.messages import (
    SAMPLES,
    call,
    cancel,
    headers,
    history,
    line,
    modern,
    request,
    text,
    until,
)
from tests.wire.samples.peers import Peer

LONG = 600


@pytest.fixture
def server() -> Iterator[StdioServer]:
    with stdio_server(*serving(SAMPLES / "workshop.py")) as child:
        yield child


@pytest.fixture
def peer(address: str) -> Iterator[Peer]:
    with Peer(address) as found:
        yield found


@pytest.fixture
def narrow() -> Iterator[StdioServer]:
    """Two calls run, one waits, the next is refused."""
    with stdio_server(*serving(f"{SAMPLES / 'limited.py'}:narrow")) as child:
        yield child


@pytest.mark.parametrize("slow", ["wait", "work"])
def test_a_slow_call_delays_nothing(server: StdioServer, slow: str) -> None:
    server.send(call("slow", slow, seconds=LONG))
    server.send(call(1, "echo", text="async"))
    server.send(call(2, "work", seconds=0.01))
    server.send(call(3, "wait", seconds=0.01))
    server.send(request(4, "ping"))
    server.send(modern(request(5, "tools/list")))
    server.send(request(6, "resources/read", {"uri": "note://one"}))
    assert {server.receive()["id"] for _ in range(6)} == {1, 2, 3, 4, 5, 6}


def test_replies_come_in_the_order_in_which_the_calls_end(server: StdioServer) -> None:
    last, middle = call("last", "wait", seconds=4), call("middle", "work", seconds=1)
    server.write(line(last) + line(middle) + line(call("first", "wait", seconds=0)))
    assert [server.receive()["id"] for _ in range(3)] == ["first", "middle", "last"]


def test_two_thousand_slow_calls_run_at_once_and_are_all_answered(server: StdioServer) -> None:
    count = 2000
    server.write(b"".join(line(call(id, "meet", count=count)) for id in range(count - 1)))
    assert server.ask(request("ping", "ping"))["id"] == "ping"
    server.send(call(count - 1, "meet", count=count))
    replies = [server.receive() for _ in range(count)]
    assert {reply["id"] for reply in replies} == set(range(count))
    assert {text(reply) for reply in replies} == {"met"}


def test_sync_tools_run_in_threads_beside_each_other(server: StdioServer) -> None:
    for id in range(20):
        server.send(call(id, "meet-in-threads"))
    replies = [server.receive() for _ in range(20)]
    assert {text(reply) for reply in replies} == {"met"}


def test_a_tool_that_runs_one_at_a_time_runs_in_the_order_of_its_calls(server: StdioServer) -> None:
    for id in range(10):
        server.send(call(id, "serial", note=str(id)))
    assert [server.receive()["id"] for _ in range(10)] == list(range(10))
    expected = [f"{id} {what}" for id in range(10) for what in ("began", "ended")]
    assert history(server) == expected


def test_a_tool_that_runs_one_at_a_time_delays_no_other_tool(server: StdioServer) -> None:
    for id in range(100):
        server.send(call(id, "serial", note=str(id), seconds=LONG))
    assert text(server.ask(call("other", "echo", text="free"))) == "free"


def test_calls_over_the_limits_of_a_server_are_refused_with_a_clear_error(
    narrow: StdioServer,
) -> None:
    for id in ("one", "two", "waits"):
        narrow.send(call(id, "hold", seconds=LONG if id != "waits" else 0))
    refused = narrow.ask(call("refused", "hold", seconds=0))
    assert refused["error"]["code"] == -32603
    assert "busy" in refused["error"]["message"]
    assert narrow.ask(request("ping", "ping"))["result"] == {}
    narrow.send(cancel("one"))
    assert text(narrow.receive()) == "held"
    assert text(narrow.ask(call("again", "hold", seconds=0))) == "held"


def test_a_call_that_waits_for_its_tool_takes_no_place_of_the_server(narrow: StdioServer) -> None:
    narrow.send(call("runs", "hold-alone", seconds=LONG))
    narrow.send(call("waits", "hold-alone", seconds=LONG))
    assert text(narrow.ask(call("other", "hold", seconds=0))) == "held"


def test_a_cancelled_call_gives_its_place_back_wherever_it_stood(narrow: StdioServer) -> None:
    for round in range(5):
        for id in range(3):
            narrow.send(call(f"{round}-{id}", "hold", seconds=LONG))
        for id in (2, 0, 1):
            narrow.send(cancel(f"{round}-{id}"))
    assert text(narrow.ask(call("free", "hold", seconds=0))) == "held"
    narrow.send(call("beside", "hold", seconds=LONG))
    assert text(narrow.ask(call("free again", "hold", seconds=0))) == "held"


@pytest.mark.parametrize("tool", ["hurried", "hurried-thread"])
def test_a_tool_that_takes_longer_than_it_may_is_an_error_the_model_reads(
    server: StdioServer, tool: str
) -> None:
    reply = server.ask(call(1, tool))
    assert reply["result"]["isError"] is True
    assert text(reply) == f"{tool} took longer than 0.2 s"


def test_a_sync_tool_that_took_too_long_sees_that_nobody_waits(server: StdioServer) -> None:
    assert server.ask(call(1, "hurried-thread"))["result"]["isError"] is True
    until(lambda: "hurried thread cancelled" in history(server))


def test_the_timeout_of_a_tool_comes_before_the_timeout_of_its_server() -> None:
    with stdio_server(*serving(f"{SAMPLES / 'limited.py'}:hurried")) as server:
        reply = server.ask(call(1, "hold", seconds=LONG))
        assert reply["result"]["isError"] is True
        assert text(reply) == "hold took longer than 0.2 s"
        assert text(server.ask(call(2, "hold-longer", seconds=0.5))) == "held"


@pytest.mark.parametrize("tool", ["wait", "work"])
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_cancelled_call_ends_and_is_not_answered(
    server: StdioServer, tool: str, era: str
) -> None:
    wanted = call("unwanted", tool, seconds=LONG, note="it")
    server.send(modern(wanted) if era == "modern" else wanted)
    until(lambda: history(server) == ["it began"])
    server.send(cancel("unwanted"))
    until(lambda: history(server) == ["it began", "it cancelled"])
    assert server.silent(0.3)


def test_a_call_cancelled_before_it_starts_never_starts(server: StdioServer) -> None:
    for tool in ("wait", "work"):
        server.write(line(call(1, tool, seconds=LONG, note="it")) + line(cancel(1)))
    assert history(server) == []
    assert server.silent(0.3)


def test_a_call_cancelled_while_it_waits_for_its_turn_never_starts(server: StdioServer) -> None:
    calls = [call(1, "serial", note="first", seconds=1)]
    calls += [call(2, "serial", note="second"), call(3, "serial", note="third")]
    server.write(b"".join(map(line, (*calls, cancel(2)))))  # one piece, read at once
    assert [server.receive()["id"], server.receive()["id"]] == [1, 3]
    assert history(server) == ["first began", "first ended", "third began", "third ended"]


def test_one_of_many_calls_can_be_cancelled(server: StdioServer) -> None:
    calls = [call(id, "wait", seconds=1, note=str(id)) for id in range(10)]
    server.write(b"".join(map(line, (*calls, cancel(4)))))  # one piece, read at once
    assert {server.receive()["id"] for _ in range(9)} == {*range(10)} - {4}
    assert [note for note in history(server) if "cancelled" in note] in ([], ["4 cancelled"])


def test_cancelling_what_is_not_in_flight_does_nothing(server: StdioServer) -> None:
    server.send(call(1, "wait", seconds=0.5))
    for id in (2, "1", "unknown", None, 1.0, True, {"id": 1}, [1], 10**400):
        server.send(cancel(id))
    assert text(server.receive()) == "wait"
    server.send(cancel(1))
    server.send(cancel(1))
    assert text(server.ask(call(1, "echo", text="used again"))) == "used again"


def test_a_request_that_was_cancelled_leaves_its_id_free(server: StdioServer) -> None:
    server.send(call(1, "wait", seconds=LONG))
    server.send(cancel(1))
    server.send(cancel(1))
    until(lambda: "wait cancelled" in history(server) or history(server) == [])
    assert text(server.ask(call(1, "echo", text="used again"))) == "used again"


def test_a_listener_can_be_cancelled(server: StdioServer) -> None:
    wanted = {"notifications": {"toolsListChanged": True}}
    server.send(modern(request("listening", "subscriptions/listen", wanted)))
    assert server.receive()["method"] == "notifications/subscriptions/acknowledged"
    server.send(cancel("listening"))
    assert text(server.ask(call(1, "echo", text="quiet"))) == "quiet"
    assert server.silent(0.3)


@pytest.mark.parametrize("tool", ["wait", "work"])
@pytest.mark.parametrize("accept", ["application/json", "application/json, text/event-stream"])
def test_a_client_that_leaves_cancels_its_call(peer: Peer, tool: str, accept: str) -> None:
    note = f"{tool} {accept}"
    legacy = call(1, tool, {"progressToken": 1}, seconds=600, note=note)
    latest = modern(legacy)
    for number, (message, said) in enumerate(((legacy, {}), (latest, headers(latest))), 1):
        wanted = peer.http.build_request(
            "POST", "/mcp", json=message, headers=said | {"Accept": accept}
        )
        head = "".join(f"{name}: {value}\r\n" for name, value in wanted.headers.items())
        with peer.connect() as hasty:
            hasty.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + wanted.content)
            until(lambda count=number: peer.history().count(f"{note} began") == count)
    until(lambda: peer.history().count(f"{note} cancelled") == 2)


def test_a_slow_call_over_http_delays_nothing(peer: Peer) -> None:
    with ThreadPoolExecutor() as pool:
        slow = [pool.submit(peer.post, call(1, tool, seconds=6)) for tool in ("wait", "work")]
        for tool in ("wait", "work"):
            assert text(peer.post(call(1, tool, seconds=0)).json()) == tool
        assert not any(reply.done() for reply in slow)
        assert [text(reply.result().json()) for reply in slow] == ["wait", "work"]
