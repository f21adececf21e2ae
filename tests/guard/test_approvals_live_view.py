"""The frame of the live view: it fits every terminal and hides nothing that is asked about."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from clawkit.cli.approvals.live_view import CALM, ApprovalsScreen
from clawkit.guard.approval_window import ApprovalWindow
from tests.guard.approvals import asked, question, short_folder


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder / "approvals"


@pytest.fixture
def view(socket: Path) -> Iterator[ApprovalWindow]:
    with ApprovalWindow(socket) as view:
        yield view


@pytest.fixture
def screen(view: ApprovalWindow) -> ApprovalsScreen:
    return ApprovalsScreen(view)


def text_of(screen: ApprovalsScreen, width: int = 80, height: int = 24) -> str:
    screen.lines(width, height, time.time())  # from then on it is there
    lines = screen.lines(width, height, time.time() + 2 * CALM)
    return "\n".join(text for _, text in lines)


@pytest.mark.parametrize("width", [1, 2, 9, 20, 80, 300])
@pytest.mark.parametrize("height", [1, 2, 3, 5, 10, 24, 100])
def test_the_frame_never_exceeds_the_terminal(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen, width: int, height: int
) -> None:
    wide = {"text": "日本語" * 50, "lines": list(range(30))}
    for n in range(4):
        asked(
            view, socket, question(f"q{n}", tool="工具" * 60, arguments=wide, description="d" * 400)
        )
    now = time.time()
    for keys in ("", "j", "q"):
        screen.refresh()
        for key in keys:
            screen.press(key, now)
        for moment in (now, now + 2 * CALM):
            lines = screen.lines(width, height, moment)
            assert len(lines) <= height
            assert all(cell_len(text) <= width for _, text in lines)


def test_every_character_of_long_arguments_can_be_paged_to(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    words = [f"word{n}" for n in range(400)]
    asked(view, socket, question(arguments={"text": " ".join(words)}, seconds=600))
    now = time.time()
    screen.refresh()
    pages = [text_of(screen)]
    while "end; space: back to the top" not in pages[-1]:
        screen.press(" ", now)
        pages.append(text_of(screen))
    assert len(pages) > 1
    lines = [line for page in pages for line in page.splitlines()]
    parts = [line.removeprefix("↳ ") for line in lines if line.startswith(("↳ ", '  "text"'))]
    assert "".join(parts) == f'  "text": "{" ".join(words)}"'


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "word " * 3000},
        {f"key{n}": n for n in range(300)},
        {"k" * 9000: 1},
        {"text": "日本" * 2000},
        {"text": "a\u0301" * 2000},
        {"text": "\n" * 3000},
    ],
    ids=["long", "many", "key", "wide", "marks", "blank lines"],
)
def test_a_long_call_is_allowed_only_once_its_end_was_on_the_screen(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen, arguments: dict[str, Any]
) -> None:
    now = time.time()
    asked(view, socket, question(arguments=arguments, seconds=600))
    screen.refresh()
    end = "end; space: back to the top"
    while end not in (page := text_of(screen)):
        for key in ("y", "a", "s", "w"):
            screen.press(key, now + 2 * CALM)
        assert "Read it to its end first" in text_of(screen)
        assert "a allow once" not in page
        assert len(view.asks()) == 1
        screen.press(" ", now + 2 * CALM)
    assert "a allow once" in text_of(screen)
    screen.press("a", now + 2 * CALM)
    assert view.asks() == ()


def test_pages_that_were_skipped_or_laid_out_anew_were_not_read(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    now = time.time() + 2 * CALM
    asked(view, socket, question(arguments={"text": "word " * 3000}, seconds=600))
    screen.refresh()
    text_of(screen)
    screen.press("b", now)
    for _ in range(9):
        screen.press(" ", now)
    while "end; space" not in text_of(screen):
        screen.press(" ", now)
    screen.press("a", now)
    assert len(view.asks()) == 1
    text_of(screen, width=60)
    while "end; space" not in text_of(screen, width=80):
        screen.press(" ", now)
    screen.press("a", now)
    assert view.asks() == ()


def test_a_rule_is_written_only_once_its_end_was_on_the_screen(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\naction = "prompt"\ntool = "*"\n')
    before = policy.read_bytes()
    now = time.time() + 2 * CALM
    asked(view, socket, question(arguments={"path": "/srv/" + "a" * 3000}, file=str(policy)))
    screen.refresh()
    while "a allow once" not in text_of(screen):
        screen.press(" ", now)
    screen.press("w", now)
    assert "y/n" not in text_of(screen)
    screen.press("y", now)
    assert policy.read_bytes() == before
    assert len(view.asks()) == 1


def test_runs_of_blanks_are_counted_and_marks_spelled_out(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    text = "ls" + " " * 5000 + "; rm -rf / #" + "\u3000" + "e" + "\u0336" * 40
    asked(view, socket, question(arguments={"text": text}))
    screen.refresh()
    shown = text_of(screen)
    assert "ls\\s{5000}; rm -rf / #\\u3000e" in shown
    assert shown.count("\u0336") == 3


def test_the_rest_of_a_long_value_cannot_pass_for_another_argument(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    padding = "_" * 80
    asked(view, socket, question(arguments={"text": f'{padding}  "path": "/harmless"'}))
    screen.refresh()
    shown = [line for line in text_of(screen, 70).splitlines() if "harmless" in line]
    assert shown
    assert all(line.startswith("↳") for line in shown)


def test_arguments_that_are_not_those_of_the_call_are_not_shown_for_it(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    now = time.time()
    asked(view, socket, question(digest="0" * 64, arguments={"path": "/forged"}))
    screen.refresh()
    assert '"path": "/forged"' not in text_of(screen)
    for key in ("a", "s", "w"):
        screen.press(key, now + 2 * CALM)
        assert "it can only be denied" in text_of(screen)
    assert len(view.asks()) == 1


def test_questions_about_the_same_tool_are_told_apart_by_their_arguments(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    for name in ("a", "b"):
        asked(view, socket, question(name, arguments={"path": f"/srv/{name}", "n": [1]}))
    screen.refresh()
    rows = [line for line in text_of(screen).splitlines() if " s  files  read_file  " in line]
    assert [row.partition("read_file  ")[2].strip() for row in rows] == [
        '{"path":"/srv/a","n":[1]}',
        '{"path":"/srv/b","n":[1]}',
    ]


def test_no_answer_counts_until_the_question_had_time_to_be_read(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    now = time.time()
    asked(view, socket, question())
    screen.refresh()
    text_of(screen)
    for key in ("a", "s", "d", "w"):
        assert screen.press(key, now + CALM / 2)
    assert len(view.asks()) == 1
    screen.press("a", now + 2 * CALM)
    assert view.asks() == ()


def test_what_is_typed_before_the_next_question_is_on_the_screen_is_no_answer_to_it(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    """However long the view takes to show it."""
    for n in range(2):
        asked(view, socket, question(f"q{n}"))
    screen.refresh()
    text_of(screen)
    assert view.answer("q0", "deny")
    screen.refresh()
    screen.press("d", time.time() + 60)
    assert [ask.id for ask in view.asks()] == ["q1"]
    text_of(screen)
    screen.press("d", time.time() + 60)
    assert view.asks() == ()


def test_a_question_that_vanishes_under_the_cursor_gives_its_key_to_nobody(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    now = time.time()
    asked(view, socket, question("q1"))
    asked(view, socket, question("q2"))
    screen.refresh()
    view.answer("q1", "deny")
    screen.press("a", now + CALM)
    screen.refresh()
    screen.press("a", now + CALM)
    assert [ask.id for ask in view.asks()] == ["q2"]


def test_a_rule_is_not_written_for_a_question_that_vanished(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen, tmp_path: Path
) -> None:
    now = time.time()
    policy = tmp_path / "policy.toml"
    policy.write_text('[[rule]]\naction = "prompt"\ntool = "*"\n')
    before = policy.read_bytes()
    asked(view, socket, question(file=str(policy)))
    screen.refresh()
    text_of(screen)
    screen.press("w", now + 2 * CALM)
    assert "y/n" in text_of(screen)
    view.answer("q1", "deny")
    screen.press("y", now + 2 * CALM)
    screen.refresh()
    assert policy.read_bytes() == before


@pytest.mark.parametrize(
    ("about", "missing"),
    [
        ({"arguments": {"path": "/srv/work/a"}, "servers": ("files",)}, ""),
        ({"arguments": {"path": "a.txt"}, "servers": ("files",)}, "f"),
        ({"arguments": {"query": "x"}, "servers": ("files",)}, "f"),
        ({"arguments": {"tags": ["a"]}, "servers": ("files",)}, "fw"),
        ({"arguments": {"path": "/srv/work/a"}, "servers": ("files",), "no_rule": True}, "fTw"),
        ({"arguments": {"path": "/srv/work/a"}, "servers": ("",)}, "fTw"),
    ],
)
def test_only_the_keys_whose_rule_can_be_written_are_offered(
    about: dict[str, Any], missing: str, view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    asked(view, socket, question(**about))
    screen.refresh()
    shown = text_of(screen, width=200)
    names = {"f": "f this tool in this folder", "T": "T this tool always", "w": "w these arguments"}
    assert {key for key, name in names.items() if name not in shown} == set(missing)
    assert "t this tool for this session" in shown


def test_what_is_typed_ahead_answers_no_call_that_was_just_chosen(
    view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    for n in range(2):
        asked(view, socket, question(f"q{n}"))
    now = time.time()
    screen.refresh()
    text_of(screen)
    screen.press("j", now + 2 * CALM)
    screen.lines(80, 24, now + 2 * CALM)
    screen.press("a", now + 2 * CALM)
    assert len(view.asks()) == 2
    screen.press("a", now + 4 * CALM)
    assert [ask.id for ask in view.asks()] == ["q0"]


@pytest.mark.parametrize("by_server", [True, False])
def test_a_question_of_the_server_itself_says_whose_words_they_are(
    by_server: bool, view: ApprovalWindow, socket: Path, screen: ApprovalsScreen
) -> None:
    asked(view, socket, question(server="fi\nles", by_server=by_server))
    screen.refresh()
    said = r"fi\nles asks its client for this: what follows are the words of that server."
    assert (said in text_of(screen, width=200)) is by_server
