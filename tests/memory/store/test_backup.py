"""Copies of a SQLite store: whole while others write, looked at before they replace anything."""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from clawkit.errors import StoreError
from clawkit.memory.store import backup
from clawkit.memory.store.backup import StoreContents, back_up, restore
from clawkit.store.schema import SQLITE_STEPS
from clawkit.store.sqlite import SqliteDatabase
from tests.memory.store.records import being, place, remember, vectors
from tests.memory.store.test_processes import _assert_whole
from tests.memory.store.together import running

NEWEST = len(SQLITE_STEPS)


def filled(file: Path, number: int) -> int:
    """A store with so many memories of one Being."""
    database = SqliteDatabase(file)
    ada = being(database)
    with database.write(ada.n) as unit:
        place(unit, remember(unit, [f"common {n}" for n in range(number)]), vectors(number, 1))
    database.close()
    return ada.n


def counted(file: Path, n: int) -> int:
    database = SqliteDatabase(file)
    with database.read(n) as unit:
        found = _assert_whole(unit)
    database.close()
    return found


def test_a_copy_is_one_private_file_with_all_that_was_there(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 30)
    assert back_up(store, copy) == StoreContents(1, 30, NEWEST)
    assert copy.stat().st_mode & 0o777 == 0o600
    assert sorted(file.name for file in tmp_path.glob("*.db*")) == ["beings.db", "copy.db"]
    assert list(tmp_path.glob(".*")) == []
    assert counted(copy, n) == 30


def test_a_copy_made_while_another_process_writes_is_of_one_moment(tmp_path: Path) -> None:
    store = tmp_path / "beings.db"
    n = filled(store, 10)
    work = "tests.memory.store.test_processes:write_for_ever"
    with running(work, (f"sqlite:{store}", n)) as writer:
        assert writer.stdout is not None
        for number in range(3):
            before = int(writer.stdout.readline())
            copy = tmp_path / f"copy{number}.db"
            held = back_up(store, copy)
            assert held.memories >= before
            assert counted(copy, n) == held.memories
            # The writer was not in the way, and goes on.
            assert int(writer.stdout.readline()) > before


def test_a_copy_comes_back_and_what_was_there_is_kept(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 10)
    back_up(store, copy)
    database = SqliteDatabase(store)
    with database.write(n) as unit:
        place(unit, remember(unit, ["common and later"]), vectors(1, 2))
    database.close()
    done = restore(copy, store)
    assert done.held == StoreContents(1, 10, NEWEST)
    assert done.before is not None
    assert counted(store, n) == 10
    assert counted(done.before, n) == 11
    assert store.stat().st_mode & 0o777 == 0o600
    assert copy.exists()


def test_where_there_is_no_store_a_copy_becomes_one(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 10)
    back_up(store, copy)
    there = tmp_path / "new" / "folder" / "beings.db"
    assert restore(copy, there).before is None
    assert counted(there, n) == 10


def test_a_store_that_another_has_open_is_not_replaced(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 10)
    back_up(store, copy)
    database = SqliteDatabase(store)
    before = store.stat().st_ino
    with pytest.raises(StoreError, match="another process has the store of memories open"):
        restore(copy, store)
    assert store.stat().st_ino == before
    with database.write(n) as unit:
        place(unit, remember(unit, ["common still"]), vectors(1, 2))
    database.close()
    assert restore(copy, store).before is not None


def test_who_opens_a_store_while_it_is_replaced_gets_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 10)
    back_up(store, copy)
    database = SqliteDatabase(store)
    with database.write(n) as unit:
        place(unit, remember(unit, ["common late"]), vectors(1, 2))
    database.close()
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.append(counted(store, n)))
    whole = backup._set_aside

    def aside(file: Path) -> Path:
        reader.start()
        return whole(file)

    monkeypatch.setattr(backup, "_set_aside", aside)
    restore(copy, store)
    reader.join()
    assert found in ([10], [11])
    assert counted(store, n) == 10


def _damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\xa5" * 4096 * 3
    file.write_bytes(content)


def _truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _other(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as raw:
        raw.execute("CREATE TABLE beings (cats TEXT)")


def _newer(file: Path) -> None:
    with closing(sqlite3.connect(file)) as raw:
        raw.execute(f"PRAGMA user_version = {NEWEST + 1}")


def _text(file: Path) -> None:
    file.write_text("these are my notes\n" * 1000)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_damage, "damaged"),
        (_truncate, "damaged"),
        (_other, "not a store of memories"),
        (_newer, "install a newer clawkit"),
        (_text, "it is not a database .*: use another"),
        (lambda file: file.write_bytes(b""), "not a store of memories"),
        (lambda file: file.unlink(), "no such file"),
    ],
)
def test_a_copy_that_is_not_whole_replaces_nothing(
    tmp_path: Path, spoil: object, words: str
) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 200)
    back_up(store, copy)
    assert callable(spoil)
    spoil(copy)
    with pytest.raises(StoreError, match=words) as caught:
        restore(copy, store)
    assert str(copy) in str(caught.value)
    assert ".new" not in str(caught.value)
    assert counted(store, n) == 200
    assert list(tmp_path.glob("*before-restore*")) == []


def test_a_damaged_store_is_replaced_by_a_copy(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    n = filled(store, 10)
    back_up(store, copy)
    _text(store)
    done = restore(copy, store)
    assert done.before is not None
    assert done.before.read_text().startswith("these are my notes")
    assert counted(store, n) == 10


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "gone" / "copy.db"
    filled(store, 1)
    with pytest.raises(StoreError, match=f"{copy}: there is no such directory: make it"):
        back_up(store, copy)


def test_a_damaged_store_gives_no_copy(tmp_path: Path) -> None:
    store, copy = tmp_path / "beings.db", tmp_path / "copy.db"
    filled(store, 200)
    _damage(store)
    with pytest.raises(StoreError, match="damaged"):
        back_up(store, copy)
    assert not copy.exists()
