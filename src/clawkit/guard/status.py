"""The guard's state on this machine, for `claw status`: servers, policy, pins, approvals, log."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from clawkit.errors import ClawError
from clawkit.guard import locations
from clawkit.guard.approval_window import pending
from clawkit.guard.audit.reader import require_place
from clawkit.guard.audit.verification import ChainProblem, Verdict, verify
from clawkit.guard.pins import Pinned, pin_files, pinned_servers
from clawkit.guard.policy.policy import Policy
from clawkit.guard.policy.reloader import PolicyFile
from clawkit.hosts.discovery import SearchScope, ServerStatus, StatusReport, status
from clawkit.hosts.ledger import items, ledger_file

Found = TypeVar("Found")


class PolicyState(Struct, frozen=True):
    """The policy; one that is not there is no problem for who has not begun with the guard."""

    file: str
    rules: int
    problem: str
    there: bool = True


class ServerState(Struct, frozen=True):
    """A server of a client; `environment` is what it gets, None being all that its client gives.

    One whose entry's variables were recorded gets the base besides.
    """

    standing: ServerStatus
    environment: tuple[str, ...] | None
    base: bool = False


class GuardStatus(Struct, frozen=True):
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


def overview(project: Path) -> GuardStatus:
    """Look at everything; what cannot be read is a problem, not the end."""
    file = locations.policy_file()
    policy = PolicyFile(file).current()
    scope = SearchScope(project=project)
    standings, unknown = _tried(lambda: status(scope), StatusReport((), ()))
    pins, problems = _tried(lambda: pinned_servers(locations.pins_directory()), ())
    asks, unasked = _tried(lambda: pending(locations.approvals_folder()), None)
    directory = locations.audit_directory()
    log_bytes, unusable = _tried(lambda: size_of_log(directory), -1)
    # A ledger that cannot be read is among the problems already.
    recorded, _ = _tried(lambda: {item.place: item.variables for item in items()}, {})
    servers = tuple(_state(policy, one, recorded) for one in standings.servers)
    return GuardStatus(
        policy=PolicyState(str(file), policy.written, policy.problem, os.path.lexists(file)),
        servers=None if unknown else servers,
        pins=pins,
        pending=None if asks is None else len(asks),
        log_directory=str(directory),
        log_bytes=log_bytes,
        problems=(*unknown, *standings.problems, *problems, *unasked, *unusable),
    )


def _tried(look: Callable[[], Found], otherwise: Found) -> tuple[Found, tuple[str, ...]]:
    """What is found, and the problem where it cannot be."""
    try:
        return look(), ()
    except ClawError as error:
        return otherwise, (str(error),)


def size_of_log(directory: Path) -> int:
    """How many bytes the log has. Raises AuditError where none can be."""
    require_place(directory)
    return sum(log.stat().st_size for log in directory.glob("*.jsonl"))


def _state(
    policy: Policy,
    standing: ServerStatus,
    recorded: dict[tuple[str, tuple[str, ...]], tuple[str, ...] | None],
) -> ServerState:
    listed = dict(policy.env.servers).get(standing.server, policy.env.allow)
    known = recorded.get((str(Path(standing.file).resolve()), standing.keys))
    if known is None:
        return ServerState(standing, listed)
    return ServerState(standing, tuple(dict.fromkeys((*known, *(listed or ())))), base=True)


def verify_log() -> Verdict:
    """Whether the log of this machine is whole; one that should be there and is not is broken."""
    directory = locations.audit_directory()
    require_place(directory)
    verdict = verify(directory)
    if verdict.ok and not verdict.records and (traces := _traces()):
        reason = f"there is no log, but there should be one: {traces}"
        problem = ChainProblem(str(directory), 0, reason)
        verdict = replace(verdict, ok=False, problem=problem)
    return verdict


def _traces() -> str:
    """What says that the guard was at work here, so that it must have left a log."""
    if pin_files(locations.pins_directory()):
        return f"servers are pinned in {locations.pins_directory()}"
    try:
        wrapped = bool(items())
    except ClawError:
        wrapped = True
    return f"servers are wrapped, as {ledger_file()} says" if wrapped else ""
