"""Models and tools that say more, or other things, than anybody would expect.

What once took longer the square of its length would not end within a test's time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.assistant import reply as reply_module
from clawkit.assistant.assistant import Assistant
from clawkit.assistant.callbacks import MessageContext, combine
from clawkit.assistant.media.call_folder import CallFolder
from clawkit.assistant.media.inbound import receive
from clawkit.assistant.media.outbound import FileOutbox
from clawkit.assistant.prompt import system_prompt
from clawkit.errors import NoSuchModelError
from clawkit.models.protocol import ToolCall
from tests.assistant.media.samples import item, png
from tests.assistant.providers.steps import Call, Hang, Reply, Say, Step
from tests.assistant.replies import Heard, config_of, get_reply, say, scripted


async def test_an_answer_in_very_many_pieces_is_whole(tmp_path: Path) -> None:
    with scripted(tmp_path, [Say(*["word "] * 20_000)]) as (_, config):
        reply = await get_reply(config, MessageContext("go", "k"), Heard())
    assert reply.text == ("word " * 20_000).strip()


async def test_a_model_that_does_not_stop_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reply_module, "LONGEST_ANSWER", 1000)
    with scripted(tmp_path, [[Say(*["word "] * 1000), Hang()]]) as (server, config):
        reply = await get_reply(config, MessageContext("go", "k"), Heard())
    assert len(reply.text) < 1100
    assert reply.reason == "length"
    assert server.open == 0


def test_texts_made_to_be_compared_for_ever_are_not() -> None:
    combine(["a" * 300_000], "a" * 600_000)


def test_a_line_of_media_made_of_spaces_takes_no_time_and_a_windows_line_is_read(
    tmp_path: Path,
) -> None:
    (tmp_path / "x.txt").write_text("x")
    with CallFolder() as folder:
        outbox = FileOutbox(folder, tmp_path)
        outbox.take_lines("MEDIA: a" + " " * 200_000 + "b")
        outbox = FileOutbox(folder, tmp_path)
        assert outbox.take_lines("Here.\r\nMEDIA: x.txt\r\n").strip() == "Here."
        assert [one.name for one in outbox.close().media] == ["x.txt"]


def test_two_new_files_of_one_name_are_both_sent(tmp_path: Path) -> None:
    with CallFolder() as folder:
        outbox = FileOutbox(folder, tmp_path)
        for number, path in enumerate(("a/x.txt", "b/x.txt")):
            outbox.send_file(ToolCall("1", "send_file", {"path": path, "text": f"{number}"}))
        sent = {one.name: one.data for one in outbox.close().media}
    assert sent == {"x.txt": b"0", "x-2.txt": b"1"}


async def test_an_answer_that_is_cut_short_says_so(tmp_path: Path) -> None:
    with scripted(tmp_path, [Reply(Say("half"), stop="max_tokens")]) as (_, config):
        reply = await get_reply(config, MessageContext("go", "k"), Heard())
    assert reply.text == "half"
    assert "max_tokens" in reply.omissions[0]


async def test_what_tools_did_is_kept_when_time_runs_out(tmp_path: Path) -> None:
    script: list[Step] = [Call("send_file", {"path": "a.txt", "text": "a"}), Hang(), Say("ok")]
    more = "[assistant]\ntimeout = 1\n"
    with scripted(tmp_path, script, more=more) as (server, config):
        async with Assistant(config) as assistant:
            reply = await say(assistant, "write it")
            assert reply.problem.startswith("no answer after 1 s")
            assert "Tools had run by then: send_file (done)" in reply.problem
            assert [item.name for item in reply.media] == ["a.txt"]
            await say(assistant, "what happened?")
    assert "[failed: ToolTimeoutError before an answer]" in server.last.body.decode()
    assert "a.txt will be sent" in server.last.body.decode()


async def test_what_is_recalled_is_the_part_that_was_asked_for(tmp_path: Path) -> None:
    long_ago = "Filler about nothing at all. " * 60 + "The ship sails to Zanzibar on Monday."
    async with Assistant(config_of(tmp_path)) as assistant:
        await say(assistant, long_ago)
        async with assistant.sessions.turn("k", origin="mcp", named=True) as turn:
            (found, *_) = await turn.search("Where does the ship sail, Zanzibar?")
    system = system_prompt("", workspace=None, recalled=(found,), asked="Zanzibar?")
    assert "sails to Zanzibar on Monday." in system
    assert len(system) < 1500


async def test_a_name_for_a_model_is_a_name(tmp_path: Path) -> None:
    async with Assistant(config_of(tmp_path)) as assistant:
        for text in ("x/" + "y" * 1000, "x/\x1b[31my"):
            with pytest.raises(NoSuchModelError, match="takes one name"):
                await say(assistant, f"/model {text}")


async def test_a_command_says_that_it_takes_no_attachments(tmp_path: Path) -> None:
    attachments = receive([item(png(), "image/png")], None)
    async with Assistant(config_of(tmp_path)) as assistant:
        reply = await say(assistant, "/status", attachments=attachments)
    assert reply.omissions == ("/status takes no attachments",)
