"""Orders that the Claude CLI answers: the real one, with a scripted Messages API behind it."""

from __future__ import annotations

import asyncio
import os
import sys
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from clawkit.assistant.media.inbound import receive
from clawkit.assistant.models import claude_cli
from clawkit.assistant.models.claude_cli import ClaudeCli
from clawkit.assistant.models.protocol import (
    Finished,
    Message,
    ModelSettings,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    ToolOutcome,
    ToolSpec,
)
from clawkit.assistant.reply import Assistant
from clawkit.errors import (
    ContextTooLongError,
    ModelError,
    ModelTimeoutError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    RefusedRequestError,
)
from tests.assistant.media.samples import png
from tests.assistant.ordering import assistant, order, text_of, write_config
from tests.assistant.providers.scripted import ScriptedServer, scripted_anthropic
from tests.assistant.providers.steps import (
    Call,
    Cut,
    Hang,
    Reply,
    Request,
    Say,
    Script,
    Status,
    Step,
)
from tests.assistant.replying import Heard, config_of, say, until
from tests.claude.cli import environment, real_cli

KEPT = ("PATH", "HOME", "CLAW_HOME", "PYTEST_CURRENT_TEST")
CONFIG = '[model]\nprovider = "claude-cli"\nretries = 0\n'
TOOLS = """
import asyncio
from clawkit import claw_tool, Media

@claw_tool
async def moisture(bed: str) -> str:
    "How wet a bed is."
    if bed == "moon":
        raise ValueError("no such bed")
    return f"{bed}: 12 %"

@claw_tool
async def chart(bed: str) -> Media:
    "A picture of it."
    return Media(bytes.fromhex("PNG"), "image/png", "chart.png")

arrived = []

@claw_tool
async def meet(guests: int) -> str:
    "Comes back when that many are there."
    arrived.append(guests)
    while len(arrived) < guests:
        await asyncio.sleep(0.01)
    return "all here"

@claw_tool
async def listing(lines: int) -> str:
    "Many lines."
    return "\\n".join(f"line {n}" for n in range(lines))

@claw_tool
async def forever() -> str:
    "Never comes back."
    await asyncio.sleep(600)
""".replace("PNG", png().hex())


@pytest.fixture(autouse=True)
def bare(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine but PATH; tools in the config directory."""
    for name in set(os.environ).difference(KEPT):
        monkeypatch.delenv(name)
    assert os.environ["HOME"] == str(home)
    directory = tmp_path / "config" / "tools"
    directory.mkdir(parents=True)
    (directory / "garden.py").write_text(TOOLS)
    monkeypatch.delitem(sys.modules, "garden", raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("config/tools")])


@pytest.fixture
def cli(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A scripted API, and the environment in which the CLI asks it."""

    @contextmanager
    def behind(script: Script) -> Iterator[ScriptedServer]:
        with scripted_anthropic(script) as api:
            for name, value in environment(api.url, home).items():
                monkeypatch.setenv(name, value)
            monkeypatch.setenv("CLAUDE_CLI_PATH", real_cli())
            yield api

    return behind


def running() -> list[psutil.Process]:
    """Every CLI that this process has started and not reaped."""
    children = psutil.Process().children(recursive=True)
    return [child for child in children if child.is_running()]


def said(request: Request) -> list[dict[str, Any]]:
    """The parts of the message that the person sent."""
    return next(m["content"] for m in request.messages if m["role"] == "user")


def results(request: Request) -> dict[str, dict[str, Any]]:
    """What tools gave back, by the id of the call."""
    blocks = [b for m in request.messages if isinstance(m["content"], list) for b in m["content"]]
    return {b["tool_use_id"]: b for b in blocks if b.get("type") == "tool_result"}


def after_tools(*calls: Call, then: Step | None = None) -> Script:
    """A model that makes these calls, and answers when it has their results."""

    def script(request: Request) -> Step:
        if results(request):
            return then or Say("Done.")
        return [Say("Let me see."), *calls]

    return script


async def asked(home: Path, text: str = "hello", **more: Any) -> tuple[Any, Heard]:
    heard = Heard()
    async with Assistant(config_of(home, CONFIG)) as assistant:
        return await say(assistant, text, heard=heard, **more), heard


async def test_an_answer_streams_and_says_what_it_took(tmp_path: Path, cli: Any) -> None:
    with cli([Reply(Say("Hel", "lo", "!"), input=12, output=7, cached=30)]) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Hello!"
    assert heard.of("text") == ["Hel", "lo", "!"]
    assert reply.model == f"claude-cli/{api.last.json['model']}"
    assert (reply.usage.input, reply.usage.output, reply.usage.cached) == (42, 7, 30)
    assert reply.reason == "end"
    assert not running()


async def test_a_model_can_be_named(tmp_path: Path, cli: Any) -> None:
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
async def test_the_message_arrives_byte_for_byte(tmp_path: Path, cli: Any, message: str) -> None:
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


async def answered(model: ClaudeCli, prompt: Prompt) -> list[Any]:
    try:
        return [event async for event in model.stream(prompt)]
    finally:
        await model.close()


async def test_an_image_is_seen_now_and_in_the_next_turn(tmp_path: Path, cli: Any) -> None:
    image = {"data": b64encode(png()).decode(), "mimeType": "image/png"}
    shown = {"type": "base64", "media_type": "image/png", "data": image["data"]}
    with cli([Say("a square"), Say("still a square")]) as api:
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            await say(opened, "What is it?", attachments=receive([image], None))
            await say(opened, "And now?")
    for request in api.requests:
        (block,) = [b for b in said(request) if b["type"] == "image"]
        assert block["source"] == shown


async def test_the_session_reaches_it(tmp_path: Path, cli: Any) -> None:
    with cli([Say("Noted."), Say("Miso.")]) as api:
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            await say(opened, "My cat is called Miso.")
            assert (await say(opened, "What is it called?")).text == "Miso."
            history, now = said(api.last)
    assert "User: My cat is called Miso.\n\nAssistant: Noted." in history["text"]
    assert now["text"] == "What is it called?"


async def test_a_tool_is_called_and_answered(tmp_path: Path, cli: Any) -> None:
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


async def test_calls_of_one_answer_run_side_by_side(tmp_path: Path, cli: Any) -> None:
    calls = [Call("mcp__garden__meet", {"guests": 3}, id=f"t{n}") for n in range(3)]
    with cli(after_tools(*calls)) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Done."
    assert heard.of("ended") == [("mcp__garden__meet", "all here")] * 3
    assert set(results(api.last)) == {"t0", "t1", "t2"}


async def test_calls_that_come_one_after_the_other_are_all_answered(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claude_cli, "_TOGETHER", 0.0)  # each call is an answer of its own
    calls = [Call("mcp__garden__moisture", {"bed": str(n)}, id=f"t{n}") for n in range(4)]
    with cli(after_tools(*calls)) as api:
        reply, heard = await asked(tmp_path)
    assert reply.text == "Done."
    assert sorted(text for _, text in heard.of("ended")) == [f"{n}: 12 %" for n in range(4)]
    assert set(results(api.last)) == {"t0", "t1", "t2", "t3"}


async def test_a_tool_that_fails_is_read_by_the_model(tmp_path: Path, cli: Any) -> None:
    with cli(after_tools(Call("mcp__garden__moisture", {"bed": "moon"}, id="t1"))) as api:
        reply, _ = await asked(tmp_path)
    assert reply.text == "Done."
    assert results(api.last)["t1"]["is_error"]
    assert "no such bed" in str(results(api.last)["t1"]["content"])


async def test_a_picture_and_a_long_result_arrive_whole(tmp_path: Path, cli: Any) -> None:
    chart = Call("mcp__garden__chart", {"bed": "kale"}, id="t1")
    with cli(after_tools(chart, Call("mcp__garden__listing", {"lines": 9000}, id="t2"))) as api:
        reply, _ = await asked(tmp_path)
    found = results(api.last)
    source = {"type": "base64", "media_type": "image/png", "data": b64encode(png()).decode()}
    assert {"type": "image", "source": source} in found["t1"]["content"]
    text = str(found["t2"]["content"])
    assert all(f"line {n}" in text for n in (0, 4500, 8999))
    assert [media.name for media in reply.media] == ["chart.png"]


async def test_a_cancel_in_mid_answer_ends_the_cli(tmp_path: Path, cli: Any) -> None:
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


async def test_a_cancel_in_mid_tool_ends_the_cli(tmp_path: Path, cli: Any) -> None:
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
    tmp_path: Path, cli: Any
) -> None:
    with cli(after_tools(Call("mcp__garden__forever", id="t1"))):
        heard = Heard()
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            task = asyncio.create_task(say(opened, "hello", heard=heard))
            await until(lambda: heard.of("started"))
            task.cancel()
            await asyncio.wait([task])
        assert not running()


async def test_too_many_rounds_leave_no_cli_behind(tmp_path: Path, cli: Any) -> None:
    rounds = iter(range(100))

    def script(request: Request) -> Step:
        if "go on" in str(said(request)):
            return Say("Done.")
        return Call("mcp__garden__moisture", {"bed": "kale"}, id=f"t{next(rounds)}")

    config = config_of(tmp_path, f"{CONFIG}[assistant]\ntool_steps = 2\n")
    with cli(script):
        async with Assistant(config) as opened:
            assert (await say(opened, "hello")).reason == "length"
            assert len(running()) == 1, "its order may still be answered from this task"
            assert (await say(opened, "go on")).text == "Done."
            assert not running()


async def test_two_orders_at_once_do_not_mix(tmp_path: Path, cli: Any) -> None:
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


async def test_a_cli_that_dies_after_a_tool_is_replaced(tmp_path: Path, cli: Any) -> None:
    """What the tool gave is told to the next CLI, and the tool does not run again."""
    config = config_of(tmp_path, CONFIG.replace("retries = 0", "retries = 1"))
    requests = iter(range(9))

    def script(request: Request) -> Step:
        if next(requests) == 0:
            return Call("mcp__garden__moisture", {"bed": "kale"}, id="t1")
        if results(request):
            for process in running():
                process.kill()
            return [Hang()]
        return Say("12 %, I was told.")

    with cli(script) as api:
        heard = Heard()
        async with Assistant(config) as opened:
            reply = await say(opened, "How wet is the kale?", heard=heard)
    assert reply.text == "12 %, I was told."
    assert len(heard.of("started")) == 1
    (told,) = said(api.last)
    assert '[called mcp__garden__moisture with {"bed": "kale"}]' in told["text"]
    assert "[kale: 12 %]\n\nGo on from here." in told["text"]


async def test_half_an_answer_is_never_followed_by_another(tmp_path: Path, cli: Any) -> None:
    long = "A sentence that is long enough to be on its way before the connection breaks. " * 50
    with cli(lambda _: [Say(long, long, pause=0.2), Cut()]), pytest.raises(ProviderDownError):
        await asked(tmp_path)
    assert not running()


async def test_an_answer_that_is_not_streamed_counts_too(tmp_path: Path, cli: Any) -> None:
    """After a stream that broke, the CLI may ask for an answer in one piece."""

    def script(request: Request) -> Step:
        if request.json.get("stream"):
            return [Cut()]
        whole = {"role": "assistant", "type": "message", "id": "msg_9", "stop_sequence": None}
        usage = {"input_tokens": 3, "output_tokens": 2}
        content = [{"type": "text", "text": "In one piece."}]
        more = {"model": request.json["model"], "stop_reason": "end_turn"}
        return Status(200, body={**whole, **more, "content": content, "usage": usage})

    with cli(script) as api:
        reply, _ = await asked(tmp_path)
    assert reply.text == "In one piece."
    assert not api.last.json.get("stream")


@pytest.mark.parametrize(
    ("stop", "reason"), [("refusal", "refusal"), ("max_tokens", "length"), ("end_turn", "end")]
)
async def test_how_an_answer_ended_is_said(
    tmp_path: Path, cli: Any, stop: str, reason: str
) -> None:
    with cli(lambda _: Reply(Say("So"), stop=stop)):
        reply, _ = await asked(tmp_path)
    assert reply.reason == reason


TOO_LONG = Status(
    400,
    message="prompt is too long: 250000 tokens > 200000 maximum",
    kind="invalid_request_error",
)


@pytest.mark.parametrize(
    ("status", "expected", "words"),
    [
        (Status(401), RefusedKeyError, "log in"),
        (Status(429), RateLimitError, "too often"),
        (Status(404), NoSuchModelError, "does not know"),
        (Status(400), RefusedRequestError, "refused"),
        (TOO_LONG, ContextTooLongError, "/compact"),
        (Status(500), ProviderDownError, "could not answer"),
    ],
    ids=["401", "429", "404", "400", "too long", "500"],
)
async def test_a_failure_of_the_api_is_the_models(
    tmp_path: Path, cli: Any, status: Status, expected: type[ModelError], words: str
) -> None:
    with cli(lambda _: status), pytest.raises(expected, match=words) as caught:
        await asked(tmp_path)
    assert caught.value.provider == "claude-cli"
    assert not running()


async def test_a_cli_that_is_not_logged_in_says_so(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cli([]):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        with pytest.raises(RefusedKeyError, match=r"not logged in.*Start `claude` and log in"):
            await asked(tmp_path)


async def test_a_missing_cli_is_a_clear_error_at_once(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, CONFIG.replace("retries = 0", "retries = 5"))
    with cli([]):
        monkeypatch.setenv("CLAUDE_CLI_PATH", str(tmp_path / "nowhere"))
        heard = Heard()
        async with Assistant(config) as opened:
            with pytest.raises(ModelError, match=r"nowhere, which does not exist.*npm install"):
                await say(opened, "hello", heard=heard)
    assert not heard.of("notice"), "asking again would not help"


async def test_another_model_answers_instead_of_a_missing_cli(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, f'{CONFIG}fallbacks = ["offline"]\n')
    with cli([]):
        monkeypatch.setenv("CLAUDE_CLI_PATH", str(tmp_path / "nowhere"))
        async with Assistant(config) as opened:
            assert (await say(opened, "hello")).model == "offline"


async def test_a_cli_that_says_nothing_for_too_long_is_given_up(tmp_path: Path, cli: Any) -> None:
    model = ClaudeCli(ModelSettings("claude-cli", "", timeout=2.0), tmp_path / "work")
    prompt = Prompt("", (Message("user", (Text("hello"),)),))
    with cli([[Say("Hel"), Hang()]]):
        with pytest.raises(ModelTimeoutError, match="said nothing for 2 s"):
            await answered(model, prompt)
        await until(lambda: not running())


async def test_a_conversation_that_another_model_began_goes_on(tmp_path: Path, cli: Any) -> None:
    call = ToolCall("x1", "look", {"at": "kale"})
    messages = (
        Message("user", (Text("Look at the kale."),)),
        Message("assistant", (Text("I do."), call)),
        Message("tool", (ToolOutcome("x1", (Text("it is wilting"),), is_error=True),)),
    )
    spec = ToolSpec("look", "Looks.", {"properties": {"at": {"type": "string"}}})
    model = ClaudeCli(ModelSettings("claude-cli", ""), tmp_path / "work")
    with cli([Say("Oh.")]) as api:
        events = await answered(model, Prompt("", messages, (spec,)))
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Oh."]
    (told,) = said(api.last)
    assert told["text"].endswith(
        'Assistant: I do. [called look with {"at": "kale"}]\n\n'
        "Tool: [failed: it is wilting]\n\nGo on from here."
    )


def test_an_order_over_mcp_is_answered_through_the_cli(tmp_path: Path, cli: Any) -> None:
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
            (child,) = [psutil.Process(server.process.pid)]
            assert not child.children(recursive=True)


def test_an_order_that_is_cancelled_over_mcp_ends_the_cli(tmp_path: Path, cli: Any) -> None:
    write_config(tmp_path, CONFIG)
    with cli([[Say("Hel"), Hang()], Say("Here.")]) as api:
        with assistant(tmp_path, env={"ANTHROPIC_API_KEY": "dummy"}) as server:
            process = psutil.Process(server.process.pid)
            server.send(order("hello", 1))
            asyncio.run(until(lambda: api.open))
            cancel = {"requestId": 1, "reason": "changed my mind"}
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel})
            asyncio.run(until(lambda: not process.children(recursive=True)))
            assert text_of(server.ask(order("Are you there?", 2))) == "Here."
            assert process.is_running()


def test_an_order_needs_no_session_of_the_cli(home: Path, tmp_path: Path, cli: Any) -> None:
    with cli([Say("ok")]):
        asyncio.run(asked(tmp_path))
    kept = [f for f in home.rglob("*.jsonl") if "projects" in f.parts]
    assert not kept, "what was said is in the assistant's own store"
