"""`claw sessions`, as a person types it, over a store that real turns have filled."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from clawkit.assistant.callbacks import Origin
from clawkit.assistant.sessions.async_store import AsyncSessionStore
from clawkit.assistant.sessions.records import SessionInfo
from clawkit.cli.sessions import state, table
from clawkit.cli.tables import ago
from clawkit.models.messages import unknown_outcome
from clawkit.models.protocol import Image, Message, Text, ToolCall, ToolOutcome, Usage
from tests.claw import CLAW, Done, claw
from tests.guard.approvals import until
from tests.guard.terminal import terminal
from tests.processes import PATIENCE

COMMAND = (*CLAW, "sessions")


@pytest.fixture
def store(home: Path) -> Path:
    return home / "claw" / "data" / "claw" / "sessions.db"


def said(
    file: Path, key: str, *messages: Message, reason: str = "end", origin: Origin = "ask"
) -> None:
    async def turn() -> None:
        sessions = AsyncSessionStore(file)
        async with sessions.turn(key, origin=origin, named=True) as turn:
            await turn.save(messages, usage=Usage(), model="offline", reason=reason)
        await sessions.close()

    asyncio.run(turn())


def from_user(text: str) -> Message:
    return Message("user", (Text(text),))


def answer(text: str) -> Message:
    return Message("assistant", (Text(text),))


def run(*arguments: str, code: int = 0, env: Mapping[str, str] | None = None) -> Done:
    return claw("sessions", *arguments, code=code, env=env)


def info(key: str, title: str, **more: Any) -> SessionInfo:
    usual = {"origin": "ask", "named": True, "created": 0.0, "updated": 0.0, "messages": 2}
    usual |= {"turns": 1, "model": "offline", "running": False, "last_reason": "end"}
    return SessionInfo(**{**usual, "key": key, "title": title, **more})


@pytest.mark.parametrize("command", [(), ("show",), ("export",), ("delete",)])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_there_by_both_names(command: tuple[str, ...], flag: str) -> None:
    assert "--store" in run(*command, flag).stdout


def test_an_empty_store_says_what_begins_a_session_and_makes_no_file(store: Path) -> None:
    shown = run().stdout
    assert f"There are no sessions in {store}." in shown
    assert "claw ask" in shown
    assert json.loads(run("--json").stdout) == []
    assert run("export").stdout == ""
    assert not store.exists()


def test_the_list_shows_each_session_the_last_used_first(store: Path) -> None:
    said(store, "user-123-conversation", from_user("My favourite colour is blue."))
    said(store, "other", from_user("And now?"), answer("Now."), reason="cancelled")
    heading, first, second = run("--store", "file").stdout.splitlines()
    assert heading.split() == [
        *("session", "messages", "last", "used", "model", "state", "begins", "with"),
    ]
    assert first.split() == [
        *("other", "2", "just", "now", "offline", "cancelled", "And", "now?"),
    ]
    assert second.startswith("user-123-conversation  1         just now   offline  idle")
    assert second.endswith("My favourite colour is blue.")


def test_the_list_as_json_has_everything(store: Path) -> None:
    before = time.time()
    said(store, "mine", from_user("Hello"), answer("Hello yourself"))
    (found,) = json.loads(run("--json").stdout)
    assert found["key"] == "mine"
    assert found["messages"] == 2
    assert found["title"] == "Hello"
    assert found["running"] is False
    assert before <= found["updated"] <= time.time()


def test_the_list_has_a_name_of_its_own_and_options_may_stand_before_a_verb(store: Path) -> None:
    said(store, "mine", from_user("Hello"))
    assert run("list").stdout == run().stdout
    assert run("list", "--json").stdout == run("--json", "list").stdout == run("--json").stdout
    assert json.loads(run("--json", "show", "mine").stdout)["info"]["key"] == "mine"


def test_sessions_in_which_nothing_was_said_are_listed_if_one_wants_them(store: Path) -> None:
    said(store, "tried", reason="failed: ProviderDownError")
    assert run().stdout == "Nothing was said in any session; --all lists 1 empty one.\n"
    said(store, "mine", from_user("Hello"))
    assert "tried" not in run().stdout + run("--json").stdout
    shown = run("--all").stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["session", "mine", "tried"]
    assert "failed" in shown
    assert "ProviderDownError" not in shown


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("end", "idle"),
        ("command", "idle"),
        ("length", "cut short"),
        ("refusal", "declined"),
        ("lost", "interrupted"),
        ("cancelled", "cancelled"),
        ("failed: ToolTimeoutError", "failed"),
    ],
)
def test_how_a_session_stands_is_said_in_words(reason: str, words: str) -> None:
    assert state(info("k", "", last_reason=reason)) == words


def test_after_deleting_a_chat_it_is_said_where_what_was_typed_is(store: Path) -> None:
    said(store, "talk", from_user("Hello"), origin="chat")
    said(store, "question", from_user("Hello"))
    history = store.with_name("chat_history.jsonl")
    history.write_text('"Hello"\n')
    assert str(history) not in run("delete", "question", "--yes").stdout
    assert f"`claw chat` is still in {history}" in run("delete", "talk", "--yes").stdout


def test_only_sessions_that_were_used_lately_are_listed(store: Path) -> None:
    said(store, "mine", from_user("Hello"))
    assert "mine" in run("--active", "5").stdout
    assert json.loads(run("--active", "5", "--json").stdout)[0]["key"] == "mine"
    assert "--active" in run("--active", "0", code=2).stderr


def test_a_store_that_is_named_must_be_there(tmp_path: Path) -> None:
    gone = tmp_path / "gone.db"
    for command in ((), ("show", "x"), ("export",), ("delete", "x", "--yes")):
        done = run("--store", str(gone), *command, code=1)
        assert done.stderr == (
            f"{' '.join(('claw sessions', *command[:1]))}: {gone} does not exist: "
            "give `file` or the path of a store of sessions\n"
        )
    assert not gone.exists()


def test_another_store_can_be_read_before_or_after_the_verb(tmp_path: Path, store: Path) -> None:
    other = tmp_path / "copy.db"
    said(other, "elsewhere", from_user("Hello from the copy"))
    assert "elsewhere" in run("--store", str(other)).stdout
    assert "the copy" in run("--store", str(other), "show", "elsewhere").stdout
    assert "the copy" in run("show", "elsewhere", "--store", str(other)).stdout
    assert not store.exists()


def test_a_file_that_is_no_store_is_a_clear_error(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database at all " * 100)
    done = run("--store", str(file), code=1)
    assert done.stderr.startswith(f"claw sessions: {file}: ")
    assert "Traceback" not in done.stderr
    assert "doctor" not in done.stderr, "it repairs our own store, not this file"
    assert file.read_text().startswith("not a database")


def test_a_call_that_was_interrupted_is_not_said_to_have_failed(store: Path) -> None:
    call = Message("assistant", (ToolCall("1", "pay", {}),))
    said(
        store,
        "mine",
        Message("user", (Text("Pay."),)),
        call,
        Message("tool", (unknown_outcome("1"),)),
    )
    shown = run("show", "mine").stdout
    assert "  [outcome not known] This call was interrupted" in shown
    assert "[failed]" not in shown


def test_a_session_is_shown_as_a_conversation(store: Path) -> None:
    said(
        store,
        "mine",
        Message("user", (Text("Look:\n\tat this"), Image(b"x" * 5000, "image/png", "cat.png"))),
        Message("assistant", (ToolCall("1", "mcp__notes__add", {"text": "cat"}),)),
        Message("tool", (ToolOutcome("1", (Text("no space left"),), is_error=True),)),
        answer("A cat."),
    )
    shown = run("show", "mine").stdout
    lines = shown.splitlines()
    assert lines[0] == "mine"
    assert lines[1].startswith("  4 messages in 1 turn, begun ")
    assert lines[3].startswith("you, ")
    assert lines[4:6] == ["  Look:", "  \\tat this"]
    assert "cat.png" in lines[6]
    assert '  [calls mcp__notes__add {"text": "cat"}]' in lines
    assert "  [failed] no space left" in lines
    assert lines[-1] == "  A cat."
    found = json.loads(run("show", "mine", "--json").stdout)
    assert found["info"]["key"] == "mine"
    assert [saved["message"]["role"] for saved in found["messages"]] == [
        *("user", "assistant", "tool", "assistant"),
    ]


def test_control_characters_are_shown_and_not_obeyed(store: Path) -> None:
    said(store, "mine", from_user("red \x1b[31m\u202e and \x07"), answer("\x1b]0;title\x07"))
    for shown in (run().stdout, run("show", "mine").stdout):
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown
        assert r"\x1b[31m\u202e" in shown


def test_a_session_that_is_not_there_is_a_clear_error(store: Path) -> None:
    said(store, "mine", from_user("Hello"))
    for command in (("show", "other\x1b[1m"), ("export", "mine", "other"), ("delete", "other")):
        done = run(*command, code=1)
        assert "there is no session 'other" in done.stderr
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stderr
        assert done.stdout == ""


def test_an_export_is_the_same_every_time_one_json_object_a_line(store: Path) -> None:
    said(store, "b", Message("user", (Text("Grüße"), Image(b"\x89PNG", "image/png"))))
    said(store, "a", from_user("Hello"), answer("Hi"))
    everything = run("export").stdout
    assert everything == run("export").stdout
    records = [json.loads(line) for line in everything.splitlines()]
    assert records
    assert "iVBORw==" not in run("export", "a").stdout
    assert "Grüße" in everything
    only = run("export", "a").stdout
    assert "Hello" in only
    assert "Grüße" not in only


def test_an_export_to_a_file_is_for_its_owner_only(store: Path, tmp_path: Path) -> None:
    said(store, "mine", from_user("Hello"))
    file = tmp_path / "out.jsonl"
    assert run("export", "--output", str(file)).stdout == f"Wrote 3 lines to {file}.\n"
    assert file.read_text() == run("export").stdout
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".out")] == []


def test_an_export_that_fails_leaves_the_file_as_it_was(store: Path, tmp_path: Path) -> None:
    said(store, "mine", from_user("Hello"))
    file = tmp_path / "out.jsonl"
    file.write_text("before")
    refused = run("export", "-o", str(file), code=1)
    assert f"{file} is already there: give --yes to overwrite it" in refused.stderr
    run("export", "nobody", "-o", str(file), "--yes", code=1)
    assert file.read_text() == "before"
    assert "cannot be written" in run("export", "-o", str(tmp_path / "no" / "x"), code=1).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["home", "out.jsonl"]


def test_an_export_writes_over_a_file_if_told_to(store: Path, tmp_path: Path) -> None:
    said(store, "mine", from_user("Hello"))
    file = tmp_path / "out.jsonl"
    file.write_text("before")
    run("export", "-o", str(file), "--yes")
    assert "Hello" in file.read_text()


def test_deleting_needs_a_yes_where_nobody_can_be_asked(store: Path) -> None:
    said(store, "mine", from_user("Hello"))
    said(store, "other", from_user("Hello"))
    assert "give --yes" in run("delete", "mine", code=2).stderr
    assert len(json.loads(run("--json").stdout)) == 2
    assert run("delete", "mine", "mine", "--yes").stdout == "Deleted 1 session.\n"
    assert [one["key"] for one in json.loads(run("--json").stdout)] == ["other"]


def test_of_several_sessions_none_is_deleted_if_one_is_not_there(store: Path) -> None:
    said(store, "mine", from_user("Hello"))
    run("delete", "mine", "other", "--yes", code=1)
    assert json.loads(run("--json").stdout)[0]["key"] == "mine"


@pytest.mark.parametrize(("typed", "code", "left"), [("n\n", 1, 1), ("\n", 1, 1), ("y\n", 0, 0)])
def test_in_a_terminal_deleting_asks(store: Path, typed: str, code: int, left: int) -> None:
    said(store, "mine", from_user("Hello"))
    with terminal(*COMMAND, "delete", "mine") as screen:
        until(lambda: "Delete 1 session for good?" in screen.output)
        screen.type(typed)
        assert screen.ends() == code
        until(lambda: ("Deleted 1 session." if left == 0 else "Nothing was") in screen.output)
    assert len(json.loads(run("--json").stdout)) == left


async def test_it_works_while_a_turn_runs(store: Path) -> None:
    sessions = AsyncSessionStore(store)
    async with sessions.turn("mine", origin="ask", named=True) as turn:
        await turn.save([from_user("Hello")], usage=Usage(), model="offline", reason="end")
        assert "running" in run().stdout
        assert "Hello" in run("show", "mine").stdout
    await sessions.close()
    assert "running" not in run().stdout


def test_whoever_reads_it_may_stop_reading(store: Path) -> None:
    said(store, "mine", *(from_user("x" * 5000) for _ in range(200)))
    shell = f"'{sys.executable}' -m clawkit sessions export | head -c 10"
    done = subprocess.run(shell, shell=True, capture_output=True, timeout=PATIENCE, check=False)
    assert done.stderr == b""


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3 * 60 + 59, "3 min ago"),
        (3600, "1 h ago"),
        (47 * 3600, "47 h ago"),
        (49 * 3600, "2 days ago"),
        (400 * 86400, "400 days ago"),
    ],
)
def test_how_long_ago_is_said_in_words(seconds: float, text: str) -> None:
    assert ago(seconds) == text


def test_lines_are_cut_for_a_terminal_and_wide_letters_count_twice() -> None:
    from rich.cells import cell_len

    found = [info("k" * 512, "word " * 100), info("会話", "漢字" * 100)]
    for width in (20, 30, 40, 60, 80, 120):
        assert max(map(cell_len, table(found, 0, width))) <= width
    assert any("…" in line for line in table(found, 0, 80))
    columns = {cell_len(line[: line.index(" offline")]) for line in list(table(found, 0, 80))[1:]}
    assert len(columns) == 1


def test_a_narrow_terminal_shows_which_session_it_is_and_what_it_is_about() -> None:
    found = [info(f"ask-1794809412495-{'a' * 16}", "What is the weather?", model="anthropic/opus")]
    heading, line = table(found, 0, 80)
    assert heading.split("  ")[0].strip() == "session"
    assert line.startswith(f"{found[0].key}  ")
    assert "What is the" in line
    heading, line = table(found, 0, 40)
    assert heading.split() == ["session", "last", "used", "begins", "with"]
    assert "What is" in line


def test_keys_are_whole_where_a_program_reads_them() -> None:
    assert any("k" * 512 in line for line in table([info("k" * 512, "")], 0, None))


def test_lines_fit_the_terminal(store: Path) -> None:
    said(store, "mine", from_user("many words " * 50))
    with terminal(*COMMAND, width=90) as screen:
        assert screen.ends() == 0
        until(lambda: "many words" in screen.output)
        lines = screen.output.replace("\r", "").splitlines()
    assert max(map(len, lines)) <= 90
    assert os.linesep.join(lines).count("…") == 1
