"""`claw guard selftest` as a person uses it, with guards that are none."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from clawkit.cli.guard import app
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.selftest.scratch import Scratch, described, policy_text

GUARDS = str(Path(__file__).with_name("guards.py"))


def selftest(*arguments: str, guard: str = "passes") -> Result:
    command = ["--", sys.executable, GUARDS, guard, "{server}"]
    return CliRunner().invoke(app, ["selftest", *arguments, *command])


def unboxed(text: str) -> str:
    """The text of an error in a frame, in one line."""
    return " ".join(text.replace("│", " ").split())


@pytest.mark.process
def test_what_leaked_is_in_the_table_and_the_count() -> None:
    result = selftest("--only", "path-dotdot", "--only", "batch-one")
    assert result.exit_code == 1
    assert "LEAKED         path-dotdot " in result.stdout
    assert "reached the server" in result.stdout
    assert "a batch array" in result.stdout
    assert "3 attacks: 3 LEAKED." in result.stdout
    assert "--only path-dotdot --keep" in result.stdout


@pytest.mark.process
def test_the_outcomes_can_be_had_as_json() -> None:
    result = selftest("--only", "notified-call", "--json")
    assert result.exit_code == 1
    (outcome,) = json.loads(result.stdout)
    assert outcome["attack"] == "notified-call"
    assert outcome["result"] == "LEAKED"
    assert outcome["row"] == "a call sent as a notification"


@pytest.mark.process
@pytest.mark.parametrize("kind", ["refuses", "silent", "dies"])
def test_a_guard_that_serves_nothing_is_told_apart_from_one_that_leaks(kind: str) -> None:
    result = selftest("--patience", "1", guard=kind)
    assert result.exit_code == 1
    assert "an allowed call is not served" in result.stderr
    assert result.stdout == ""


def test_a_name_that_no_attack_has_is_wrong_usage() -> None:
    result = selftest("--only", "nonsense")
    assert result.exit_code == 2
    assert "no attack has nonsense in its name" in unboxed(result.stderr)


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    result = selftest("--root", str(tmp_path))
    assert result.exit_code == 2
    assert "is not empty" in unboxed(result.stderr)
    assert (tmp_path / "mine").exists()


@pytest.mark.process
@pytest.mark.parametrize("keep", [True, False])
def test_what_is_left_in_the_folder(tmp_path: Path, keep: bool) -> None:
    root = tmp_path / "root"
    selftest("--only", "batch-one", "--root", str(root), *(["--keep"] if keep else []))
    assert (root / "secret").exists() is keep


def test_the_printed_policy_is_for_the_folder_that_is_given(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["selftest", "--print-policy", "--root", str(tmp_path)])
    assert result.exit_code == 0
    assert f'"{tmp_path}/secret/**"' in result.stdout
    assert result.stdout.strip() == described(tmp_path).strip()


@pytest.mark.parametrize("kind", ["usual", "tight"])
def test_the_policies_are_valid(kind: str, tmp_path: Path) -> None:
    policy = read_policy(policy_text(tmp_path, "usual" if kind == "usual" else "tight"), "p")
    assert len(policy.rules) > 10


def test_the_placeholders_of_the_command_are_filled_in(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "s")
    place = scratch.place("usual")
    template = ("guard", "--policy={policy}", "--in", "{cwd}", "--run", "{server} x", "{audit}")
    command = scratch.command(template, place, tmp_path / "j o")
    assert command[:4] == ["guard", f"--policy={place.policy}", "--in", str(scratch.root)]
    assert command[5].endswith(f"'{tmp_path}/j o' {scratch.root}/work/sub x")
    assert command[6] == str(place.folder / "audit")


def test_a_command_without_a_place_for_the_server_gets_it_at_its_end(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path / "s")
    command = scratch.command(("guard", "--"), scratch.place("usual"), tmp_path / "j")
    assert command[:3] == ["guard", "--", sys.executable]
    assert command[-2:] == [str(tmp_path / "j"), f"{scratch.root}/work/sub"]
