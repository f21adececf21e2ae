"""Orders that the Claude CLI answers: the real one, with a scripted Messages API behind it."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from pathlib import Path

import psutil
import pytest

from clawkit.assistant import claude_cli_model
from clawkit.assistant.assistant import Assistant
from clawkit.assistant.claude_cli_model import ClaudeCli
from clawkit.assistant.media.inbound import receive
from clawkit.models.protocol import Finished, Message, ModelSettings, Prompt, Text
from tests.assistant.media.samples import png
from tests.assistant.models.conftest import Behind
from tests.assistant.models.through_cli import (
    CONFIG,
    TOOLS,
    after_tools,
    answered,
    asked,
    results,
    running,
    said,
)
from tests.assistant.orders import assistant, order, text_of, write_config
from tests.assistant.providers.steps import Call, Hang, Reply, Request, Say, Step
from tests.assistant.replies import Heard, config_of, say, until


async def test_an_answer_streams_and_says_what_it_took(tmp_path: Path, cli: Behind) -> None:
    with cli([Reply(Say("Hel", "lo", "!"), input=42, output=7, cached=30)]) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Hello!"
    assert heard.of("text") == ["Hel", "lo", "!"]
    assert reply.model == f"claude-cli/{api.last.json['model']}"
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (42, 7, 30)
    assert reply.reason == "end"
    assert not running()


async def test_a_model_can_be_named(tmp_path: Path, cli: Behind) -> None:
    config = config_of(tmp_path, '[model]\nuse = "claude-cli/sonnet"\n')
    with cli([Say("ok")]) as api:
        async with Assistant(config) as opened:
            reply = await say(opened, "hello")
    assert "sonnet" in api.last.json["model"]
    assert "sonnet" in reply.model


@pytest.mark.parametrize(
    "message",
    [
        "  tab\there\r\n \u202e\U0001f600 'quoted' {\"json\": 1}  \n",
        "/cost",
        "/compact and more",
        "what is in @secret.txt?",
        "!ls",
        "# remember this",
    ],
)
async def test_the_message_arrives_byte_for_byte(tmp_path: Path, cli: Behind, message: str) -> None:
    workspace = config_of(tmp_path, CONFIG).workspace
    workspace.mkdir(parents=True)
    (workspace / "secret.txt").write_text("SECRET")
    # In the reply system a `/` begins a command of its own, so the model is asked directly.
    prompt = Prompt("You are terse.", (Message("user", (Text(message),)),))
    with cli([Say("ok")]) as api:
        events = await answered(ClaudeCli(ModelSettings("claude-cli", ""), workspace), prompt)
    assert isinstance(events[-1], Finished)
    assert said(api.last) == [{"type": "text", "text": message}]
    assert b"SECRET" not in api.last.body
    assert "You are terse." in str(api.last.json["system"])


async def test_an_image_is_seen_now_and_in_the_next_turn(tmp_path: Path, cli: Behind) -> None:
    image = {"data": b64encode(png()).decode(), "mimeType": "image/png"}
    shown = {"type": "base64", "media_type": "image/png", "data": image["data"]}
    with cli([Say("a square"), Say("still a square")]) as api:
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            await say(opened, "What is it?", attachments=receive([image], None))
            await say(opened, "And now?")
    for request in api.requests:
        (block,) = [b for b in said(request) if b["type"] == "image"]
        assert block["source"] == shown


async def test_the_session_reaches_it(tmp_path: Path, cli: Behind) -> None:
    with cli([Say("Noted."), Say("Miso.")]) as api:
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            await say(opened, "My cat is called Miso.")
            assert (await say(opened, "What is it called?")).text == "Miso."
            history, now = said(api.last)
    assert "User: My cat is called Miso.\n\nAssistant: Noted." in history["text"]
    assert now["text"] == "What is it called?"


async def test_a_tool_is_called_and_answered(tmp_path: Path, cli: Behind) -> None:
    script = after_tools(Call("mcp__garden__moisture", {"bed": "kale"}, id="t1"))
    with cli(script) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Done."
    assert heard.of("block") == ["Let me see."]
    assert heard.of("ended") == [("mcp__garden__moisture", "kale: 12 %")]
    assert results(api.last)["t1"]["content"] == [{"type": "text", "text": "kale: 12 %"}]
    offered = set(api.requests[0].tools)
    assert {"mcp__garden__moisture", "mcp__claw__send_file"} <= offered
    assert offered.isdisjoint({"Bash", "Read", "Write", "Task"})


async def test_calls_of_one_answer_run_side_by_side(tmp_path: Path, cli: Behind) -> None:
    calls = [Call("mcp__garden__meet", {"guests": 3}, id=f"t{n}") for n in range(3)]
    with cli(after_tools(*calls)) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Done."
    assert heard.of("ended") == [("mcp__garden__meet", "all here")] * 3
    assert set(results(api.last)) == {"t0", "t1", "t2"}


async def test_calls_that_come_one_after_the_other_are_all_answered(
    tmp_path: Path, cli: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_cli_model, "_TOGETHER", 0.0)  # each call is an answer of its own
    calls = [Call("mcp__garden__moisture", {"bed": str(n)}, id=f"t{n}") for n in range(4)]
    with cli(after_tools(*calls)) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Done."
    assert sorted(text for _, text in heard.of("ended")) == [f"{n}: 12 %" for n in range(4)]
    assert set(results(api.last)) == {"t0", "t1", "t2", "t3"}


async def test_a_tool_that_fails_is_read_by_the_model(tmp_path: Path, cli: Behind) -> None:
    with cli(after_tools(Call("mcp__garden__moisture", {"bed": "moon"}, id="t1"))) as api:
        reply, _ = await asked(tmp_path)
    assert reply.text == "Done."
    assert results(api.last)["t1"]["is_error"]
    assert "no such bed" in str(results(api.last)["t1"]["content"])


async def test_a_picture_and_a_long_result_arrive_whole(tmp_path: Path, cli: Behind) -> None:
    chart = Call("mcp__garden__chart", {"bed": "kale"}, id="t1")
    with cli(after_tools(chart, Call("mcp__garden__listing", {"lines": 9000}, id="t2"))) as api:
        reply, _ = await asked(tmp_path)
    found = results(api.last)
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(png()).decode()}
    assert {"type": "image", "source": source} in found["t1"]["content"]
    text = str(found["t2"]["content"])
    assert all(f"line {n}" in text for n in (0, 4500, 8999))
    assert [media.mime_type for media in reply.media] == ["image/png"]


async def test_a_cancel_in_mid_answer_ends_the_cli(tmp_path: Path, cli: Behind) -> None:
    with cli([[Say("Hel"), Hang()], Say("Here.")]):
        heard = Heard()
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            task = asyncio.create_task(say(opened, "hello", heard=heard))
            await until(lambda: heard.of("text"))
            assert running()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: not running())
            assert (await say(opened, "Are you there?")).text == "Here."


async def test_a_cancel_in_mid_tool_ends_the_cli(tmp_path: Path, cli: Behind) -> None:
    with cli(after_tools(Call("mcp__garden__forever", id="t1"))):
        heard = Heard()
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            task = asyncio.create_task(say(opened, "hello", heard=heard))
            await until(lambda: heard.of("started"))
            assert running()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: not running())


async def test_to_close_waits_for_the_cli_of_an_order_that_was_cancelled(
    tmp_path: Path, cli: Behind
) -> None:
    with cli(after_tools(Call("mcp__garden__forever", id="t1"))):
        heard = Heard()
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            task = asyncio.create_task(say(opened, "hello", heard=heard))
            await until(lambda: heard.of("started"))
            task.cancel()
            await asyncio.wait([task])
        assert not running()


async def test_too_many_rounds_leave_no_cli_behind(tmp_path: Path, cli: Behind) -> None:
    rounds = iter(range(100))

    def script(request: Request) -> Step:
        if "go on" in str(said(request)):
            return Say("Done.")
        return Call("mcp__garden__moisture", {"bed": "kale"}, id=f"t{next(rounds)}")

    config = config_of(tmp_path, f"{CONFIG}[assistant]\ntool_steps = 2\n")
    with cli(script):
        async with Assistant(config) as opened:
            assert (await say(opened, "hello")).reason == "length"
            assert running(), "its calls may still be answered from this task"
            assert (await say(opened, "go on")).text == "Done."
            assert not running()


async def test_two_orders_at_once_do_not_mix(tmp_path: Path, cli: Behind) -> None:
    def script(request: Request) -> Step:
        who = next(name for name in ("anna", "bert") if name in str(said(request)))
        if results(request):
            return Say(f"{who}: {results(request)[who]['content'][0]['text']}")
        return Call("mcp__garden__moisture", {"bed": who}, id=who)

    with cli(script):
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            asking = [say(opened, f"I am {who}", key=who) for who in ("anna", "bert")]
            replies = await asyncio.gather(*asking)
    assert [reply.text for reply in replies] == ["anna: anna: 12 %", "bert: bert: 12 %"]


def test_an_order_over_mcp_is_answered_through_the_cli(tmp_path: Path, cli: Behind) -> None:
    script = after_tools(Call("mcp__garden__moisture", {"bed": "kale"}, id="t1"))
    write_config(tmp_path, CONFIG)
    tools = tmp_path / "config" / "claw" / "tools"
    tools.mkdir()
    (tools / "garden.py").write_text(TOOLS)
    with cli(script) as api:
        env = {"ANTHROPIC_API_KEY": "dummy"}
        with assistant(tmp_path, env=env) as server:
            reply = server.ask(order("How wet is the kale?", sessionKey="k"))
            assert "Done." in text_of(reply)
            assert results(api.last)["t1"]["content"][0]["text"] == "kale: 12 %"
            again = server.ask(order("And now?", 2, sessionKey="k"))
            assert "Done." in text_of(again)
            assert "How wet is the kale?" in said(api.last)[0]["text"]
            assert not psutil.Process(server.process.pid).children(recursive=True)


def test_an_order_that_is_cancelled_over_mcp_ends_the_cli(tmp_path: Path, cli: Behind) -> None:
    write_config(tmp_path, CONFIG)
    key = {"ANTHROPIC_API_KEY": "dummy"}
    with cli([[Say("Hel"), Hang()], Say("Here.")]) as api, assistant(tmp_path, env=key) as server:
        process = psutil.Process(server.process.pid)
        server.send(order("hello", 1))
        asyncio.run(until(lambda: api.open))
        cancel = {"requestId": 1, "reason": "changed my mind"}
        server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
        asyncio.run(until(lambda: not process.children(recursive=True)))
        assert text_of(server.ask(order("Are you there?", 2))) == "Here."
        assert process.is_running()


def test_an_order_needs_no_session_of_the_cli(home: Path, tmp_path: Path, cli: Behind) -> None:
    with cli([Say("ok")]):
        asyncio.run(asked(tmp_path))
    kept = [f for f in home.rglob("*.jsonl") if "projects" in f.parts]
    assert not kept, "what was said is in the assistant's own store"
