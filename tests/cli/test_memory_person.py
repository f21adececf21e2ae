"""`claw memory person`: what is remembered about somebody, shown, exported, erased."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.being_commands import CLAW, as_json, refused, run, said
from tests.guard.approving import until
from tests.guard.terminal import terminal

BEN = "Ben Whitaker"
LISBON = "Ben Whitaker moved to Lisbon"


@pytest.fixture(autouse=True)
def _life() -> None:
    run("remember", LISBON, "--about", BEN, "--when", "2026-01-02")
    run("remember", "Ben lent Anna 50 euros", "--about", BEN, "--about", "Anna")
    run("remember", "Anna likes tea", "--about", "Anna")


def test_it_lists_what_there_is_and_how_it_was_found() -> None:
    shown = said("memory", "person", BEN)
    assert "Looked for Ben Whitaker, Ben, Whitaker." in shown
    assert f"  2026-01-02 — {LISBON}\n" in shown
    assert "Ben lent Anna 50 euros → [erased person] lent Anna 50 euros" in shown
    assert "likes tea" not in shown
    assert said("memory", "person", "Zoe").startswith("Nothing is remembered about Zoe.\n")


def test_a_name_that_somebody_else_has_is_not_looked_for_and_said_so() -> None:
    run("remember", "Ben Miller likes chess", "--about", "Ben Miller")
    shown = said("memory", "person", BEN)
    assert "Not for Ben alone, as Ben Miller has that name too: --also Ben takes" in shown
    assert "euros" in said("memory", "person", BEN, "--also", "Ben")
    assert "several people are called Ben" in refused("memory", "person", "Ben")


def test_all_of_it_is_written_into_a_file_for_its_owner(tmp_path: Path) -> None:
    file = tmp_path / "ben.json"
    assert f"Wrote what there is about {BEN}" in said(
        "memory", "person", BEN, "--export", str(file)
    )
    found = json.loads(file.read_text())
    assert [one["scene"]["action"] for one in found["memories"]] == [LISBON]
    assert found["memories_about_others_too"][0]["scene"]["actors"] == [BEN, "Anna"]
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
    assert done.startswith("Erased: 1 memory.\nTook the name out of: 1 memory")
    written = receipt.read_text()
    assert json.loads(written)["erased"]["memories"]["count"] == 1
    assert not any(word in written for word in ("Ben", "Lisbon", "Anna"))
    assert "Lisbon" not in said("memory", "history")
    assert "nothing is left to undo" in refused("memory", "undo", "1")
    found = [node["scene"]["action"] for node in as_json("memory")["recent"]]
    assert sorted(found) == ["Anna likes tea", "[erased person] lent Anna 50 euros"]
    assert said("memory", "person", BEN, "--erase", "--yes").startswith(
        "There was nothing to erase"
    )


def test_whole_takes_what_is_about_others_along() -> None:
    run("memory", "person", BEN, "--erase", "--whole", "--yes")
    assert [node["scene"]["action"] for node in as_json("memory")["recent"]] == ["Anna likes tea"]


def test_a_receipt_is_for_erasing(tmp_path: Path) -> None:
    where = str(tmp_path / "receipt.json")
    assert "--receipt is for --erase" in refused(
        "memory", "person", BEN, "--receipt", where, code=2
    )
