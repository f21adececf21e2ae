"""`claw log`, as a person types it."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.pins import Pins
from tests.claw import Done, claw
from tests.guard.audit.written_log import call, write_all, write_many
from tests.processes import PATIENCE

COMMAND = (
    sys.executable,
    "-c",
    "from clawkit.cli.log import app; app(prog_name='claw log')",
)


@pytest.fixture
def directory(home: Path) -> Path:
    return home / "claw" / "data" / "claw" / "guard" / "audit"


def claw_log(*arguments: str, **env: str) -> Done:
    return claw("log", *arguments, env={"TZ": "UTC", **env})


def sample() -> tuple[AuditRecord, ...]:
    return (
        AuditRecord(kind="start", server="files", time="2026-01-31T09:00:00.000Z"),
        call(
            id="1",
            method="tools/call",
            decision="allow",
            rule=7,
            arguments={"path": "/home/a", "head": 20},
            time="2026-01-31T09:00:01.000Z",
        ),
        AuditRecord(kind="answer", of="1", decision="pass", method="tools/call", latency_ms=12.34),
        call(id="2", decision="deny", rule=1, tool="shell", reason="No shell", server="sh"),
        call(id="3", decision="allow", tool="evil\x1b[2J\u202e\nname", arguments={"a": "\x07\n"}),
    )


def test_a_call_is_one_line_with_its_answer(directory: Path) -> None:
    write_all(directory, *sample())
    done = claw_log()
    assert done.returncode == 0, done.stderr
    first, second, _ = done.stdout.splitlines()
    assert first.split() == [
        *("01-31", "09:00:01", "allow", "files", "read_file"),
        *("path=/home/a", "head=20", "rule", "7", "12.3", "ms"),
    ]
    assert second.split()[2:] == ["deny", "sh", "shell", "rule", "1:", "No", "shell"]


def test_what_a_server_or_client_said_is_shown_escaped(directory: Path) -> None:
    write_all(directory, *sample())
    out = claw_log().stdout
    assert len(out.splitlines()) == 3
    assert not set("\x1b\x07\u202e") & set(out)
    assert "evil\\x1b[2J\\u202e" in out
    assert claw_log("--json").stdout.isascii()


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        (["--blocked"], ["shell"]),
        (["--server", "s*"], ["shell"]),
        (["--tool", "read_*"], ["read_file"]),
        (["-n", "2", "--since", "2026-01-01"], ["shell", "evil"]),
        (["--since", "1h"], ["shell", "evil"]),
        (["--all", "--server", "files", "-n", "3"], ["start", "read_file", "evil"]),
    ],
    ids=" ".join,
)
def test_options_choose_what_is_shown(
    directory: Path, options: list[str], tools: list[str]
) -> None:
    write_all(directory, *sample())
    lines = claw_log(*options).stdout.splitlines()
    assert [line.split()[4].partition("\\")[0] for line in lines] == tools


def test_json_gives_the_records_as_they_are(directory: Path) -> None:
    write_all(directory, *sample())
    records = [json.loads(line) for line in claw_log("--json").stdout.splitlines()]
    lines = (directory / "audit.jsonl").read_bytes().splitlines()
    assert records == [json.loads(line) for line in lines]
    [last] = claw_log("--json", "-n", "1").stdout.splitlines()
    assert json.loads(last)["seq"] == 5


@pytest.mark.parametrize("command", [[], ["verify"], ["stats"]], ids=["log", "verify", "stats"])
def test_an_empty_log_says_how_to_get_one(command: list[str]) -> None:
    done = claw_log(*command)
    assert done.returncode == 0
    assert "The log is empty" in done.stdout
    assert "claw wrap SERVER" in done.stdout


def test_finding_nothing_is_said(directory: Path) -> None:
    write_all(directory, *sample())
    assert "Nothing like that in the log. --all" in claw_log("--tool", "nothing").stdout
    done = claw_log("--json", "--tool", "nothing")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("command", [[], ["stats"]], ids=["log", "stats"])
def test_a_time_that_is_none_is_refused(command: list[str]) -> None:
    done = claw_log(*command, "--since", "soon")
    assert done.returncode == 2
    assert done.stderr.startswith(f"{' '.join(('claw log', *command))}: 'soon' is no time")


def test_a_reader_that_leaves_early_is_no_error(directory: Path) -> None:
    write_many(directory, 5000)
    process = subprocess.Popen(
        (*COMMAND, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert json.loads(process.stdout.readline())["seq"] == 1
    process.stdout.close()
    with process.stderr as errors:
        assert errors.read() == ""
    process.wait(PATIENCE)


def test_following_shows_what_comes_until_it_is_interrupted(directory: Path) -> None:
    write_all(directory, *sample())
    process = subprocess.Popen((*COMMAND, "-f", "-n", "1"), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as out:
        assert "evil" in out.readline()
        write_all(directory, call(id="9", decision="prompt", tool="later"))
        write_all(directory, AuditRecord(kind="answer", of="9", tool="later", latency_ms=1500.0))
        assert out.readline().split()[2:] == ["prompt", "files", "later"]
        assert out.readline().split()[2:] == ["answer", "later", "1.5", "s"]
        process.send_signal(signal.SIGINT)
        assert out.read() == ""
    assert process.wait(PATIENCE) == 130


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}], ids=["usual", "NO_COLOR"])
def test_a_terminal_gets_colours_and_lines_that_fit(directory: Path, env: dict[str, str]) -> None:
    write_all(directory, call(decision="deny", reason="x" * 500))
    shown = in_a_terminal(70, **env)
    assert ("\x1b[31mdeny   \x1b[0m" in shown) is not bool(env)
    lines = re.sub(r"\x1b\[\d+m", "", shown).splitlines()
    assert max(map(len, lines)) <= 70
    assert len(lines) > 1


def in_a_terminal(columns: int, **env: str) -> str:
    ours, theirs = pty.openpty()
    given = {**os.environ, "COLUMNS": str(columns), **env}
    subprocess.run(COMMAND, stdout=theirs, env=given, timeout=PATIENCE, check=True)
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    return shown


def test_a_narrow_terminal_shows_the_reason_below_and_how_long_it_took(directory: Path) -> None:
    write_all(
        directory,
        call(
            id="1", server="s" * 40, decision="allow", rule=3, reason="r" * 30, arguments="a" * 60
        ),
        AuditRecord(kind="answer", of="1", latency_ms=5.0),
        call(decision="allow", rule=1),
    )
    first, below, short = in_a_terminal(80, NO_COLOR="1").splitlines()
    assert first.endswith("…  5 ms")
    assert (len(first), below) == (80, f"      rule 3: {'r' * 30}")
    assert short.split()[2:] == ["allow", "files", "read_file", "rule", "1"]


def asked() -> tuple[AuditRecord, ...]:
    return (
        call(id="a", method="initialize", tool="initialize", decision="pass"),
        AuditRecord(kind="answer", of="a", method="initialize", latency_ms=1.0),
        call(id="b", decision="prompt", rule=2, reason="Ask first", arguments={"path": "/x"}),
        call(id="c", decision="prompt", rule=2, tool="write"),
        AuditRecord(
            kind="approval", of="b", server="files", decision="deny", reason="a person said no"
        ),
        AuditRecord(kind="approval", of="c", server="files", decision="allow", reason="once"),
        AuditRecord(kind="answer", of="c", tool="write", method="tools/call", latency_ms=2.0),
    )


DENIED = "deny files read_file path=/x rule 2: Ask first; asked, a person said no"


@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["all", "last"])
def test_what_a_person_said_stands_at_the_call(directory: Path, options: tuple[str, ...]) -> None:
    write_all(directory, *asked())
    shown = [" ".join(line.split()[2:]) for line in claw_log(*options).stdout.splitlines()]
    assert shown == [DENIED, "allow files write rule 2: asked, allowed once 2 ms"]
    blocked = claw_log("--blocked", *options).stdout.splitlines()
    assert [" ".join(line.split()[2:]) for line in blocked] == [DENIED]


def test_following_hides_what_the_plain_view_hides(directory: Path) -> None:
    write_all(directory, *asked())
    process = subprocess.Popen((*COMMAND, "-f", "-n", "9"), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as out:
        shown = [" ".join(out.readline().split()[2:]) for _ in range(5)]
        assert shown == [
            "prompt files read_file path=/x rule 2: Ask first",
            "prompt files write rule 2",
            DENIED,
            "allow files write rule 2: asked, allowed once",
            "answer write 2 ms",
        ]
        process.send_signal(signal.SIGINT)
        assert out.read() == ""
    assert process.wait(PATIENCE) == 130


def test_following_what_was_blocked_knows_the_calls_before(directory: Path) -> None:
    write_all(directory, *asked())
    following = (*COMMAND, "-f", "--blocked", "-n", "1")
    process = subprocess.Popen(following, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as out:
        assert " ".join(out.readline().split()[2:]) == DENIED
        process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) == 130


@pytest.mark.parametrize("command", [[], ["verify"], ["stats"], ["-f"]], ids=" ".join)
def test_a_file_where_the_log_should_be_is_said(directory: Path, command: list[str]) -> None:
    directory.parent.mkdir(parents=True)
    directory.write_text("")
    done = claw_log(*command)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{directory} cannot be used as the log: Not a directory" in done.stderr


def test_a_file_of_the_log_that_cannot_be_read_is_said(directory: Path) -> None:
    write_many(directory, 20, max_bytes=1000)
    first = directory / "audit-000000000001.jsonl"
    first.unlink()
    first.mkdir()
    done = claw_log("--json")
    assert done.returncode == 1
    assert "audit-000000000001.jsonl cannot be read" in done.stderr


def test_a_log_that_should_be_there_and_is_not_is_a_problem(directory: Path) -> None:
    Pins(directory.parent / "pins", "files").check_list([{"name": "read"}])
    done = claw_log("verify")
    assert done.returncode == 1
    assert f"The log is missing: {directory}" in done.stdout
    assert "servers are pinned" in done.stdout
    assert json.loads(claw_log("verify", "--json").stdout)["ok"] is False


def test_verify_says_that_a_log_is_whole(directory: Path) -> None:
    write_many(directory, 50, max_bytes=1000, keep=3)
    done = claw_log("verify")
    assert done.returncode == 0
    assert "The log is whole" in done.stdout
    assert "older files were rotated out" in done.stdout
    assert json.loads(claw_log("verify", "--json").stdout)["ok"] is True


def test_verify_remembers_for_good_that_a_head_was_missing(directory: Path) -> None:
    write_many(directory, 5)
    live = directory / "audit.jsonl"
    live.write_bytes(b"".join(live.read_bytes().splitlines(keepends=True)[:3]))
    (directory / "head").unlink()
    write_many(directory, 2)
    done = claw_log("verify")
    assert done.returncode == 3
    assert "The log is whole, but was recovered: records 1 to 6" in done.stdout
    assert "after record 3: the head file was missing or unreadable" in done.stdout
    told = json.loads(claw_log("verify", "--json").stdout)
    assert (told["ok"], told["recoveries"][0]["seq"]) == (True, 4)
    assert "nobody can tell what followed record 3" in claw_log().stdout


@pytest.mark.parametrize(
    ("now", "why"), [(b'{"n":3}', "record 3 was changed"), (b'{"n":"\xff"}', "")]
)
def test_verify_says_where_a_log_is_broken(directory: Path, now: bytes, why: str) -> None:
    write_many(directory, 5)
    live = directory / "audit.jsonl"
    live.write_bytes(live.read_bytes().replace(b'{"n":2}', now))
    assert claw_log().stderr == ""
    done = claw_log("verify")
    assert done.returncode == 1
    assert f"The log is broken: {live}, line 3: {why}" in done.stdout
    assert "Before that, 2 of its records are as the guard wrote them" in done.stdout
    checks = json.loads(claw("doctor", "--json", code=1).stdout)["checks"]
    (log,) = [check for check in checks if check["name"] == "log"]
    assert log["state"] == "problem"
    assert log["detail"].startswith(f"{live}, line 3: {why}")
    done = claw_log("verify", "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["problem"]["line"] == 3


def test_stats_are_tables_and_a_chart(directory: Path) -> None:
    write_all(directory, *sample())
    out = claw_log("stats").stdout
    assert "3 calls: 2 allow, 1 deny" in out
    assert "latency: median 12.3 ms, 95th percentile 12.3 ms" in out
    assert "rule 1: No shell" in out
    assert "│" in out
    plain = claw_log("stats", PYTHONIOENCODING="ascii").stdout
    assert plain.isascii()
    assert "calls per" in plain
    assert max(map(len, claw_log("stats", COLUMNS="60").stdout.splitlines())) <= 60


def test_stats_as_json(directory: Path) -> None:
    write_all(directory, *sample())
    stats = json.loads(claw_log("stats", "--json", "--since", "1d").stdout)
    assert (stats["calls"], stats["blocked"]) == (2, 1)
    assert stats["hours"][-1]["hour"] <= datetime.now(UTC).strftime("%Y-%m-%dT%H")


def test_help_names_the_options_and_the_commands() -> None:
    out = claw_log("--help").stdout
    for name in ("--blocked", "--server", "--tool", "--since", "--follow", "verify", "stats"):
        assert name in out
