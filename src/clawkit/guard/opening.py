"""How a guard is put together for one server: its name, its policy, its pins and its log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clawkit.guard import places
from clawkit.guard.audit.log import AuditLog
from clawkit.guard.pins import Pins
from clawkit.guard.policy.policy import Paths, PolicyFile
from clawkit.guard.warden import Warden
from clawkit.hosts.ledger import servers_for

_LAUNCHERS = (
    "npx",
    "uvx",
    "pipx",
    "bunx",
    "node",
    "python",
    "python3",
    "uv",
    "deno",
    "docker",
    "run",
)


def open_warden(
    policy: Path | None, servers: tuple[str, ...], paths: Paths, name: str = ""
) -> Warden:
    """The guard of one server; everything is in its usual place, except a `policy` given."""
    file = PolicyFile(policy or places.policy_file())
    options = file.current().audit
    audit = AuditLog(places.audit_directory(), max_bytes=options.max, keep=options.keep)
    pins = Pins(places.pins_directory(), name or servers[0])
    return Warden(file, audit, pins, servers=servers, paths=paths)


def server_names(command: Sequence[str]) -> tuple[str, ...]:
    """The names that a command was wrapped under; none if it never was.

    Rules that deny or ask take a server without a name for theirs, rules that allow do not.
    """
    return servers_for(command)


def name_of(command: Sequence[str]) -> str:
    """`npx -y @scope/server-files /home` is `server-files`."""
    words = [Path(word).name for word in command if not word.startswith("-")]
    named = [word for word in words if word not in _LAUNCHERS]
    return (named or words or ["server"])[0].removesuffix(".py")
