"""An ordinary user, whom the system refuses what root may do."""

from __future__ import annotations

import os

NOBODY = 65534


def become_ordinary_user() -> None:
    """Give up the rights of root for the rest of this process; everybody else has none.

    Call it in a process of its own, when everything is imported: an ordinary user may not be able
    to read the modules.
    """
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
