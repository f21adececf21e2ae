"""The reply system, with providers that speak the real wire on a real socket."""

from __future__ import annotations

import asyncio
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from clawkit.assistant import reply as reply_module
from clawkit.assistant.assistant import Assistant
from clawkit.assistant.callbacks import MessageContext
from clawkit.assistant.media.inbound import receive
from clawkit.assistant.sessions.message_rows import StoredFile
from clawkit.assistant.sessions.store import SessionStore
from clawkit.errors import (
    ContextTooLongError,
    MissingKeyError,
    NoSuchModelError,
    ProviderDownError,
    RateLimitError,
    RefusedKeyError,
    StoreError,
    ToolTimeoutError,
)
from tests.assistant.garden import PNG, TOOLS
from tests.assistant.providers.steps import Call, Cut, Hang, Request, Say, Status, Step
from tests.assistant.replies import (
    Heard,
    config_of,
    get_reply,
    provider_config,
    say,
    scripted,
    until,
)

PNG_64 = b64encode(PNG).decode()


@pytest.fixture
def garden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools in the config directory; the next test's have the same name and another place."""
    directory = tmp_path / "config" / "tools"
    directory.mkdir(parents=True)
    (directory / "garden.py").write_text(TOOLS)
    monkeypatch.delitem(sys.modules, "garden", raising=False)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if not p.endswith("config/tools")])


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
async def test_the_message_reaches_the_model_byte_for_byte(tmp_path: Path, wire: str) -> None:
    message = "  tab\there\r\n \u202e\U0001f600 'quoted' {\"json\": 1}  \n"
    with scripted(tmp_path, [Say("ok")], wire=wire) as (server, config):
        reply = await get_reply(config, MessageContext(message, "k"), Heard())
    assert server.last.last_text == message
    assert (reply.text, reply.reason, reply.usage.input) == ("ok", "end", 12)


async def test_each_attachment_reaches_the_model_once(tmp_path: Path) -> None:
    note = {"data": "bmVlZGxl", "mimeType": "text/plain", "filename": "note.txt"}
    picture = {"data": PNG_64, "mimeType": "image/png"}
    attachments = receive([picture], [note])
    with scripted(tmp_path, [Say("ok")]) as (server, config):
        await get_reply(config, MessageContext("look", "k", attachments=attachments), Heard())
    body = server.last.body.decode()
    assert body.count("needle") == 1
    assert body.count(PNG_64) == 1
    first, *rest = server.last.messages[-1]["content"]
    assert first["text"] == "look"
    assert {part["type"] for part in rest} == {"text", "image"}


async def test_a_session_is_remembered_and_no_other_sees_it(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say("noted"), Say("blue"), Say("?")]) as (server, config):
        async with Assistant(config) as assistant:
            await say(assistant, "I like blue", "mine")
            await say(assistant, "what do I like?", "mine")
            await say(assistant, "what do I like?", "other")
    assert [m["role"] for m in server.requests[1].messages] == ["user", "assistant", "user"]
    assert "I like blue" in server.requests[1].body.decode()
    assert "blue" not in server.requests[2].body.decode()


@pytest.mark.parametrize("wire", ["anthropic", "openai"])
@pytest.mark.usefixtures("garden")
async def test_tools_are_called_until_there_is_an_answer(tmp_path: Path, wire: str) -> None:
    script: list[Step] = [
        [Say("Let me look."), Call("mcp__garden__moisture", {"bed": "basil"})],
        Call("mcp__garden__moisture", {"bed": "moon"}),
        Say("It is dry."),
    ]
    heard = Heard()
    with scripted(tmp_path, script, wire=wire) as (server, config):
        async with Assistant(config) as assistant:
            reply = await say(assistant, "how is the basil?", heard=heard)
    assert reply.text == "It is dry."
    assert heard.of("block") == ["Let me look."]
    assert heard.of("started") == ["mcp__garden__moisture"] * 2
    assert ("mcp__garden__moisture", "basil: 12 %") in heard.of("ended")
    assert "basil: 12 %" in server.requests[1].body.decode()
    assert "no such bed" in server.requests[2].body.decode()
    assert "mcp__garden__moisture" in server.requests[0].tools
    assert reply.usage.input == 36


@pytest.mark.usefixtures("garden")
async def test_several_calls_of_one_answer_are_all_answered(tmp_path: Path) -> None:
    calls = [Call("mcp__garden__moisture", {"bed": f"bed {n}"}, id=f"c{n}") for n in range(10)]
    with scripted(tmp_path, [calls, Say("done")]) as (server, config):
        await get_reply(config, MessageContext("all", "k"), Heard())
    outcomes = server.last.messages[-1]["content"]
    assert [part["tool_use_id"] for part in outcomes] == [f"c{n}" for n in range(10)]


@pytest.mark.usefixtures("garden")
async def test_a_loop_without_end_is_stopped_and_says_so(tmp_path: Path) -> None:
    more = "[assistant]\ntool_steps = 3\n"

    def always(_request: Request) -> Step:
        return Call("mcp__garden__moisture", {"bed": "basil"})

    with scripted(tmp_path, always, more=more) as (server, config):
        reply = await get_reply(config, MessageContext("go", "k"), Heard())
    assert len(server.requests) == 3
    assert "stopped after 3 rounds" in reply.text
    assert reply.reason == "length"


@pytest.mark.usefixtures("garden")
async def test_media_of_tools_and_named_files_go_out_with_the_answer(tmp_path: Path) -> None:
    workspace = tmp_path / "data" / "workspace"
    workspace.mkdir(parents=True)
    (workspace / "report.txt").write_text("the report")
    (tmp_path / "secret.txt").write_text("not for you")
    script: list[Step] = [
        [
            Call("mcp__garden__chart", {"bed": "basil"}, id="a"),
            Call("send_file", {"path": "report.txt"}, id="b"),
            Call("send_file", {"path": "../../secret.txt"}, id="c"),
            Call("send_file", {"path": "poem.md", "text": "roses"}, id="d"),
        ],
        Say("Here you are.\nMEDIA: ./report.txt\nMEDIA: /etc/passwd\n"),
    ]
    with scripted(tmp_path, script) as (server, config):
        reply = await get_reply(config, MessageContext("send", "k"), Heard())
    assert {m.mime_type for m in reply.media} == {"image/png", "text/plain", "text/markdown"}
    assert {m.name for m in reply.media} >= {"report.txt", "poem.md"}
    assert reply.text == "Here you are."
    kept = SessionStore(config.store_file).page("k").messages[-1].parts
    assert {p.name for p in kept if isinstance(p, StoredFile)} == {m.name for m in reply.media}
    assert any("/etc/passwd" in omission for omission in reply.omissions)
    refused = [p for p in server.last.messages[-1]["content"] if p.get("tool_use_id") == "c"]
    assert refused[0]["is_error"] is True


async def test_cancelling_ends_the_call_of_the_model_and_is_recorded(tmp_path: Path) -> None:
    with scripted(tmp_path, [[Say("Once upon"), Hang()], Say("ok")]) as (server, config):
        async with Assistant(config) as assistant:
            heard = Heard()
            task = asyncio.create_task(say(assistant, "tell me a story", heard=heard))
            await until(lambda: heard.of("text"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await say(assistant, "what happened?")
    assert server.left == 1
    texts = server.last.body.decode()
    assert "tell me a story" in texts
    assert "Once upon\\n[cancelled here]" in texts


async def test_two_messages_of_one_session_run_in_order(tmp_path: Path) -> None:
    with scripted(tmp_path, lambda r: Say(f"({r.last_text})", pause=0.02)) as (server, config):
        async with Assistant(config) as assistant:
            heard = Heard()
            replies = await asyncio.gather(
                *(say(assistant, f"message {n}", heard=heard) for n in range(5))
            )
    assert [reply.text for reply in replies] == [f"(message {n})" for n in range(5)]
    assert [len(request.messages) for request in server.requests] == [1, 3, 5, 7, 9]
    assert any("earlier in this session" in step for step in heard.of("step"))


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Status(401), RefusedKeyError),
        (Status(404, kind="not_found_error", message="model: one"), NoSuchModelError),
        (Status(429, headers={"retry-after": "600"}), RateLimitError),
        (Status(500), ProviderDownError),
        ([Cut()], ProviderDownError),
    ],
)
async def test_failures_have_their_own_error_and_leave_no_half_turn(
    tmp_path: Path, answer: Step, error: type[Exception]
) -> None:
    failing = True

    def script(_request: Request) -> Step:
        return answer if failing else Say("ok")

    with scripted(tmp_path, script) as (server, config):
        async with Assistant(config) as assistant:
            with pytest.raises(error):
                await say(assistant, "hello")
            failing = False
            await say(assistant, "again")
    assert [m["role"] for m in server.last.messages] == ["user"]


async def test_a_missing_key_and_an_unknown_provider_say_what_to_do(tmp_path: Path) -> None:
    for use, error in (("anthropic/x", MissingKeyError), ("nobody/x", NoSuchModelError)):
        config = config_of(tmp_path, f'[model]\nuse = "{use}"\n')
        with pytest.raises(error, match="claw setup"):
            await get_reply(config, MessageContext("hi", "k"), Heard())


async def test_a_fallback_answers_when_the_first_cannot(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say("from the second")]) as (server, _):
        text = provider_config(server).replace('use = "scripted/one"', 'use = "anthropic/x"')
        config = config_of(tmp_path, text + 'fallbacks = ["scripted/two"]\n')
        heard = Heard()
        reply = await get_reply(config, MessageContext("hi", "k"), heard)
    assert reply.text == "from the second"
    assert any("ANTHROPIC_API_KEY" in notice for notice in heard.of("notice"))


async def test_what_is_too_long_for_the_model_is_asked_again_with_less(tmp_path: Path) -> None:
    def short_of_memory(request: Request) -> Step:
        if "summary" in request.json["system"][0]["text"][:400] and len(request.messages) == 1:
            return Say("- User: many words")
        if len(request.body) > 9000:
            message = "prompt is too long: 9000 tokens > 5000 maximum"
            return Status(400, kind="invalid_request_error", message=message)
        return Say("ok")

    with scripted(tmp_path, short_of_memory) as (_, config):
        async with Assistant(config) as assistant:
            for n in range(12):
                reply = await say(assistant, f"message {n} " + "word " * 200)
                assert reply.text == "ok"


async def test_a_message_that_alone_is_too_long_says_so(tmp_path: Path) -> None:
    too_long = Status(400, kind="invalid_request_error", message="prompt is too long: 9 > 5")
    with (
        scripted(tmp_path, [too_long, too_long, too_long]) as (_, config),
        pytest.raises(ContextTooLongError),
    ):
        await get_reply(config, MessageContext("x" * 1000, "k"), Heard())


async def test_an_order_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    more = "[assistant]\ntimeout = 0.5\n"
    late = pytest.raises(ToolTimeoutError, match=r"no answer after 0\.5 s")
    with scripted(tmp_path, [Hang()], more=more) as (server, config), late:
        await get_reply(config, MessageContext("hi", "k"), Heard())
    assert server.open == 0


async def test_what_was_said_before_an_error_comes_with_it_and_stays_in_the_session(
    tmp_path: Path,
) -> None:
    with scripted(tmp_path, [[Say("Once upon"), Cut()], Say("ok")]) as (server, config):
        async with Assistant(config) as assistant:
            reply = await say(assistant, "tell me a story")
            assert (reply.text, reply.reason) == ("Once upon", "failed")
            assert "broke off in the middle" in reply.problem
            assert "Tools" not in reply.problem
            await say(assistant, "go on")
    assert [m["role"] for m in server.last.messages] == ["user", "assistant", "user"]
    assert "Once upon\\n[failed: ProviderDownError here]" in server.last.body.decode()


@pytest.mark.usefixtures("garden")
async def test_a_call_that_cannot_be_written_down_is_not_run(tmp_path: Path) -> None:
    data = tmp_path / "data"

    def script(_request: Request) -> Step:
        data.rename(tmp_path / "elsewhere")
        data.write_text("no directory")
        return Call("mcp__garden__moisture", {"bed": "basil"})

    heard = Heard()
    with scripted(tmp_path, script) as (server, config), pytest.raises(StoreError):
        await get_reply(config, MessageContext("how wet?", "k"), heard)
    assert len(server.requests) == 1
    assert heard.of("started") == []


async def test_an_answer_without_end_is_cut_off_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_module, "LONGEST_ANSWER", 10)
    with scripted(tmp_path, [Say("on ", "and on ", "and on ", "and on")]) as (_, config):
        reply = await get_reply(config, MessageContext("go on", "k"), Heard())
    assert (reply.text, reply.reason) == ("on and on", "length")
    assert reply.omissions == ("the answer is cut off after 10 characters",)


async def test_a_refusal_is_told_with_its_words(tmp_path: Path) -> None:
    refusal = {"choices": [{"message": {"refusal": "I won't."}, "finish_reason": "stop"}]}
    with scripted(tmp_path, [Status(200, refusal)], wire="openai") as (_, config):
        reply = await get_reply(config, MessageContext("hi", "k"), Heard())
    assert (reply.text, reply.reason) == ("I won't.", "refusal")
    assert reply.omissions == ("the model declined to answer",)


async def test_an_empty_answer_is_said_to_be_one(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say("")]) as (_, config):
        reply = await get_reply(config, MessageContext("hi", "k"), Heard())
    assert reply.text == "[the model gave an empty answer]"


async def test_a_tool_that_is_not_there_is_answered_with_all_that_are(tmp_path: Path) -> None:
    with scripted(tmp_path, [Call("nope"), Say("Well.")]) as (server, config):
        async with Assistant(config) as assistant:
            await say(assistant, "hi", origin="ask")
    told = "There is no tool called 'nope'. There are send_file, search_history"
    assert told in str(server.requests[-1].json["messages"][-1])
