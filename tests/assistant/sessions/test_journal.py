from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from clawkit.assistant.sessions.store import SessionStore
from clawkit.models.protocol import Message, Text, ToolCall, ToolOutcome
from tests.assistant.sessions.turns import (
    all_texts,
    assistant,
    child,
    keep,
    opened,
    picture,
    say,
    texts,
    user,
)

HALF_DONE = """
async def main():
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            await turn.keep([user("wait for me")])
            tell("kept")
            await asyncio.sleep(600)
asyncio.run(main())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


async def test_a_turn_grows_in_the_store_and_sees_nothing_of_itself(file: Path) -> None:
    asked, calls = user("water it", picture(b"bed")), assistant(ToolCall("c", "water", {}))
    wet = Message("tool", (ToolOutcome("c", (Text("it is wet"),)),))
    async with opened(file) as sessions:
        await say(sessions, "k", "water is blue")
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            so_far = [asked]
            for more in (calls, wet, assistant("done")):
                await turn.keep(so_far)
                shown = SessionStore(file).show("k")
                assert [one.message.role for one in shown.messages[1:]] == [m.role for m in so_far]
                assert shown.info.running
                history = await turn.history(10**6)
                assert texts(history.messages) == ["water is blue"]
                assert texts(await turn.search("water", 9)) == ["water is blue"]
                so_far.append(more)
            await keep(turn, *so_far)
        assert [one.message for one in SessionStore(file).show("k").messages][2:] == so_far[1:]
        assert await all_texts(sessions, "k") == ["water is blue", "water it", "", "", "done"]
    assert SessionStore(file).check() == []


async def test_a_summary_made_in_a_turn_does_not_cover_its_own_message(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "one")
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            await turn.keep([user("two")])
            (span,) = await turn.message_ranges(10**9, 10**9)
            assert texts(await turn.read(span)) == ["one"]
            await turn.compact("they counted", 10**9)
            await keep(turn, user("two"), assistant("three"))
        assert await all_texts(sessions, "k") == ["two", "three"]


async def test_a_session_deleted_in_mid_turn_gets_the_whole_turn_once(file: Path) -> None:
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            await turn.keep([user("one")])
            assert SessionStore(file).delete("k")
            await turn.choose_model("m")  # whatever comes first renews the ticket
            await turn.keep([user("one"), assistant("two")])
            await keep(turn, user("one"), assistant("two"), user("three"))
        assert await all_texts(sessions, "k") == ["one", "two", "three"]


async def test_what_came_to_nothing_is_taken_back_without_a_trace(file: Path) -> None:
    async with opened(file) as sessions:
        with suppress(ZeroDivisionError):
            async with sessions.turn("k", origin="mcp", named=True) as turn:
                await turn.keep([user("my dog is called Rex", picture(b"dog"))])
                await turn.discard()
                raise ZeroDivisionError
        found = SessionStore(file).show("k")
        assert (found.messages, found.info.title) == ((), "")
        assert found.info.last_reason == "failed: ZeroDivisionError"
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            assert (await turn.history(1000)).first
            assert await turn.search("dog") == ()
    assert SessionStore(file).check() == []


async def test_a_turn_that_was_left_without_an_end_gets_one(file: Path) -> None:
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            await turn.keep([user("hello")])
        first, note = await all_texts(sessions, "k")
    assert first == "hello"
    assert note.startswith("[interrupted here")
    assert SessionStore(file).show("k").info.last_reason == "lost"


async def test_whoever_waits_behind_a_killed_turn_finds_it_ended_and_before_its_own(
    file: Path,
) -> None:
    async with opened(file) as sessions:
        with child(HALF_DONE, file) as victim:
            await asyncio.to_thread(victim.reaches, "kept")
            waiting = asyncio.Event()

            async def next_one() -> list[str]:
                line = sessions.turn("k", origin="mcp", named=True, on_wait=lambda _: waiting.set())
                async with line as turn:
                    before = texts((await turn.history(1000)).messages)
                    await keep(turn, user("after you"))
                    return before

            task = asyncio.create_task(next_one())
            await waiting.wait()
            victim.kill()
            before = await task
        said = await all_texts(sessions, "k")
    assert before[0] == "wait for me"
    assert before[1].startswith("[interrupted here")
    assert said == [*before, "after you"]
