"""Orders that outlive their call (`keep_running`): tickets, `/result`, `/stop`, joined calls."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client

from clawkit.assistant.sessions.store import SessionStore
from tests.assistant.orders import MODERN, assistant, order, text_of, write_config
from tests.assistant.providers.scripted import Call, Say, ScriptedServer, scripted_anthropic
from tests.assistant.providers.steps import Script, Step
from tests.assistant.replies import provider_config
from tests.claw import PROGRAMS
from tests.processes import StdioServer
from tests.wire.samples.messages import notification, until

KEEP = "[assistant]\nkeep_running = true\nanswer_within = {within}\n"
TOOLS = """
import asyncio
from pathlib import Path
from clawkit import claw_tool

HOME = Path(__file__).parents[3]

@claw_tool
async def bake() -> str:
    "Bake a cake, until it is done."
    with HOME.joinpath("begun").open("a") as begun:
        begun.write("x")
    while not HOME.joinpath("done").exists():
        await asyncio.sleep(0.01)
    return "a cake"
"""
BAKE = Call("mcp__kitchen__bake", {}, id="c1")
CAKE: list[Step] = [BAKE, Say("Your cake is ready.")]


@contextmanager
def kitchen(
    home: Path, script: Script, within: float = 0.2
) -> Generator[tuple[StdioServer, ScriptedServer]]:
    """A server whose model bakes: nothing is done before the file `done` is there."""
    prepare(home)
    with scripted_anthropic(script) as provider:
        write_config(home, provider_config(provider) + KEEP.format(within=within))
        with assistant(home) as server:
            yield server, provider


def prepare(home: Path) -> None:
    tools = home / "config" / "claw" / "tools"
    tools.mkdir(parents=True)
    (tools / "kitchen.py").write_text(TOOLS)


def key_in(ticket: str) -> str:
    return ticket.partition('sessionKey "')[2].partition('"')[0]


def said(server: StdioServer, message: str, id: Any, **arguments: Any) -> str:
    return text_of(server.ask(order(message, id, **arguments)))


def collected(server: StdioServer, **arguments: Any) -> str:
    """What `/result` brings in the end: on a slow machine a few tickets come first."""
    number = 1000
    while (text := said(server, "/result", number, **arguments)).startswith("Still working"):
        number += 1
    return text


def begun(home: Path) -> int:
    file = home / "begun"
    return len(file.read_text()) if file.exists() else 0


def test_a_long_order_is_answered_in_time_and_collected_with_result(tmp_path: Path) -> None:
    with kitchen(tmp_path, CAKE) as (server, _):
        ticket = said(server, "Bake a cake.", 1)
        assert ticket.startswith('Still working on "Bake a cake."')
        until(lambda: begun(tmp_path) == 1)
        assert "calling mcp__kitchen__bake" in said(server, "/result", 2, sessionKey=key_in(ticket))
        (tmp_path / "done").touch()
        assert "Your cake is ready." in collected(server, sessionKey=key_in(ticket))
        again = server.ask(order("/result", 3, sessionKey=key_in(ticket)))
    assert again["result"]["isError"]
    assert "no answer waits" in text_of(again)
    assert begun(tmp_path) == 1


def test_result_without_a_key_is_the_only_order_there_is(tmp_path: Path) -> None:
    with kitchen(tmp_path, CAKE) as (server, _):
        assert "no order is worked on here" in said(server, "/result", 1)
        said(server, "Bake a cake.", 2)
        (tmp_path / "done").touch()
        assert "Your cake is ready." in collected(server)


def test_with_several_open_orders_result_asks_which(tmp_path: Path) -> None:
    with kitchen(tmp_path, [BAKE, BAKE, Say("one"), Say("one")]) as (server, _):
        said(server, "Bake a cake.", 1, sessionKey="a")
        said(server, "Bake a pie.", 2, sessionKey="b")
        assert "with a sessionKey: a, b" in said(server, "/result", 3)
        (tmp_path / "done").touch()
        assert "one" in collected(server, sessionKey="a")
        assert "one" in collected(server, sessionKey="b")


def test_the_next_order_of_the_session_brings_the_answer_and_its_own(tmp_path: Path) -> None:
    with kitchen(tmp_path, [*CAKE, Say("And tea.")]) as (server, _):
        said(server, "Bake a cake.", 1, sessionKey="k")
        (tmp_path / "done").touch()
        text = said(server, "Make tea.", 2, sessionKey="k")
        while "And tea." not in text:
            text += said(server, "Make tea.", 3, sessionKey="k")
    assert '[answer to "Bake a cake."]' in text
    assert text.index("Your cake is ready.") < text.index("And tea.")


def test_result_says_of_each_of_several_answers_what_it_answers(tmp_path: Path) -> None:
    with kitchen(tmp_path, [*CAKE, Say("And tea.")]) as (server, _):
        said(server, "Bake a cake.", 1, sessionKey="k")
        said(server, "Make tea.", 2, sessionKey="k")
        (tmp_path / "done").touch()
        until(lambda: "And tea." in kept(tmp_path, "k"))
        lines = said(server, "/result", 3, sessionKey="k").splitlines()
    assert [line for line in lines if line.startswith("[answer to")] == [
        '[answer to "Bake a cake."]',
        '[answer to "Make tea."]',
    ]


@pytest.mark.parametrize("key", [{}, {"sessionKey": "k"}], ids=["no key", "a key"])
def test_the_same_message_again_joins_the_work_instead_of_starting_it_twice(
    tmp_path: Path, key: dict[str, str]
) -> None:
    with kitchen(tmp_path, CAKE) as (server, provider):
        first = said(server, "Bake a cake.", 1, **key)
        assert key_in(said(server, "Bake a cake.", 2, **key)) == key_in(first)
        assert key_in(said(server, "Bake a cake.", 3, sessionKey=key_in(first))) == key_in(first)
        (tmp_path / "done").touch()
        until(lambda: len(provider.requests) == 2)
        text = said(server, "Bake a cake.", 4, **key)
        while text.startswith("Still working"):
            text = said(server, "Bake a cake.", 5, **key)
    assert "Your cake is ready." in text
    assert begun(tmp_path) == 1
    assert len(provider.requests) == 2


def test_a_message_that_was_collected_is_new_when_it_is_sent_again(tmp_path: Path) -> None:
    with kitchen(tmp_path, [Say("one"), Say("two")], within=60) as (server, _):
        assert said(server, "Count.", 1, sessionKey="k") == "one"
        assert said(server, "Count.", 2, sessionKey="k") == "two"


def test_stop_ends_the_work_and_the_session_says_so(tmp_path: Path) -> None:
    with kitchen(tmp_path, CAKE) as (server, _):
        ticket = said(server, "Bake a cake.", 1)
        until(lambda: begun(tmp_path) == 1)
        assert said(server, "/stop", 2, sessionKey=key_in(ticket)) == 'Stopped: "Bake a cake."'
        assert "no order is worked on" in said(server, "/result", 3, sessionKey=key_in(ticket))
    assert "[cancelled before an answer]" in kept(tmp_path, key_in(ticket))


def test_a_client_that_times_out_finds_its_answer_and_one_that_cancels_ends_the_work(
    tmp_path: Path,
) -> None:
    with kitchen(tmp_path, [BAKE, BAKE, Say("ready")], within=600) as (server, _):
        server.send(order("Bake a cake.", 1))
        until(lambda: begun(tmp_path) == 1)
        server.send(cancelled(1, "McpError: MCP error -32001: Request timed out"))
        server.send(order("Bake a pie.", 2, sessionKey="pie"))
        until(lambda: begun(tmp_path) == 2)
        server.send(cancelled(2, "AbortError: This operation was aborted"))
        until(lambda: "[cancelled" in kept(tmp_path, "pie"))
        (tmp_path / "done").touch()
        assert "ready" in said(server, "Bake a cake.", 3)
    assert begun(tmp_path) == 2


def test_when_the_client_leaves_the_work_ends_and_is_in_the_session(tmp_path: Path) -> None:
    with kitchen(tmp_path, CAKE) as (server, _):
        said(server, "Bake a cake.", 1, sessionKey="k")
        until(lambda: begun(tmp_path) == 1)
        server.close_input()
        server.process.wait(60)
    assert "[cancelled before an answer]" in kept(tmp_path, "k")
    assert "mcp__kitchen__bake" in kept(tmp_path, "k")


def test_progress_goes_to_the_call_that_waits_now(tmp_path: Path) -> None:
    with kitchen(tmp_path, CAKE, within=0.5) as (server, _):
        key = key_in(said(server, "Bake a cake.", 1))
        until(lambda: begun(tmp_path) == 1)
        server.send(order("/result", 2, sessionKey=key, meta={"progressToken": "p"}))
        (tmp_path / "done").touch()
        heard: list[dict[str, Any]] = []
        while (message := server.receive()).get("id") != 2:
            heard.append(message)
    told = [m["params"] for m in heard if m.get("method") == "notifications/progress"]
    assert all(one["progressToken"] == "p" for one in told)
    counts = [one["progress"] for one in told]
    assert counts == sorted(set(counts))


def test_without_the_setting_result_is_a_message_and_the_call_waits(tmp_path: Path) -> None:
    with scripted_anthropic([Say("a result of what?")]) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path) as server:
            assert said(server, "/result", 1) == "a result of what?"


def test_a_client_with_tasks_gets_a_task_and_no_ticket(tmp_path: Path) -> None:
    prepare(tmp_path)
    with scripted_anthropic(CAKE) as provider:
        keep = KEEP.format(within=0.1) + "task_after = 0.3\n"
        write_config(tmp_path, provider_config(provider) + keep)
        with assistant(tmp_path) as server:
            reply = server.ask(order("Bake a cake.", 1, meta=MODERN))
    assert reply["result"]["resultType"] == "task"


async def test_the_official_client_that_times_out_gets_its_answer_later(tmp_path: Path) -> None:
    prepare(tmp_path)
    with scripted_anthropic(CAKE) as provider:
        write_config(tmp_path, provider_config(provider) + KEEP.format(within=600))
        command = StdioServerParameters(
            command=sys.executable,
            args=[str(PROGRAMS / "openclaw"), "mcp-server"],
            env={"CLAW_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        )
        async with stdio_client(command) as streams, ClientSession(*streams) as client:
            await client.initialize()
            message = {"message": "Bake a cake."}
            with pytest.raises(MCPError, match="timed out"):
                await client.call_tool("order_openclaw", message, read_timeout_seconds=1)
            (tmp_path / "done").touch()
            found = await client.call_tool("order_openclaw", message)
    assert "Your cake is ready." in str(found.content[0])
    assert begun(tmp_path) <= 1


def cancelled(id: Any, reason: str) -> dict[str, Any]:
    return notification("notifications/cancelled", {"requestId": id, "reason": reason})


def kept(home: Path, key: str) -> str:
    """The session as it is written down."""
    messages = SessionStore(home / "data" / "claw" / "sessions.db").show(key).messages
    return "\n".join(str(one.message) for one in messages)
