"""What a scan looks for, and what it found."""

from __future__ import annotations

from typing import Literal

import msgspec


class ScanOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[scan]` of the policy. `block` leaves the text as it is: the caller refuses the message."""

    hidden: Literal["strip", "block", "off"] = "strip"
    secrets: Literal["redact", "block", "off"] = "redact"
    injection: Literal["flag", "block", "off"] = "flag"


class Findings(msgspec.Struct, frozen=True):
    """How many hidden characters, which kinds of secrets, which injection patterns."""

    hidden: int = 0
    secrets: tuple[str, ...] = ()
    injections: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.hidden or self.secrets or self.injections)
