from __future__ import annotations

import subprocess
import sys
import threading
from itertools import islice
from pathlib import Path

import pytest

from clawkit.errors import AuditError
from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.reader import Wanted, follow, parse_since, read, seq_before_last
from clawkit.guard.audit.record import AuditRecord
from tests.guard.audit.written_log import call, log_files, write_all, write_many, written

NOON = 1_769_860_800.0  # 2026-01-31T12:00:00Z

SAMPLE = (
    AuditRecord(kind="start", id="start", server="files", time="2026-01-31T09:00:00.000Z"),
    call(id="read", decision="allow", time="2026-01-31T10:00:00.000Z"),
    call(id="write", tool="write_file", decision="deny", time="2026-01-31T11:00:00.000Z"),
    call(id="web", server="web-1", tool="fetch", decision="prompt"),
    call(id="uri", server="web-2", tool="", method="resources/read", decision="allow"),
    AuditRecord(kind="drop", id="drop", server="web-2", decision="drop"),
)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        pytest.param(Wanted(), "start read write web uri drop", id="everything"),
        pytest.param(Wanted(blocked=True), "write drop", id="blocked"),
        pytest.param(Wanted(server="files"), "start read write", id="a server"),
        pytest.param(Wanted(server="web-*"), "web uri drop", id="servers by glob"),
        pytest.param(Wanted(tool="*_file"), "read write", id="tools by glob"),
        pytest.param(Wanted(tool="resources/read"), "uri", id="a method without a tool"),
        pytest.param(Wanted(since="2026-01-31T11"), "write web uri drop", id="since"),
        pytest.param(Wanted(kinds=frozenset({"start", "drop"})), "start drop", id="kinds"),
        pytest.param(Wanted(blocked=True, server="files"), "write", id="both"),
    ],
)
def test_only_what_is_wanted_is_given(tmp_path: Path, wanted: Wanted, ids: str) -> None:
    write_all(tmp_path, *SAMPLE)
    assert [record.get("id") for record in read(tmp_path, wanted)] == ids.split()


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("30s", "2026-01-31T11:59:30.000Z"),
        ("10m", "2026-01-31T11:50:00.000Z"),
        ("2h", "2026-01-31T10:00:00.000Z"),
        ("1d", "2026-01-30T12:00:00.000Z"),
        (" 1w ", "2026-01-24T12:00:00.000Z"),
        ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00.000Z"),
        ("2026-01-31T09:00:00.5+02:00", "2026-01-31T07:00:00.500Z"),
    ],
)
def test_since_is_a_time_ago_or_an_iso_time(text: str, time: str) -> None:
    assert parse_since(text, NOON) == time


@pytest.mark.parametrize("text", ["", "soon", "10", "-5m", "10 months", "2026-13-01", "999999999w"])
def test_a_since_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(AuditError, match="is no time: write 30s"):
        parse_since(text, NOON)


def test_reading_goes_through_all_files_oldest_first(tmp_path: Path) -> None:
    write_many(tmp_path, 30, max_bytes=1000)
    assert len(log_files(tmp_path)) > 5
    assert [record["seq"] for record in read(tmp_path)] == list(range(1, 31))
    assert [record["seq"] for record in read(tmp_path, after=17)] == list(range(18, 31))


def test_since_reaches_into_older_files(tmp_path: Path) -> None:
    records = (call(time=f"2026-01-31T{hour:02}:00:00.000Z") for hour in range(24))
    write_all(tmp_path, *records, max_bytes=1000)
    since = "2026-01-31T07:00:00.000Z"
    assert [record["seq"] for record in read(tmp_path, Wanted(since=since))] == list(range(8, 25))


def test_no_directory_is_an_empty_log(tmp_path: Path) -> None:
    assert written(tmp_path / "nothing") == []
    assert seq_before_last(tmp_path / "nothing", 3) == 0


def test_what_is_no_record_is_passed_over(tmp_path: Path) -> None:
    write_many(tmp_path, 2)
    with (tmp_path / "audit.jsonl").open("ab") as live:
        live.write(b"[1]\n\xff\xfe\n" + b"[" * 60_000 + b"\n" + b"x" * 300_000 + b'\n{"seq":"1"}\n')
        live.write(b'{"seq":9,"time":"now","kind":"call","rule":"x"}\n{"seq":3,"ti')
    assert [record["seq"] for record in read(tmp_path)] == [1, 2]


@pytest.mark.parametrize("count", [1, 7, 29, 30, 31])
def test_the_last_few_are_found_across_files(tmp_path: Path, count: int) -> None:
    write_many(tmp_path, 30, max_bytes=1000)
    after = seq_before_last(tmp_path, count)
    assert [r["seq"] for r in read(tmp_path, after=after)] == list(range(1, 31))[-count:]


def test_the_last_few_that_match_are_found(tmp_path: Path) -> None:
    decisions = ("deny" if number % 10 == 0 else "allow" for number in range(1, 31))
    write_all(tmp_path, *(call(decision=decision) for decision in decisions), max_bytes=1000)
    wanted = Wanted(blocked=True)
    after = seq_before_last(tmp_path, 2, wanted.matches)
    assert [record["seq"] for record in read(tmp_path, wanted, after=after)] == [20, 30]


def test_reading_is_not_disturbed_by_rotation(tmp_path: Path) -> None:
    write_many(tmp_path, 10, max_bytes=1000)
    reading = read(tmp_path)
    first = next(reading)["seq"]
    write_many(tmp_path, 20, max_bytes=1000)
    seqs = [first, *(record["seq"] for record in reading)]
    assert seqs[:10] == list(range(1, 11))
    assert seqs == list(range(1, len(seqs) + 1))


def test_reading_passes_over_files_that_are_rotated_out_meanwhile(tmp_path: Path) -> None:
    write_many(tmp_path, 30, max_bytes=1000)
    reading = read(tmp_path)
    assert next(reading)["seq"] == 1
    write_many(tmp_path, 1, max_bytes=100, keep=2)
    rest = [record["seq"] for record in reading]
    assert rest == sorted(rest)
    assert rest[-1] == 30


@pytest.mark.parametrize("last", [0, 3])
def test_following_gives_what_is_written_then_across_files(tmp_path: Path, last: int) -> None:
    write_many(tmp_path, 10, max_bytes=1000)
    following = follow(tmp_path, last=last, poll=0.001)
    if last:
        assert [record["seq"] for record in islice(following, last)] == [8, 9, 10]
    written_later = threading.Timer(0.05, write_many, (tmp_path, 40), {"max_bytes": 1000})
    written_later.start()
    assert [record["seq"] for record in islice(following, 40)] == list(range(11, 51))
    written_later.join()


def test_following_keeps_up_with_a_writer_that_rotates_all_the_time(tmp_path: Path) -> None:
    log = AuditLog(tmp_path, max_bytes=600, keep=1000)
    log.write(call())

    def write() -> None:
        for _ in range(1000):
            log.write(call())
        log.close()

    following = follow(tmp_path, last=1, poll=0.001)
    assert next(following)["seq"] == 1
    thread = threading.Thread(target=write)
    thread.start()
    assert [record["seq"] for record in islice(following, 1000)] == list(range(2, 1002))
    thread.join()


def test_following_waits_for_a_log_that_is_not_there_yet(tmp_path: Path) -> None:
    directory = tmp_path / "later"
    later = threading.Timer(0.05, write_many, (directory, 2))
    later.start()
    following = follow(directory, Wanted(tool="read_*"), poll=0.001)
    assert [record["seq"] for record in islice(following, 2)] == [1, 2]
    later.join()


def test_following_waits_for_the_rest_of_a_line(tmp_path: Path) -> None:
    write_many(tmp_path, 2)
    live = tmp_path / "audit.jsonl"
    whole = live.read_bytes()
    live.write_bytes(whole[:-20])
    following = follow(tmp_path, last=5, poll=0.001)
    assert next(following)["seq"] == 1
    later = threading.Timer(0.05, live.write_bytes, (whole,))
    later.start()
    assert next(following)["seq"] == 2
    later.join()


def test_the_writer_loads_nothing_that_is_heavy() -> None:
    code = "import sys, clawkit.guard.audit.log; print(*sorted(sys.modules))"
    command = (sys.executable, "-S", "-c", "import site; site.main(); " + code)
    loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    heavy = {"asyncio", "dataclasses", "logging", "subprocess", "socket", "typer", "tomllib"}
    assert heavy.isdisjoint(loaded)
