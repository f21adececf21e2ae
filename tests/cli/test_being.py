"""`claw being`, as a person types it, over real stores."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.claw import CLAW
from tests.cli.being_commands import as_json, refused, run, said
from tests.guard.approvals import until
from tests.guard.terminal import terminal
from tests.memory.old_names import create_named
from tests.processes import PATIENCE


@pytest.fixture
def store(home: Path) -> Path:
    return home / "claw" / "data" / "claw" / "beings.db"


def create(name: str, *more: str) -> str:
    return as_json("being", "create", name, *more)["id"]


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_is_there_by_both_names(flag: str) -> None:
    shown = said("being", flag)
    for verb in ("serve", "stdio", "export", "import", "create", "list", "show", "delete"):
        assert verb in shown
    assert "--scope" in said("being", "token", "create", flag)
    assert "set" in said("being", "key", flag)


def test_a_store_that_is_not_there_has_no_beings_and_is_not_made(store: Path) -> None:
    assert f"There are no Beings in sqlite:{store}." in said("being", "list")
    assert as_json("being", "list") == []
    assert not store.exists()


def test_a_being_is_made_listed_and_shown(store: Path) -> None:
    made = as_json("being", "create", "Anna Müller", "--soul", "A kind librarian.")
    assert str(uuid.UUID(made["id"])) == made["id"]
    (listed,) = as_json("being", "list")
    assert (listed["id"], listed["name"], listed["memories"]) == (made["id"], "Anna Müller", 0)
    table = said("being", "list").splitlines()
    assert table[0].split() == ["id", "memories", "made", "name"]
    assert table[1].endswith("Anna Müller")
    shown = as_json("being", "show", "Anna Müller")
    assert (shown["id"], shown["nodes"], shown["tokens"]) == (made["id"], 0, [])
    assert shown["soul"] == "A kind librarian."
    text = said("being", "show", made["id"])
    assert f"  store      sqlite:{store}\n" in text
    assert "  remembers  nothing yet\n" in text
    assert "  soul       A kind librarian.\n" in text
    assert store.stat().st_mode & 0o777 == 0o600


def test_a_being_gets_the_id_that_it_must_have_once() -> None:
    wanted = "11111111-2222-4333-8444-555555555555"
    assert create("first", "--id", wanted) == wanted
    assert "with the id" in refused("being", "create", "second", "--id", wanted)
    assert "is none" in refused("being", "create", "third", "--id", "mine", code=2)
    assert len(as_json("being", "list")) == 1


def test_a_soul_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "soul.md").write_text("# Ben\nA gardener.\n")
    being = create("ben", "--soul-file", str(tmp_path / "soul.md"))
    assert as_json("being", "show", being)["soul"] == "# Ben\nA gardener."
    assert "cannot be read" in refused("being", "create", "x", "--soul-file", "/nowhere")
    both = ("--soul", "a", "--soul-file", str(tmp_path / "soul.md"))
    assert "either" in refused("being", "create", "x", *both, code=2)
    assert len(as_json("being", "list")) == 1


@pytest.mark.parametrize("name", ["bad name/..", "..", "-x", "a\tb", "<b>", "a" + "\u202e"])
def test_a_name_is_plain_and_what_is_not_is_told_what_is(name: str) -> None:
    assert "take letters and digits" in refused("being", "create", "--", name, code=2)
    assert "There are no Beings" in said("being", "list")


@pytest.mark.parametrize(
    "name", ["Ada's garden", "team-2.1", "Anna Müller", "記憶", "स्मृति", "my_notes"]
)
def test_names_are_in_every_language(name: str) -> None:
    assert f"Made {name}: " in said("being", "create", name)


def test_a_name_is_taken_once() -> None:
    first = create("twin")
    problem = refused("being", "create", "twin")
    assert f"there is a Being called 'twin' already ({first}): take another name" in problem
    for other in ("Twin", "TWIN", "\uff54win"):
        assert f"there is a Being called 'twin' already ({first})" in refused(
            "being", "create", other
        )
    assert [one["name"] for one in as_json("being", "list")] == ["twin"]


def test_a_being_that_is_not_there_is_an_error_that_says_where_to_look() -> None:
    create("anna")
    for verb in (("show",), ("delete", "--yes"), ("export",), ("token", "create"), ("stdio",)):
        problem = refused("being", *verb[:2], "nobody", *verb[2:])
        assert "there is no Being called 'nobody'" in problem
        assert "`claw being list`" in problem


def test_the_store_comes_from_the_option_the_environment_or_the_config(
    tmp_path: Path, home: Path
) -> None:
    by_option, by_environment, by_config = (f"sqlite:{tmp_path / name}.db" for name in "abc")
    config = home / "claw" / "config" / "claw" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[memory]\nstore = "{by_config}"\n')
    create("in-config")
    run("being", "create", "in-environment", env={"CLAW_STORE": by_environment})
    run("being", "create", "in-option", "--store", by_option, env={"CLAW_STORE": by_environment})
    for address, name in ((by_option, "in-option"), (by_environment, "in-environment")):
        assert [b["name"] for b in as_json("being", "list", "--store", address)] == [name]
    assert [b["name"] for b in as_json("being", "list")] == ["in-config"]


def test_a_store_that_cannot_be_used_is_an_error_in_words(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database\n" * 100)
    problem = refused("being", "list", "--store", f"sqlite:{tmp_path / 'text.db'}")
    assert "it is not a database" in problem
    wrong = refused("being", "list", "--store", "mysql://user:secret@host/db")
    assert "sqlite:PATH or postgresql://" in wrong
    assert "secret" not in wrong


def test_delete_wants_to_be_told_twice_where_nobody_can_be_asked() -> None:
    being = create("anna")
    assert "--yes" in refused("being", "delete", "anna", code=2)
    assert [b["id"] for b in as_json("being", "list")] == [being]
    assert said("being", "delete", being, "--yes") == "Deleted anna.\n"
    assert as_json("being", "list") == []


def test_delete_asks_and_says_what_would_be_lost() -> None:
    being = create("anna")
    run("remember", "Anna likes tea", "--being", being)
    with terminal(*CLAW, "being", "delete", "anna") as screen:
        until(lambda: "Delete anna for good?" in screen.output)
        assert "1 memory and 0 tokens would be lost" in screen.output
        assert f"`claw being export {being} FILE`" in screen.output
        screen.type("n\n")
        assert screen.ends() == 1
    assert [b["id"] for b in as_json("being", "list")] == [being]
    with terminal(*CLAW, "being", "delete", "anna") as screen:
        until(lambda: "Delete anna for good?" in screen.output)
        screen.type("y\n")
        assert screen.ends() == 0
    assert as_json("being", "list") == []


def test_ctrl_c_at_a_question_ends_the_command_and_deletes_nothing() -> None:
    create("anna")
    with terminal(*CLAW, "being", "delete", "anna") as screen:
        until(lambda: "for good?" in screen.output)
        screen.type("\x03")
        assert screen.ends() != 0
        assert "Traceback" not in screen.output
    assert len(as_json("being", "list")) == 1


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    create("anna")
    (tmp_path / "notes.md").write_text("\n\n".join(f"Fact number {n} is so." for n in range(3000)))
    run("being", "import", str(tmp_path / "notes.md"), "--being", "anna")
    with subprocess.Popen(
        (*CLAW, "being", "export", "anna"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


def test_names_cannot_play_tricks_with_the_terminal() -> None:
    create_named("evil\x1b[2J\u202ename")
    for shown in (said("being", "list"), said("being", "show", "evil\x1b[2J\u202ename")):
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_a_server_that_is_interrupted_ends_well() -> None:
    command = (*CLAW, "being", "serve", "--port", "0", "--embedder", "none")
    env = {**os.environ, "PYTHONUTF8": "1"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, env=env, encoding="utf-8") as process:
        assert process.stderr is not None
        told = json.loads(process.stderr.readline())
        assert told["message"] == "serving"
        assert told["url"].startswith("http://127.0.0.1:")
        assert told["beings"] == 0
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(PATIENCE) == 130
    assert "Traceback" not in rest
