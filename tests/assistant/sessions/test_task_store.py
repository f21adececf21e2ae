from __future__ import annotations

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.assistant.sessions.store import SessionStore
from clawkit.assistant.sessions.task_store import StoredTasks, note_session
from clawkit.wire.tasks import CUT_OFF, TaskRecord
from tests.assistant.sessions.turns import opened, say

# Begins a task, ends another, and waits.
SERVER = """
import sys, time
from pathlib import Path
from clawkit.assistant.sessions.task_store import StoredTasks
from clawkit.wire.tasks import CUT_OFF, TaskRecord
tasks = StoredTasks(Path(sys.argv[1]))
now = time.time()
done = TaskRecord("done", None, now, now)
tasks.save(done)
done.status, done.result = "completed", {"content": [{"type": "text", "text": "42"}]}
tasks.save(done)
tasks.save(TaskRecord("working", "me", now, now))
tasks.save(TaskRecord("asking", None, now, now, status="input_required"))
print("begun", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def tasks(file: Path) -> Iterator[StoredTasks]:
    opened = StoredTasks(file)
    yield opened
    opened.close()


def record(name: str = "t", **fields: object) -> TaskRecord:
    now = time.time()
    return TaskRecord(name, None, now, now, **fields)  # pyright: ignore[reportArgumentType] - what a test needs


def server(file: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        (sys.executable, "-c", SERVER, str(file)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_task_is_there_as_it_was_last_saved(file: Path, tasks: StoredTasks) -> None:
    one = record(message="half way")
    tasks.save(one)
    assert tasks.load("t") == one
    one.status, one.result = "completed", {"content": [], "n": 1}
    assert tasks.load("t") != one  # not saved yet
    tasks.save(one)
    assert tasks.load("t") == one
    tasks.close()
    again = StoredTasks(file)
    assert again.load("t") == one
    again.close()


def test_nobody_makes_a_store_by_asking(file: Path, tasks: StoredTasks) -> None:
    assert tasks.load("none") is None
    assert not file.exists()


def test_what_a_killed_server_worked_on_has_failed_and_what_it_had_done_is_done(
    file: Path, tasks: StoredTasks
) -> None:
    process = server(file)
    working = tasks.load("working")
    assert working is not None
    assert (working.status, working.owner) == ("working", "me")
    process.kill()
    process.communicate()
    for name in ("working", "asking"):
        found = tasks.load(name)
        assert found is not None
        assert (found.status, found.message) == ("failed", CUT_OFF)
        assert found.error == {"code": -32603, "message": CUT_OFF}
        assert found.to_wire()["status"] == "failed"
        assert stored_status(file, name) == "failed"
    done = tasks.load("done")
    assert done is not None
    assert (done.status, done.result) == (
        "completed",
        {"content": [{"type": "text", "text": "42"}]},
    )


def stored_status(file: Path, name: str) -> str:
    connection = sqlite3.connect(file)
    try:
        query = "SELECT status FROM tasks WHERE id = ?"
        return connection.execute(query, (name,)).fetchone()[0]
    finally:
        connection.close()


def test_a_server_that_ends_has_written_everything(file: Path) -> None:
    process = server(file)
    process.communicate("\n")
    assert process.returncode == 0
    assert [stored_status(file, name) for name in ("done", "working")] == ["completed", "working"]


def test_what_has_expired_is_gone(file: Path, tasks: StoredTasks) -> None:
    old = record("old", ttl_ms=1000, status="completed")
    old.created -= 10
    tasks.save(old)
    assert tasks.load("old") is None
    tasks.save(record("older", ttl_ms=None, status="completed"))
    tasks.close()
    again = StoredTasks(file)
    assert again.load("old") is None
    assert again.load("older") is not None
    again.close()
    connection = sqlite3.connect(file)
    assert connection.execute("SELECT id FROM tasks").fetchall() == [("older",)]
    connection.close()


def test_saving_does_not_wait_for_a_store_that_is_locked(file: Path) -> None:
    tasks = StoredTasks(file, patience=30.0)
    tasks.save(record("first"))
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    one = record("first", status="completed", result={"n": 1})
    tasks.save(one)  # would wait for half a minute
    assert tasks.load("first") == one
    connection.close()
    tasks.close()
    assert stored_status(file, "first") == "completed"


def test_what_could_not_be_written_at_once_is_written_later_and_in_order(file: Path) -> None:
    tasks = StoredTasks(file, patience=0.05)
    tasks.save(record("other"))
    connection = sqlite3.connect(file, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    one = record("t")
    tasks.save(one)
    one.status, one.result = "completed", {"n": 1}
    tasks.save(one)
    assert tasks.load("t") == one
    connection.close()
    tasks.close()
    assert stored_status(file, "t") == "completed"


def test_tasks_and_sessions_share_a_sound_file(file: Path, tasks: StoredTasks) -> None:
    for number in range(200):
        tasks.save(record(f"t{number}", status="completed", result={"text": "x" * 1000}))
    tasks.close()
    assert SessionStore(file).check() == []
    again = StoredTasks(file)
    assert all(again.load(f"t{number}") is not None for number in range(200))
    again.close()


async def test_a_task_goes_with_its_session_and_no_other_does(file: Path) -> None:
    tasks = StoredTasks(file)
    tasks.save(record("early"))  # it became a task before its session was known
    for name, key in (("early", "k"), ("mine", "k"), ("other", "o")):
        note_session(name, key)
        tasks.save(record(name, status="completed", result={"text": f"the answer to {key}"}))
    tasks.save(record("nobodys", status="completed"))
    tasks.close()
    async with opened(file) as sessions:
        await say(sessions, "k", "x")
        await say(sessions, "o", "x")
    assert SessionStore(file).delete("k")
    again = StoredTasks(file)
    found = [name for name in ("early", "mine", "other", "nobodys") if again.load(name)]
    again.close()
    assert found == ["other", "nobodys"]
