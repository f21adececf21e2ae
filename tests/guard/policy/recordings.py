"""Audits for tests: written by the real log, as the proxy does."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from clawkit.guard.audit.log import AuditLog
from clawkit.guard.audit.record import AuditRecord


class Recording:
    """An audit directory that calls are added to."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._log = AuditLog(directory)
        self._numbers = count(1)

    def call(
        self,
        tool: str,
        arguments: Any = None,
        decision: Any = "allow",
        *,
        method: str = "tools/call",
        answer: str = "",
        server: str = "files",
        rule: int = 1,
        reason: str = "",
        why: str = "",
    ) -> None:
        """A call; `answer` is what came of a prompt, and `why`."""
        record = AuditRecord(
            id=f"call-{next(self._numbers)}",
            kind="call",
            server=server,
            side="client",
            method=method,
            tool=tool,
            arguments=arguments,
            decision=decision,
            rule=rule,
            reason=reason,
        )
        self._log.write(record)
        if answer:
            said: Any = answer
            about: dict[str, Any] = {"of": record.id, "method": method, "tool": tool}
            self._log.write(AuditRecord(kind="approval", **about, decision=said, reason=why))

    def notice(self) -> None:
        self._log.write(AuditRecord(kind="notice", method="notifications/progress"))

    def close(self) -> Path:
        self._log.close()
        return self.directory
