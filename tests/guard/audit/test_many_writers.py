from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from clawkit.guard.audit.verification import verify
from tests.guard.audit.written_log import log_files, write_many, writer, written

WRITERS = 8
EACH = 500


def finished(process: subprocess.Popen[str]) -> int:
    process.communicate()
    return process.returncode


def test_eight_processes_write_one_chain_and_lose_nothing(tmp_path: Path) -> None:
    names = [f"w{number}" for number in range(WRITERS)]
    processes = [writer(tmp_path, name, EACH, max_bytes=20_000) for name in names]
    assert [finished(process) for process in processes] == [0] * WRITERS
    verdict = verify(tmp_path)
    assert verdict.ok, verdict
    assert verdict.files > 20
    records = written(tmp_path)
    assert [record["seq"] for record in records] == list(range(1, WRITERS * EACH + 1))
    expected = {f"{name}-{number}" for name, number in itertools.product(names, range(EACH))}
    assert {record.get("id") for record in records} == expected
    for name in names:
        own = [record.get("arguments") for record in records if record.get("server") == name]
        assert own == [{"n": number} for number in range(EACH)]


def test_times_never_go_back_along_the_chain(tmp_path: Path) -> None:
    processes = [writer(tmp_path, f"w{number}", 200) for number in range(4)]
    assert [finished(process) for process in processes] == [0] * 4
    times = [record["time"] for record in written(tmp_path)]
    assert times == sorted(times)


def test_the_chain_holds_when_writers_are_killed_at_any_moment(tmp_path: Path) -> None:
    """Small files, so that some die while they begin a new one; one writer lives through it all."""
    chance = random.Random(4)
    witness = writer(tmp_path, "witness", max_bytes=3000, keep=100)
    for round_ in range(8):
        victims = [writer(tmp_path, f"v{round_}-{n}", max_bytes=3000, keep=100) for n in range(2)]
        for victim in victims:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "begun\n"
        time.sleep(chance.random() * 0.03)  # any moment is what this is about
        for victim in victims:
            victim.kill()
            assert finished(victim) == -signal.SIGKILL
    witness.kill()
    assert finished(witness) == -signal.SIGKILL
    write_many(tmp_path, 5, max_bytes=3000, keep=100)
    verdict = verify(tmp_path)
    assert verdict.problem is None
    assert verdict.last_seq > 8


@pytest.mark.parametrize("cut", [1, 40, 150], ids=lambda cut: f"{cut} bytes short")
def test_part_of_a_line_is_dropped_by_the_next_writer(tmp_path: Path, cut: int) -> None:
    """What a writer leaves that was killed within its write."""
    write_many(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    write_many(tmp_path, 1)
    (tmp_path / "head").write_bytes(head)
    live = tmp_path / "audit.jsonl"
    os.truncate(live, live.stat().st_size - cut)
    assert verify(tmp_path).ok
    assert len(written(tmp_path)) == 3
    write_many(tmp_path, 2)
    verdict = verify(tmp_path)
    assert (verdict.ok, verdict.last_seq) == (True, 6)
    assert [one.seq for one in verdict.recoveries] == [4]
    assert "bytes of an unfinished record were dropped" in verdict.recoveries[0].reason


def test_a_line_without_its_note_stays(tmp_path: Path) -> None:
    """What a writer leaves that was killed between its line and the head."""
    write_many(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    write_many(tmp_path, 1)
    (tmp_path / "head").write_bytes(head)
    assert verify(tmp_path).ok
    write_many(tmp_path, 1)
    verdict = verify(tmp_path)
    assert (verdict.ok, verdict.last_seq, verdict.recoveries) == (True, 5, ())


def test_several_lines_without_their_note_stay(tmp_path: Path) -> None:
    """What a writer of many records leaves that was killed between its lines and the head."""
    write_many(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    write_many(tmp_path, 4)
    (tmp_path / "head").write_bytes(head)
    assert verify(tmp_path).problem is None


@pytest.mark.parametrize("lines", [0, 1])
def test_a_new_file_without_its_note_goes_on_with_the_chain(tmp_path: Path, lines: int) -> None:
    """What a writer leaves that was killed after it had put the full file aside."""
    write_many(tmp_path, 3)
    head = (tmp_path / "head").read_bytes()
    write_many(tmp_path, lines, max_bytes=1)
    (tmp_path / "head").write_bytes(head)
    if not lines:
        (tmp_path / "audit.jsonl").rename(tmp_path / "audit-000000000001.jsonl")
    assert verify(tmp_path).ok
    write_many(tmp_path, 2)
    verdict = verify(tmp_path)
    assert (verdict.problem, verdict.last_seq) == (None, 5 + lines)
    assert len(log_files(tmp_path)) == 2


@pytest.mark.parametrize("head", [b"", b"nonsense\n", b"0" * 107], ids=["empty", "text", "digits"])
def test_a_head_that_says_nothing_is_made_anew_from_the_log(tmp_path: Path, head: bytes) -> None:
    write_many(tmp_path, 10, max_bytes=700)
    (tmp_path / "head").write_bytes(head)
    assert not verify(tmp_path).ok
    write_many(tmp_path, 1)
    verdict = verify(tmp_path)
    assert (verdict.problem, verdict.last_seq) == (None, 12)
    assert [one.seq for one in verdict.recoveries] == [11]


def test_a_head_is_made_anew_from_the_last_full_file_too(tmp_path: Path) -> None:
    write_many(tmp_path, 3)
    (tmp_path / "audit.jsonl").rename(tmp_path / "audit-000000000001.jsonl")
    (tmp_path / "head").unlink()
    write_many(tmp_path, 1)
    verdict = verify(tmp_path)
    assert (verdict.problem, verdict.last_seq) == (None, 5)
