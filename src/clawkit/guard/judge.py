"""`Judge`: decides about calls to one server by policy, pins and rate limits."""

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
    """Counts calls by rule. A rule that a reload does not change keeps its count."""

    def __init__(self) -> None:
        self._calls: dict[Rule, deque[float]] = {}
        self._lock = threading.Lock()

    def allow(self, rule: Rule, now: float) -> bool:
        """Whether the rule's rate allows one more call; if so, it is counted."""
        rate = rule.rate
        if rate is None:
            return True
        with self._lock:
            calls = self._calls.setdefault(rule, deque())
            # Calls in the future are dropped too: the clock was set back.
            while calls and not now - rate.seconds < calls[0] <= now:
                calls.popleft()
            if len(calls) >= rate.count:
                return False
            calls.append(now)
            return True


_READING = ("resources/read", "resources/subscribe")
_canonical = msgspec.json.Encoder(order="sorted").encode


def call_digest(call: Call) -> str:
    """A hash of the call as the server sees it, and of its client."""
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
        """The server's name in the log and the pins, even if the policy does not know it."""
        return self.pins.server

    @property
    def follows_links(self) -> bool:
        """Whether its paths are on this machine, where links can be followed."""
        return self._paths.resolve

    def learn_roots(self, answer: object) -> None:
        """Add a client's roots to the directories of which paths may be relative."""
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
        """Write the counts of repeated events. Raises AuditError."""
        self.audit.write(*self._repeats.drain())

    def decide(self, call: Call, policy: Policy, *, counts: bool = True) -> Decision:
        """Decide about a call: first by its tool's pin, then by the rules, last by the rate."""
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
        """Why the tool, prompt or resource of a call is quarantined, if it is."""
        if call.method == "tools/call":
            return self.pins.quarantined(call.tool)
        if call.method == "prompts/get":
            return self.pins.quarantined(call.arguments["name"], PROMPTS)
        uri = call.arguments.get("uri") if call.method in _READING else None
        if not isinstance(uri, str):
            return None
        return self.pins.quarantined(uri, RESOURCES) or self.pins.quarantined(uri, TEMPLATES)

    def binding(self, call: Call, policy: Policy, rule: Rule | None) -> Binding:
        """What an approval of this call is bound to: the call, the policy, the tool's pin."""
        pin = ""
        if call.method == "tools/call":
            pin = self.pins.quarantined(call.tool) or self.pins.digest(call.tool)
        return Binding(
            call=call_digest(call),
            policy=policy.digest,
            pin=pin,
            rule=rule,
        )


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
    """The judge of one server, with its files in the usual places, except a given `policy`."""
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
