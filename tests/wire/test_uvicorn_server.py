"""Where a server of ours listens, and how it ends: at once, when all is answered."""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from clawkit.errors import LoadError
from clawkit.wire.http.endpoint import http_app
from clawkit.wire.http.uvicorn_server import UvicornServer, listen, listen_also, listening
from clawkit.wire.server import ServerCore
from tests.claw import finished
from tests.ordinary_user import become_ordinary_user
from tests.processes import PATIENCE, ROOT
from tests.served import running

LOW = 23


@contextmanager
def served(
    answer: Callable[[], Awaitable[None]],
    on_stop: Callable[[], None] = lambda: None,
    **options: Any,
) -> Iterator[str]:
    """A server that says `done` to everything, after this; gives its address."""

    async def app(scope: Any, _receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        await answer()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"done"})

    listening = listen("127.0.0.1", 0)
    url = "http://{}:{}".format(*listening.getsockname())
    with running(UvicornServer(app, on_stop=on_stop, lifespan="off", **options), listening):
        yield url


def asked(url: str) -> str:
    return httpx2.get(url, timeout=PATIENCE, verify=False).text


async def at_once() -> None:
    pass


def test_it_stops_without_waiting_for_the_next_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never_looks(_: uvicorn.Server) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(uvicorn.Server, "main_loop", never_looks)
    with served(at_once) as url:
        assert asked(url) == "done"


def test_what_it_is_answering_is_answered_first() -> None:
    begun, stopping = threading.Event(), threading.Event()

    async def answer() -> None:
        begun.set()
        await asyncio.to_thread(stopping.wait, PATIENCE)

    with ThreadPoolExecutor() as pool:
        with served(answer, stopping.set) as url:
            asking = pool.submit(asked, url)
            assert begun.wait(PATIENCE)
            assert not stopping.is_set()
        assert asking.result(PATIENCE) == "done"


def test_what_takes_too_long_is_cut_off(caplog: pytest.LogCaptureFixture) -> None:
    begun = threading.Event()

    async def answer() -> None:
        begun.set()
        await asyncio.Event().wait()

    with caplog.at_level(logging.ERROR), ThreadPoolExecutor() as pool:
        with served(answer, timeout_graceful_shutdown=0, log_level="critical") as url:
            asking = pool.submit(asked, url)
            assert begun.wait(PATIENCE)
        assert asking.result(PATIENCE) != "done"
    assert "cut off, because they take too long: 1" in caplog.text


async def test_a_stream_that_waits_for_notices_ends_with_the_server() -> None:
    server = ServerCore("quiet", "1.0")
    began, sent = asyncio.Event(), list[dict[str, Any]]()

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(event: Any) -> None:
        sent.append(event)
        began.set()

    scope = {
        "type": "http",
        "method": "GET",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"accept", b"text/event-stream")],
    }
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(http_app(server)(scope, receive, send))
        await began.wait()
        server.hub.close()
    assert (sent[0]["status"], sent[-1]["body"]) == (200, b"")
    assert "more_body" not in sent[-1]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_a_server_on_one_loopback_address_has_the_other_one_too(host: str) -> None:
    with listening(host, 0) as sockets:
        places = [one.getsockname()[:2] for one in sockets]
        port = places[0][1]
        assert set(places) == {("127.0.0.1", port), ("::1", port)}
        assert (":" in host) == (places[0][0] == "::1")
        with pytest.raises(LoadError, match="choose another port"):
            listen("::1", port)


@pytest.mark.parametrize(("ours", "others"), [("127.0.0.1", "::1"), ("::1", "127.0.0.1")])
def test_a_port_that_another_program_has_at_the_other_address_is_refused(
    ours: str, others: str
) -> None:
    with listen(others, 0) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(LoadError, match=r"sent to localhost .* choose another port"),
            listening(ours, port),
        ):
            pass
        listen(ours, port).close()  # nothing is left of the attempt


def test_an_address_that_the_machine_does_not_have_is_done_without() -> None:
    assert listen_also("2001:db8::1", 0) is None


def test_another_address_is_taken_alone() -> None:
    with listening("127.0.0.2", 0) as sockets:
        assert [one.getsockname()[0] for one in sockets] == ["127.0.0.2"]
        assert all(one.family == socket.AF_INET for one in sockets)


def listen_where_only_root_may(port: int) -> None:
    """Say how an ordinary user is refused."""
    become_ordinary_user()
    try:
        listen("127.0.0.1", port).close()
    except LoadError as error:
        sys.stdout.write(str(error))


def test_a_port_that_only_root_may_have_is_told_with_those_that_all_may() -> None:
    # Some containers let everybody have every port: then there is nothing to refuse.
    first = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")
    refused = not first.exists() or int(first.read_text()) > LOW
    code = f"from {__name__} import *; listen_where_only_root_may({LOW})"
    done = finished(sys.executable, "-c", code, cwd=ROOT, code=0)
    advice = f"cannot listen on 127.0.0.1:{LOW}: Permission denied: choose a port from 1024 on"
    assert done.stdout == (advice if refused else "")
