"""What the page about logging in shows is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.claw import claw
from tests.login.client.foreign import foreign_server
from tests.login.client.person import log_in
from tests.processes import ROOT
from tests.test_docs_assistant import blocks, pattern, run_page

PAGE = ROOT / "docs" / "login.md"
ACCOUNTS = ROOT / "docs" / "identity-providers.md"


def test_the_commands_of_the_page_print_what_it_shows(tmp_path: Path) -> None:
    run_page(PAGE, tmp_path)


@pytest.mark.parametrize("page", [PAGE, ACCOUNTS], ids=lambda page: page.stem)
def test_every_option_that_the_page_shows_is_one(page: Path) -> None:
    shown = "\n".join(blocks(page, "sh"))
    lines = re.findall(
        r"^ *(?:claw|openclaw) "
        r"(being serve|serve|mcp-server|user add|login|logout|status|proxy)(.*)",
        shown,
        re.MULTILINE,
    )
    assert len(lines) >= 6
    for command, rest in lines:
        told = claw(*command.split(), "--help", code=0).stdout
        for option in re.findall(r"--[a-z-]+", rest):
            assert option in told, (command, option)


def test_the_page_logs_in_to_a_server_as_it_shows() -> None:
    section = "Log in to a server"
    commands, (output,) = blocks(PAGE, "sh", section)[0], blocks(PAGE, "text", section)
    with foreign_server() as foreign:
        first, second, third = commands.replace("https://mcp.example.com/mcp", foreign.url).split(
            "\n"
        )[:3]
        shown = output.replace("https://mcp.example.com/mcp", foreign.url)
        assert pattern(shown).fullmatch(log_in(*first.split()[2:]).stdout)
        assert foreign.url in claw(*second.split()[1:]).stdout
        assert foreign.url in claw(*third.split()[1:], code=0).stdout
        assert len(foreign.revoked) == 2
