"""What one line of the audit says."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal[
    "start", "call", "answer", "list", "notice", "drop", "end", "approval", "pin", "recovery"
]
Side = Literal["", "client", "server"]


class Record(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One event. The log sets `seq`, `prev` and `hash`, and `time` where it is empty."""

    seq: int = 0
    time: str = ""
    """UTC, ISO 8601 with milliseconds and a Z."""
    id: str = ""
    kind: Kind
    server: str = ""
    client: str = ""
    """Name and version, from the handshake."""
    host: str = ""
    """The client's process: the same for all servers of one client."""
    session: str = ""
    """This run of the proxy, or this connection."""
    side: Side = ""
    """Who sent it."""
    method: str = ""
    tool: str = ""
    arguments: Any = None
    """Redacted already."""
    outside: Any = None
    """What a request holds outside its arguments, beside what clients put there; redacted."""
    decision: Literal["", "allow", "deny", "prompt", "pass", "drop"] = ""
    rule: int = 0
    reason: str = ""
    of: str = ""
    """The id of the record of the call that this answers."""
    listed: str = ""
    """The id of the last record of a tools/list."""
    latency_ms: float = 0.0
    digest: str = ""
    """SHA-256 of the result's bytes; of a call, of its arguments, where they were shortened."""
    size: int = 0
    count: int = 0
    """How many events it stands for, where they are more than one; `size` is of all of them."""
    flags: tuple[str, ...] = ()
    """What the scan found."""
    prev: str = ""
    hash: str = ""
