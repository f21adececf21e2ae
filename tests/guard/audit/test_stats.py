from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

from clawkit.guard.audit.reader import Row, Wanted, read, rows, tells, tells_anything
from clawkit.guard.audit.record import AuditEntry, AuditRecord
from clawkit.guard.audit.stats import (
    ASCII,
    BLOCKS,
    ChartCharacters,
    Count,
    Hour,
    RuleCount,
    Stats,
    count,
    draw,
)
from tests.guard.audit.written_log import call, write_all

HOUR = "2026-01-31T09:30:00.000Z"


def answer(of: str, latency: float = 1.0, **fields: Any) -> AuditRecord:
    fields = {"method": "tools/call", "decision": "pass", **fields}
    return AuditRecord(kind="answer", of=of, latency_ms=latency, **fields)


def judged(hour: int, tool: str, decision: str, **fields: Any) -> AuditRecord:
    time = f"2026-01-31T{hour:02}:30:00.000Z"
    return call(method="tools/call", time=time, tool=tool, decision=decision, **fields)


def counted(directory: Path, *records: AuditRecord) -> Stats:
    write_all(directory, *records)
    return count(read(directory))


def test_calls_are_counted_by_decision_tool_server_rule_and_hour(tmp_path: Path) -> None:
    stats = counted(
        tmp_path,
        AuditRecord(kind="start"),
        call(method="initialize", tool="initialize", decision="pass"),
        judged(9, "read", "allow", rule=2, reason="Reading is fine"),
        judged(9, "read", "allow", rule=2, reason="Reading is fine"),
        judged(9, "write", "deny", rule=1, reason="No writing"),
        judged(11, "write", "deny", rule=1, reason="No writing", server="other"),
        judged(11, "shell", "prompt", rule=3),
        AuditRecord(
            kind="drop", decision="drop", reason="no JSON", time="2026-01-31T11:31:00.000Z"
        ),
        answer("x", decision="deny", reason="a secret"),
    )
    assert (stats.records, stats.calls, stats.passed, stats.blocked) == (9, 7, 1, 4)
    assert stats.decisions == {"deny": 3, "allow": 2, "prompt": 1, "drop": 1}
    assert stats.tools[:2] == (Count("read", 2, 0), Count("write", 2, 2))
    assert stats.servers == (Count("files", 4, 1), Count("(no name)", 2, 2), Count("other", 1, 1))
    assert stats.rules == (
        RuleCount(1, "No writing", 2),
        RuleCount(0, "no JSON", 1),
        RuleCount(0, "a secret", 1),
    )
    assert stats.hours[:2] == (Hour("2026-01-31T09", 3, 1), Hour("2026-01-31T11", 3, 2))


def approval(of: str, decision: Literal["allow", "deny"], reason: str) -> AuditRecord:
    return AuditRecord(kind="approval", of=of, server="files", decision=decision, reason=reason)


def test_a_call_has_one_outcome_and_all_tables_count_the_same(tmp_path: Path) -> None:
    stats = counted(
        tmp_path,
        judged(9, "write", "prompt", id="1", rule=3, reason="Ask"),
        judged(9, "write", "prompt", id="2", rule=3, reason="Ask"),
        judged(9, "write", "prompt", id="3", rule=3, reason="Ask"),
        judged(9, "read", "allow", id="4", rule=1),
        approval("1", "deny", "a person said no"),
        approval("2", "allow", "once"),
        answer("2"),
        answer("4", decision="deny", reason="a secret"),
        approval("4", "deny", "nobody answered in time"),
        call(id="5", method="tools/list", tool="tools/list", decision="pass", time=HOUR),
        AuditRecord(kind="list", of="5", decision="deny", reason="too large", method="tools/list"),
    )
    assert stats.decisions == {"deny": 3, "prompt": 1, "allow": 1}
    assert (stats.calls, stats.passed, stats.blocked) == (5, 0, 3)
    assert set(stats.tools) == {
        Count("write", 3, 1),
        Count("read", 1, 1),
        Count("tools/list", 1, 1),
    }
    assert stats.servers == (Count("files", 5, 3),)
    assert stats.hours == (Hour("2026-01-31T09", 5, 3),)
    assert stats.rules == (
        RuleCount(3, "asked, a person said no", 1),
        RuleCount(1, "a secret", 1),
        RuleCount(0, "too large", 1),
    )


@pytest.mark.parametrize(
    "reason",
    [
        "https://a.example cannot be reached: refused",
        "http://a.example:80 answered with the status 404",
        "the connection to https://a.example broke (ReadError)",
        "could not be sent: https://a.example cannot be reached",
    ],
)
def test_a_message_that_was_lost_is_an_error_and_not_blocked(tmp_path: Path, reason: str) -> None:
    stats = counted(tmp_path, AuditRecord(kind="drop", decision="drop", reason=reason))
    assert (stats.errors, stats.calls, stats.blocked, stats.rules) == (1, 0, 0, ())
    assert list(read(tmp_path, Wanted(blocked=True))) == []


def test_a_sender_cannot_pass_off_what_was_dropped_as_lost(tmp_path: Path) -> None:
    reason = 'Invalid request: the key "https://a.example cannot be reached" stands twice'
    stats = counted(tmp_path, AuditRecord(kind="drop", decision="drop", reason=reason))
    assert (stats.errors, stats.blocked) == (0, 1)
    assert stats.tools == (Count("(unreadable)", 1, 1),)


@pytest.mark.parametrize(
    ("number", "p50", "p95"), [(1, 1.0, 1.0), (2, 1.0, 2.0), (100, 50.0, 95.0), (101, 51.0, 96.0)]
)
def test_percentiles_are_of_what_judged_calls_took(
    tmp_path: Path, number: int, p50: float, p95: float
) -> None:
    ping = answer("p", 1e6, method="ping")
    stats = counted(tmp_path, ping, *(answer("x", float(n)) for n in range(number, 0, -1)))
    assert (stats.answers, stats.p50_ms, stats.p95_ms) == (number, p50, p95)


def test_an_empty_log_has_no_percentiles_and_no_chart(tmp_path: Path) -> None:
    stats = count(read(tmp_path))
    assert (stats.calls, stats.p50_ms, stats.p95_ms, stats.hours) == (0, None, None, ())
    assert draw(stats.hours, 80) == []


DAY = tuple(Hour(f"2026-01-31T{hour:02}", hour * 10, hour) for hour in range(1, 24))


def test_the_chart_shows_each_hour_and_what_was_blocked() -> None:
    hours = (Hour("2026-01-31T09", 80, 0), Hour("2026-01-31T11", 40, 40))
    assert draw(hours, 80)[:-1] == [
        "calls per hour",
        "     80 │██",
        "        │██",
        "        │██  ▄▄",
        "        │██  ██",
        "        │██  ██",
        "        └──────",
        "blocked      ██",
    ]


def test_a_single_call_among_thousands_is_seen() -> None:
    chart = draw((Hour("2026-01-31T09", 5000, 1), Hour("2026-01-31T10", 1, 0)), 80)
    assert chart[5] == "        │██▁▁"
    assert chart[7] == "blocked  ▁▁"


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.parametrize("ink", [BLOCKS, ASCII], ids=["blocks", "ascii"])
def test_the_chart_fits_the_width(width: int, ink: ChartCharacters) -> None:
    month = [Hour(f"2026-01-{day:02}T{hour:02}", day, 1) for day in range(1, 31) for hour in (0, 9)]
    for hours in (DAY, month):
        chart = draw(hours, width, ink)
        assert max(map(len, chart)) <= width
    assert "hours" in draw(month, width, ink)[0]


def test_the_ascii_chart_is_ascii() -> None:
    assert all(line.isascii() for line in draw(DAY, 80, ASCII))


def test_an_hour_that_is_none_is_left_out() -> None:
    assert draw((Hour("nonsense", 1, 0),), 80) == []


def shown(directory: Path, *records: AuditRecord) -> list[Row]:
    write_all(directory, *records)
    return list(rows(read(directory), tells))


def test_an_answer_stands_at_its_call(tmp_path: Path) -> None:
    [first, second] = shown(
        tmp_path,
        call(id="1", decision="allow"),
        call(id="2", decision="deny"),
        answer("1", 5.0),
        answer("unknown"),
    )
    assert first.answer is not None
    assert first.answer.get("latency_ms") == 5.0
    assert (second.record.get("id"), second.answer) == ("2", None)


def test_an_answer_that_was_blocked_also_stands_for_itself(tmp_path: Path) -> None:
    found = shown(tmp_path, call(id="1", decision="allow"), answer("1", decision="deny"))
    assert [row.record["kind"] for row in found] == ["call", "answer"]


def test_calls_stay_in_order_however_their_answers_come(tmp_path: Path) -> None:
    calls = [call(id=str(number), decision="allow") for number in range(5)]
    answers = [answer(str(number), float(number)) for number in (3, 1, 4, 0)]
    found = shown(tmp_path, *calls, *answers)
    assert [row.record.get("id") for row in found] == ["0", "1", "2", "3", "4"]
    assert [row.answer is None for row in found] == [False, False, True, False, False]


def test_a_call_without_an_answer_does_not_hold_up_the_rest(tmp_path: Path) -> None:
    write_all(tmp_path, *(call(id=str(number), decision="allow") for number in range(1500)))
    given = 0

    def counting() -> Iterator[AuditEntry]:
        nonlocal given
        for record in read(tmp_path):
            given += 1
            yield record

    assert next(rows(counting(), tells)).record["seq"] == 1
    assert given == 1001


def test_lists_notices_and_passed_requests_are_shown_to_those_who_want_all(tmp_path: Path) -> None:
    write_all(
        tmp_path,
        AuditRecord(kind="start", id="start"),
        call(id="listing", method="tools/list", decision="pass"),
        AuditRecord(kind="list", id="list", of="listing", method="tools/list"),
        AuditRecord(kind="notice", id="notice", method="notifications/progress"),
        AuditRecord(kind="notice", id="flagged", flags=("hidden",)),
        AuditRecord(kind="pin", id="pin"),
    )
    everything = rows(read(tmp_path), tells_anything)
    assert [row.record.get("id") for row in rows(read(tmp_path), tells)] == ["flagged", "pin"]
    assert [row.record.get("id") for row in everything] == [
        "start",
        "listing",
        "notice",
        "flagged",
        "pin",
    ]
