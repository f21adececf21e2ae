"""Takes in a conversation as it goes on, message by message; no model is asked.

What people say is remembered at once; the patrol that is due when ten wait puts it in order.
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
    from clawkit.memory.secrecy import Sieve


def listen(
    keeper: Keeper, being: Being, messages: Sequence[Message], caller: Caller, sieve: Sieve
) -> bool:
    """Keep what was said, without the secrets that the sieve finds; says if a patrol is due."""
    hear(
        keeper.limited,
        being.n,
        sieve.messages(messages),
        llm=None,
        embedder=keeper.embedder,
        now=keeper.clock(),
        caller=caller,
    )
    with keeper.database.read(being.n) as unit:
        waiting = notes.count(unit, "scene")
    due = waiting >= ENOUGH_FOR_PATROL
    if due:
        keeper.want(being, PATROL)
    return due
