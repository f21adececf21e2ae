"""Commands that are started with a standard stream closed: a sentence, or no need of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.claw import PROGRAMS
from tests.processes import PATIENCE, ROOT

PROTOCOL = {
    "openclaw mcp-server": ("openclaw", "mcp-server"),
    "openclaw mcp-server -v": ("openclaw", "mcp-server", "-v"),
    "claw serve": ("claw", "serve", str(ROOT / "examples" / "calculator.py")),
    "clawai proxy": ("clawai", "proxy", "--", "cat"),
    "claw proxy --url": ("claw", "proxy", "--url", "http://127.0.0.1:9/mcp"),
    "claw being stdio": ("claw", "being", "stdio", "nobody"),
}


def started(home: Path, redirections: str, *command: str) -> subprocess.CompletedProcess[str]:
    program, *arguments = command
    script = f'export CLAW_HOME="$0"; exec "$@" {redirections}'
    return subprocess.run(
        ["sh", "-c", script, str(home), str(PROGRAMS / program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=5 * PATIENCE,
        check=False,
    )


@pytest.mark.parametrize(
    ("redirections", "closed"),
    [("<&-", "stdin is"), (">&-", "stdout is"), ("<&- >&-", "stdin and stdout are")],
    ids=["stdin", "stdout", "both"],
)
@pytest.mark.parametrize("name", PROTOCOL)
def test_a_server_over_stdio_says_that_a_stream_is_closed(
    tmp_path: Path, name: str, redirections: str, closed: str
) -> None:
    done = started(tmp_path, redirections, *PROTOCOL[name])
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"{closed} closed: " in line


def test_without_stderr_a_server_works_and_its_files_are_not_taken_for_stderr(
    tmp_path: Path,
) -> None:
    done = started(tmp_path, "2>&-", *PROTOCOL["claw serve"])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("command", [("claw", "status"), ("claw", "--version")], ids=" ".join)
def test_other_commands_need_no_stream(tmp_path: Path, command: tuple[str, ...]) -> None:
    assert "Traceback" not in started(tmp_path, "<&- >&-", *command).stderr
    done = started(tmp_path, "<&-", *command)
    assert done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    ["--help", "policy --help", "help", "help policy", "policy init --print", "completion bash"],
)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_a_reader_that_has_seen_enough_is_no_error(
    tmp_path: Path, words: str, unbuffered: str
) -> None:
    script = (
        'export CLAW_HOME="$0" PYTHONUNBUFFERED="$1"; shift; '
        '{ "$@"; echo $? > "$CLAW_HOME/status"; } 2> "$CLAW_HOME/said" | true'
    )
    command = [str(PROGRAMS / "claw"), *words.split()]
    subprocess.run(["sh", "-c", script, str(tmp_path), unbuffered, *command], check=True)
    assert (tmp_path / "status").read_text() == "0\n"
    assert (tmp_path / "said").read_text() == ""
