"""What of the machine the matching may know."""

from __future__ import annotations

import msgspec


class Paths(msgspec.Struct, frozen=True):
    """The server's directory and home, and whether to follow symlinks. Default: text only."""

    cwd: str | None = None
    home: str | None = None
    resolve: bool = False
