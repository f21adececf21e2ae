"""The documentation is run: the Python of each page in order, and the commands of the README."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.claw import claw as claw_command
from tests.processes import PATIENCE, ROOT, stdio_server

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(page: Path) -> list[str]:
    return BLOCK.findall(page.read_text())


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda page: page.stem)
def test_the_python_on_a_page_runs(page: Path, tmp_path: Path) -> None:
    script = tmp_path / f"{page.stem.lower()}_page.py"
    script.write_text("\n\n".join(blocks(page)))
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_readme_starts_a_server_with_the_commands_it_shows(tmp_path: Path) -> None:
    (tmp_path / "weather.py").write_text(blocks(ROOT / "README.md")[0])
    commands = re.findall(
        r"^\$ (claw (?:serve|tools) .*?)\s*(?:#.*)?$",
        (ROOT / "README.md").read_text(),
        re.MULTILINE,
    )
    assert len(commands) == 3
    called, shown_result = re.findall(
        r"^\$ claw (call weather.py .*)\n(.*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )[0]
    done = claw_command(*shlex.split(called), cwd=tmp_path, code=0)
    assert done.stdout == f"{shown_result}\n"
    claw = [sys.executable, "-m", "clawkit"]
    over_stdio, _over_http, listing = (
        [*claw, *shlex.split(c.replace("weather.py", str(tmp_path / "weather.py")))[1:]]
        for c in commands
    )
    with stdio_server(*over_stdio) as server:
        arguments = {"name": "forecast", "arguments": {"city": "Oslo"}}
        reply = server.call("tools/call", arguments)
        assert reply["result"]["content"][0]["text"] == "3 sunny days in Oslo"
    shown = subprocess.run(
        listing, capture_output=True, text=True, timeout=PATIENCE, check=True
    ).stdout
    assert "forecast" in shown
    assert "city: string" in shown


def test_the_demo_runs_and_says_how_to_look_at_it_in_the_console(tmp_path: Path) -> None:
    home = tmp_path / "day"
    command = [sys.executable, "examples/demo.py", str(home)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "speaks 2025-11-25" in done.stdout
    assert "speaks 2026-07-28" in done.stdout
    assert "must be at most" in done.stdout
    assert "Denied by policy: The chillies have had enough" in done.stdout
    assert "the person allows it once" in done.stdout
    assert re.search(rf"^CLAW_HOME={home} \S*claw console$", done.stdout, re.MULTILINE)
    log = claw_command("log", env={"CLAW_HOME": str(home)}, code=0).stdout
    assert "The chillies have had enough" in log
    rules = claw_command("policy", "show", env={"CLAW_HOME": str(home)}, code=0).stdout
    assert "The chillies have had enough" in rules
