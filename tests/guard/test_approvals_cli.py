"""`claw approvals` without a terminal: listing and answering from scripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from clawkit.guard.approval_window import ApprovalWindow
from clawkit.guard.approvals import has_window
from tests.claw import claw
from tests.guard.approvals import asked, question, short_folder, until


@pytest.fixture
def socket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with short_folder() as folder:
        monkeypatch.setenv("CLAW_HOME", str(folder))
        yield folder / "data" / "claw" / "guard" / "approvals"


@pytest.fixture
def view(socket: Path) -> Iterator[ApprovalWindow]:
    with ApprovalWindow(socket) as view:
        yield view


def approvals(*arguments: str) -> tuple[int, str, str]:
    done = claw("approvals", *arguments)
    return done.returncode, done.stdout, done.stderr


def test_the_live_view_needs_a_terminal(socket: Path) -> None:
    status, output, errors = approvals()
    assert (status, output) == (2, "")
    assert errors.startswith("claw approvals: needs a terminal")
    assert not has_window(socket)


def test_a_listing_without_a_view_says_how_to_open_one(socket: Path) -> None:
    assert not has_window(socket)
    status, output, _ = approvals("list")
    assert status == 0
    assert "No view is open: run `claw approvals`" in output
    assert json.loads(approvals("list", "--json")[1]) == {"view": False, "pending": []}


def test_an_empty_view_lists_nothing(view: ApprovalWindow) -> None:
    assert approvals("list") == (0, "Nothing waits.\n", "")
    assert view.asks() == ()


def test_what_waits_is_listed_whole(view: ApprovalWindow, socket: Path) -> None:
    asked(view, socket, question("q1", arguments={"a": "x" * 5000, "command": "rm -rf /"}))
    asked(view, socket, question("q2", tool="run\x1b[2J\n", server="shell"))
    status, output, _ = approvals("list")
    lines = output.splitlines()
    assert status == 0
    assert lines[0].startswith("q1  files  ")
    assert "x" * 5000 in output
    assert '      "command": "rm -rf /"' in lines
    assert "    tool: run\\x1b[2J\\n" in lines
    assert "claw approvals answer ID once|session|tool|deny" in lines[-1]
    assert "\x1b" not in output


def test_the_listing_as_json_has_every_field_and_plain_characters(
    view: ApprovalWindow, socket: Path
) -> None:
    ask = question("q1", tool="run\u202e")
    asked(view, socket, ask)
    output = approvals("list", "--json")[1]
    assert output.isascii()
    found = json.loads(output)
    assert found["view"] is True
    assert [(entry["id"], entry["tool"], entry["digest"]) for entry in found["pending"]] == [
        ("q1", "run\u202e", ask.digest)
    ]


@pytest.mark.parametrize("choice", ["once", "session", "tool", "deny"])
def test_a_script_answers(view: ApprovalWindow, socket: Path, choice: str) -> None:
    asking = asked(view, socket, question("q1"))
    assert approvals("answer", "q1", choice) == (0, "", "")
    assert asking.answer == choice


@pytest.mark.parametrize("words", [("answer", "q1", "once"), ("list",), ("list", "--json"), ()])
def test_a_guarded_server_may_not_answer_for_a_person(
    words: tuple[str, ...], view: ApprovalWindow, socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(view, socket, question("q1"))
    monkeypatch.setenv("CLAW_GUARDED", "1")
    status, output, errors = approvals(*words)
    assert (status, output) == (1, "")
    assert "a guarded server may not answer for a person" in errors
    assert [ask.id for ask in view.asks()] == ["q1"]


def test_always_is_not_for_scripts(view: ApprovalWindow, socket: Path) -> None:
    asked(view, socket, question("q1"))
    assert approvals("answer", "q1", "always")[0] == 2
    assert [ask.id for ask in view.asks()] == ["q1"]


def test_an_answer_to_nothing_fails(view: ApprovalWindow) -> None:
    status, _, errors = approvals("answer", "q9", "once")
    assert status == 1
    assert errors.startswith("claw approvals answer: no question 'q9' waits")
    assert view.asks() == ()


@pytest.mark.parametrize(
    ("end", "told"),
    [("timeout", "because nobody answered in time"), ("withdrawn", "withdrawn by its client")],
)
def test_an_answer_to_what_ended_without_one_came_too_late(
    view: ApprovalWindow, socket: Path, end: Literal["timeout", "withdrawn"], told: str
) -> None:
    asked(view, socket, question("q1")).cancelled.end(end)
    until(lambda: not view.asks())
    for choice in ("once", "deny"):
        status, _, errors = approvals("answer", "q1", choice)
        assert (status, told in errors) == (3, True)


def test_an_answer_without_a_view_fails(socket: Path) -> None:
    assert not has_window(socket)
    status, _, errors = approvals("answer", "q1", "once")
    assert status == 1
    assert "no view is open" in errors
