"""Bytes that are no text in the locale's encoding: read as UTF-8, or refused, never changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.claw import claw
from tests.processes import ROOT

LATIN = os.fsdecode(b"caf\xe9")
ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C", "CLAW_EMBEDDER": "none"}
CALCULATOR = str(ROOT / "examples" / "calculator.py")


@pytest.mark.parametrize(
    "command",
    [
        ("recall", LATIN),
        ("remember", "I like", LATIN),
        ("remember", "It is good", "--where", LATIN),
        ("ask", LATIN),
        ("ask", "Hello", "--session", LATIN),
        ("memory", "search", LATIN),
        ("being", "token", "create", "team", "--label", LATIN),
        ("call", CALCULATOR, "calculator", f"operation={LATIN}"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_an_argument_that_is_no_text_is_refused_in_one_line(
    home: Path, command: tuple[str, ...]
) -> None:
    done = claw(*command, code=2, env={"CLAW_EMBEDDER": "none"})
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"claw {command[0]}")
    assert line.endswith("caf\\xe9' is not UTF-8 text")
    assert not (home / "claw" / "data").exists()


@pytest.mark.parametrize("command", [("recall", "-"), ("remember", "-"), ("chat",)], ids=" ".join)
def test_text_on_stdin_that_is_none_is_refused_in_one_line(command: tuple[str, ...]) -> None:
    done = claw(*command, code=2, stdin=b"caf\xe9\n", env={"CLAW_EMBEDDER": "none"})
    assert done.stderr == f"claw {command[0]}: stdin is not UTF-8 text\n"


def test_what_a_plain_locale_cannot_read_is_read_as_utf_8() -> None:
    text = "Der Schlüssel liegt unter der Matte"
    claw("remember", text, code=0, env=ASCII)
    claw("remember", "-", code=0, stdin="Grüße aus Bonn\n", env=ASCII)
    shown = claw("memory", "--json", code=0).stdout
    assert text in shown
    assert "Grüße aus Bonn" in shown


def test_a_file_may_have_any_name(tmp_path: Path) -> None:
    file = tmp_path / LATIN
    file.write_text("Hello")
    done = claw("ask", "What is in it?", "--file", str(file))
    assert "UTF-8" not in done.stderr
