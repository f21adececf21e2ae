"""`claw --help` and `claw help`: what there is, in groups and by concept."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer.main

from clawkit.cli.app import COMMANDS, GROUPS, app
from clawkit.cli.completion.command_tree import CommandSpec, command_tree
from clawkit.cli.help import summary, text, topics
from tests.claw import claw


def test_the_commands_stand_in_groups() -> None:
    lines = claw("--help", code=0).stdout.splitlines()
    titles = [found[1] for line in lines if (found := re.match(r"╭─ (\w+) ─", line))]
    assert titles == ["Options", "Assistant", "Tools", "Memory", "Guard", "Setup"]


def test_every_command_is_in_one_group() -> None:
    commands: Any = getattr(typer.main.get_command(app), "commands", {})
    grouped = [name for names in GROUPS.values() for name in names]
    assert sorted(grouped) == sorted(commands)
    assert set(COMMANDS) <= set(grouped)


@pytest.mark.parametrize(
    "command", [(), ("ask",), ("being",), ("being", "token", "create"), ("uninstall",)], ids=str
)
def test_a_flag_shows_no_type_of_a_value(command: tuple[str, ...]) -> None:
    shown = claw(*command, "--help", code=0).stdout
    assert "--help" in shown
    assert "bool" not in shown.lower()


def test_help_lists_the_topics() -> None:
    listed = claw("help", code=0).stdout
    for topic in topics():
        assert re.search(rf"^{topic} +{re.escape(summary(topic))}$", listed, re.MULTILINE)
    assert {"sessions", "memory", "policy", "tokens"} <= set(topics())


def test_a_topic_is_explained_and_a_command_too() -> None:
    assert claw("help", "tokens", code=0).stdout == text("tokens")
    assert claw("help", "being", "share").stdout == claw("being", "share", "--help").stdout


@pytest.mark.parametrize(("typed", "meant"), [("sesions", "sessions"), ("polcy", "policy")])
def test_an_unknown_topic_is_met_with_near_names(typed: str, meant: str) -> None:
    done = claw("help", typed, code=2)
    assert f"there is no topic or command '{typed}': did you mean {meant}" in done.stderr


def test_a_topic_like_nothing_else_is_met_with_the_list() -> None:
    assert "`claw help` lists the topics" in claw("help", "zzzz", code=2).stderr


@pytest.fixture(scope="module")
def commands() -> CommandSpec:
    return command_tree()


@pytest.mark.parametrize("topic", topics())
def test_a_text_fits_a_terminal_and_names_what_there_is(topic: str, commands: CommandSpec) -> None:
    told = text(topic)
    assert max(map(len, told.splitlines())) <= 84
    (also,) = re.findall(r"^See also: claw help (.*)$", told, re.MULTILINE)
    assert set(also.split(", ")) <= set(topics()) - {topic}
    for line in re.findall(r"`claw ([^`]*)`|^  claw (.*?)(?:   .*)?$", told, re.MULTILINE):
        check(commands, "".join(line).split())


def check(command: CommandSpec, words: list[str]) -> None:
    """Every command and option of a command line exists."""
    for word in words:
        if word in command.commands:
            command = command.commands[word]
        elif word.startswith("--"):
            assert word in command.options, f"{word} in {words}"
        else:
            assert command.arguments or not command.commands, f"{word} in {words}"
