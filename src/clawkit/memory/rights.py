"""What only an owner's token may write: soul, rules, preferences and relationships.

Clients obey these, since they are in the system prompt. An agent that reads the web and notes what
it finds must not be able to give them orders for the next session.
"""

from __future__ import annotations

from clawkit.errors import ToolExecutionError
from clawkit.memory.caller import Caller

_OWNERS = {
    "souls": "souls are",
    "partner_rules": "rules are",
    "preferences": "preferences are",
    "relationship": "relationships are",
}


def check_owner(target: str, caller: Caller) -> None:
    """Refuse to write what the owner says where the caller does not speak for the owner."""
    if target in _OWNERS and not caller.owner:
        raise ToolExecutionError(
            f"{_OWNERS[target]} the owner's word, and this token may not write them: the owner can "
            "do it, or make a token that may with `claw being token create BEING --owner`; what "
            "was only observed can be kept with update_notes, or as knowledge"
        )
