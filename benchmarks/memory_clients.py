"""200 clients at once on two server processes and one PostgreSQL: no error, no lost write.

What this takes, in bytes and in CPU time, is what `docs/scale.md` reckons with.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

import psutil
import psycopg

from benchmarks.contenders import ROOT
from benchmarks.measure import ChildFailed
from benchmarks.memory_load import KINDS
from benchmarks.memory_serving import Served, our_server
from benchmarks.memory_stores import Door, grow, make_being
from benchmarks.report import Bar, Report, Row
from clawkit.memory.store import nodes, notes
from clawkit.store import open_store
from tests.memory import postgres

CLIENTS, SERVERS, BEINGS = 200, 2, 20
MEMORIES = 1000
EMPTY_BEINGS = 500
_COLUMNS = ("calls", "calls/s", "p50 ms", "p95 ms")
_PATROLS = 5
_TABLES = ("nodes", "vectors", "postings")
_DURABLE = ("fsync", "full_page_writes")
"""What tests turn off and whoever keeps memories does not."""


@contextmanager
def database() -> Iterator[tuple[postgres.Server, str]]:
    """A real PostgreSQL that writes to the disk, and an empty database on it."""
    with postgres.server() as server:
        for setting in _DURABLE:
            server.run(f"ALTER SYSTEM SET {setting} = on")
        server.run("SELECT pg_reload_conf()")
        with server.database() as address:
            yield server, address


def load(servers: list[Served], doors: list[Door], calls: int) -> dict[str, Any]:
    """Let all clients make their calls, from a process of their own."""
    order = {
        "ports": [served.port for served in servers],
        "doors": [{"being": door.being.id, "token": door.token} for door in doors],
        "calls": calls,
        "memories": MEMORIES,
    }
    done = subprocess.run(
        (sys.executable, "-m", "benchmarks.memory_load"),
        cwd=ROOT,
        input=json.dumps(order).encode(),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise ChildFailed("the clients failed", done.stderr[-1500:].decode(errors="replace"))
    return json.loads(done.stdout)


def lost(address: str, beings: list[Door], noted: dict[str, list[str]]) -> int:
    """How many scenes that were said to be noted neither wait nor are remembered."""
    store = open_store(address)
    missing = 0
    try:
        for door in beings:
            ids = noted.get(door.being.id, [])
            with store.read(door.being.n) as unit:
                waiting = {note.id for note in notes.by_ids(unit, ids)}
                became = notes.nodes_of(unit, ids)
                there = nodes.fetch(unit, became.values())
            kept = waiting | {note for note, seq in became.items() if seq in there}
            missing += len(set(ids) - kept)
    finally:
        store.close()
    return missing


@dataclass(frozen=True)
class Taken:
    """What Beings and calls take of a database server."""

    being_bytes: float
    node_bytes: dict[str, float]
    server_cpu: float
    database_cpu: float
    patrol: float
    patrol_log: float
    """Bytes of the write-ahead log that a patrol leaves: what backups and replicas carry."""


def kept_bytes(address: str, table: str = "") -> int:
    """How much the database keeps, or one of its tables with all its indexes."""
    sql = "SELECT pg_database_size(current_database())"
    if table:
        sql = f"SELECT pg_total_relation_size('{table}')"
    with psycopg.connect(address, autocommit=True) as raw:
        raw.execute("CHECKPOINT")
        row = raw.execute(sql.encode()).fetchone()
    assert row is not None
    return row[0]


def logged_bytes(address: str) -> int:
    """Where the write-ahead log has got to."""
    with psycopg.connect(address, autocommit=True) as raw:
        row = raw.execute("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn").fetchone()
    assert row is not None
    return int(row[0])


def database_cpu(server: postgres.Server) -> float:
    """Seconds that PostgreSQL has used so far, in all its processes."""
    leader = int((server.folder / "data" / "postmaster.pid").read_text().split()[0])
    found = psutil.Process(leader)
    times = [found.cpu_times(), *(child.cpu_times() for child in found.children())]
    ended = times[0].children_user + times[0].children_system
    return sum(each.user + each.system for each in times) + ended


def patrols(served: Served, door: Door, address: str) -> tuple[float, float]:
    """The seconds and the logged bytes of a patrol when nobody else asks for anything."""
    client = served.client(door.being.id, door.token)
    before = logged_bytes(address)
    seconds = [client.timed("trigger_patrol", messages=[])[0] for _ in range(_PATROLS)]
    return median(seconds), (logged_bytes(address) - before) / _PATROLS


def run(quick: bool) -> list[Report]:
    """Fill some Beings, load the servers, and count afterwards what is there."""
    calls = 5 if quick else 30
    with database() as (server, address):
        before = kept_bytes(address)
        for number in range(EMPTY_BEINGS):
            make_being(address, f"empty {number}")
        being_bytes = (kept_bytes(address) - before) / EMPTY_BEINGS
        beings = [make_being(address, f"bench {number}") for number in range(BEINGS)]
        for door in beings:
            grow(address, door.being.n, MEMORIES)
        node_bytes = {name: kept_bytes(address, name) / (BEINGS * MEMORIES) for name in _TABLES}
        with ExitStack() as serving:
            servers = [serving.enter_context(our_server(address)) for _ in range(SERVERS)]
            doors = [beings[number % BEINGS] for number in range(CLIENTS)]
            load(servers, doors[:BEINGS], 1)
            patrol = patrols(servers[0], beings[0], address)
            used = [served.child.cpu_seconds() for served in servers], database_cpu(server)
            seen = load(servers, doors, calls)
            spent = sum(served.child.cpu_seconds() for served in servers) - sum(used[0])
            taken = Taken(
                being_bytes,
                node_bytes,
                spent / (CLIENTS * calls),
                (database_cpu(server) - used[1]) / (CLIENTS * calls),
                *patrol,
            )
        missing = lost(address, beings, seen["noted"])
    return [_report(seen, calls, missing), _taken(taken)]


def _taken(taken: Taken) -> Report:
    bytes_ = {f"a memory, {name}": size for name, size in taken.node_bytes.items()}
    bytes_ |= {"a memory, all of it": sum(taken.node_bytes.values())}
    rows = [Row(f"bytes of {name}", (size,)) for name, size in bytes_.items()]
    return Report(
        name="memory_clients",
        title="what it takes",
        columns=("",),
        rows=(
            *rows,
            Row("bytes of a Being that remembers nothing, with a token", (taken.being_bytes,)),
            Row("CPU ms of a server for a call of the mix above", (taken.server_cpu * 1000,)),
            Row(
                "CPU ms of PostgreSQL for the same, patrols included", (taken.database_cpu * 1000,)
            ),
            Row(f"ms of a patrol over {MEMORIES:,} memories", (taken.patrol * 1000,)),
            Row("bytes of the log that such a patrol writes", (taken.patrol_log,)),
        ),
        bars=(),
    )


def _report(seen: dict[str, Any], calls: int, missing: int) -> Report:
    every = [each for kind in KINDS for each in seen["seconds"][kind]]
    noted = sum(len(ids) for ids in seen["noted"].values())
    rows = [_row(kind, seen["seconds"][kind], seen["spent"]) for kind in KINDS]
    wrong = CLIENTS * calls - len(every)
    return Report(
        name="memory_clients",
        title=f"{CLIENTS} clients, {calls} calls each, {SERVERS} servers on one PostgreSQL",
        columns=_COLUMNS,
        rows=(*rows, _row("all", every, seen["spent"])),
        bars=(
            Bar("no error", f"{wrong} of {CLIENTS * calls} calls failed", wrong == 0),
            Bar("no lost write", f"{missing} of {noted} scenes lost", missing == 0 and noted > 0),
        ),
        notes=(f"the first failure: {seen['sample']}",) if seen["sample"] else (),
    )


def _row(name: str, seconds: list[float], spent: float) -> Row:
    if not seconds:
        return Row(name, (0.0, 0.0, float("nan"), float("nan")))
    p95 = sorted(seconds)[int(len(seconds) * 0.95)]
    cells = (len(seconds), len(seconds) / spent, median(seconds) * 1000, p95 * 1000)
    return Row(name, tuple(map(float, cells)))
