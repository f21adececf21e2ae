"""What a policy file says besides rules: the environment, the limits, the audit log."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from clawkit.guard.policy.globs import Glob

MEGABYTE = 1024 * 1024


class EnvOptions(msgspec.Struct, frozen=True):
    """`[env]`: which variables a server gets. `allow` None: all that the client gave."""

    allow: tuple[str, ...] | None = None
    servers: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def narrow(self, environment: Mapping[str, str], servers: tuple[str, ...]) -> dict[str, str]:
        """What is left for a server that may have any of these names: what every name allows."""
        lists = [allowed for allowed in self._lists(servers) if allowed is not None]
        tests = [[Glob(pattern) for pattern in allowed] for allowed in lists]
        return {
            name: value
            for name, value in environment.items()
            if all(any(glob.matches(name) for glob in globs) for globs in tests)
        }

    def _lists(self, servers: tuple[str, ...]) -> set[tuple[str, ...] | None]:
        own = dict(self.servers)
        return {own.get(server, self.allow) for server in servers} or {self.allow}


class Limits(msgspec.Struct, frozen=True):
    """`[limits]`: sizes in bytes, times in seconds."""

    message: int = 400 * MEGABYTE
    depth: int = 200
    prompts: int = 5
    prompts_per_minute: int = 20
    prompt_timeout: float = 60.0
    path_timeout: float = 30.0


class AuditOptions(msgspec.Struct, frozen=True):
    """`[audit]`: the size at which a log file is closed, and how many are kept."""

    max: int = 64 * MEGABYTE
    keep: int = 16
