"""Who asks, for which Being, and what only an owner's token may write.

Clients obey what only an owner may write, since it is in the system prompt. An agent that reads the
web and notes what it finds must not be able to give them orders for the next session.
"""

from __future__ import annotations

import msgspec

from clawkit.errors import ToolExecutionError
from clawkit.memory.records import Being, Scope

META_CONVERSATION = "clawkit/conversation"
"""The key in a request's `_meta` by which a client names the conversation it is in."""

LONGEST_CONVERSATION = 200


class Caller(msgspec.Struct, frozen=True):
    """One caller. The default is the person whose machine this is."""

    token: str = "local"
    scope: Scope = "full"
    conversation: str = ""
    llm_key: str = ""
    person: str = ""
    """Who says "I" here; empty where the Being has one person."""

    owner: bool = True
    """Whether soul, rules, preferences and relationships, which clients obey, may be written."""

    def __repr__(self) -> str:
        return f"Caller({self.token!r}, {self.scope!r}, {self.conversation!r})"

    @property
    def may_write(self) -> bool:
        return self.scope != "read-only"


class Access(msgspec.Struct, frozen=True):
    """The right to use one Being; a door puts it into the principal's `data`."""

    being: Being
    caller: Caller = Caller()


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
