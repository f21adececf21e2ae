from __future__ import annotations

import pytest

from clawkit.assistant.directives import Directive, read_directive


@pytest.mark.parametrize(
    ("text", "directive"),
    [
        ("/new", Directive("new", "")),
        ("  /reset", Directive("reset", "")),
        ("/new  hello  there ", Directive("new", "hello  there ")),
        ("/new\n  indented\n", Directive("new", "  indented\n")),
        ("/model anthropic/claude", Directive("model", "anthropic/claude")),
        ("/status", Directive("status", "")),
        ("/compact\n", Directive("compact", "")),
        ("/help me", Directive("help", "me")),
    ],
)
def test_the_first_word_is_a_command(text: str, directive: Directive) -> None:
    assert read_directive(text) == directive


@pytest.mark.parametrize(
    "text", ["/newer", "/home/ada", "say /new", "", "/", "//new", "/New", "/new-york", "\\/new"]
)
def test_anything_else_is_a_message(text: str) -> None:
    assert read_directive(text) is None
