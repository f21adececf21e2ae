"""`/healthz` says when the store cannot be written to, and why, on either kind of store."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import StoreError
from clawkit.memory.being_store import BeingStore
from clawkit.memory.http.app import Health
from clawkit.store import open_store, sqlite
from clawkit.store.database import Database
from tests.memory.http.being_store import store_at
from tests.memory.http.served_beings import served
from tests.memory.postgres import Server
from tests.memory.store.records import remember
from tests.ordinary_user import become_ordinary_user
from tests.processes import PATIENCE, ROOT

OK = {"status": "ok", "store": "reachable", "writable": True}


def test_a_store_that_can_be_written_to_is_well_and_the_probe_changes_nothing(
    database: Database,
) -> None:
    with database.registry() as connection:
        before = connection.rows("SELECT * FROM beings")
    assert Health(BeingStore(database, "none")).look() == OK
    with database.registry() as connection:
        assert connection.rows("SELECT * FROM beings") == before


def test_a_full_disk_is_told_with_503_and_recovery_with_200(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(store_at(tmp_path), probe_every=0.0) as server:
        assert server.http.get("/healthz").json() == OK
        # More space than any disk has must be free: SQLite itself is refused in the next test.
        monkeypatch.setattr(sqlite, "_LEAST_SPACE", 1 << 80)
        response = server.http.get("/healthz")
        assert response.status_code == 503
        assert response.json() == {
            "status": "unavailable",
            "store": "not writable",
            "writable": False,
            "reason": "its disk is full",
        }
        assert str(tmp_path) not in response.text
        monkeypatch.undo()
        assert server.http.get("/healthz").status_code == 200


def look_with_no_space_left(file: str) -> None:
    """Write until no file may grow further, and say what health is then."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
    database = sqlite.SqliteDatabase(Path(file))
    store = BeingStore(database, "none")
    ada = store.create("Ada")
    try:
        while True:
            with database.write(ada.n) as unit:
                remember(unit, ["x" * 5000])
    except StoreError:
        health = Health(store, probe_every=0)
        while (found := health.look()) == OK:
            pass  # the last bytes of the log of writes hold a few probes
        sys.stdout.write(json.dumps(found))


def look_at_what_may_only_be_read(file: str) -> None:
    """Say what health is where this user may not write; root, who may always, becomes another."""
    become_ordinary_user()
    found = Health(BeingStore(sqlite.SqliteDatabase(Path(file)), "none")).look()
    sys.stdout.write(json.dumps(found))


def test_a_full_disk_is_found_by_writing(tmp_path: Path) -> None:
    found = _apart("look_with_no_space_left", tmp_path / "beings.db")
    assert (found["status"], found["store"]) == ("unavailable", "not writable")
    assert found["reason"] in ("its disk is full", "it could not be read or written to the end")


def test_a_file_that_may_only_be_read_is_found_by_writing() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        store_at(Path(folder)).close()
        file = Path(folder) / "beings.db"
        file.chmod(0o444)
        found = _apart("look_at_what_may_only_be_read", file)
    assert (found["status"], found["reason"]) == ("unavailable", "it is read-only")


def _apart(work: str, file: Path) -> dict[str, Any]:
    """What a function of this file prints in a process of its own."""
    code = f"from {__name__} import *; {work}({str(file)!r})"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    return json.loads(done.stdout)


def test_writing_is_tried_now_and_then_only(
    store: BeingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[int] = []
    monkeypatch.setattr(store.database, "probe", lambda: tried.append(1))
    health = Health(store, probe_every=1e9)
    for _ in range(5):
        assert health.look() == OK
    assert len(tried) == 1


def test_a_postgresql_that_is_read_only_is_told_without_secrets(postgres_server: Server) -> None:
    with postgres_server.database() as place:
        database = open_store(place)
        store = BeingStore(database, "none")
        store.create("Ada")
        name = place.rpartition("/")[2]
        postgres_server.run(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        database.close()
        again = open_store(place)
        found = Health(BeingStore(again, "none")).look()
        again.close()
        assert (found["status"], found["store"]) == ("unavailable", "not writable")
        assert found["reason"] == "the server is read-only or in recovery"
