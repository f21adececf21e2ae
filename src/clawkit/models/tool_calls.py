"""Tool calls as providers take them: valid names, and arguments parsed from streamed text.

A model may write broken JSON, or hit the limit of its answer in the middle of it. The call is
passed on all the same, with one argument that no tool has; whoever runs calls asks `unreadable`
first and gives its text to the model as a failed outcome, so that the model can call again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, cast

from clawkit.models.json_fields import decoded, joined
from clawkit.models.protocol import Message, ToolCall, ToolSpec

LONGEST_NAME = 64
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


class ToolNames:
    """The tools of one prompt, also those of earlier calls, by both of their names."""

    def __init__(self, tools: Sequence[ToolSpec], messages: Sequence[Message]) -> None:
        self._sent: dict[str, str] = {}
        self._ours: dict[str, str] = {}
        for tool in tools:
            self._add(tool.name)
        for message in messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    self._add(part.name)

    def sent(self, name: str) -> str:
        """The name that the provider knows."""
        return self._sent[name]

    def ours(self, name: str) -> str:
        """The name that we know; one that was never sent is what the model made up."""
        return self._ours.get(name, name)

    def _add(self, name: str) -> None:
        if name in self._sent:
            return
        usable = _UNUSABLE.sub("_", name)
        if usable != name or len(name) > LONGEST_NAME or not name or usable in self._ours:
            # The same from turn to turn, and not the name of another tool.
            mark = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
            usable = f"{usable[: LONGEST_NAME - 9]}_{mark}"
        self._sent[name] = usable
        self._ours[usable] = name


_MARK = "unreadable arguments"
_LONGEST = 2000
LONGEST_ARGUMENTS = 4_000_000
"""Characters of all calls of one answer together."""
A_CALL = 10_000
"""What a call counts beside its arguments, so that there are not endlessly many."""


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments in a text; nothing at all stands for none."""
    text = joined(text)
    if not text.strip():
        return {}
    try:
        value = decoded(text.encode())
    except ValueError:
        return {_MARK: text[:_LONGEST]}
    if value is None:
        return {}
    if not isinstance(value, dict):
        return {_MARK: text[:_LONGEST]}
    return cast("dict[str, Any]", value)


def unreadable(call: ToolCall) -> str | None:
    """What to tell the model about a call whose arguments could not be read; else None."""
    if set(call.arguments) != {_MARK}:
        return None
    return (
        f"{call.name} was not called: its arguments are not a JSON object, or were cut off where "
        "the answer reached its limit. Call it again with complete, valid JSON."
    )
