"""What the page about logging in shows is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.claw import claw
from tests.processes import ROOT
from tests.test_docs_assistant import blocks, run_page

PAGE = ROOT / "docs" / "login.md"
ACCOUNTS = ROOT / "docs" / "identity-providers.md"


def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    run_page(PAGE, tmp_path)


@pytest.mark.parametrize("page", [PAGE, ACCOUNTS], ids=lambda page: page.stem)
def test_every_option_that_the_page_shows_is_one(page: Path) -> None:
    shown = "\n".join(blocks(page, "sh"))
    lines = re.findall(
        r"^ *(?:claw|openclaw) (being serve|serve|mcp-server|user add)(.*)", shown, re.MULTILINE
    )
    assert len(lines) >= 6
    for command, rest in lines:
        told = claw(*command.split(), "--help", code=0).stdout
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in told, (command, option)
