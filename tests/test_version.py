"""The version has one source, and everything that shows it reads it there."""

from __future__ import annotations

import re
import tomllib
from contextlib import closing
from importlib import metadata
from pathlib import Path

import clawkit
from clawkit.memory.mcp_server import BeingServer
from clawkit.version import __version__
from tests.memory.http.being_store import store_at
from tests.processes import ROOT

# The version of a person's own server, unless their file says another.
_OF_OTHERS = ROOT / "src" / "clawkit" / "tools" / "loader.py"


def test_the_build_and_the_package_read_it_in_one_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/clawkit/version.py"
    assert metadata.version("clawkit") == clawkit.__version__ == __version__


def test_no_other_file_of_the_source_has_it_as_a_text() -> None:
    files = (ROOT / "src" / "clawkit").rglob("*.py")
    found = {file for file in files if f'"{__version__}"' in file.read_text(encoding="utf-8")}
    assert found - {_OF_OTHERS} == {ROOT / "src" / "clawkit" / "version.py"}


def test_the_changelog_begins_with_it() -> None:
    (first,) = re.findall(r"\A# Changelog\n\n## (\S+) — ", (ROOT / "CHANGELOG.md").read_text())
    assert first == __version__


def test_our_servers_say_it(tmp_path: Path) -> None:
    with closing(store_at(tmp_path)) as store:
        assert BeingServer(store).version == __version__
    command = (ROOT / "src" / "clawkit" / "cli" / "mcp_server.py").read_text()
    assert command.count("order_server(brand, __version__") == command.count("order_server(brand")
