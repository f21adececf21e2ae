"""What an attack can come to.

NotHeld
├── Leaked     something got past the guard, to the server or to the client
├── Crashed    the guard ended, or stopped serving
├── Unclear    nothing got past, but the client cannot tell what happened
└── Hung       the client waits for an answer that does not come
"""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

Result = Literal["held", "LEAKED", "crashed", "unclear error", "hung"]


class NotHeld(Exception):
    """The guard did not withstand an attack. Its text is what was seen."""

    result: ClassVar[Result] = "LEAKED"


class Leaked(NotHeld):
    """What must not pass did."""


class Crashed(NotHeld):
    """The guard is gone."""

    result = "crashed"


class Unclear(NotHeld):
    """The client got no error, or one that says nothing."""

    result = "unclear error"


class Hung(NotHeld):
    """An answer did not come in time."""

    result = "hung"


class Outcome(msgspec.Struct, frozen=True):
    """One attack and what came of it."""

    attack: str
    row: str
    must: str
    result: Result
    seen: str
    seconds: float

    @property
    def held(self) -> bool:
        return self.result == "held"
