"""`claw memory person`: what is remembered about somebody, shown, exported, erased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.claw import CLAW
from tests.cli.being_commands import as_json, refused, run, said
from tests.guard.approvals import until
from tests.guard.terminal import terminal

BEN = "Ben Whitaker"
LISBON = "Ben Whitaker moved to Lisbon"


@pytest.fixture(autouse=True)
def _life() -> None:
    run("remember", LISBON, "--about", BEN, "--when", "2026-01-02")
    run("remember", "Ben Whitaker lent Anna 50 euros", "--about", BEN, "--about", "Anna")
    run("remember", "Anna likes tea", "--about", "Anna")


def test_it_lists_what_there_is_and_what_would_become_of_it() -> None:
    run("remember", "Ben Whitaker came. Anna baked.", "--when", "2026-01-03")
    shown = said("memory", "person", BEN)
    assert shown.startswith("Looked for Ben Whitaker.\nmemories (3)\n")
    assert f"  2026-01-02 — {LISBON}  goes\n" in shown
    assert "Ben Whitaker came. Anna baked.  becomes: Anna baked.\n" in shown
    assert "likes tea" not in shown
    assert said("memory", "person", "Zoe").startswith("Nothing is remembered about Zoe.\n")


def test_what_may_be_about_somebody_else_is_listed_apart_and_neither_exported_nor_erased(
    tmp_path: Path,
) -> None:
    run("remember", "Ben Miller likes chess")
    run("remember", "Ben likes the sea")
    shown = said("memory", "person", BEN)
    theirs, _, others = shown.partition("may be about Ben Whitaker or somebody else")
    assert not any(word in theirs for word in ("chess", "sea"))
    assert 'Ben Miller likes chess  --also "Ben Miller"\n' in others
    assert "Ben likes the sea  --also Ben\n" in others
    file = tmp_path / "ben.json"
    run("memory", "person", BEN, "--export", str(file), "--erase", "--yes")
    assert not any(word in file.read_text() for word in ("chess", "sea"))
    left = {node["scene"]["action"] for node in as_json("memory")["recent"]}
    assert left == {"Anna likes tea", "Ben Miller likes chess", "Ben likes the sea"}
    assert "sea  goes" in said("memory", "person", BEN, "--also", "Ben")


def test_nothing_is_listed_twice_or_unchanged_and_the_sessions_are_named() -> None:
    run("ask", "Lea Sommer has a cough. My rent is 850 euros.")
    run("ask", "The rent was paid on Monday.")
    shown = said("memory", "person", "Lea Sommer")
    assert shown.count("has a cough") == 1
    assert "becomes: My rent is 850 euros.\n" in shown
    assert not any(footer in shown for footer in ("offline assistant", "\\n"))
    assert "The same words stand in 1 message, 1 note, and go there too." in shown
    key = as_json("sessions")[1]["key"]
    done = run("memory", "person", "Lea Sommer", "--erase", "--yes")
    assert f"still have it: `claw sessions delete {key}`\n" in done.stderr


def test_all_of_it_is_written_into_a_file_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "ben.json"
    assert f"Wrote what there is about {BEN}" in said(
        "memory", "person", BEN, "--export", str(file)
    )
    found = json.loads(file.read_text())
    assert found["memories"][0]["scene"]["action"] == LISBON
    assert found["memories"][1]["scene"]["actors"] == [BEN, "Anna"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "already there" in refused("memory", "person", BEN, "--export", str(file))


def test_erasing_is_asked_for_and_a_dry_run_changes_nothing() -> None:
    assert "give --yes" in refused("memory", "person", BEN, "--erase", code=2)
    assert LISBON in said("memory", "person", BEN, "--erase", "--dry-run")
    assert as_json("memory")["memories"] == 3
    with terminal(*CLAW, "memory", "person", BEN, "--erase") as screen:
        until(lambda: "for good?" in screen.output)
        screen.type("n\r")
        assert screen.ends() == 1
    assert as_json("memory")["memories"] == 3


def test_what_was_erased_is_gone_and_the_receipt_says_so(tmp_path: Path) -> None:
    receipt = tmp_path / "receipt.json"
    done = said("memory", "person", BEN, "--erase", "--yes", "--receipt", str(receipt))
    assert done.startswith("Erased: 2 memories.\n")
    written = receipt.read_text()
    assert json.loads(written)["erased"]["memories"]["count"] == 2
    assert not any(word in written for word in ("Ben", "Lisbon", "Anna"))
    assert "Lisbon" not in said("memory", "history")
    assert "nothing is left to undo" in refused("memory", "undo", "1")
    found = [node["scene"]["action"] for node in as_json("memory")["recent"]]
    assert found == ["Anna likes tea"]
    assert said("memory", "person", BEN, "--erase", "--yes").startswith(
        "There was nothing to erase"
    )


def test_a_receipt_is_for_erasing(tmp_path: Path) -> None:
    where = str(tmp_path / "receipt.json")
    assert "--receipt is for --erase" in refused(
        "memory", "person", BEN, "--receipt", where, code=2
    )


def test_what_one_sentence_says_of_several_people_is_said_to_go_before_it_goes() -> None:
    run("remember", "Carl Lindqvist and Anna bought a boat together", "--about", "Anna")
    shown = said("memory", "person", "Carl Lindqvist")
    assert (
        "Carl Lindqvist and Anna bought a boat together  goes, with what it says of others" in shown
    )
