from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clawkit.assistant.sessions.database import SCHEMA_VERSION
from clawkit.assistant.sessions.repair import contents, replace_damaged, set_aside
from clawkit.assistant.sessions.store import SessionStore
from clawkit.errors import StoreError
from tests.assistant.sessions.test_many_processes import HOLD
from tests.assistant.sessions.turns import all_texts, child, keep, opened, say, texts
from tests.ordinary_user import NOBODY

# Everything is imported, and used once, before the rights are gone.
AS_NOBODY = """
import tempfile
from clawkit.assistant.sessions.store import SessionStore
from clawkit.errors import StoreError
from tests.ordinary_user import become_ordinary_user

async def main():
    with tempfile.TemporaryDirectory() as other:
        async with opened(Path(other) / "warm.db") as sessions:
            await say(sessions, "k", "x")
    become_ordinary_user()
    async with opened(file) as sessions:
        for _ in range(2):
            try:
                await say(sessions, "a-secret-key", "x")
                tell("said")
            except StoreError as error:
                tell(f"StoreError: {error}")
            sys.stdin.readline()
asyncio.run(main())
"""

# The limit on the size of files is what a full disk is: a write that does not succeed.
FULL = """
import resource
from clawkit.errors import StoreError

async def main():
    async with opened(file) as sessions:
        await say(sessions, "k", "before")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(arguments[0]), hard))
        try:
            await say(sessions, "k", user("lost", picture(os.urandom(10_000_000))))
            tell("saved")
        except StoreError as error:
            tell(f"StoreError: {error}")
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await say(sessions, "k", user("after", picture(os.urandom(1_000_000))))
        for text in await all_texts(sessions, "k"):
            tell(text)
asyncio.run(main())
"""

# The disk is full when the turn is left, too: the ticket has to be given back later.
FULL_AT_THE_END = """
import resource
from clawkit.errors import StoreError

async def main():
    async with opened(file) as sessions, opened(file) as others:
        async with sessions.turn("k", origin="ask", named=True) as turn:
            await keep(turn, "before")
            soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        await say(others, "k", "after")
        for text in await all_texts(others, "k"):
            tell(text)
asyncio.run(main())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data" / "sessions.db"


@pytest.fixture
def open_directory() -> Iterator[Path]:
    """A directory that an ordinary user can reach; the tests' own is for its owner only."""
    place = Path(tempfile.mkdtemp())
    try:
        if os.getuid() == 0:
            os.chown(place, NOBODY, NOBODY)
        yield place
    finally:
        place.chmod(0o700)
        shutil.rmtree(place)


def owners_of(file: Path) -> list[Path]:
    directory = file.parent / "owners"
    return [directory, *directory.iterdir()]


def own(*files: Path) -> None:
    if os.getuid() == 0:
        for file in files:
            os.chown(file, NOBODY, NOBODY)


def test_a_read_only_directory_is_named_and_works_again_when_it_is_not(
    open_directory: Path,
) -> None:
    open_directory.chmod(0o500)
    with child(AS_NOBODY, open_directory / "sessions.db") as process:
        error = process.says()
        assert str(open_directory) in error
        assert "Permission denied" in error
        assert "give this user the right" in error
        assert "a-secret-key" not in error
        open_directory.chmod(0o700)
        process.go_on()
        assert process.says() == "said"


async def test_a_read_only_file_is_named_and_works_again_when_it_is_not(
    open_directory: Path,
) -> None:
    file = open_directory / "sessions.db"
    async with opened(file) as sessions:
        await say(sessions, "k", "x")
    own(file, *owners_of(file))
    file.chmod(0o400)
    with child(AS_NOBODY, file) as process:
        error = process.says()
        assert error.startswith(f"StoreError: {file}: ")
        assert "read-only" in error
        assert "give this user the right" in error
        file.chmod(0o600)
        process.go_on()
        assert process.says() == "said"


@pytest.mark.parametrize("limit", [1, 200_000, 5_000_000])
def test_a_full_disk_loses_that_turn_only_and_says_what_to_do(file: Path, limit: int) -> None:
    with child(FULL, file, str(limit)) as process:
        error, *said = process.finishes().splitlines()
    assert error.startswith(f"StoreError: {file}: ")
    assert "free space on its disk" in error
    assert [line.partition(" ")[0] for line in said] == ["before", "after"]
    assert SessionStore(file).check() == []


def test_a_disk_that_is_full_when_a_turn_ends_does_not_hold_up_the_session(file: Path) -> None:
    with child(FULL_AT_THE_END, file) as process:
        assert process.finishes().splitlines() == ["before", "after"]


@pytest.mark.parametrize("garbage", [b"x", b"this is no database\n" * 500], ids=["short", "long"])
async def test_a_file_that_is_no_database_is_left_alone(file: Path, garbage: bytes) -> None:
    put(file, garbage)
    async with opened(file) as sessions:
        with pytest.raises(StoreError, match=r"not a database.*claw doctor --fix") as caught:
            await say(sessions, "secret-key", "x")
        assert str(file) in str(caught.value)
        assert "secret-key" not in str(caught.value)
        assert got(file) == garbage
        assert len(SessionStore(file).check()) == 1
        moved = set_aside(file)
        assert got(moved) == garbage
        await say(sessions, "k", "a new beginning")
        assert await all_texts(sessions, "k") == ["a new beginning"]


def put(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)


def got(file: Path) -> bytes:
    return file.read_bytes()


async def test_a_damaged_page_is_said_and_the_rest_is_kept(file: Path) -> None:
    async with opened(file) as sessions:
        for number in range(50):
            await say(sessions, "k", f"message {number} " + "x" * 1000)
    whole = got(file)
    page = 4096
    # The first pages say what the tables are; the rest is what was said.
    put(file, whole[: 3 * page] + b"\xa5" * (len(whole) - 3 * page))
    async with opened(file) as sessions:
        with pytest.raises(StoreError, match=r"damaged.*claw doctor --fix"):
            await all_texts(sessions, "k")
        problems = SessionStore(file).check()
        assert problems
        assert str(file) in problems[0]
        moved = set_aside(file)
        assert len(got(moved)) == len(whole)
        await say(sessions, "k", "a new beginning")
        assert await all_texts(sessions, "k") == ["a new beginning"]


def change(file: Path, *statements: str) -> None:
    connection = sqlite3.connect(file)
    try:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    finally:
        connection.close()


async def test_a_newer_store_is_not_touched(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "x")
    change(file, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = got(file)
    async with opened(file) as sessions:
        with pytest.raises(StoreError, match="install a newer clawkit; nothing was changed"):
            await say(sessions, "k", "y")
    with pytest.raises(StoreError, match=f"version {SCHEMA_VERSION + 1}"):
        SessionStore(file).check()
    assert got(file) == before


async def test_another_programs_database_is_not_touched(file: Path) -> None:
    put(file, b"")
    change(file, "CREATE TABLE bookmarks (url TEXT)")
    before = got(file)
    async with opened(file) as sessions:
        with pytest.raises(StoreError, match="not a store of sessions"):
            await say(sessions, "k", "y")
    with pytest.raises(StoreError, match="not a store of sessions"):
        SessionStore(file).check()
    assert got(file) == before


async def test_a_store_that_stays_locked_is_an_error_and_then_none(file: Path) -> None:
    async with opened(file, patience=0.3) as sessions:
        await say(sessions, "k", "before")
        connection = sqlite3.connect(file, isolation_level=None)
        try:
            connection.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match=r"locked for 0\.3 s") as caught:
                await say(sessions, "k", "meanwhile")
            assert str(file) in str(caught.value)
        finally:
            connection.close()
        await say(sessions, "k", "after")
        assert await all_texts(sessions, "k") == ["before", "after"]


async def test_a_directory_in_the_place_of_the_file_is_said(file: Path) -> None:
    put(file / "inside", b"")
    async with opened(file) as sessions:
        with pytest.raises(StoreError, match="cannot be opened"):
            await say(sessions, "k", "x")


async def test_a_file_in_the_place_of_the_directory_is_said(file: Path) -> None:
    put(file.parent.parent / "data", b"")
    async with opened(file) as sessions:
        with pytest.raises(StoreError, match="no directory is in its way"):
            await say(sessions, "k", "x")


async def test_a_server_goes_on_with_a_new_file_when_the_old_one_is_taken_away(
    file: Path,
) -> None:
    async with opened(file) as sessions:
        await say(sessions, "k", "before")
        async with sessions.turn("k", origin="ask", named=True) as turn:
            moved = set_aside(file)
            await keep(turn, "in the middle of it")
        await say(sessions, "k", "after")
        assert await all_texts(sessions, "k") == ["in the middle of it", "after"]
    assert [one.messages for one in SessionStore(moved).list_sessions()] == [1]


def take_away(file: Path) -> None:
    file.unlink()


async def test_no_session_gets_the_words_of_another_from_a_store_that_is_gone(file: Path) -> None:
    async with opened(file) as sessions:
        await say(sessions, "a", "the secret of a")
        assert await all_texts(sessions, "a") == ["the secret of a"]
        take_away(file)
        await say(sessions, "b", "the words of b")
        assert await all_texts(sessions, "b") == ["the words of b"]


async def test_no_session_gets_the_words_of_another_when_a_backup_is_copied_over_the_store(
    file: Path,
) -> None:
    async with opened(file) as sessions:
        await say(sessions, "a", "at first")
    backup = file.with_name("backup")
    shutil.copy(file, backup)
    async with opened(file) as sessions:
        await say(sessions, "a", "the secret of a")
        assert await all_texts(sessions, "a") == ["at first", "the secret of a"]
        restore(backup, file)
        await say(sessions, "b", "the words of b")
        assert await all_texts(sessions, "b") == ["the words of b"]


def restore(backup: Path, file: Path) -> None:
    """Into the same file, so that nobody can tell by its number."""
    source, target = sqlite3.connect(backup), sqlite3.connect(file)
    source.backup(target)
    source.close()
    target.close()


async def test_a_turn_whose_store_is_taken_away_touches_no_turn_of_another_session(
    file: Path,
) -> None:
    async with opened(file) as sessions, opened(file) as others:
        async with sessions.turn("a", origin="ask", named=True) as turn:
            set_aside(file)
            async with others.turn("b", origin="ask", named=True) as other:
                assert turn.id == other.id
                await keep(other, "the words of b")
                assert (await turn.history(1000)).messages == ()
                await keep(turn, "the words of a")
        assert await all_texts(sessions, "a") == ["the words of a"]
        assert await all_texts(sessions, "b") == ["the words of b"]


async def test_two_stores_that_are_set_aside_in_one_second_do_not_collide(file: Path) -> None:
    names: list[Path] = []
    for text in (b"one", b"two", b"three"):
        put(file, text)
        put(file.with_name("sessions.db-wal"), b"journal of " + text)
        names.append(set_aside(file))
    assert [got(name) for name in names] == [b"one", b"two", b"three"]
    journals = [got(name.with_name(f"{name.name}-wal")) for name in names]
    assert journals == [b"journal of one", b"journal of two", b"journal of three"]


def test_a_store_that_a_running_program_has_open_is_not_set_aside(file: Path) -> None:
    with child(HOLD, file) as holder:
        holder.reaches("running")
        with pytest.raises(StoreError, match="a running program has the store"):
            set_aside(file)
        assert texts(SessionStore(file).show("k").messages) == []
        holder.kill()
    moved = set_aside(file)
    assert SessionStore(moved).show("k").info.turns == 0
    assert not file.exists()


def test_there_must_be_a_store_to_be_set_aside(file: Path) -> None:
    with pytest.raises(StoreError, match="No such file"):
        set_aside(file)


def test_a_journal_that_was_moved_by_a_process_that_died_is_read_with_its_store(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database" * 100)
    moved = file.with_name(f"{file.name}.damaged-20260101T000000Z-wal")
    moved.write_bytes(b"what was said last")
    aside = replace_damaged(file).aside
    assert not moved.exists()
    assert aside.with_name(f"{aside.name}-wal").read_bytes() == b"what was said last"


def test_a_store_that_was_written_to_after_it_was_read_is_not_set_aside(file: Path) -> None:
    file.parent.mkdir()
    file.write_bytes(b"this is not a database" * 100)
    known = contents(file)
    file.write_bytes(b"this is not a database" * 200)
    with pytest.raises(StoreError, match="a running program"):
        set_aside(file, known)
    assert file.exists()
