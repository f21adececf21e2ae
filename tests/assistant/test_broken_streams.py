"""Models that fail in mid-answer, and after tools ran: what the one who asked is told of it."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from tests.assistant.orders import assistant, order, text_of, write_config
from tests.assistant.providers.scripted import scripted_openai
from tests.assistant.providers.steps import Call, Cut, Hang, Pause, Say, Status, Step
from tests.assistant.replies import SCRIPTED, provider_config
from tests.claw import CLAW, claw, environment
from tests.cli.commands import config_directory, use_provider
from tests.guard.approvals import until

TOOLS = """
from clawkit import claw_tool

@claw_tool
def water(bed: str) -> str:
    "Water a bed."
    if bed == "moon":
        raise ValueError("no such bed")
    return f"{bed} is wet now"
"""
WATER = Call("mcp__garden__water", {"bed": "basil"}, id="a")
MOON = Call("mcp__garden__water", {"bed": "moon"}, id="b")
BROKEN: list[Step] = [[Say("I will."), WATER, MOON], [Say("Now it"), Cut()]]
RAN = "Tools had run by then: mcp__garden__water (done), mcp__garden__water (failed)"


def garden(config: Path) -> None:
    (config / "tools").mkdir(parents=True)
    (config / "tools" / "garden.py").write_text(TOOLS)


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_a_client_that_was_shown_nothing_gets_the_answer_of_the_next_try(
    tmp_path: Path, wire: str
) -> None:
    script: list[Step] = [[Say("Hel"), Cut()], Say("Hello")]
    with SCRIPTED[wire](script) as provider:
        write_config(tmp_path, provider_config(provider, wire))
        with assistant(tmp_path) as server:
            reply = server.ask(order("hi", sessionKey="k"))
        assert len(provider.requests) == 2
    assert (text_of(reply), reply["result"]["isError"]) == ("Hello", False)


def test_a_client_that_was_shown_the_beginning_gets_it_with_the_error(tmp_path: Path) -> None:
    script: list[Step] = [[Say("Hel"), Pause(1), Cut()], Say("Hello")]
    with SCRIPTED["anthropic"](script) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path) as server:
            server.send(order("hi", sessionKey="k", meta={"progressToken": 1}))
            assert server.receive()["params"]["message"] == "Hel"
            reply = server.receive()
        assert len(provider.requests) == 1
    assert reply["result"]["isError"] is True
    assert text_of(reply).startswith("Hel\n\nError: scripted/one broke off in the middle")


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
def test_an_error_after_tools_ran_says_which(tmp_path: Path, wire: str) -> None:
    garden(tmp_path / "config" / "claw")
    script = [BROKEN[0], Status(400, message="no"), Say("ok")]
    with SCRIPTED[wire](script) as provider:
        write_config(tmp_path, provider_config(provider, wire))
        with assistant(tmp_path) as server:
            reply = server.ask(order("water them", sessionKey="k"))
            server.ask(order("go on", sessionKey="k"))
        after = provider.last.body.decode()
    assert reply["result"]["isError"] is True
    said, result, error = text_of(reply).split("\n\n")
    assert (said, result) == ("I will.", "basil is wet now")
    assert error.startswith("Error: scripted does not take the request")
    assert RAN in error
    assert after.count("basil is wet now") == 1
    assert "[failed: RefusedRequestError before an answer]" in after


def test_claw_ask_prints_what_there_is_and_which_tools_ran(home: Path) -> None:
    garden(config_directory(home))
    with scripted_openai([*BROKEN, *BROKEN]) as server:
        use_provider(home, server.url)
        config = config_directory(home) / "config.toml"
        config.write_text(config.read_text().replace("retries = 1", "retries = 0"))
        done = claw("ask", "water them")
        told = json.loads(claw("ask", "water them", "--json").stdout)
    assert (done.returncode, done.stdout) == (1, "I will.\n\nNow it\n")
    assert RAN in done.stderr
    assert (told["text"], told["stopReason"]) == ("I will.\n\nNow it", "failed")
    assert RAN in told["problem"]


def test_claw_chat_prints_what_there_is_and_which_tools_ran(home: Path) -> None:
    garden(config_directory(home))
    with scripted_openai([BROKEN[0], Status(400, message="no"), Say("Yes.")]) as server:
        use_provider(home, server.url)
        done = claw("chat", stdin=b"water them\nis it wet?\n")
    assert (done.returncode, done.stdout) == (1, "I will.\nYes.\n")
    assert RAN in done.stderr


def test_claw_ask_that_is_stopped_names_the_tools(home: Path) -> None:
    garden(config_directory(home))
    with scripted_openai([[WATER], Hang()]) as server:
        use_provider(home, server.url)
        process = subprocess.Popen(
            (*CLAW, "ask", "water them"),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            text=True,
        )
        until(lambda: len(server.requests) == 2)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "stopped after tools were started: mcp__garden__water" in errors


def test_a_text_only_server_offers_its_model_no_way_to_send_files(tmp_path: Path) -> None:
    with SCRIPTED["anthropic"]([Say("One.\nMEDIA: x.txt"), Say("Two.")]) as provider:
        write_config(tmp_path, provider_config(provider))
        with assistant(tmp_path, program="clawdbot") as server:
            reply = server.ask(order("hi", tool="order_clawdbot"))
        with assistant(tmp_path) as server:
            server.ask(order("hi"))
        text_only, with_media = provider.requests
    assert "send_file" not in text_only.body.decode()
    assert "MEDIA" not in text_only.body.decode()
    assert "send_file" in with_media.tools
    assert text_of(reply) == "One.\nMEDIA: x.txt"
