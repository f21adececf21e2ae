"""Who asks: through which token, with what right, in which conversation."""

from __future__ import annotations

import msgspec

from clawkit.memory.records import Scope

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
