"""How the guard stands on this machine: wrapped servers, policy, pins, who is asked, the log."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from clawkit.errors import ClawError
from clawkit.guard import places
from clawkit.guard.approvals import pending
from clawkit.guard.audit.reading import require_place
from clawkit.guard.pins import Pinned, pinned_servers
from clawkit.guard.policy.policy import Policy, PolicyFile
from clawkit.hosts.finding import Scope
from clawkit.hosts.standing import Standing, Standings, status


class PolicyState(Struct, frozen=True):
    """The policy; one that is not there is no problem for who has not begun with the guard."""

    file: str
    rules: int
    problem: str
    there: bool = True


class ServerState(Struct, frozen=True):
    """A server of a client; `environment` is what it gets, None being all that its client gives."""

    standing: Standing
    environment: tuple[str, ...] | None


class Overview(Struct, frozen=True):
    """All that `claw status` says about the guard. `pending` is None if nobody can answer."""

    policy: PolicyState
    servers: tuple[ServerState, ...] | None
    """None where they cannot be known."""
    pins: tuple[Pinned, ...]
    pending: int | None
    log_directory: str
    log_bytes: int
    """-1 where there can be no log; `problems` says why."""
    problems: tuple[str, ...]

    @property
    def works(self) -> bool:
        """Whether nothing is broken: what is only not there yet is not."""
        is_wanted = self.policy.there or any(
            server.standing.state in ("wrapped", "changed since") for server in self.servers or ()
        )
        usable = not self.policy.problem and self.policy.rules > 0
        return not self.problems and (usable or not is_wanted)


def overview(project: Path) -> Overview:
    """Look at everything; what cannot be read is a problem, not the end."""
    file = places.policy_file()
    policy = PolicyFile(file).current()
    standings, unknown = _standings(project)
    pins, problems = _pins()
    asks = pending(places.approvals_socket())
    directory = places.audit_directory()
    log_bytes, unusable = _log_bytes(directory)
    servers = tuple(ServerState(one, _environment(policy, one)) for one in standings.servers)
    return Overview(
        policy=PolicyState(str(file), len(policy.rules), policy.problem, os.path.lexists(file)),
        servers=None if unknown else servers,
        pins=pins,
        pending=None if asks is None else len(asks),
        log_directory=str(directory),
        log_bytes=log_bytes,
        problems=(*unknown, *standings.problems, *problems, *unusable),
    )


def _standings(project: Path) -> tuple[Standings, tuple[str, ...]]:
    try:
        return status(Scope(project=project)), ()
    except ClawError as error:
        return Standings((), ()), (str(error),)


def _log_bytes(directory: Path) -> tuple[int, tuple[str, ...]]:
    try:
        require_place(directory)
        return sum(log.stat().st_size for log in directory.glob("*.jsonl")), ()
    except ClawError as error:
        return -1, (str(error),)


def _pins() -> tuple[tuple[Pinned, ...], tuple[str, ...]]:
    try:
        return pinned_servers(places.pins_directory()), ()
    except ClawError as error:
        return (), (str(error),)


def _environment(policy: Policy, standing: Standing) -> tuple[str, ...] | None:
    return dict(policy.env.servers).get(standing.server, policy.env.allow)
