from __future__ import annotations

import pytest

from clawkit.assistant.chat_commands import ChatCommand, mistyped_command, parse_command


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        ("/new", ChatCommand("new", "")),
        ("  /reset", ChatCommand("reset", "")),
        ("/new  hello  there ", ChatCommand("new", "hello  there ")),
        ("/new\n  indented\n", ChatCommand("new", "  indented\n")),
        ("/model anthropic/claude", ChatCommand("model", "anthropic/claude")),
        ("/status", ChatCommand("status", "")),
        ("/compact\n", ChatCommand("compact", "")),
        ("/help me", ChatCommand("help", "me")),
    ],
)
def test_the_first_word_is_a_command(text: str, directive: ChatCommand) -> None:
    assert parse_command(text) == directive


@pytest.mark.parametrize(
    "text", ["/newer", "/home/ada", "say /new", "", "/", "//new", "/New", "/new-york", "\\/new"]
)
def test_anything_else_is_a_message(text: str) -> None:
    assert parse_command(text) is None


def test_a_command_that_was_mistyped_is_known_and_other_texts_are_left_alone() -> None:
    assert mistyped_command("/modl gpt") == "There is no /modl: did you mean /model?"
    assert (
        mistyped_command("/frobnicate") == "There is no /frobnicate here: /help lists the commands."
    )
    assert "reset" not in mistyped_command("/result")
    for text in ("/model", "/new I am Ada", "/etc is full", "/home/me/x", " /modl", "model", "/"):
        assert mistyped_command(text) == ""
