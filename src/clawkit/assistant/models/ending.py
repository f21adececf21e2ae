"""How an answer ended, in our words."""

from __future__ import annotations

from clawkit.assistant.models.protocol import StopReason


def ending(said: StopReason, *, calls: bool) -> StopReason:
    """The reason that fits what came: some servers end calls like any other answer, or none so.

    A call that reached the limit of the answer is told to the model as one that failed.
    """
    if said == "refusal":
        return said
    if calls:
        return "tools"
    return "end" if said == "tools" else said
