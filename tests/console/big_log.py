"""A log of any size, written as a guard writes it: calls, denials, and their answers."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.locations import audit_directory

_AT_ONCE = 500


def write_big_log(calls: int) -> None:
    """Two records a call, in the home that the environment names."""
    log = AuditLog(audit_directory())
    every = chain.from_iterable(map(_records, range(calls)))
    while some := tuple(islice(every, _AT_ONCE)):
        log.write(*some)
    log.close()


def _records(number: int) -> Iterator[AuditRecord]:
    server, tool = f"server-{number % 7}", f"tool_{number % 31}"
    yield AuditRecord(
        kind="call",
        id=f"c{number}",
        server=server,
        method="tools/call",
        tool=tool,
        decision="allow" if number % 20 else "deny",
        rule=1 + number % 3,
        arguments={"path": f"/work/{number}"},
    )
    yield AuditRecord(
        kind="answer",
        of=f"c{number}",
        server=server,
        method="tools/call",
        tool=tool,
        latency_ms=number % 90 + 1.0,
    )
