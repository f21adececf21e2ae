"""Clients that send too slowly, too much or from too many connections keep nobody else waiting:
at every HTTP door, each a real process.
"""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx2
import pytest

from clawkit.errors import SettingsError
from clawkit.wire.http.uvicorn_server import HttpLimits
from tests.processes import PATIENCE, ROOT
from tests.wire.samples.messages import SAMPLES

FILES = 1024
HALF = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-half: "
DOORS = {
    "serve": ("serve", str(SAMPLES / "workshop.py"), "--http", "0"),
    "being": ("being", "serve", "--port", "0"),
    "guard": ("proxy", "--url", "http://127.0.0.1:9/mcp", "--listen", "0"),
}


class Door:
    """A process that serves HTTP, and all that it wrote to stderr."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        self._stderr = process.stderr
        self._first = threading.Event()
        self.log = b""
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        for line in self._stderr:
            self.log += line
            if b"http://127.0.0.1" in line:
                self._first.set()
        self._stderr.close()
        self._first.set()

    @property
    def address(self) -> tuple[str, int]:
        assert self._first.wait(PATIENCE), self.log
        port = self.log.rpartition(b"/mcp")[0].rpartition(b"http://127.0.0.1:")[2]
        return "127.0.0.1", int(port.split(b"/")[0])

    def join(self) -> None:
        self._reading.join(PATIENCE)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, PATIENCE)

    def status(self) -> int:
        """What somebody else gets who asks for something meanwhile."""
        host, port = self.address
        return httpx2.get(f"http://{host}:{port}/nothing", timeout=PATIENCE).status_code


@contextmanager
def running(*command: str) -> Iterator[Door]:
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT)
    door = Door(process)
    try:
        yield door
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
            door.join()


@contextmanager
def clawkit_at(home: Path, *arguments: str) -> Iterator[Door]:
    """`claw …` in a process that may open no more than `FILES` files."""
    home.mkdir(exist_ok=True)
    limited = f'ulimit -n {FILES}; export CLAW_HOME="$0"; exec "$@"'
    command = ("sh", "-c", limited, str(home), sys.executable, "-m", "clawkit", *arguments)
    with running(*command) as door:
        yield door


@contextmanager
def limited_door(**limits: float) -> Iterator[Door]:
    """The workshop, served with limits that a test can reach."""
    given = ", ".join(f"{name}={value}" for name, value in limits.items())
    script = (
        "import sys; from clawkit import HttpLimits\n"
        "from clawkit.tools.loader import load_server\n"
        f"load_server({str(SAMPLES / 'workshop.py')!r}).serve_http(\n"
        "    on_ready=lambda url: print(url, file=sys.stderr, flush=True),\n"
        f"    limits=HttpLimits({given}))"
    )
    with running(sys.executable, "-c", script) as door:
        yield door


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """The test itself holds a thousand connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("name", DOORS)
def test_half_sent_requests_of_more_connections_than_files_stop_no_door(
    name: str, tmp_path: Path
) -> None:
    with clawkit_at(tmp_path / "home", *DOORS[name]) as door, ExitStack() as held:
        for _ in range(FILES + 76):
            raw = held.enter_context(door.connect())
            raw.sendall(HALF)
        assert [door.status() for _ in range(3)] == [404] * 3
    assert len(door.log) < 10_000, door.log


@pytest.mark.parametrize("name", DOORS)
def test_one_endless_header_is_refused(name: str, tmp_path: Path) -> None:
    with clawkit_at(tmp_path / "home", *DOORS[name]) as door, door.connect() as raw:
        # The connection may be closed, and its last words lost, before all of it is sent.
        with pytest.raises(OSError, match=r"[Rr]eset|[Bb]roken"):
            raw.sendall(HALF + b"a" * 120_000_000)
        assert door.status() == 404


def test_a_head_over_the_limit_is_told_so_and_one_below_it_is_read() -> None:
    with limited_door(head=10_000) as door:
        with door.connect() as raw:
            raw.sendall(HALF + b"a" * 10_000 + b"\r\n\r\n")
            answer = received(raw)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b"at most 10000 bytes" in answer
        with door.connect() as raw:
            raw.sendall(HALF + b"a" * 9_000 + b"\r\n\r\n")
            assert raw.recv(12) == b"HTTP/1.1 415"


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n",
        HALF,
        b"GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n\r\n",
    ],
    ids=["nothing", "empty lines", "half a head", "a request, and an empty line"],
)
def test_a_head_that_does_not_come_is_not_waited_for(sent: bytes) -> None:
    with limited_door(head_seconds=0.3) as door, door.connect() as raw:
        raw.sendall(sent)
        while raw.recv(65536):
            pass


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    with limited_door(body_seconds=0.3) as door, door.connect() as raw:
        raw.sendall(_post(b"content-length: 100") + b'{"json')
        answer = received(raw)
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b"took longer than 0.3 s" in answer


def test_an_endless_trailer_is_not_collected() -> None:
    with limited_door() as door, door.connect() as raw:
        raw.sendall(_post(b"transfer-encoding: chunked") + b"1\r\n \r\n0\r\nx-trailer: ")
        with pytest.raises(OSError, match=r"[Rr]eset|[Bb]roken"):
            raw.sendall(b"a" * 50_000_000)


def test_a_body_in_tiny_chunks_is_no_head() -> None:
    message = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"x":"%s"}}}'
    body = message % (b"x" * 30_000)
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    with limited_door() as door, door.connect() as raw:
        raw.sendall(_post(b"transfer-encoding: chunked") + chunks)
        assert raw.recv(12) == b"HTTP/1.1 200"


def test_streams_are_not_closed_for_newcomers_which_get_503() -> None:
    stream = b"GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n"
    with limited_door(connections=5) as door, ExitStack() as held:
        streams = [held.enter_context(door.connect()) for _ in range(5)]
        for raw in streams:
            raw.sendall(stream)
            assert raw.recv(12) == b"HTTP/1.1 200"
        assert door.status() == 503
        for raw in streams:
            raw.setblocking(False)
            with suppress(BlockingIOError):
                assert raw.recv(65536) != b""
        streams[0].close()
        while door.status() == 503:
            pass


def test_limits_that_make_no_sense_are_refused() -> None:
    for wrong in ({"connections": 0}, {"head": 0}, {"head_seconds": 0}, {"body_seconds": 0}):
        with pytest.raises(SettingsError):
            HttpLimits(**wrong)


def _post(header: bytes) -> bytes:
    fixed = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    return fixed + header + b"\r\n\r\n"


def received(raw: socket.socket) -> bytes:
    """All that comes until the connection is closed."""
    found = b""
    with suppress(ConnectionResetError):
        while part := raw.recv(65536):
            found += part
    return found
