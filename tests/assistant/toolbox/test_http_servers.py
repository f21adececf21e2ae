"""Other servers behind an address: Streamable HTTP, SSE, and what goes wrong with them."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clawkit.assistant.config import McpServer
from tests.assistant.toolbox.boxes import EVERYTHING, call, children, names, said, toolbox
from tests.nodejs import node_program
from tests.processes import PATIENCE, ROOT, http_server, serving
from tests.together.doors import EVERYTHING as OUR_EVERYTHING

GUARDED = ROOT / "tests" / "wire" / "samples" / "guarded.py"
PATHS = {"streamableHttp": "/mcp", "sse": "/sse"}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@contextmanager
def everything(kind: str, port: int | None = None) -> Iterator[str]:
    """The well-known server over HTTP; gives its address."""
    port = port or free_port()
    process = subprocess.Popen(
        (node_program(), EVERYTHING, kind),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PORT": str(port)},
    )
    try:
        wait_for(port)
        yield f"http://127.0.0.1:{port}{PATHS[kind]}"
    finally:
        process.kill()
        process.wait(PATIENCE)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        else:
            return


@contextmanager
def guarded() -> Iterator[str]:
    """A server that wants to know who calls."""
    command = (sys.executable, str(GUARDED))
    process = subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT, text=True)
    assert process.stderr is not None
    try:
        yield process.stderr.readline().split(" is at ")[1].strip()
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stderr.close()


@pytest.mark.parametrize(
    ("kind", "transport"),
    [("streamableHttp", "http"), ("streamableHttp", ""), ("sse", "sse"), ("sse", "")],
)
async def test_a_well_known_server_behind_an_address(
    tmp_path: Path, kind: str, transport: str
) -> None:
    heard: list[str] = []
    with everything(kind) as address:
        server = McpServer(url=address, transport=transport)  # pyright: ignore[reportArgumentType] - one of three words
        async with toolbox(tmp_path, every=server) as box:
            assert "mcp__every__get-sum" in await names(box), box.problems
            assert "42" in said(await call(box, "mcp__every__get-sum", a=2, b=40))
            slow = "mcp__every__trigger-long-running-operation"
            await call(box, slow, heard.append, duration=0.1, steps=2)
            assert heard == ["1 of 2", "2 of 2"]


async def test_a_server_that_only_speaks_sse_is_found_without_being_told(tmp_path: Path) -> None:
    """The address does not say what it is, and Streamable HTTP is refused there."""
    with everything("sse") as address:
        odd = McpServer(url=f"{address}/")
        async with toolbox(tmp_path, every=odd) as box:
            assert "mcp__every__echo" in await names(box), box.problems


async def test_our_own_server_over_http(tmp_path: Path) -> None:
    with http_server(OUR_EVERYTHING) as address:
        async with toolbox(tmp_path, ours=McpServer(url=address)) as box:
            await box.specs()
            assert said(await call(box, "mcp__ours__greet", name="Ada")) == "Hello, Ada!"
            many = [call(box, "mcp__ours__double", number=n) for n in range(20)]
            found = [said(result) for result in await asyncio.gather(*many)]
            assert found == [str(2 * n) for n in range(20)]


BIG = """
from clawkit import claw_tool
from clawkit.tools.results import Media

@claw_tool
def picture(size: int) -> Media:
    return Media(bytes(size), "image/png")
"""


@pytest.mark.parametrize("over", ["stdio", "http"])
async def test_a_result_may_be_large(tmp_path: Path, over: str) -> None:
    file = tmp_path / "big.py"
    file.write_text(BIG)
    with http_server(file) as address:
        command, *arguments = serving(file)
        stdio = McpServer(command=command, args=tuple(arguments))
        server = stdio if over == "stdio" else McpServer(url=address)
        async with toolbox(tmp_path, big=server) as box:
            await box.specs()
            result = await call(box, "mcp__big__picture", size=8_000_000)
            assert [len(media.data) for media in result.media] == [8_000_000], said(result)


async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(tmp_path: Path) -> None:
    asleep = asyncio.Event()
    with http_server(OUR_EVERYTHING, "--sessions") as address:
        async with toolbox(tmp_path, ours=McpServer(url=address)) as box:
            await box.specs()
            sleeping = asyncio.create_task(
                call(box, "mcp__ours__sleep-softly", lambda _: asleep.set(), name="it")
            )
            await asyncio.wait_for(asleep.wait(), PATIENCE)
            sleeping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sleeping
            done = await call(box, "mcp__ours__was-cancelled", name="it")
            assert said(done) == "it was cancelled"


async def test_a_key_is_sent_where_the_config_says(tmp_path: Path) -> None:
    with guarded() as address:
        headers = {"Authorization": "Bearer ${WHO}"}
        keys = {"WHO": "alice"}
        async with toolbox(tmp_path, keys, g=McpServer(url=address, headers=headers)) as box:
            assert await names(box) == ["mcp__g__long-work", "mcp__g__who"], box.problems
            assert said(await call(box, "mcp__g__who")) == "alice may call look"


async def test_no_key_is_sent_unencrypted_over_the_internet(tmp_path: Path) -> None:
    keys, url = {"KEY": "a-key-of-many-letters"}, "http://tickets.example.com/mcp"
    async with toolbox(
        tmp_path,
        keys,
        header=McpServer(url=url, headers={"Authorization": "Bearer ${KEY}"}),
        address=McpServer(url=f"{url}?key=${{KEY}}", transport="sse"),
        password=McpServer(url="https://me:word@tickets.example.com/mcp"),
    ) as box:
        assert await names(box) == []
        header, address, password = box.problems
    refused = "url: 'http://tickets.example.com' would send the key unencrypted over the internet"
    assert header.startswith(f"mcp.servers.header: {refused}")
    assert address.startswith(f"mcp.servers.address: {refused}")
    assert "has a user or password in it" in password
    assert "a-key-of-many-letters" not in str((header, address, password))


async def test_an_address_may_have_a_query(tmp_path: Path) -> None:
    with guarded() as address:
        headers = {"Authorization": "Bearer ${WHO}"}
        server = McpServer(url=f"{address}?team=${{WHO}}", headers=headers)
        async with toolbox(tmp_path, {"WHO": "alice"}, g=server) as box:
            assert "mcp__g__who" in await names(box), box.problems


async def test_each_failure_is_said_in_words(tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{free_port()}/mcp"
    with guarded() as address:
        async with toolbox(
            tmp_path,
            {"WRONG": "not-the-right-secret"},
            nobody=McpServer(url=nobody),
            silent=McpServer(url=nobody, transport="sse"),
            stranger=McpServer(url=address),
            wrong=McpServer(url=address, headers={"Authorization": "Bearer ${WRONG}"}),
            elsewhere=McpServer(url=address.replace("/mcp", "/elsewhere")),
        ) as box:
            assert await names(box) == []
            refused, silent, stranger, wrong, elsewhere = box.problems
    assert f"mcp.servers.nobody: {nobody} cannot be reached (" in refused
    assert "is it running" in refused
    assert "cannot be reached" in silent
    assert stranger.startswith(f"mcp.servers.stranger: {address} answered 401 Unauthorized; ")
    assert 'headers = { Authorization = "Bearer ${NAME}" }' in stranger
    assert "401" in wrong
    assert "not-the-right-secret" not in wrong
    assert "answered 404 Not Found; is `url` right?" in elsewhere


async def test_a_server_that_takes_no_connection_in_time_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}/mcp"
        async with toolbox(tmp_path, deaf=McpServer(url=address, timeout=0.5)) as box:
            assert await names(box) == []
            assert box.problems == ("mcp.servers.deaf: did not answer within 0.5 s",)


@pytest.mark.parametrize("kind", PATHS)
async def test_a_server_that_was_started_anew_is_found_again(tmp_path: Path, kind: str) -> None:
    port = free_port()
    with everything(kind, port) as address:
        server = McpServer(url=address)
        box_for = toolbox(tmp_path, every=server)
        box = await box_for.__aenter__()
        await box.specs()
        assert "hi" in said(await call(box, "mcp__every__echo", message="hi"))
    with everything(kind, port):
        result = await call(box, "mcp__every__echo", message="again")
        assert "again" in said(result), said(result)
        await box_for.__aexit__(None, None, None)


async def test_a_server_that_does_not_react_cannot_keep_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with everything("streamableHttp") as address:
        async with toolbox(tmp_path, every=McpServer(url=address)) as box:
            await box.specs()
            monkeypatch.setattr("clawkit.assistant.toolbox.mcp_connection._CLOSE_GRACE", 0.5)
            (process,) = [p for p in children() if "streamableHttp" in p.cmdline()]
            process.suspend()
            async with asyncio.timeout(PATIENCE):
                await box.close()
            process.resume()


@pytest.mark.parametrize("kind", PATHS)
async def test_a_server_that_is_gone_is_said_to_be(tmp_path: Path, kind: str) -> None:
    with everything(kind) as address:
        box_for = toolbox(tmp_path, every=McpServer(url=address))
        box = await box_for.__aenter__()
        await box.specs()
    assert (await call(box, "mcp__every__echo", message="hi")).outcome.is_error
    assert "cannot be reached" in said(await call(box, "mcp__every__echo", message="hi"))
    assert await names(box) == []
    assert "cannot be reached" in box.problems[0]
    await box_for.__aexit__(None, None, None)
