"""What one line of the audit says to those who read it."""

from __future__ import annotations

from typing import Any, Required, TypedDict


class Entry(TypedDict, total=False):
    """A record as it is read back: a field that is not there was empty."""

    seq: Required[int]
    time: Required[str]
    id: str
    kind: Required[str]
    server: str
    client: str
    host: str
    session: str
    side: str
    method: str
    tool: str
    arguments: Any
    outside: Any
    decision: str
    rule: int
    reason: str
    of: str
    listed: str
    latency_ms: float
    digest: str
    size: int
    count: int
    flags: list[str]
    prev: str
    hash: str
