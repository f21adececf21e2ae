"""What a door has found out about a request: which Being it may reach, and who asks."""

from __future__ import annotations

import msgspec

from clawkit.memory.caller import Caller
from clawkit.memory.records import Being


class Access(msgspec.Struct, frozen=True):
    """The right to use one Being; a door puts it into the principal's `data`."""

    being: Being
    caller: Caller = Caller()
