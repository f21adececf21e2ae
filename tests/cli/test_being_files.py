"""`claw being export` and `claw being import`, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.claw import CLAW
from tests.cli.being_commands import as_json, refused, run, said
from tests.guard.terminal import terminal


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "2026-01-02.md").write_text("# Holiday\nWe saw Kyoto.\n\n- Ben lost his umbrella\n")
    (folder / "anna.md").write_text("Anna is allergic to nuts.\n")
    return folder


def actions(being: str) -> list[str]:
    lines = said("being", "export", being).splitlines()
    found = [json.loads(line) for line in lines]
    return [line["node"]["scene"]["action"] for line in found if line["kind"] == "node"]


def test_an_export_that_is_imported_is_the_same_memory(tmp_path: Path, notes: Path) -> None:
    run("being", "create", "anna", "--soul", "A librarian")
    run("being", "import", str(notes), "--being", "anna")
    run("memory", "tidy", "--being", "anna")
    file = tmp_path / "anna.jsonl"
    assert "Wrote" in run("being", "export", "anna", str(file)).stderr
    assert file.stat().st_mode & 0o777 == 0o600
    assert said("being", "export", "anna") == file.read_text()
    made = as_json("being", "import", str(file), "--being", "copy")
    assert made["imported"]["nodes"] == 3
    assert said("being", "export", "copy") == file.read_text()
    run("being", "import", "-", "--being", "piped", stdin=file.read_text())
    assert said("being", "export", "piped") == file.read_text()
    run("being", "create", "empty")
    assert "Imported into empty: 3 memories" in said(
        "being", "import", str(file), "--being", "empty"
    )
    assert "remembers something already" in refused("being", "import", str(file))


def test_a_file_is_not_overwritten_unless_that_is_wanted(tmp_path: Path) -> None:
    run("being", "create", "anna")
    file = tmp_path / "anna.jsonl"
    file.write_text("mine")
    assert "give --yes" in refused("being", "export", "anna", str(file))
    assert file.read_text() == "mine"
    run("being", "export", "anna", str(file), "--yes")
    assert file.read_text().startswith('{"format":"clawkit-memory"')
    assert list(tmp_path.glob(".*.tmp")) == []
    assert "cannot be written" in refused("being", "export", "anna", "/nowhere/at/all.jsonl")


def test_a_damaged_bundle_is_refused_with_its_line(tmp_path: Path, notes: Path) -> None:
    run("being", "import", str(notes))
    file = tmp_path / "b.jsonl"
    lines = said("being", "export", "assistant").splitlines()
    file.write_text("\n".join([*lines[:3], lines[3][:-5], *lines[4:]]))
    problem = refused("being", "import", str(file), "--being", "copy")
    assert "b.jsonl, line 4: this is no line of a bundle" in problem
    assert "nothing was imported" in problem
    file.write_text("\n".join([lines[0].replace('"version":1', '"version":9'), *lines[1:]]))
    assert "version 9" in refused(
        "being", "import", str(file), "--being", "copy", "--format", "bundle"
    )
    assert [being["name"] for being in as_json("being", "list")] == ["assistant"]


def test_a_dry_run_says_what_would_be_imported_and_imports_nothing(notes: Path) -> None:
    shown = said("being", "import", str(notes), "--dry-run")
    assert shown == "Would import into assistant: 3 memories.\n"
    assert actions("assistant") == []


def test_a_folder_is_imported_once_however_often_it_is_asked_for(notes: Path) -> None:
    assert said("being", "import", str(notes)) == "Imported into assistant: 3 memories.\n"
    again = said("being", "import", str(notes))
    assert again == "Imported into assistant: nothing new.\n3 were known already.\n"
    assert actions("assistant") == [
        "We saw Kyoto.",
        "Ben lost his umbrella",
        "Anna is allergic to nuts.",
    ]
    (found,) = as_json("memory", "search", "umbrella")["hits"]
    assert found["source"] == {"token": "import", "conversation": "2026-01-02.md"}


def test_bad_lines_are_named_and_nothing_is_imported_unless_that_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    good = '{"role": "user", "content": "My sister lives in Oslo."}'
    file.write_text(f'{good}\n{{"role": "user"\n{{"role": "king", "content": "x"}}\n')
    problem = refused("being", "import", str(file))
    assert "talk.jsonl, line 2: this is no JSON object" in problem
    assert "talk.jsonl, line 3: `role` must be one of" in problem
    assert "nothing was imported" in problem
    done = run("being", "import", str(file), "--skip-bad")
    assert "line 2" in done.stderr
    assert "1 message" in done.stdout
    assert "Oslo" in "".join(actions("assistant"))


def test_what_a_file_is_shows_in_its_first_line_or_must_be_said(tmp_path: Path) -> None:
    (tmp_path / "odd.txt").write_text("just words\n")
    assert "say --format" in refused("being", "import", str(tmp_path / "odd.txt"))
    run("being", "import", str(tmp_path / "odd.txt"), "--format", "markdown")
    assert actions("assistant") == ["just words"]
    assert "is not there" in refused("being", "import", str(tmp_path / "nothing"))
    assert "no Markdown file" in refused("being", "import", str(tmp_path / "home"))


def test_a_long_import_shows_how_far_it_is_on_a_terminal_only(tmp_path: Path) -> None:
    file = tmp_path / "many.md"
    file.write_text("\n\n".join(f"Fact number {n} is so." for n in range(450)))
    with terminal(*CLAW, "being", "import", str(file), "--embedder", "none") as screen:
        assert screen.ends() == 0
        assert "Importing: 200 of 450" in screen.output
        assert "Imported into assistant: 450 memories." in screen.output
    done = run("being", "import", str(file))
    assert done.stderr == ""
