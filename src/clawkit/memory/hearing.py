"""Takes in a conversation as it goes on: its messages as history, its facts as scenes, by rules.

No model is asked here and no vector is made, so that it costs a turn next to nothing; scenes are
found by their words at once, and the patrol that is due when ten wait does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawkit.memory.noting import ENOUGH_FOR_PATROL
from clawkit.memory.patrol.scenes import hear
from clawkit.memory.store import notes
from clawkit.memory.worker import PATROL

if TYPE_CHECKING:
    from clawkit.memory.caller import Caller
    from clawkit.memory.keeper import Keeper
    from clawkit.memory.patrol.conversation import Message
    from clawkit.memory.records import Being


def listen(keeper: Keeper, being: Being, messages: Sequence[Message], caller: Caller) -> bool:
    """Keep what was said; gives whether a patrol is due."""
    hear(
        keeper.database,
        being.n,
        messages,
        llm=None,
        now=keeper.clock(),
        token=caller.token,
        conversation=caller.conversation,
        marker=None,
    )
    with keeper.database.read(being.n) as unit:
        waiting = notes.count(unit, "scene")
    due = waiting >= ENOUGH_FOR_PATROL
    if due:
        keeper.want(being, PATROL)
    return due
