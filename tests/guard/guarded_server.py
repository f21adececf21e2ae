"""A guard in front of the selftest's gullible server, with a policy of the test's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clawkit.guard.selftest import victim
from tests.claw import CLAW
from tests.processes import StdioServer

VICTIM = Path(victim.__file__)
ALLOW_ALL = '[[rule]]\naction = "allow"\ntool = "*"\n'
CLIENT = {"name": "tester", "version": "7"}


class Guarded(StdioServer):
    """A guard, and the journal of what its server heard."""

    def __init__(
        self, folder: Path, policy: str | None, options: tuple[str, ...], **env: str
    ) -> None:
        self.policy = folder / "policy.toml"
        if policy is not None:
            self.policy.write_text(policy)
        self.journal = folder / "journal"
        self.journal.touch()
        server = (sys.executable, str(VICTIM), str(self.journal))
        command = (*CLAW, "proxy", "--policy", str(self.policy), *options, "--", *server)
        super().__init__(*command, env=env)

    def heard(self) -> list[bytes]:
        """The lines that reached the server, as they were."""
        return self.journal.read_bytes().splitlines()

    def tool(self, name: str, id: int | str = 1, **arguments: Any) -> dict[str, Any]:
        return self.call("tools/call", {"name": name, "arguments": arguments}, id)

    def initialize(self, capabilities: dict[str, Any] | None = None) -> dict[str, Any]:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities or {},
            "clientInfo": CLIENT,
        }
        reply = self.call("initialize", params, "init")
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return reply


@contextmanager
def guarded(
    folder: Path, policy: str | None = ALLOW_ALL, *options: str, **env: str
) -> Iterator[Guarded]:
    server = Guarded(folder, policy, options, **env)
    try:
        yield server
    finally:
        server.stop()


def records(home: Path) -> list[dict[str, Any]]:
    """What the audit log says."""
    file = home / "claw" / "data" / "claw" / "guard" / "audit" / "audit.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]
