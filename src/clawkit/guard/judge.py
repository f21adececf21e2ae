"""Decides about calls to one server by policy, pins and rate limits; opens that judge."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import cast

import msgspec

from clawkit.guard import locations
from clawkit.guard.audit.log import AuditLog, Repeats
from clawkit.guard.audit.record import AuditRecord
from clawkit.guard.pending_approvals import Binding, PendingApprovals
from clawkit.guard.pins import PROMPTS, RESOURCES, TEMPLATES, Pins
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.paths import Paths, directories
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.policy.reloader import PolicyFile
from clawkit.guard.policy.rules import Rule
from clawkit.guard.profiles.profile import Profile
from clawkit.wire.jsonrpc import as_object


class RateLimiter:
    """Counts calls by rule. A rule that a reload leaves as it was keeps its count."""

    def __init__(self) -> None:
        self._calls: dict[Rule, deque[float]] = {}
        self._lock = threading.Lock()

    def allow(self, rule: Rule, now: float) -> bool:
        """Whether one more call fits into the rule's rate; if so it is counted."""
        rate = rule.rate
        if rate is None:
            return True
        with self._lock:
            calls = self._calls.setdefault(rule, deque())
            # A clock set back would otherwise keep the window full for as long.
            while calls and not now - rate.seconds < calls[0] <= now:
                calls.popleft()
            if len(calls) >= rate.count:
                return False
            calls.append(now)
            return True


_READING = ("resources/read", "resources/subscribe")
_canonical = msgspec.json.Encoder(order="sorted").encode


def call_digest(call: Call) -> str:
    """The same for calls that are the same for a server, and come from the same client."""
    return sha256(_canonical((call.lasting(), call.known.client))).hexdigest()


class Judge:
    """Judges calls to one server, for any number of conversations with it."""

    def __init__(
        self,
        policy: PolicyFile,
        audit: AuditLog,
        pins: Pins,
        *,
        servers: tuple[str, ...],
        paths: Paths,
    ) -> None:
        self.policy = policy
        self.audit = audit
        self.pins = pins
        self.servers = servers
        self.prompts = PendingApprovals()
        self.listed = ""
        """The record of the last tools/list."""
        self._paths = paths
        self._rates = RateLimiter()
        self._repeats = Repeats()

    @property
    def server(self) -> str:
        """What the log and the pins call it, also where its name in the policy is unknown."""
        return self.pins.server

    @property
    def follows_links(self) -> bool:
        """Whether its paths are on this machine, where links can be followed and changed."""
        return self._paths.resolve

    def learn_roots(self, answer: object) -> None:
        """A client's roots are directories that the server may take relative paths from."""
        paths = self._paths
        if not paths.resolve or paths.cwd is None or paths.home is None:
            return
        found = directories(_root_uris(answer), paths.cwd, paths.home)
        if new := tuple(path for path in found if path not in paths.bases):
            self._paths = msgspec.structs.replace(paths, bases=(*paths.bases, *new))

    def log(self, *records: AuditRecord) -> None:
        """Write records to the log; repeated events are only counted. Raises AuditError."""
        self.audit.write(*[kept for record in records for kept in self._repeats.take(record)])

    def log_counts(self) -> None:
        """Write down what was only counted so far. Raises AuditError."""
        self.audit.write(*self._repeats.drain())

    def decide(self, call: Call, policy: Policy, *, counts: bool = True) -> Decision:
        """What is to be done with a call: its tool's pin speaks first, its rule's rate last."""
        quarantine = self._quarantine(call)
        if quarantine is not None:
            return Decision(action="deny", rule=None, reason=quarantine)
        decision = policy.decide(call, self.servers, self._paths)
        rule = decision.rule
        if rule is None or rule.rate is None or not counts:
            return decision
        if self._rates.allow(rule, time.time()):
            return decision
        about = f"{decision.reason} " if decision.reason else ""
        reason = f"{about}(too many calls: its rate is {rule.rate}; try again later)"
        return Decision(action="deny", rule=rule, reason=reason)

    def _quarantine(self, call: Call) -> str | None:
        """Why what is called, asked for or read is kept away, if it is."""
        if call.method == "tools/call":
            return self.pins.quarantined(call.tool)
        if call.method == "prompts/get":
            return self.pins.quarantined(call.arguments["name"], PROMPTS)
        uri = call.arguments.get("uri") if call.method in _READING else None
        if not isinstance(uri, str):
            return None
        return self.pins.quarantined(uri, RESOURCES) or self.pins.quarantined(uri, TEMPLATES)

    def binding(self, call: Call, policy: Policy, rule: Rule | None) -> Binding:
        """What an approval of this call is worth: exactly this call, under exactly these terms."""
        return Binding(
            call=call_digest(call),
            policy=policy.digest,
            pin=self._pin(call.tool) if call.method == "tools/call" else "",
            rule=rule,
        )

    def _pin(self, tool: str) -> str:
        return self.pins.quarantined(tool) or self.pins.digest(tool)


def _root_uris(answer: object) -> Iterator[str]:
    """The addresses in the result of `roots/list`."""
    roots = (as_object(answer) or {}).get("roots")
    for root in cast("list[object]", roots) if isinstance(roots, list) else ():
        uri = (as_object(root) or {}).get("uri")
        if isinstance(uri, str):
            yield from (uri, uri.removeprefix("file://"))


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


def open_judge(
    policy: Path | None,
    servers: tuple[str, ...],
    paths: Paths,
    name: str = "",
    profile: Profile | None = None,
) -> Judge:
    """The guard of one server; everything is in its usual place, except a `policy` given."""
    file = PolicyFile(policy or locations.policy_file(), profile.rules if profile else ())
    options = file.current().audit
    audit = AuditLog(locations.audit_directory(), max_bytes=options.max, keep=options.keep)
    pins = Pins(locations.pins_directory(), name or servers[0])
    return Judge(file, audit, pins, servers=servers, paths=paths)


def server_name_of(command: Sequence[str]) -> str:
    """`npx -y @scope/server-files /home` is `server-files`."""
    words = [Path(word).name for word in command if not word.startswith("-")]
    named = [word for word in words if word not in _LAUNCHERS]
    return (named or words or ["server"])[0].removesuffix(".py")
