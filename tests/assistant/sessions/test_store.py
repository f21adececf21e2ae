from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from clawkit.assistant.sessions.database import SessionDatabase
from clawkit.assistant.sessions.message_rows import StoredFile, StoredImage
from clawkit.assistant.sessions.session_rows import prune_in_steps
from clawkit.assistant.sessions.store import SessionStore
from clawkit.assistant.sessions.turn_queue import directory_for
from clawkit.errors import SessionError
from clawkit.models.protocol import File, Message, Text, ToolOutcome, Usage
from tests.assistant.replies import until
from tests.assistant.sessions.test_many_processes import HOLD
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
from tests.processes import PATIENCE

DAY = 86_400.0


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


def change(file: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(file)
    try:
        connection.execute(statement, values)
        connection.commit()
    finally:
        connection.close()


def test_where_there_is_no_store_there_are_no_sessions_and_none_is_made(file: Path) -> None:
    store = SessionStore(file)
    assert store.list_sessions() == ()
    assert list(store.export()) == []
    assert (store.delete("k"), store.check()) == (False, [])
    with pytest.raises(SessionError, match="no session of this key"):
        store.show("k")
    with pytest.raises(SessionError):
        list(store.export(["k"]))
    assert not file.parent.exists()


async def test_the_list_says_what_there_is_the_last_used_first(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "a", user("  What is\n the time?  "), assistant("late"), origin="mcp")
        await say(sessions, "b", user("hello"), assistant("hi"), origin="chat", named=False)
        await say(sessions, "b", user("again"), assistant("yes"), origin="chat", named=False)
    b, a = SessionStore(file).list_sessions()
    assert (a.key, a.origin, a.named, a.messages, a.turns) == ("a", "mcp", True, 2, 1)
    assert (b.key, b.origin, b.named, b.messages, b.turns) == ("b", "chat", False, 4, 2)
    assert (a.title, a.model, a.last_reason, a.running) == (
        "What is the time?",
        "offline",
        "end",
        False,
    )
    assert b.created < b.updated <= time.time()


async def test_only_those_that_were_used_lately_are_listed_if_wanted(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "old", "x")
        await say(sessions, "new", "x")
    change(file, "UPDATE sessions SET updated = updated - 3600 WHERE key = 'old'")
    assert [one.key for one in SessionStore(file).list_sessions(active_minutes=30)] == ["new"]
    assert [one.key for one in SessionStore(file).list_sessions(active_minutes=90)] == [
        "new",
        "old",
    ]


def test_a_session_runs_while_a_live_process_has_a_turn_in_it(file: Path) -> None:
    with child(HOLD, file) as holder:
        holder.reaches("running")
        assert SessionStore(file).show("k").info.running
        assert SessionStore(file).list_sessions()[0].running
        holder.kill()
    assert not SessionStore(file).show("k").info.running


async def test_a_transcript_names_pictures_and_does_not_contain_them(file: Path) -> None:
    outcome = Message("tool", (ToolOutcome("c", (picture(b"12345", "chart.png"),)),))
    async with opened(file) as sessions:
        await say(sessions, "k", user("look", picture(b"123")), outcome)
    first, second = SessionStore(file).show("k").messages
    assert first.message.parts[1] == Text("[image cat.png, image/png, 3 bytes]")
    inner = Text("[image chart.png, image/png, 5 bytes]")
    assert second.message.parts == (ToolOutcome("c", (inner,)),)


async def test_an_export_is_complete_and_always_the_same(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "a", user("look", picture(b"\x00\xff")), assistant("nice"))
        async with sessions.turn("a", origin="ask", named=True) as turn:
            await turn.compact("a picture", 2)
            await turn.reset()
            await keep(turn, "anew")
        await say(sessions, "b", *(f"m{number}" for number in range(250)))
    store = SessionStore(file)
    records = list(store.export())
    assert json.dumps(records) == json.dumps(list(store.export()))
    kinds = [record["type"] for record in records]
    assert (
        kinds
        == ["session", "turn", "turn", *["message"] * 3, "session", "turn"] + ["message"] * 250
    )
    first = records[3]
    assert (first["session"], first["role"], first["epoch"]) == ("a", "user", 0)
    assert first["parts"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "AP8=", "mime_type": "image/png", "name": "cat.png"},
    ]
    assert records[5]["epoch"] == 1
    assert records[0]["key"] == "a"
    assert records[1]["reason"] == "end"
    only = list(store.export(["b"]))
    assert only == records[6:]
    with pytest.raises(SessionError):
        next(store.export(["b", "none such"]))


async def test_the_store_can_be_written_while_it_is_exported(file: Path) -> None:
    async with opened(file, patience=PATIENCE) as sessions:
        await say(sessions, "a", *(f"m{number}" for number in range(300)))
        export = SessionStore(file).export()
        next(export)
        await say(sessions, "a", "meanwhile")
        await say(sessions, "b", "another")
        rest = list(export)
    assert sum(record["type"] == "message" for record in rest) == 301


async def test_what_is_deleted_is_gone_from_the_files(file: Path) -> None:
    secret, picture_bytes = "xylophonist", b"PICTURE-OF-A-SECRET" * 50
    async with opened(file) as sessions:
        await say(sessions, "keep", *(f"other words {number}" for number in range(50)))
        await say(sessions, "k-secret-key", user(f"the {secret} said", picture(picture_bytes)))
        assert SessionStore(file).delete("k-secret-key")
        assert not SessionStore(file).delete("k-secret-key")
        left = b"".join(path.read_bytes() for path in file.parent.glob("sessions.db*"))
        for gone in (secret.encode(), secret[:-3].encode(), picture_bytes, b"k-secret-key"):
            assert gone not in left
        assert len(await all_texts(sessions, "keep")) == 50
    assert SessionStore(file).check() == []


async def test_the_room_of_what_was_deleted_is_given_back(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "small", "x")
        await say(sessions, "large", user("look", picture(bytes(20_000_000))))
    before = size(file)
    SessionStore(file).delete("large")
    assert size(file) < before - 19_000_000


def size(file: Path) -> int:
    return file.stat().st_size


async def test_a_session_that_was_deleted_begins_anew(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "old")
        SessionStore(file).delete("k")
        async with sessions.turn("k", origin="ask", named=True) as turn:
            assert (await turn.history(1000)).first
            assert await turn.search("old") == ()


def pruned(file: Path, now: float) -> int:
    with closing(SessionDatabase(file)) as database:
        return sum(prune_in_steps(database, now))


async def test_sessions_that_nobody_named_go_after_thirty_days(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "auto", "x", named=False)
        await say(sessions, "named", "x")
        await say(sessions, "continued", "x", named=False)
        await say(sessions, "continued", "y", named=True)
        await say(sessions, "named", "z", named=False)
    store, now = SessionStore(file), time.time()
    assert pruned(file, now + 29 * DAY) == 0
    assert pruned(file, now + 31 * DAY) == 1
    assert sorted(one.key for one in store.list_sessions()) == ["continued", "named"]
    assert store.check() == []


async def test_a_session_that_is_in_use_is_not_pruned(file: Path) -> None:
    async with opened(file) as sessions:
        async with sessions.turn("auto", origin="mcp", named=False) as turn:
            assert pruned(file, time.time() + 99 * DAY) == 0
            await keep(turn, "still here")
        assert await all_texts(sessions, "auto") == ["still here"]


def test_a_session_whose_process_died_is_pruned(file: Path) -> None:
    with child(HOLD.replace("named=True", "named=False"), file) as holder:
        holder.reaches("running")
        holder.kill()
    assert pruned(file, time.time() + 31 * DAY) == 1


async def test_pruning_happens_by_itself_once_a_day(file: Path) -> None:
    async def said_and_pruned(key: str) -> list[str]:
        """Each time as a new process would: it has not pruned yet."""
        async with opened(file) as sessions:
            await say(sessions, key, "x", named=False)
        change(file, "UPDATE sessions SET updated = ? WHERE key = ?", time.time() - 31 * DAY, key)
        return sorted(one.key for one in SessionStore(file).list_sessions())

    assert await said_and_pruned("one") == ["one"]
    assert await said_and_pruned("two") == ["one", "two"]
    change(file, "UPDATE notes SET value = value - 90000")
    assert await said_and_pruned("three") == ["three"]


def idle(file: Path) -> int:
    return sum(one.key.startswith("idle") for one in SessionStore(file).list_sessions())


async def test_no_turn_waits_until_what_is_old_is_gone(file: Path) -> None:
    old = time.time() - 31 * DAY
    async with opened(file) as sessions:
        await say(sessions, "first", "x")
    change(file, "DELETE FROM notes")
    numbers = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1000)"
    add = "INSERT INTO sessions (key, origin, named, created, updated)"
    change(file, f"{numbers} {add} SELECT 'idle ' || x, 'mcp', 0, 0, ? FROM n", old)
    async with opened(file) as sessions:
        for number in range(5):
            await say(sessions, f"new {number}", "x")
        assert idle(file) > 0  # all five are done, and it has only begun
        await until(lambda: not idle(file))


async def test_what_a_program_of_one_turn_leaves_the_next_one_goes_on_with(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(250):
            await say(sessions, f"idle {number}", "x", named=False)
    change(file, "DELETE FROM notes")
    change(file, "UPDATE sessions SET updated = ?", time.time() - 31 * DAY)
    left: list[int] = []
    while idle(file):
        async with opened(file) as sessions:
            await say(sessions, "new", "x")
        left.append(idle(file))
    assert 1 < len(left) < 10
    assert left == sorted(left, reverse=True)


async def test_an_index_that_is_not_true_is_a_problem(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "hello", "world")
    assert SessionStore(file).check() == []
    change(file, "UPDATE said_content SET c0 = 'something else' WHERE id = 1")
    assert len(SessionStore(file).check()) == 1


async def test_a_row_without_its_parent_is_a_problem(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "hello")
    change(file, "DELETE FROM turns")
    assert any("messages" in problem for problem in SessionStore(file).check())


async def test_the_last_of_a_long_session_are_there_without_the_rest(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(20):
            await say(sessions, "k", user(f"question {number}"), assistant(f"answer {number}"))
    change(file, "UPDATE messages SET parts = 'broken' WHERE id < 37")
    last = SessionStore(file).last("k", 4)
    assert texts(last.messages) == ["question 18", "answer 18", "question 19", "answer 19"]
    assert last.info.messages == 40
    with pytest.raises(SessionError):
        SessionStore(file).last("none", 4)


async def test_the_commands_work_while_servers_do(file: Path) -> None:
    async with opened(file) as sessions:
        done = asyncio.Event()

        async def serve() -> None:
            for number in range(60):
                await say(sessions, f"s{number % 5}", "x")
            done.set()

        task = asyncio.create_task(serve())
        while not done.is_set():
            listed = await asyncio.to_thread(SessionStore(file).list_sessions)
            assert len(listed) <= 5
        await task
    assert sum(one.messages for one in SessionStore(file).list_sessions()) == 60
    assert texts(SessionStore(file).show("s0").messages) == ["x"] * 12


async def test_the_files_of_dead_processes_are_removed(file: Path) -> None:
    with child(HOLD, file) as holder:
        await asyncio.to_thread(holder.reaches, "running")
        holder.kill()
    left = locks(file)
    assert len(left) == 1
    async with opened(file) as sessions:
        await say(sessions, "k", "x")
    assert not left & locks(file)


def locks(file: Path) -> set[str]:
    return {path.name for path in directory_for(file).iterdir()}


async def test_a_page_of_a_session_has_its_turns_and_what_all_of_it_took(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(3):
            await say(sessions, "k", user(f"question {number}"), assistant(f"answer {number}"))
    last = SessionStore(file).page("k", count=3)
    assert [message.parts[0] for message in last.messages] == [
        Text("answer 1"),
        Text("question 2"),
        Text("answer 2"),
    ]
    assert {turn.id for turn in last.turns} == {message.turn for message in last.messages}
    assert last.more
    assert last.usage == {"offline": Usage(3, 6, 9)}
    first = SessionStore(file).page("k", last.messages[0].id)
    assert (len(first.messages), first.more) == (3, False)


async def test_a_file_is_kept_with_its_message_exported_and_read_by_no_model(file: Path) -> None:
    sound = File(b"RIFF", "audio/wav", "hello.wav")
    async with opened(file) as sessions:
        await say(sessions, "k", Message("user", (Text("listen"),), (sound,)), assistant("ok"))
        async with sessions.turn("k", origin="ask", named=True) as turn:
            (first, _) = (await turn.history(10_000)).messages
            assert first.message == Message("user", (Text("listen"),))
    store = SessionStore(file)
    text, kept = store.page("k").messages[0].parts
    assert text == Text("listen")
    assert isinstance(kept, StoredFile)
    found = store.media("k", kept.digest)
    assert found is not None
    assert (found.data, found.mime_type, found.name) == (b"RIFF", "audio/wav", "hello.wav")
    exported = [one for one in store.export(["k"]) if one.get("role") == "user"]
    assert exported[0]["files"] == [
        {"data": "UklGRg==", "mime_type": "audio/wav", "name": "hello.wav"}
    ]
    assert store.delete("k")
    assert store.media("k", kept.digest) is None


async def test_a_picture_is_found_in_its_own_session_only(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "mine", user(picture(b"\x89PNG")))
        await say(sessions, "theirs", user("nothing to see"))
    store = SessionStore(file)
    (part,) = store.page("mine").messages[0].parts
    assert isinstance(part, StoredImage)
    found = store.media("mine", part.digest)
    assert found is not None
    assert (found.data, found.mime_type) == (b"\x89PNG", "image/png")
    assert store.media("theirs", part.digest) is None
    assert store.media("mine", "0" * 64) is None
