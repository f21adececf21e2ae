"""What is wrong with a file or its disk is said in words, and nothing is harmed by it."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from clawkit.errors import StoreError
from clawkit.memory.store import nodes
from clawkit.store import open_store
from clawkit.store.schema import SQLITE_STEPS
from clawkit.store.sqlite import SqliteDatabase
from clawkit.store.sqlite_failures import is_damage as is_damage
from tests.memory.store.records import being, place, remember, vectors
from tests.memory.store.together import ROOT
from tests.ordinary_user import become_ordinary_user


def _filled(file: Path) -> int:
    database = SqliteDatabase(file)
    ada = being(database)
    with database.write(ada.n) as unit:
        place(unit, remember(unit, [f"thing {at}" for at in range(200)]), vectors(200, 1))
    database.close()
    return ada.n


def test_a_file_that_is_no_database_is_damage(tmp_path: Path) -> None:
    file = tmp_path / "beings.db"
    file.write_bytes(b"this is no database, whatever it is called" * 100)
    with pytest.raises(StoreError, match=r"it is not a database .*: `claw doctor --fix`") as caught:
        SqliteDatabase(file)
    assert is_damage(caught.value)
    assert file.read_bytes().startswith(b"this is no database")


def test_a_damaged_file_is_told_when_it_is_read(tmp_path: Path) -> None:
    file = tmp_path / "beings.db"
    n = _filled(file)
    content = bytearray(file.read_bytes())
    content[4096 * 3 :] = b"\xa5" * (len(content) - 4096 * 3)
    file.write_bytes(content)

    def read_all() -> None:
        database = SqliteDatabase(file)
        try:
            with database.read(n) as unit:
                nodes.fetch(unit, range(300))
                unit.vectors.nearest("a-model", vectors(1, 1)[0], 3)
        finally:
            database.close()

    with pytest.raises(StoreError, match="it is damaged") as caught:
        read_all()
    assert is_damage(caught.value)


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as raw:
        raw.execute("CREATE TABLE beings (cats TEXT)")
    raw.close()
    before = file.read_bytes()
    with pytest.raises(StoreError, match="this is a database, but not a store of memories"):
        SqliteDatabase(file)
    assert file.read_bytes() == before


def test_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "beings.db"
    _filled(file)
    newer = len(SQLITE_STEPS) + 1
    with sqlite3.connect(file) as raw:
        raw.execute(f"PRAGMA user_version = {newer}")
    raw.close()
    with pytest.raises(StoreError, match=f"has version {newer}, .* install a newer clawkit"):
        SqliteDatabase(file)


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StoreError, match="Not a directory"):
        SqliteDatabase(tmp_path / "data" / "beings.db")


def test_a_store_locked_by_another_process_is_told_after_some_patience(tmp_path: Path) -> None:
    file = tmp_path / "beings.db"
    n = _filled(file)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database = SqliteDatabase(file, patience=0.2)
    words = r"kept the store of memories locked for 0\.2 s"
    with pytest.raises(StoreError, match=words), database.write(n):
        pass
    with database.read(n) as unit:
        assert nodes.top(unit) == 200
    other.close()
    with database.write(n) as unit:
        remember(unit, ["after"])
    database.close()


def test_the_files_are_for_their_owner_only(tmp_path: Path) -> None:
    file = tmp_path / "data" / "deep" / "beings.db"
    _filled(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def write_into_a_small_space(file: str, n: int) -> None:
    """Write until no file may grow further; says what it was told, and how much it had kept."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    database = SqliteDatabase(Path(file))
    kept = 0
    try:
        while True:
            with database.write(n) as unit:
                kept_now = remember(unit, ["x" * 5000])[0].seq
            kept = kept_now
    except StoreError as error:
        sys.stdout.write(f"{kept}\n{error}\n")


def test_a_full_disk_is_told_and_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    file = tmp_path / "beings.db"
    n = _filled(file)
    code = f"from {__name__} import *; write_into_a_small_space({str(file)!r}, {n})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    kept, _, words = done.stdout.partition("\n")
    assert "free space on its disk" in words
    database = open_store(f"sqlite:{file}")
    with database.write(n) as unit:
        assert nodes.top(unit) == int(kept) > 200
        assert sorted(nodes.fetch(unit, range(1000))) == list(range(1, int(kept) + 1))
        remember(unit, ["goes on"])
    database.close()


def open_as_an_ordinary_user(file: str) -> None:
    become_ordinary_user()
    try:
        SqliteDatabase(Path(file))
    except StoreError as error:
        sys.stdout.write(str(error))


def test_a_folder_that_this_user_may_not_write_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    folder.chmod(0o500)
    file = folder / "beings.db"
    code = f"from {__name__} import *; open_as_an_ordinary_user({str(file)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "give this user the right to read and write it" in done.stdout


def test_nothing_is_written_into_a_file_that_was_deleted(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    database = SqliteDatabase(folder / "beings.db")
    n = being(database).n
    for file in folder.iterdir():
        file.unlink()
    with pytest.raises(StoreError, match="was moved or deleted"), database.write(n) as unit:
        remember(unit, ["lost"])
    assert list(folder.iterdir()) == []
    database.close()


def test_what_is_written_goes_into_the_file_that_is_there_now(tmp_path: Path) -> None:
    n, other = _filled(tmp_path / "beings.db"), _filled(tmp_path / "other.db")
    database = SqliteDatabase(tmp_path / "beings.db")
    with database.read(n):
        pass
    (tmp_path / "other.db").replace(tmp_path / "beings.db")
    with database.write(other) as unit:
        remember(unit, ["kept"])
    database.close()
    again = SqliteDatabase(tmp_path / "beings.db")
    with again.read(other) as unit:
        assert nodes.top(unit) == 201
    again.close()


def test_an_error_of_the_caller_is_no_error_of_the_store(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path / "beings.db")
    with pytest.raises(FileNotFoundError), database.write(being(database).n):
        (tmp_path / "missing").read_bytes()
    database.close()
