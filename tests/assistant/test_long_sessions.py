"""Sessions that outgrow the window: what is summarised, what is found again, what stays fast."""

from __future__ import annotations

from pathlib import Path

from clawkit.assistant.assistant import Assistant
from clawkit.assistant.reply import WINDOW
from tests.assistant.providers.steps import Request, Say, Step
from tests.assistant.replies import Heard, config_of, say, scripted

FILLER = "The weather report said nothing of note for the harbour and the hills today. " * 20


async def test_what_no_longer_fits_is_summarised_once_and_not_again_each_turn(
    tmp_path: Path,
) -> None:
    summaries = 0

    def model(request: Request) -> Step:
        nonlocal summaries
        if "You write the memory" in request.body.decode():
            summaries += 1
            return Say("- User: the code is 4711")
        return Say("ok")

    heard = Heard()
    more = "context = 8000\nmax_tokens = 500\n"
    with scripted(tmp_path, model, more=more) as (server, config):
        async with Assistant(config) as assistant:
            await say(assistant, "the code is 4711", heard=heard)
            for n in range(40):
                await say(assistant, f"{n}: {FILLER}", heard=heard)
    assert 1 <= summaries <= 10
    assert "summarising the earlier conversation" in heard.of("step")
    assert "- User: the code is 4711" in str(server.last.json["system"])
    assert all(len(request.body) < 60_000 for request in server.requests)


async def test_something_said_long_ago_is_found_again(tmp_path: Path) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        await say(assistant, "Remember that my favorite color is blue.")
        for n in range(60):
            await say(assistant, f"Line {n} of the log. {FILLER}")
        reply = await say(assistant, "What's my favorite color?")
    assert "blue" in reply.text


async def test_a_prompt_has_a_window_however_long_the_session_is(tmp_path: Path) -> None:
    with scripted(tmp_path, lambda _: Say("ok " * 50)) as (server, config):
        async with Assistant(config) as assistant:
            for n in range(60):
                await say(assistant, f"{n}: {FILLER}")
    assert len(server.last.body) < 6 * WINDOW
