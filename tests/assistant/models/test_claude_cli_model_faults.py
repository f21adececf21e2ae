"""What becomes of an order when the Claude CLI, or the API behind it, fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.assistant import Assistant
from clawkit.assistant.claude_cli_model import ClaudeCli, CliAnswerReader
from clawkit.claude.messages import parse_message
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
from clawkit.models.protocol import (
    Message,
    ModelSettings,
    Prompt,
    Text,
    TextDelta,
    ToolCall,
    ToolOutcome,
    ToolSpec,
)
from tests.assistant.models.conftest import Behind
from tests.assistant.models.through_cli import CONFIG, answered, asked, results, running, said
from tests.assistant.providers.steps import Call, Cut, Hang, Reply, Request, Say, Status, Step
from tests.assistant.replies import Heard, config_of, say, until
from tests.claude.fakes import fake_cli


async def test_a_cli_that_dies_after_a_tool_is_replaced(tmp_path: Path, cli: Behind) -> None:
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


async def test_half_an_answer_is_never_followed_by_another(tmp_path: Path, cli: Behind) -> None:
    long = "A sentence that is long enough to be on its way before the connection breaks. " * 50
    heard = Heard()

    def script(request: Request) -> Step:
        if "cut off mid-stream" in str(request.messages):  # the CLI asks it to go on
            return [Cut()]
        return [Say(long, long, pause=0.2), Cut()]

    with cli(script):
        async with Assistant(config_of(tmp_path, CONFIG)) as opened:
            reply = await say(opened, "hello", heard=heard)
    shown = "".join(heard.of("text"))
    assert shown
    assert reply.text == shown.strip()
    assert reply.problem
    assert (long + long).startswith(shown)
    assert not running()


async def test_an_answer_that_is_not_streamed_counts_too(tmp_path: Path, cli: Behind) -> None:
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
    tmp_path: Path, cli: Behind, stop: str, reason: str
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
    tmp_path: Path, cli: Behind, status: Status, expected: type[ModelError], words: str
) -> None:
    with cli(lambda _: status), pytest.raises(expected, match=words) as caught:
        await asked(tmp_path)
    assert caught.value.provider == "claude-cli"
    assert not running()


async def test_a_cli_that_is_not_logged_in_says_so(
    tmp_path: Path, cli: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    with cli([]):
        monkeypatch.delenv("ANTHROPIC_API_KEY")
        with pytest.raises(RefusedKeyError, match=r"not logged in.*Start `claude` and log in"):
            await asked(tmp_path)


async def test_a_missing_cli_is_a_clear_error_at_once(
    tmp_path: Path, cli: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, CONFIG.replace("retries = 0", "retries = 5"))
    with cli([]):
        monkeypatch.setenv("CLAUDE_CLI_PATH", str(tmp_path / "nowhere"))
        heard = Heard()
        async with Assistant(config) as opened:
            with pytest.raises(
                ModelError, match=r"nowhere, which does not exist.*npm install"
            ) as e:
                await say(opened, "hello", heard=heard)
    assert str(e.value).count("CLAUDE_CLI_PATH") == 1
    assert not heard.of("notice"), "asking again would not help"


async def test_another_model_answers_instead_of_a_missing_cli(
    tmp_path: Path, cli: Behind, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, f'{CONFIG}fallbacks = ["offline"]\n')
    with cli([]):
        monkeypatch.setenv("CLAUDE_CLI_PATH", str(tmp_path / "nowhere"))
        async with Assistant(config) as opened:
            assert (await say(opened, "hello")).model == "offline"


async def test_a_cli_that_says_nothing_for_too_long_is_given_up(
    tmp_path: Path, cli: Behind
) -> None:
    model = ClaudeCli(ModelSettings("claude-cli", "", timeout=2.0), tmp_path / "work")
    prompt = Prompt("", (Message("user", (Text("hello"),)),))
    with cli([[Say("Hel"), Hang()]]):
        with pytest.raises(ModelTimeoutError, match="said nothing for 2 s"):
            await answered(model, prompt)
        await until(lambda: not running())


async def test_a_conversation_that_another_model_began_goes_on(tmp_path: Path, cli: Behind) -> None:
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


def streamed(id: str, text: str) -> list[dict[str, Any]]:
    """The beginning of a message, as the CLI passes it on; it ends what broke off by itself."""
    start = {"type": "message_start", "message": {"id": id, "model": "opus"}}
    delta = {"type": "text_delta", "text": text}
    events = [start, {"type": "content_block_delta", "delta": delta}, {"type": "message_stop"}]
    return [{"type": "stream_event", "event": e, "session_id": "s"} for e in events]


def test_an_answer_that_broke_off_may_be_resumed_but_not_begun_again() -> None:
    taken = {"id": "m1", "model": "opus", "content": [{"type": "text", "text": "Half"}]}
    resumed = [
        *streamed("m1", "Half"),
        {"type": "assistant", "message": taken},
        *streamed("m2", " and half"),
    ]
    answer = CliAnswerReader(ModelSettings("claude-cli", ""))
    events = [answer.event_of(parse_message(message)) for message in resumed]
    assert [e.text for e in events if isinstance(e, TextDelta)] == ["Half", " and half"]
    anew = [*streamed("m1", "Half"), *streamed("m2", "Half")]
    answer = CliAnswerReader(ModelSettings("claude-cli", ""))
    with pytest.raises(ProviderDownError, match="mid-answer"):
        [answer.event_of(parse_message(message)) for message in anew]


@pytest.mark.process
async def test_a_cli_that_reads_the_files_in_a_message_is_too_old(tmp_path: Path) -> None:
    old = fake_cli(tmp_path, "initialize()\ntime.sleep(60)\n", version="2.1.247")
    model = ClaudeCli(ModelSettings("claude-cli", ""), tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CLI_PATH", old)
        with pytest.raises(ModelError, match=r"is 2\.1\.247, and 2\.1\.248 or newer is needed"):
            await answered(model, Prompt("", (Message("user", (Text("@~/secret.txt"),)),)))
