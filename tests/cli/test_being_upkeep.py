"""`claw being quota`, `backup` and `restore`, as a person types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.memory.being_store import BeingStore
from clawkit.memory.store import nodes
from clawkit.memory.tokens import Caller
from clawkit.store import open_store
from tests.cli.being_commands import as_json, refused, run, said
from tests.memory.http.process import being_process

NUTS = "Anna is allergic to nuts"
CELLO = "Ben plays the cello"


@pytest.fixture
def store_file(home: Path) -> Path:
    return home / "claw" / "data" / "claw" / "beings.db"


def test_a_quota_is_set_shown_and_taken_away() -> None:
    run("being", "create", "team")
    assert "memories     0 (no limit)" in said("being", "quota", "team")
    assert "calls today  not counted without a limit" in said("being", "quota", "team")
    assert as_json("being", "quota", "team")["calls"] == {"used": None, "limit": None}
    told = said("being", "quota", "team", "--memories", "2", "--bytes", "10,000", "--calls", "5")
    assert told.splitlines() == [
        "team",
        "  memories     0 of 2",
        "  bytes        0 of 10,000",
        "  calls today  0 of 5",
    ]
    assert "quota      2 memories, 10,000 bytes, 5 calls a day" in said("being", "show", "team")
    said("being", "quota", "team", "--bytes", "none")
    assert as_json("being", "show", "team")["quota"] == {"memories": 2, "bytes": None, "calls": 5}


def test_above_the_quota_a_command_says_what_to_do_and_keeps_nothing() -> None:
    run("being", "create", "team")
    run("being", "quota", "team", "--memories", "1")
    run("remember", "Anna is allergic to nuts", "--being", "team")
    told = refused("remember", "Ben plays the cello", "--being", "team")
    assert "team may hold 1 memory, and with this it would be 2" in told
    assert "claw being quota" in told
    assert as_json("being", "quota", "team")["memories"] == {"used": 1, "limit": 1}


@pytest.mark.parametrize("wrong", ["many", "-1", "1.5", "٣", "9" * 30])
def test_a_quota_is_a_number_or_none(wrong: str) -> None:
    run("being", "create", "team")
    told = refused("being", "quota", "team", f"--memories={wrong}", code=2)
    assert "--memories is a number or `none`" in told


def remember(store_file: Path, *texts: str) -> None:
    store = BeingStore(open_store(f"sqlite:{store_file}"), "none")
    memory = store.open(store.default())
    for text in texts:
        memory.remember(text, Caller())
    store.close()


def remembered(store_file: Path) -> list[str]:
    store = BeingStore(open_store(f"sqlite:{store_file}"), "none")
    with store.database.read(store.default().n) as unit:
        found = [node.scene.action for node in nodes.page(unit, order="seq")]
    store.close()
    return found


def test_a_store_is_backed_up_and_no_file_is_overwritten_unasked(
    store_file: Path, tmp_path: Path
) -> None:
    remember(store_file, NUTS)
    copy = tmp_path / "copy.db"
    assert said("being", "backup", str(copy)) == f"Copied 1 Being with 1 memory to {copy}.\n"
    assert copy.stat().st_mode & 0o777 == 0o600
    remember(store_file, CELLO)
    assert "is already there: give --yes" in refused("being", "backup", str(copy))
    assert remembered(copy) == [NUTS]
    run("being", "backup", str(copy), "--yes")
    assert remembered(copy) == [NUTS, CELLO]


def test_a_backup_is_restored_where_that_is_said_and_what_was_there_is_kept(
    store_file: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    remember(copy, NUTS)
    remember(store_file, CELLO)
    told = refused("being", "restore", str(copy))
    assert "is there already: give --yes to put 1 Being with 1 memory in its place" in told
    assert remembered(store_file) == [CELLO]
    told = said("being", "restore", str(copy), "--yes")
    assert told.startswith(
        f"Restored 1 Being with 1 memory into {store_file}.\nWhat was there before"
    )
    assert remembered(store_file) == [NUTS]
    (before,) = store_file.parent.glob("beings.db.before-restore-*")
    assert remembered(before) == [CELLO]


def test_a_store_that_is_served_is_copied_and_not_replaced(tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    with being_process(tmp_path, "--embedder", "none"):
        place = ("--store", f"sqlite:{tmp_path / 'beings.db'}")
        run("being", "backup", str(copy), *place)
        told = refused("being", "restore", str(copy), "--yes", *place)
        assert "another process has the store of memories open: stop `claw being serve`" in told
    run("being", "restore", str(copy), "--yes", *place)


def test_what_is_no_copy_is_refused(tmp_path: Path, store_file: Path) -> None:
    remember(store_file, NUTS)
    (tmp_path / "notes.md").write_text("# not a store")
    assert "not a database" in refused("being", "restore", str(tmp_path / "notes.md"), "--yes")
    assert "is not there" in refused("being", "restore", str(tmp_path / "no.db"))
    assert remembered(store_file) == [NUTS]


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_a_store_is_no_copy_of_itself(store_file: Path, verb: str) -> None:
    remember(store_file, NUTS)
    assert "is the store itself" in refused("being", verb, str(store_file), "--yes")
    assert remembered(store_file) == [NUTS]


def test_a_database_server_is_copied_with_its_own_tools(tmp_path: Path) -> None:
    server = ("--store", "postgresql://me:secret@db.example.com/memory")
    told = refused("being", "backup", str(tmp_path / "copy.db"), *server)
    assert "postgresql://db.example.com/memory is a database server: `pg_dump` copies it" in told
