"""docs/map.md says where things are, and is true."""

from __future__ import annotations

import re
from pathlib import Path

import typer.main

from clawkit.cli.app import app
from clawkit.memory.tools import READ_TOOLS, WRITE_TOOLS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "clawkit"
MAP = (ROOT / "docs" / "map.md").read_text()
FIRST = MAP.partition("## cli")[0]


def test_every_file_that_the_first_table_names_is_there() -> None:
    named = re.findall(r"`([\w/]+\.py)`", FIRST)
    assert len(named) > 20
    assert [path for path in named if not (SOURCE / path).is_file()] == []


def test_every_command_is_on_it() -> None:
    group = typer.main.get_command(app)
    commands = getattr(group, "commands", {})
    assert len(commands) > 15
    assert [name for name in commands if f"`claw {name}`" not in FIRST] == []


def test_every_tool_of_a_being_is_on_it() -> None:
    assert [name for name in READ_TOOLS | WRITE_TOOLS if f"`{name}`" not in FIRST] == []


def test_public_class_names_are_unique() -> None:
    homes: dict[str, list[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for name in re.findall(r"^class ([A-Z]\w*)", path.read_text(), re.MULTILINE):
            homes.setdefault(name, []).append(str(path.relative_to(SOURCE)))
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_files_are_named_by_what_they_hold_and_not_by_what_they_are_doing() -> None:
    doing = [path.stem for path in SOURCE.rglob("*.py") if path.stem.endswith("ing")]
    assert len(doing) <= 15
