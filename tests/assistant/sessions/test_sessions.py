from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from clawkit.assistant.sessions import async_store
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from clawkit.assistant.sessions.store import SessionStore
from clawkit.errors import SessionError, StoreError
from clawkit.models.protocol import Image, Message, Text, ToolCall, ToolOutcome, Usage
from tests.assistant.sessions.turns import (
    all_texts,
    assistant,
    keep,
    opened,
    picture,
    say,
    texts,
    user,
)


def rows(file: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


async def test_what_is_said_in_one_turn_is_there_in_the_next(file: Path) -> None:
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            before = await turn.history(1000)
            assert (before.first, before.messages, before.summary) == (True, (), "")
            await keep(turn, user("my colour is blue"), assistant("noted"))
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            after = await turn.history(1000)
    assert texts(after.messages) == ["my colour is blue", "noted"]
    assert [one.message.role for one in after.messages] == ["user", "assistant"]
    assert not after.first


async def test_nothing_is_opened_before_it_is_used(file: Path) -> None:
    sessions = AsyncSessionStore(file)
    await sessions.close()
    assert not file.parent.exists()


async def test_a_closed_store_says_so(file: Path) -> None:
    sessions = AsyncSessionStore(file)
    await say(sessions, "k", "x")
    await sessions.close()
    with pytest.raises(StoreError, match="was closed"):
        await say(sessions, "k", "y")


async def test_every_kind_of_part_comes_back_as_it_was(file: Path) -> None:
    call = ToolCall("c1", "mcp__x__y", {"n": [1, None, 2.5, {"ü": "\u2028"}], "big": 2**80})
    outcome = ToolOutcome("c1", (Text("a\0b"), picture(b"inner"), Text("c")), is_error=True)
    messages = [
        user("eins\r\nzwei 🦞", picture(b"\x89PNG", "käse.png")),
        assistant("moment", call),
        Message("tool", (outcome,)),
        assistant(""),
    ]
    async with opened(file) as sessions:
        await say(sessions, "k", *messages)
        async with sessions.turn("k", origin="ask", named=True) as turn:
            history = await turn.history(10**6)
    assert [one.message for one in history.messages] == messages


async def test_half_a_surrogate_pair_does_not_lose_the_turn(file: Path) -> None:
    call = ToolCall("c", "n", {"\ud800": ["\ud83e\udd9e"]})
    async with opened(file) as sessions:
        await say(sessions, "k", user("a\ud800b", picture(b"\xff\x00")), assistant(call))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            first, second = (await turn.history(10**6)).messages
    assert first.message.parts == (Text("a\ufffdb"), picture(b"\xff\x00"))
    assert second.message.parts == (ToolCall("c", "n", {"\ufffd": ["🦞"]}),)


async def test_history_gives_the_newest_that_fit_in_order(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(20):
            await say(sessions, "k", user(f"question {number}"), assistant(f"answer {number}"))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            whole = await turn.history(10**6)
            budget = sum(one.tokens for one in whole.messages[-6:])
            assert len(whole.messages) == 40
            assert (await turn.history(budget)).messages == whole.messages[-6:]
            assert (await turn.history(0)).messages == ()
            assert not (await turn.history(0)).first


async def test_a_history_that_was_cut_begins_with_a_question(file: Path) -> None:
    call, outcome = ToolCall("c", "n", {}), ToolOutcome("c", (Text("found"),))
    async with opened(file) as sessions:
        await say(sessions, "k", user("one"), assistant(call), Message("tool", (outcome,)))
        await say(sessions, "k", user("two"), assistant("done"))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            whole = (await turn.history(10**6)).messages
            for kept in (4, 3):
                budget = sum(one.tokens for one in whole[-kept:])
                assert texts((await turn.history(budget)).messages) == ["two", "done"]


async def test_a_history_without_any_question_does_not_begin_with_an_outcome(file: Path) -> None:
    call, outcome = ToolCall("c", "n", {}), Message("tool", (ToolOutcome("c", (Text("found"),)),))
    said = [assistant("so far so good"), assistant("this is the end")]
    async with opened(file) as sessions:
        await say(sessions, "k", user("long " * 500), assistant(call), outcome, *said)
        async with sessions.turn("k", origin="ask", named=True) as turn:
            whole = (await turn.history(10**6)).messages
            budget = sum(one.tokens for one in whole[-3:])
            assert [one.message for one in (await turn.history(budget)).messages] == said


async def test_a_giant_message_does_not_hide_what_was_said_before_it(file: Path) -> None:
    table = "\n".join(f"{n},{7 * n}" for n in range(10_000))
    async with opened(file) as sessions:
        await say(sessions, "k", user("The code is 4711."), assistant("noted"))
        await say(sessions, "k", user("Look at this.", table), assistant("seen"))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            history = await turn.history(4000)
            (span,) = await turn.message_ranges(10**9, 10**9)
            whole = await turn.read(span)
    said = texts(history.messages)
    assert (said[:2], said[3], history.gap) == (["The code is 4711.", "noted"], "seen", False)
    assert said[2].startswith("Look at this. 0,0\n1,7\n")
    assert said[2].endswith("9999,69993")
    assert "characters left out" in said[2]
    assert sum(one.tokens for one in history.messages) < 4000
    assert texts(whole)[2] == f"Look at this. {table}"


async def test_what_no_summary_covers_comes_in_pieces_of_whole_turns(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(10):
            await say(sessions, "k", user(f"question {number} " * 20), assistant("answer " * 20))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            await turn.compact("two questions", 4)
            history = await turn.history(400)
            first = history.messages[0].id
            pieces = await turn.message_ranges(first - 1, 300)
            read = [one for piece in pieces for one in await turn.read(piece)]
            starts = [(await turn.read(piece))[0].message.role for piece in pieces]
    assert history.gap
    assert [one.id for one in read] == list(range(5, first))
    assert len(pieces) > 1
    assert set(starts) == {"user"}
    assert all(piece.tokens < 400 for piece in pieces)


async def test_a_summary_stands_for_what_it_covers(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(5):
            await say(sessions, "k", f"message {number}")
        async with sessions.turn("k", origin="ask", named=True) as turn:
            whole = (await turn.history(1000)).messages
            await turn.compact("they counted", whole[2].id)
            history = await turn.history(1000)
            assert (history.summary, texts(history.messages)) == (
                "they counted",
                ["message 3", "message 4"],
            )
            assert texts(await turn.search("message 0", 1)) == ["message 0"]
            await turn.compact("all", 10**9)
        await say(sessions, "k", "later")
        assert await all_texts(sessions, "k") == ["later"]
    assert len(SessionStore(file).show("k").messages) == 6


async def test_a_new_beginning_leaves_history_and_search_but_not_the_store(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", user("the cat is called Minka"), assistant("nice"))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            await turn.compact("a cat", 1)
            assert await turn.reset() == 2
            history = await turn.history(1000)
            assert (history.summary, history.messages, history.first) == ("", (), False)
            assert await turn.search("Minka") == ()
            await keep(turn, "the dog is called Minka")
            assert texts(await turn.search("Minka")) == ["the dog is called Minka"]
            assert (await turn.info()).messages == 1
    shown = SessionStore(file).show("k")
    assert [one.epoch for one in shown.messages] == [0, 0, 1]
    assert (shown.info.messages, shown.info.title) == (3, "the dog is called Minka")


async def test_a_model_is_chosen_for_one_session(file: Path) -> None:
    async with opened(file) as sessions:
        async with sessions.turn("k", origin="ask", named=True) as turn:
            assert turn.model == ""
            await turn.choose_model("ollama/llama3.2")
            assert turn.model == "ollama/llama3.2"
        async with sessions.turn("k", origin="ask", named=True) as turn:
            assert turn.model == "ollama/llama3.2"
        async with sessions.turn("other", origin="ask", named=True) as turn:
            assert turn.model == ""
    assert SessionStore(file).show("k").chosen_model == "ollama/llama3.2"


async def test_the_bytes_of_a_picture_are_stored_once_and_go_with_the_last_user(file: Path) -> None:
    cat, dog = picture(b"cat" * 1000), picture(b"dog" * 1000, "dog.png")
    inside = Message("tool", (ToolOutcome("c", (cat,)),))
    async with opened(file) as sessions:
        await say(sessions, "a", user("look", cat), user("again", cat, cat), inside)
        await say(sessions, "b", user("mine", cat, dog))
        async with sessions.turn("b", origin="ask", named=True) as turn:
            assert (await turn.history(10**6)).messages[0].message.parts[1:] == (cat, dog)
    count = "SELECT count(*) FROM images"
    assert rows(file, count) == [(2,)]
    SessionStore(file).delete("b")
    assert rows(file, count) == [(1,)]
    SessionStore(file).delete("a")
    assert rows(file, count) == [(0,)]


async def test_pictures_beyond_the_limit_of_a_prompt_are_only_named(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_store, "MOST_IMAGE_BYTES", 25)
    async with opened(file) as sessions:
        for number in range(4):
            await say(sessions, "k", user("look", picture(bytes([number]) * 10, f"{number}.png")))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            parts = [one.message.parts[1] for one in (await turn.history(10**6)).messages]
            found = await turn.search("look", 1)
    assert parts[:2] == [Text("[image 0.png, shown earlier]"), Text("[image 1.png, shown earlier]")]
    assert all(isinstance(part, Image) for part in parts[2:])
    assert found[0].message.parts[1] == Text("[image 3.png, shown earlier]")


async def test_an_error_in_a_turn_is_recorded_with_its_class(file: Path) -> None:
    async with opened(file) as sessions:
        with pytest.raises(ZeroDivisionError):
            async with sessions.turn("k", origin="ask", named=True):
                raise ZeroDivisionError("the key is sk-secret")
        assert SessionStore(file).show("k").info.last_reason == "failed: ZeroDivisionError"


async def test_a_cancelled_turn_is_recorded_as_such(file: Path) -> None:
    async with opened(file) as sessions:
        begun = asyncio.Event()

        async def work() -> None:
            async with sessions.turn("k", origin="ask", named=True):
                begun.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(work())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert SessionStore(file).show("k").info.last_reason == "cancelled"


async def test_what_was_saved_counts_even_if_an_error_follows(file: Path) -> None:
    async with opened(file) as sessions:
        with suppress(ZeroDivisionError):
            async with sessions.turn("k", origin="ask", named=True) as turn:
                await keep(turn, "half", reason="cancelled")
                raise ZeroDivisionError
    info = SessionStore(file).show("k").info
    assert (info.last_reason, info.messages) == ("cancelled", 1)


async def test_a_turn_in_which_nothing_happened_leaves_no_trace(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True):
        pass
    assert rows(file, "SELECT count(*) FROM turns") == [(0,)]


async def test_a_turn_knows_its_session(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", user("hello"), assistant("hi"), origin="chat", named=False)
        async with sessions.turn("k", origin="mcp", named=True) as turn:
            info = await turn.info()
            assert (turn.key, turn.id) == ("k", 2)
    assert (info.key, info.origin, info.named, info.running) == ("k", "chat", True, True)
    assert (info.messages, info.turns, info.model, info.last_reason) == (2, 1, "offline", "end")


async def test_usage_adds_up_over_the_saves_of_a_turn(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await turn.save([user("a")], usage=Usage(10, 5, 1), model="m", reason="cancelled")
        await turn.save([user("a"), user("b")], usage=Usage(1, 1, 1), model="m", reason="end")
    found = rows(file, "SELECT input, output, cached, reason, owner FROM turns")
    assert found == [(11, 6, 2, "end", None)]


def is_made(file: Path) -> bool:
    return file.exists()


@pytest.mark.parametrize(
    "key", ["", "x" * 513, "a\nb", "a\0", "\x1b[31m", "a\x7f", "\u0085", "\ud800"], ids=ascii
)
async def test_a_key_that_cannot_be_used_is_refused_and_not_shown(file: Path, key: str) -> None:
    with pytest.raises(SessionError) as caught:
        async with AsyncSessionStore(file).turn(key, origin="mcp", named=True):
            pass
    assert "session key" in str(caught.value)
    assert not key or key not in str(caught.value)
    assert not is_made(file)


@pytest.mark.parametrize(
    "key", ["x", "x" * 512, "agent:main:mcp", "ключ 🦞 鍵", "' OR 1=1 --", "%", "a b", "ﬁ", "fi"]
)
async def test_any_other_text_is_a_key_of_its_own(file: Path, key: str) -> None:
    async with opened(file) as sessions:
        await say(sessions, "neighbour", "not yours")
        await say(sessions, key, "yours")
        assert await all_texts(sessions, key) == ["yours"]


def modes(*files: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in files}


async def test_only_the_owner_can_read_any_of_the_files(file: Path) -> None:
    async with opened(file) as sessions, sessions.turn("k", origin="ask", named=True) as turn:
        await keep(turn, "x")
        found, locks = modes(*file.parent.iterdir()), modes(*(file.parent / "owners").iterdir())
    files = {"sessions.db": 0o600, "sessions.db-wal": 0o600, "sessions.db-shm": 0o600}
    assert found == {**files, "owners": 0o700}
    assert set(locks.values()) == {0o600}
    assert modes(file.parent) == {"data": 0o700}


async def test_a_file_that_others_could_read_is_made_private(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "x")
    for path, mode in ((file, 0o644), (file.parent, 0o755)):
        path.chmod(mode)
    async with opened(file) as sessions:
        await say(sessions, "k", "y")
    assert modes(file, file.parent) == {"sessions.db": 0o600, "data": 0o755}


def test_a_file_that_is_no_store_keeps_its_rights(file: Path) -> None:
    file.parent.mkdir()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE mine (x)")
    connection.close()
    notes = file.with_name("notes.txt")
    notes.write_text("not a database " * 100)
    for path in (file, notes):
        path.chmod(0o644)
        with pytest.raises(StoreError):
            SessionStore(path).list_sessions()
    assert modes(file, notes) == {"sessions.db": 0o644, "notes.txt": 0o644}
