"""Commands in a conversation: a message whose first word is one of these is not for the model."""

from __future__ import annotations

import re
from typing import Literal, cast

from msgspec import Struct

Name = Literal["new", "reset", "status", "model", "compact", "help"]

HELP = """\
/new [message]    start afresh under the same session key, with this message if there is one
/reset            the same as /new
/status           the model, and how much this conversation holds
/model [NAME]     show which model answers here, or choose one: provider/model, or `default`
/compact          replace what was said so far by a summary
/help             this list"""

_FIRST_WORD = re.compile(r"\s*/(new|reset|status|model|compact|help)(?=\s|$)[^\S\n]*\n?")


class Directive(Struct, frozen=True):
    """A command and what stands behind it."""

    name: Name
    rest: str


def read_directive(text: str) -> Directive | None:
    """The command at the start of a message, if there is one."""
    found = _FIRST_WORD.match(text)
    if found is None:
        return None
    return Directive(cast("Name", found[1]), text[found.end() :])
