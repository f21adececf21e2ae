from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.assistant.assistant import Assistant
from clawkit.errors import NoSuchModelError
from tests.assistant.providers.steps import Say
from tests.assistant.replies import config_of, say, scripted


async def test_new_leaves_everything_behind_and_goes_on_with_the_rest(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say("noted"), Say("hello")]) as (server, config):
        async with Assistant(config) as assistant:
            await say(assistant, "my number is 4711")
            reply = await say(assistant, "/new  hello again ")
    assert reply.text == "hello"
    assert server.last.last_text == "hello again "
    assert "number is 4711" not in server.last.body.decode()


@pytest.mark.parametrize("word", ["/new", "/reset"])
async def test_new_alone_says_what_it_did(tmp_path: Path, word: str) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        assert "nothing before" in (await say(assistant, word)).text
        await say(assistant, "my favorite color is blue")
        assert "2 earlier messages are left behind" in (await say(assistant, word)).text
        assert "blue" not in (await say(assistant, "what is my favorite color?")).text


async def test_status_says_who_answers_and_that_it_is_no_model(tmp_path: Path) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        await say(assistant, "hello")
        text = (await say(assistant, "/status")).text
    assert "offline" in text
    assert "not a language model" in text
    assert "2 messages in 1 turn" in text


async def test_a_session_can_have_a_model_of_its_own(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say("ok")]) as (server, config):
        async with Assistant(config) as assistant:
            assert "scripted/one answers here" in (await say(assistant, "/model")).text
            await say(assistant, "/model scripted/two")
            await say(assistant, "hello")
            assert server.last.json["model"] == "two"
            assert "scripted/two" in (await say(assistant, "/model")).text
            assert "scripted/one" in (await say(assistant, "/model", "other")).text
            assert "scripted/one" in (await say(assistant, "/model default")).text


async def test_a_model_that_does_not_exist_is_not_chosen(tmp_path: Path) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        with pytest.raises(NoSuchModelError):
            await say(assistant, "/model nobody/nothing")
        assert "offline answers here" in (await say(assistant, "/model")).text


async def test_compact_keeps_what_was_told(tmp_path: Path) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        assert "nothing to summarise" in (await say(assistant, "/compact")).text
        await say(assistant, "My cat is called Miso.")
        await say(assistant, "The deploy is on Friday at 3pm.")
        text = (await say(assistant, "/compact")).text
        assert "Miso" in text
        assert "Friday" in text
        assert "Miso" in (await say(assistant, "What is my cat called?")).text


async def test_help_lists_every_command(tmp_path: Path) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        text = (await say(assistant, "/help")).text
    for name in ("/new", "/reset", "/status", "/model", "/compact", "/help"):
        assert name in text


async def test_commands_are_not_part_of_the_conversation(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say("hi")]) as (server, config):
        async with Assistant(config) as assistant:
            await say(assistant, "/status")
            await say(assistant, "/help")
            await say(assistant, "hello")
    assert len(server.last.messages) == 1
