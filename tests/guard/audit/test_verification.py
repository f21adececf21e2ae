from __future__ import annotations

import json
import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from clawkit.errors import AuditError
from clawkit.guard.audit.verification import verify
from tests.guard.audit.written_log import log_files, write_many

RECORDS = 40


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Forty records in several files."""
    write_many(tmp_path, RECORDS, max_bytes=2000)
    assert len(log_files(tmp_path)) > 4
    return tmp_path


def edit_lines(file: Path, edit: Callable[[list[bytes]], object]) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    edit(lines)
    file.write_bytes(b"".join(lines))


def resealed(line: bytes, tool: str) -> bytes:
    """A line that was changed by somebody who knows how hashes are made."""
    record = json.loads(line)
    del record["hash"]
    record["tool"] = tool
    text = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return text + b',"hash":"' + sha256(text).hexdigest().encode() + b'"}\n'


def change(lines: list[bytes]) -> None:
    lines[1] = lines[1].replace(b"read_file", b"read_fils")


def change_seq(lines: list[bytes]) -> None:
    lines[1] = lines[1].replace(b'"seq":', b'"seq":1')


def reseal(lines: list[bytes]) -> None:
    lines[1] = resealed(lines[1], "other")


def remove(lines: list[bytes]) -> None:
    del lines[1]


def swap(lines: list[bytes]) -> None:
    lines[1], lines[2] = lines[2], lines[1]


def repeat(lines: list[bytes]) -> None:
    lines.insert(1, lines[0])


def garble(lines: list[bytes]) -> None:
    lines[1] = b"{}\n"


def lengthen(lines: list[bytes]) -> None:
    lines[1] = b"x" * 200_000 + b"\n"


def halve(lines: list[bytes]) -> None:
    lines[-1] = lines[-1][:50]


EDITS: dict[Callable[[list[bytes]], None], tuple[int, str]] = {
    change: (2, "was changed"),
    change_seq: (2, "was changed"),
    reseal: (3, "does not follow"),
    remove: (2, "is missing before"),
    swap: (2, "is missing before"),
    repeat: (2, "moved or copied"),
    garble: (2, "no record"),
    lengthen: (2, "no record"),
}


def test_a_log_as_it_was_written_is_whole(log: Path) -> None:
    verdict = verify(log)
    assert (verdict.ok, verdict.records, verdict.first_seq) == (True, RECORDS, 1)
    assert verdict.problem is None


@pytest.mark.parametrize("where", [0, 2, -1], ids=["oldest file", "middle file", "live file"])
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
def test_an_edit_is_found_where_it_was_made(
    log: Path, edit: Callable[[list[bytes]], None], where: int
) -> None:
    if where == -1:
        write_many(log, 4, max_bytes=1 << 20)
    file = log_files(log)[where]
    edit_lines(file, edit)
    verdict = verify(log)
    line, reason = EDITS[edit]
    assert verdict.problem is not None
    assert not verdict.ok
    assert (verdict.problem.file, verdict.problem.line) == (str(file), line)
    assert reason in verdict.problem.reason


@pytest.mark.parametrize("lines", [1, 3])
def test_a_cut_tail_is_found(log: Path, lines: int) -> None:
    write_many(log, 4, max_bytes=1 << 20)
    edit_lines(log / "audit.jsonl", lambda all_lines: all_lines.__delitem__(slice(-lines, None)))
    problem = verify(log).problem
    assert problem is not None
    assert Path(problem.file).name == "head"
    assert f"{lines} cut off" in problem.reason


def test_a_cut_tail_stays_visible_when_the_log_is_written_on(log: Path) -> None:
    write_many(log, 4, max_bytes=1 << 20)
    edit_lines(log / "audit.jsonl", lambda lines: lines.pop())
    write_many(log, 2, max_bytes=1 << 20)
    problem = verify(log).problem
    assert problem is not None
    assert "record 44 is missing before record 45" in problem.reason


def test_half_a_line_at_the_end_is_a_cut_tail_when_it_was_noted(log: Path) -> None:
    edit_lines(log / "audit.jsonl", halve)
    problem = verify(log).problem
    assert problem is not None
    assert "1 cut off" in problem.reason


def test_half_a_line_within_the_log_is_found(log: Path) -> None:
    file = log_files(log)[1]
    edit_lines(file, halve)
    problem = verify(log).problem
    assert problem is not None
    assert problem.file == str(file)
    assert "part of one" in problem.reason


@pytest.mark.parametrize("where", [1, 3, -1], ids=["second file", "fourth file", "live file"])
def test_a_file_that_is_gone_is_found(log: Path, where: int) -> None:
    log_files(log)[where].unlink()
    problem = verify(log).problem
    assert problem is not None
    assert "missing" in problem.reason or "cut off" in problem.reason


def test_a_log_that_lost_all_its_older_files_is_found(log: Path) -> None:
    for file in log_files(log)[:-1]:
        file.unlink()
    problem = verify(log).problem
    assert problem is not None
    assert "missing" in problem.reason


def test_lines_taken_from_the_start_of_the_oldest_file_are_found(log: Path) -> None:
    log_files(log)[0].unlink()
    oldest = log_files(log)[0]
    assert verify(log).ok  # it could have been rotated out
    edit_lines(oldest, lambda lines: lines.pop(0))
    assert not verify(log).ok


def test_a_last_record_that_was_replaced_is_found(log: Path) -> None:
    def replace_last(lines: list[bytes]) -> None:
        lines[-1] = resealed(lines[-1], "other")

    edit_lines(log / "audit.jsonl", replace_last)
    problem = verify(log).problem
    assert problem is not None
    assert "another record 40" in problem.reason


def test_a_missing_head_is_found(log: Path) -> None:
    (log / "head").unlink()
    problem = verify(log).problem
    assert problem is not None
    assert "cut off" in problem.reason


def test_a_log_that_is_gone_is_found(log: Path) -> None:
    for file in log_files(log):
        file.unlink()
    problem = verify(log).problem
    assert problem is not None
    assert "40 cut off" in problem.reason


def test_no_log_at_all_is_whole(tmp_path: Path) -> None:
    verdict = verify(tmp_path / "nothing")
    assert (verdict.ok, verdict.records, verdict.files) == (True, 0, 0)


def test_every_single_byte_counts(tmp_path: Path) -> None:
    write_many(tmp_path, 3)
    live = tmp_path / "audit.jsonl"
    good = live.read_bytes()
    for at in range(len(good)):
        file = os.open(live, os.O_WRONLY)
        os.lseek(file, at, os.SEEK_SET)
        os.write(file, bytes([good[at] ^ 1]))
        os.close(file)
        assert not verify(tmp_path).ok, at
        live.write_bytes(good)
    assert verify(tmp_path).ok


def test_a_log_that_cannot_be_looked_at_is_not_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="cannot be read: File name too long"):
        verify(tmp_path / ("x" * 1000))
