"""The log in memory: calls with what was said about them later, filtered, paged and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.console.audit_index import AuditIndex, RowFilter
from clawkit.errors import AuditError
from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path)


@pytest.fixture
def index(tmp_path: Path) -> AuditIndex:
    return AuditIndex(tmp_path)


def call(id: str, decision: Any = "allow", **more: Any) -> AuditRecord:
    fields = {"server": "files", "tool": "read", "method": "tools/call", **more}
    return AuditRecord(kind="call", id=id, decision=decision, **fields)


def answer(of: str, milliseconds: float = 5.0) -> AuditRecord:
    return AuditRecord(kind="answer", of=of, method="tools/call", latency_ms=milliseconds)


def names(index: AuditIndex, **wanted: Any) -> list[str]:
    return [row.name for row in index.page(RowFilter(**wanted), 0, 50).rows]


def test_a_call_has_its_answer_and_what_a_person_said(log: AuditLog, index: AuditIndex) -> None:
    log.write(call("1", "prompt", rule=4))
    first = index.page(RowFilter(), 0, 50).rows
    assert [row.decision for row in first] == ["prompt"]
    log.write(AuditRecord(kind="approval", of="1", decision="deny", reason="a person said no"))
    (row,) = index.page(RowFilter(), 0, 50).rows
    assert (row.decision, row.blocked, row.reason) == ("deny", True, "asked, a person said no")
    log.write(call("2"), answer("2", 7.0))
    newest, _ = index.page(RowFilter(), 0, 50).rows
    assert newest.latency_ms == 7.0


def test_asked_are_those_that_a_person_saw(log: AuditLog, index: AuditIndex) -> None:
    said = {
        "1": "once",
        "2": "a person said no",
        "3": "nobody answered in time",
        "4": "allowed before",
        "5": "a person must approve this call, and nobody can be asked",
    }
    for id, reason in said.items():
        decision = "allow" if id in "14" else "deny"
        log.write(call(id, "prompt", tool=f"t{id}"))
        log.write(AuditRecord(kind="approval", of=id, decision=decision, reason=reason))
    assert index.summary(RowFilter()).asked == 3
    assert names(index, decision="asked") == ["t3", "t2", "t1"]


def test_what_is_counted_are_calls(log: AuditLog, index: AuditIndex) -> None:
    log.write(
        call("1"),
        call("2", "pass", method="tools/list", tool=""),
        AuditRecord(kind="drop", method="ping", decision="drop", reason="not JSON"),
        AuditRecord(kind="pin", server="files", reason="first seen"),
    )
    found = index.summary(RowFilter())
    assert (found.calls, found.blocked) == (1, 1)
    assert [one.name for one in found.reasons] == ["not JSON"]


def test_filters_choose(log: AuditLog, index: AuditIndex) -> None:
    log.write(
        call("1", tool="read_file"),
        call("2", "deny", tool="write_file", server="web", rule=2, reason="closed"),
        call("3", tool="search", arguments={"q": "Anna"}),
        AuditRecord(kind="notice", method="notifications/progress", decision="pass"),
    )
    assert names(index) == ["search", "write_file", "read_file"]
    assert names(index, tool="*_file") == ["write_file", "read_file"]
    assert names(index, tool="ARCH") == ["search"]
    assert names(index, server="web", decision="blocked", rule=2) == ["write_file"]
    assert names(index, rule=0) == ["search", "read_file"]
    assert names(index, text="anna") == ["search"]
    assert names(index, since="1h") == names(index)
    assert names(index, everything=True)[0] == "notifications/progress"


def test_pages_go_back_in_time_and_do_not_overlap(log: AuditLog, index: AuditIndex) -> None:
    log.write(*(call(str(number), tool=f"t{number}") for number in range(25)))
    first = index.page(RowFilter(), 0, 10)
    second = index.page(RowFilter(), first.rows[-1].seq, 10)
    third = index.page(RowFilter(), second.rows[-1].seq, 10)
    assert [row.name for row in (*first.rows, *second.rows, *third.rows)] == [
        f"t{number}" for number in reversed(range(25))
    ]
    assert (first.older, second.older, third.older) == (True, True, False)
    assert first.total == third.total == 25


def test_a_summary_counts_by_time_server_tool_and_reason(log: AuditLog, index: AuditIndex) -> None:
    for hour in range(3):
        time = f"2026-01-31T0{hour}:30:00.000Z"
        log.write(call(f"a{hour}", time=time), answer(f"a{hour}", 10.0 * (hour + 1)))
        log.write(call(f"d{hour}", "deny", time=time, server="web", rule=1, reason="closed"))
    found = index.summary(RowFilter())
    assert (found.calls, found.blocked, found.p50_ms, found.p95_ms) == (6, 3, 20.0, 30.0)
    assert sum(one.calls for one in found.buckets) == 6
    assert len(found.buckets) <= 48
    assert {(one.server, one.calls, one.blocked) for one in found.lanes} == {
        ("files", 3, 0),
        ("web", 3, 3),
    }
    assert [(one.name, one.calls) for one in found.reasons] == [("rule 1: closed", 3)]


def test_an_opened_call_brings_its_records_and_its_neighbours(
    log: AuditLog, index: AuditIndex
) -> None:
    log.write(call("0", session="s", tool="before"), call("x", session="other", tool="other"))
    log.write(call("1", session="s", arguments={"a": 1}), answer("1"))
    log.write(call("2", session="s", tool="after"))
    found = index.opened(3)
    assert found is not None
    assert found.record.get("arguments") == {"a": 1}
    assert [one["kind"] for one in found.linked] == ["answer"]
    assert [one.name for one in (*found.before, *found.after)] == ["before", "after"]
    assert index.opened(99) is None


def test_an_empty_log_is_no_error(index: AuditIndex) -> None:
    assert index.page(RowFilter(), 0, 50).rows == ()
    assert index.summary(RowFilter()).buckets == ()
    assert index.servers() == []


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("no folder")
    with pytest.raises(AuditError, match=r"audit.jsonl cannot be read: Not a directory"):
        AuditIndex(tmp_path / "audit").refresh()
