"""Commands whose output is written to a full disk: one line that says so, and status 1."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.claw import PROGRAMS
from tests.processes import PATIENCE, ROOT

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
ADD = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call",'
    b'"params":{"name":"add","arguments":{"a":1,"b":2}}}\n'
)
CALCULATOR = str(ROOT / "examples" / "calculator.py")


def on_full(home: Path, *command: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    program, *arguments = command
    with Path("/dev/full").open("wb") as full:
        return subprocess.run(
            (str(PROGRAMS / program), *arguments),
            input=stdin,
            stdout=full,
            stderr=subprocess.PIPE,
            env={"PATH": str(PROGRAMS), "CLAW_HOME": str(home), "CLAW_EMBEDDER": "none"},
            timeout=5 * PATIENCE,
            check=False,
        )


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("sessions",), ("ask", "hi"), ("ask", "hi", "--json"), ("remember", "a b")],
    ids=" ".join,
)
def test_a_command_says_that_its_output_cannot_be_written(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    done = on_full(tmp_path, "claw", *arguments)
    assert done.stderr == b"claw: cannot write to stdout: No space left on device\n"
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("command", "stdin"),
    [(("openclaw", "mcp-server"), PING), (("claw", "serve", CALCULATOR), ADD)],
    ids=["mcp-server", "serve"],
)
def test_a_server_says_that_its_answer_cannot_be_written(
    tmp_path: Path, command: tuple[str, ...], stdin: bytes
) -> None:
    done = on_full(tmp_path, *command, stdin=stdin)
    (line,) = done.stderr.decode().splitlines()
    verb = " ".join(command[:2])
    assert line == f"{verb}: cannot write to stdout: No space left on device"
    assert done.returncode == 1
