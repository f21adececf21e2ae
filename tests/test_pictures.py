"""The pictures and the recording in docs are of real runs; the package page has no dead link."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ROOT


def _script() -> Any:
    """examples/record.py, which is no package."""
    spec = importlib.util.spec_from_file_location("record", ROOT / "examples" / "record.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["record"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


record = _script()
DOCS = ROOT / "docs"


@pytest.mark.process
def test_a_scene_is_what_the_programs_write_on_their_terminal(tmp_path: Path) -> None:
    record.prepare(tmp_path)
    events = record.recorded(record.SCENES["tools"], tmp_path)
    shown = "".join(text for _, text in events)
    assert "Hello, Ada! Hello, Ada!" in shown
    assert str(tmp_path) not in shown
    picture = record.draw("tools", events)
    assert "Hello," in picture
    assert "url(http" not in picture


@pytest.mark.parametrize("name", record.SCENES)
def test_the_pictures_show_the_commands_that_the_script_types(name: str) -> None:
    text = (DOCS / "pictures" / f"{name}.svg").read_text()
    words = re.sub(r"<[^>]+>", " ", text).replace("&#160;", " ")
    for typed in record.SCENES[name]:
        assert typed.command.split()[1] in words
    assert f"docs/pictures/{name}.svg" in (ROOT / "README.md").read_text()
    assert "/tmp" not in text


def test_the_recording_is_an_asciicast_with_every_command() -> None:
    header, *events = map(json.loads, (DOCS / "first-ten-minutes.cast").read_text().splitlines())
    assert header["version"] == 2
    moments = [moment for moment, _, _ in events]
    assert moments == sorted(moments)
    shown = "".join(text for _, _, text in events)
    for typed in (typed for scene in record.SCENES.values() for typed in scene):
        assert typed.command in shown
    assert "/tmp" not in shown


def test_the_page_of_the_package_has_no_link_that_leads_nowhere() -> None:
    page = str(metadata.metadata("clawkit").json["description"])
    assert "claw ask" in page
    assert re.findall(r"\]\((?!https?:)[^)]*\)", page) == []
