from __future__ import annotations

import pytest

from clawkit.assistant.reply import ChatCommand, parse_command


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
