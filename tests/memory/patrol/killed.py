"""A process that patrols and kills itself in the middle of its n-th transaction.

python -m tests.memory.patrol.killed STORE N [before|within]
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from clawkit.memory.patrol.transcript import ConversationMessage
from clawkit.store.database import Unit
from tests.memory.patrol.minds import open_mind

SAID = [ConversationMessage("user", f"I own {n} boats.") for n in range(5)]


def main(address: str, fatal: int, where: str) -> None:
    mind = open_mind(address)
    write: Any = mind.database.write
    begun = 0

    @contextmanager
    def deadly(being: int) -> Generator[Unit]:
        nonlocal begun
        begun += 1
        if begun == fatal and where == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        with write(being) as unit:
            yield unit
            if begun == fatal:
                os.kill(os.getpid(), signal.SIGKILL)

    mind.database.write = deadly
    mind.patrol(*SAID)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
