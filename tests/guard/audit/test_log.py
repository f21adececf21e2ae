from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import AuditError
from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.audit.verification import verify
from tests.guard.audit.written_log import call, log_files, write_all, write_many, written


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "audit"


def test_a_line_is_the_record_and_its_place_in_the_chain(directory: Path) -> None:
    write_all(directory, call(id="a", rule=3), call(id="b", time="2026-01-31T09:00:00.000Z"))
    first, second = (directory / "audit.jsonl").read_bytes().splitlines()
    one, two = json.loads(first), json.loads(second)
    assert list(one) == ["seq", "time", "id", "kind", "server", "tool", "rule", "prev", "hash"]
    assert (one["seq"], one["prev"]) == (1, "0" * 64)
    assert (two["seq"], two["prev"]) == (2, one["hash"])
    assert two["time"] == "2026-01-31T09:00:00.000Z"
    for line, record in ((first, one), (second, two)):
        assert record["hash"] == sha256(line[: line.rindex(b',"hash":')]).hexdigest()


def test_the_log_tells_the_time(directory: Path) -> None:
    write_all(directory, call())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", written(directory)[0]["time"])


def test_only_its_owner_can_read_the_log(directory: Path) -> None:
    directory.mkdir(parents=True, mode=0o755)
    write_many(directory, 10, max_bytes=500)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    files = list(directory.iterdir())
    assert len(files) > 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_another_log_object_goes_on_with_the_chain(directory: Path) -> None:
    write_many(directory, 3)
    write_many(directory, 3)
    assert [record["seq"] for record in written(directory)] == [1, 2, 3, 4, 5, 6]
    assert verify(directory).ok


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"text": "a\nb\r\nc\u2028d\x85e\x00"}, id="line ends"),
        pytest.param({"a": 1, "hash": "x", "prev": "y", "seq": 7}, id="names of the chain"),
        pytest.param({"text": '","hash":"' + "0" * 64 + '"}\n'}, id="the end of a line"),
        pytest.param({"text": "\ud800 alone", "\udfff": ["\ud800"]}, id="lone surrogates"),
        pytest.param({"number": float("nan"), "big": 10**30}, id="numbers JSON lacks"),
        pytest.param({"object": object()}, id="no JSON at all"),
        pytest.param({"text": "x" * 1_000_000}, id="a megabyte"),
    ],
)
def test_one_record_is_one_line_whatever_is_in_it(directory: Path, arguments: Any) -> None:
    write_all(directory, call(id="a", arguments=arguments), call(id="b"))
    text = (directory / "audit.jsonl").read_bytes()
    lines = text.split(b"\n")
    assert [len(lines), lines[-1]] == [3, b""]
    assert len(text.decode().splitlines()) == 2  # also for readers that know more line ends
    assert max(map(len, lines)) < 64 * 1024
    assert [record.get("id") for record in written(directory)] == ["a", "b"]
    assert verify(directory).ok


def test_arguments_deeper_than_json_can_be_are_dropped_with_a_mark(directory: Path) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    write_all(directory, call(arguments=deep))
    assert "dropped" in written(directory)[0].get("arguments", {})


def test_what_is_too_long_is_dropped_with_a_mark(directory: Path) -> None:
    long = "é" * 200_000
    write_all(directory, call(tool=long, reason=long, flags=(long,) * 100, arguments={"a": long}))
    [record] = written(directory)
    assert "dropped" in record.get("arguments", {})
    assert record.get("tool", "").endswith("…(199744 more characters)")
    assert len(record.get("flags", [])) == 16


def test_a_full_file_is_put_aside_and_the_chain_goes_on(directory: Path) -> None:
    write_many(directory, 20, max_bytes=1000)
    *rotated, _ = files = log_files(directory)
    assert len(rotated) > 3
    firsts = [json.loads(file.read_bytes().splitlines()[0])["seq"] for file in files]
    assert [file.name for file in rotated] == [f"audit-{seq:012d}.jsonl" for seq in firsts[:-1]]
    assert [record["seq"] for record in written(directory)] == list(range(1, 21))
    assert verify(directory).files == len(files)


def test_the_oldest_files_are_not_kept(directory: Path) -> None:
    write_many(directory, 50, max_bytes=1000, keep=2)
    assert len(log_files(directory)) == 3
    verdict = verify(directory)
    assert verdict.ok
    assert verdict.first_seq > 30
    assert verdict.last_seq == 50


def test_threads_share_one_log(directory: Path) -> None:
    log = AuditLog(directory, max_bytes=20_000, keep=100)
    threads = [
        threading.Thread(target=lambda: [log.write(call()) for _ in range(200)]) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.close()
    verdict = verify(directory)
    assert (verdict.ok, verdict.records) == (True, 1600)


def test_a_log_that_was_closed_opens_again(directory: Path) -> None:
    log = AuditLog(directory)
    for _ in range(3):
        log.write(call())
        log.close()
    assert verify(directory).records == 3


def test_two_logs_in_turn_notice_that_the_other_began_a_new_file(directory: Path) -> None:
    logs = [AuditLog(directory, max_bytes=700) for _ in range(2)]
    for number in range(60):
        logs[number % 7 % 2].write(call(arguments={"n": "same length"}))
    for log in logs:
        log.close()
    verdict = verify(directory)
    assert (verdict.ok, verdict.last_seq) == (True, 60)


@pytest.mark.parametrize("gone", ["audit.jsonl", "head", "both"])
def test_a_log_whose_files_were_deleted_is_written_where_it_should_be(
    directory: Path, gone: str
) -> None:
    write_many(directory, 3)
    for file in ("audit.jsonl", "head") if gone == "both" else (gone,):
        (directory / file).unlink()
    write_many(directory, 2)
    calls = [record for record in written(directory) if record["kind"] == "call"]
    assert len(calls) == (5 if gone == "head" else 2)
    assert verify(directory).ok is (gone != "audit.jsonl")


@pytest.mark.parametrize("gone", ["audit.jsonl", "head", "both"])
def test_files_that_are_deleted_under_a_writer_leave_a_gap(directory: Path, gone: str) -> None:
    log = AuditLog(directory)
    log.write(call(), call(), call())
    live = directory / "audit.jsonl"
    if gone == "head":
        os.truncate(live, live.stat().st_size // 2)
    for file in ("audit.jsonl", "head") if gone == "both" else (gone,):
        (directory / file).unlink()
    log.close()
    log.write(call())
    log.close()
    problem = verify(directory).problem
    assert problem is not None
    assert "missing before record 4" in problem.reason
    assert written(directory)[-2]["kind"] == "recovery"


FULL = """
import resource, signal, sys
from pathlib import Path
from clawkit.errors import AuditError
from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
log = AuditLog(Path(sys.argv[1]))
try:
    for _ in range(100):
        log.write(AuditRecord(kind="call", reason="x" * 100))
except AuditError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.write(AuditRecord(kind="call", id="after"))
"""


def test_a_full_disk_is_an_error_that_leaves_no_half_line(directory: Path) -> None:
    command = (sys.executable, "-c", FULL, str(directory))
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert said.startswith(f"the audit log in {directory} cannot be written (File too large)")
    assert "make room on its disk" in said
    records = written(directory)
    assert [record["seq"] for record in records] == list(range(1, len(records) + 1))
    assert records[-1].get("id") == "after"
    assert verify(directory).ok


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    log = AuditLog(tmp_path / "file" / "audit")
    with pytest.raises(AuditError, match="no directory is in its way") as caught:
        log.write(AuditRecord(kind="start"))
    assert str(tmp_path) in str(caught.value)
    (tmp_path / "file").unlink()
    log.write(AuditRecord(kind="start"))
    log.close()


def test_a_live_file_that_is_a_directory_is_an_error(directory: Path) -> None:
    (directory / "audit.jsonl").mkdir(parents=True)
    with pytest.raises(AuditError, match="cannot be written"):
        AuditLog(directory).write(AuditRecord(kind="start"))
