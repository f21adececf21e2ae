"""Names of tools as providers take them: letters, digits, `_` and `-`, at most 64 of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from clawkit.models.protocol import Message, ToolCall, ToolSpec

LONGEST_NAME = 64
_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")


class Names:
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
