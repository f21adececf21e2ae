"""Patrol: turns notes into memories and consolidates memories; nothing is destroyed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from clawkit.memory.embed.embedder import Embedder
    from clawkit.memory.model import Llm
    from clawkit.memory.tokens import Caller
    from clawkit.store.database import Transactions


class PatrolContext(msgspec.Struct, frozen=True):
    """Whose memory is written, when and for whom, with which models.

    `model` names the vectors that are there, also where no new ones are made.
    """

    database: Transactions
    being: int
    now: float
    caller: Caller
    embedder: Embedder | None = None
    model: str = ""
    llm: Llm | None = None
    cap: int | None = None

    @property
    def token(self) -> str:
        return self.caller.token
