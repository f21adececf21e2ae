"""The end of a stdio server: what is in flight gets a grace, the rest is cancelled, and then the
process is gone with everything it started.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.processes import PATIENCE, StdioServer, serving, stdio_server
from tests.wire.samples.messages import SAMPLES, Message, call, line, modern, request, text, until

PATIENT = """
from clawkit.cli import main
from clawkit.wire import stdio_async
stdio_async.GRACE_SECONDS = 600.0
main()
"""


def serving_patiently(file: Path) -> tuple[str, ...]:
    """A server with a grace of ten minutes: if it ends, it did not wait for the end of that."""
    return (sys.executable, "-c", PATIENT, "serve", str(file))


@pytest.fixture
def patient() -> Iterator[StdioServer]:
    with stdio_server(*serving_patiently(SAMPLES / "stubborn.py")) as child:
        yield child


@pytest.fixture
def server() -> Iterator[StdioServer]:
    with stdio_server(*serving(SAMPLES / "stubborn.py")) as child:
        yield child


def gone(server: StdioServer) -> None:
    """Close the input and see the process end."""
    server.close_input()
    assert server.process.wait(PATIENCE) == 0


def left(server: StdioServer) -> list[Any]:
    """Everything that the server said until it ended."""
    found: list[Any] = []
    try:
        while True:
            found.append(server.receive())
    except EOFError:
        return found


@contextmanager
def ended_at_last(pid: int) -> Iterator[psutil.Process]:
    """A process that is to be gone, and that is gone after the test in any case."""
    process = psutil.Process(pid)
    try:
        yield process
    finally:
        if process.is_running():
            process.kill()


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def test_a_server_that_was_asked_nothing_ends_at_once(patient: StdioServer) -> None:
    gone(patient)
    assert left(patient) == []


def test_a_server_that_has_answered_everything_ends_at_once(patient: StdioServer) -> None:
    assert text(patient.ask(call(1, "wait", seconds=0))) == "waited"
    gone(patient)
    assert left(patient) == []
    assert patient.stderr == ""


def test_a_last_line_without_a_newline_is_answered(patient: StdioServer) -> None:
    patient.write(line(request(1, "ping")).strip())
    gone(patient)
    assert [reply["id"] for reply in left(patient)] == [1]


def test_a_last_call_without_a_newline_is_answered(patient: StdioServer) -> None:
    patient.write(line(request(1, "ping")) + line(call(2, "wait", seconds=0.2)).strip())
    gone(patient)
    assert [reply["id"] for reply in left(patient)] == [1, 2]


def test_half_a_message_at_the_end_is_a_parse_error(patient: StdioServer) -> None:
    patient.write(line(call(1, "wait", seconds=0)) + line(request(2, "ping"))[:20])
    gone(patient)
    codes = {reply["id"]: reply.get("error", {}).get("code") for reply in left(patient)}
    assert codes == {1: None, None: -32700}


def test_calls_that_end_within_the_grace_are_answered(patient: StdioServer) -> None:
    for id in range(200):
        patient.send(call(id, "wait", seconds=1 + id % 3))
    patient.send(call("thread", "block", seconds=2))
    gone(patient)
    replies = left(patient)
    assert {reply["id"] for reply in replies} == {*range(200), "thread"}
    assert len(replies) == 201


def test_calls_that_take_longer_are_given_up(server: StdioServer) -> None:
    server.send(call("stuck", "wait", seconds=2 * PATIENCE))
    server.send(call("stuck in a thread", "block", seconds=2 * PATIENCE))
    assert server.ask(call("quick", "block", seconds=0.2))["id"] == "quick"
    gone(server)
    assert left(server) == []


def test_a_tool_that_swallows_its_cancellation_is_left_behind(server: StdioServer) -> None:
    server.send(call(1, "swallow"))
    assert server.receive()["params"]["data"] == "swallowing"
    gone(server)


def test_a_tool_that_blocks_the_event_loop_does_not_hold_the_process(server: StdioServer) -> None:
    server.send(call(1, "block-everything"))
    assert server.receive()["params"]["data"] == "blocking"
    gone(server)


def test_ctrl_c_ends_the_server_even_in_the_middle_of_a_tool(server: StdioServer) -> None:
    server.send(call(1, "block-everything"))
    assert server.receive()["params"]["data"] == "blocking"
    time.sleep(0.3)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(PATIENCE) == 130


def test_a_thread_that_a_tool_left_does_not_hold_the_process(patient: StdioServer) -> None:
    assert text(patient.ask(call(1, "leave-thread"))) == "left"
    gone(patient)


@pytest.mark.parametrize("how", ["willing", "stubborn"])
@pytest.mark.parametrize("in_shell", [False, True])
def test_what_a_tool_started_is_gone_too(patient: StdioServer, how: str, in_shell: bool) -> None:
    pid = int(text(patient.ask(call(1, "leave-child", how=how, in_shell=in_shell))))
    with ended_at_last(pid) as child:
        gone(patient)
        until(lambda: is_gone(child))


def test_what_the_file_started_before_any_call_is_gone_too(tmp_path: Path) -> None:
    noted = tmp_path / "child"
    env = {"RESTLESS_CHILD": str(noted)}
    with stdio_server(*serving_patiently(SAMPLES / "restless.py"), env=env) as server:
        server.call("ping")
        with ended_at_last(int(noted.read_text())) as child:
            gone(server)
            until(lambda: is_gone(child))


def listen(id: str) -> Message:
    wanted = {"notifications": {"toolsListChanged": True}}
    return modern(request(id, "subscriptions/listen", wanted))


def test_an_open_subscription_gets_its_result_at_once(patient: StdioServer) -> None:
    patient.send(listen("listening"))
    assert patient.receive()["method"] == "notifications/subscriptions/acknowledged"
    gone(patient)
    (result,) = left(patient)
    assert result["id"] == "listening"
    assert result["result"]["resultType"] == "complete"


def test_a_subscription_that_is_the_last_line_gets_its_result_at_once(patient: StdioServer) -> None:
    patient.write(line(listen("listening")).strip())
    gone(patient)
    assert left(patient)[-1]["id"] == "listening"


def test_a_subscription_does_not_outlast_the_calls_beside_it(patient: StdioServer) -> None:
    patient.send(listen("listening"))
    patient.send(call(1, "wait", seconds=1))
    gone(patient)
    assert [message.get("id") for message in left(patient)] == [None, "listening", 1]


class Unread:
    """A server whose answers nobody reads, until somebody does."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.rss = 0

    def flood(self, data: bytes) -> None:
        """Write until the server takes no more, and note how large it became."""
        os.set_blocking(self.stdin.fileno(), False)
        rest, patience = memoryview(data), time.monotonic() + 1
        while time.monotonic() < patience:
            try:
                written = os.write(self.stdin.fileno(), rest) if rest else 0
            except BlockingIOError:
                written = 0
            rest = rest[written:]
            if written:
                patience = time.monotonic() + 1
            self.rss = max(self.rss, psutil.Process(self.process.pid).memory_info().rss)
            time.sleep(0.01)
        os.set_blocking(self.stdin.fileno(), True)

    def write(self, *messages: Message) -> None:
        self.stdin.write(b"".join(map(line, messages)))
        self.stdin.flush()

    def flood_later(self, data: bytes) -> None:
        def write() -> None:
            self.stdin.write(data)
            self.stdin.close()

        threading.Thread(target=write, daemon=True).start()


@contextmanager
def unread_server(command: tuple[str, ...]) -> Iterator[Unread]:
    found = Unread(command)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait(PATIENCE)
        found.stdout.close()
        with suppress(BrokenPipeError):
            found.stdin.close()


@pytest.fixture
def unread() -> Iterator[Unread]:
    with unread_server(serving_patiently(SAMPLES / "workshop.py")) as found:
        yield found


def answers() -> bytes:
    return b"".join(line(call(id, "large", size=300_000)) for id in range(5000))


def pings() -> bytes:
    return b"".join(line(request(id, "ping")) for id in range(200_000))


def progress() -> bytes:
    return line(call(1, "report", {"progressToken": 1}, count=500_000, size=1000))


def test_a_client_that_never_reads_costs_little_memory_and_ends_it_by_closing() -> None:
    def ignore(calls: bytes) -> tuple[bool, int, int]:
        with unread_server(serving(SAMPLES / "workshop.py")) as server:
            server.flood(calls)
            alive = server.process.poll() is None
            server.stdin.close()
            return alive, server.process.wait(PATIENCE), server.rss

    with ThreadPoolExecutor() as pool:
        for alive, code, rss in pool.map(ignore, (answers(), pings(), progress())):
            assert alive
            assert code == 0
            assert rss < 250_000_000


def test_a_client_that_reads_late_gets_every_answer(unread: Unread) -> None:
    count = 1000
    calls = b"".join(line(call(id, "large", size=100_000)) for id in range(count))
    unread.flood_later(calls)
    time.sleep(1)
    found = [unread.stdout.readline() for _ in range(count)]
    assert all(len(reply) > 100_000 and reply.endswith(b"}\n") for reply in found)
    assert unread.stdout.read() == b""


def test_a_client_that_reads_after_closing_gets_every_answer_and_then_the_end(
    unread: Unread,
) -> None:
    unread.write(*(call(id, "large", size=10_000_000) for id in range(10)))
    time.sleep(0.5)
    unread.write(call("last", "large", size=1))
    unread.stdin.close()
    time.sleep(1.5)
    found = [unread.stdout.readline() for _ in range(11)]
    assert all(len(reply) > 10_000_000 and reply.endswith(b"}\n") for reply in found[:10])
    assert json.loads(found[10])["id"] == "last"
    assert unread.process.wait(PATIENCE) == 0
    assert unread.stdout.read() == b""


def test_sockets_serve_as_well_as_pipes() -> None:
    """What a client on Node gives to its children."""
    ours, theirs = socket.socketpair()
    with ours, theirs, ours.makefile("rb") as replies:
        process = subprocess.Popen(
            serving_patiently(SAMPLES / "stubborn.py"),
            stdin=theirs.fileno(),
            stdout=theirs.fileno(),
        )
        theirs.close()
        ours.sendall(line(request(1, "ping")) + line(call(2, "wait", seconds=0.5)))
        assert json.loads(replies.readline())["id"] == 1
        ours.shutdown(socket.SHUT_WR)
        assert json.loads(replies.readline())["id"] == 2
        assert process.wait(PATIENCE) == 0
        assert replies.read() == b""


def test_a_client_that_never_reads_its_socket_ends_it_by_closing() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        process = subprocess.Popen(
            serving(SAMPLES / "workshop.py"), stdin=theirs.fileno(), stdout=theirs.fileno()
        )
        theirs.close()
        ours.settimeout(1)
        try:
            with pytest.raises(TimeoutError):
                ours.sendall(answers() * 100)
            ours.shutdown(socket.SHUT_WR)
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.wait(PATIENCE)


@pytest.mark.parametrize("asked", [request(1, "ping"), call(1, "wait", seconds=0.5)])
def test_a_client_that_closed_its_end_of_stdout_ends_the_server(
    unread: Unread, asked: Message
) -> None:
    unread.stdout.close()
    unread.write(asked)
    assert unread.process.wait(PATIENCE) == 0


def test_a_client_that_is_gone_ends_a_server_that_was_writing(unread: Unread) -> None:
    unread.flood(answers())
    unread.stdout.close()
    assert unread.process.wait(PATIENCE) == 0
