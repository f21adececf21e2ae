"""The arguments of a call, streamed as text, and what becomes of them if they cannot be read.

A model may write broken JSON, or hit the limit of its answer in the middle of it. The call is
passed on all the same, with one argument that no tool has; whoever runs calls asks `unreadable`
first and gives its text to the model as a failed outcome, so that the model can call again.
"""

from __future__ import annotations

from typing import Any, cast

from clawkit.models.json_fields import decoded, joined
from clawkit.models.protocol import ToolCall

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
