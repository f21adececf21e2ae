"""Which messages are commands of a conversation, and which were meant as one."""

from __future__ import annotations

import re
from typing import Literal, cast, get_args

from msgspec import Struct

Name = Literal["new", "reset", "status", "model", "compact", "help"]
_FIRST_WORD = re.compile(r"\s*/(new|reset|status|model|compact|help)(?=\s|$)[^\S\n]*\n?")
_SLASH_WORD = re.compile(r"/([a-z]+)(?=\s|$)(.*)", re.DOTALL)
_ALIKE = 0.7
_ELSEWHERE = ("result", "stop")
"""Commands where orders outlive their call: no slip of another one."""


class ChatCommand(Struct, frozen=True):
    """A command and what stands behind it."""

    name: Name
    rest: str


def parse_command(text: str) -> ChatCommand | None:
    """The command at the start of a message, if there is one."""
    found = _FIRST_WORD.match(text)
    if found is None:
        return None
    return ChatCommand(cast("Name", found[1]), text[found.end() :])


def mistyped_command(text: str) -> str:
    """What to say of a message that was meant as a command, and is none; empty for others."""
    from difflib import get_close_matches

    found = _SLASH_WORD.match(text)
    if found is None or parse_command(text) is not None:
        return ""
    near = get_close_matches(found[1], get_args(Name), n=1, cutoff=_ALIKE)
    if near and found[1] not in _ELSEWHERE:
        return f"There is no /{found[1]}: did you mean /{near[0]}?"
    return "" if found[2].strip() else f"There is no /{found[1]} here: /help lists the commands."
