"""Queues calls allowed by path while others run that might change where the path leads.

Against a race between check and use: a symbolic link made after a path was judged, and before the
server opens it, would lead past the rule. So such a call waits until the calls before it have
ended, and is judged again; after a timeout it is refused.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from msgspec import Struct

from clawkit.errors import PinError
from clawkit.guard.approval_flow import JudgedMessage
from clawkit.guard.journal import Flight
from clawkit.guard.judge import Judge
from clawkit.guard.passages import Passage
from clawkit.guard.pins import TOOLS
from clawkit.guard.policy.patterns import kind_of
from clawkit.guard.policy.policy import Decision
from clawkit.guard.policy.rules import Rule
from clawkit.wire.jsonrpc import RequestId, as_object


class _Waiting(Struct, frozen=True):
    question: JudgedMessage
    deadline: float


class PathQueue:
    """The calls of one conversation that wait, in the order in which they came."""

    def __init__(
        self,
        judge: Judge,
        flights: Mapping[RequestId, Flight],
        judge_again: Callable[[JudgedMessage], Passage],
        refuse: Callable[[JudgedMessage], Passage],
    ) -> None:
        self.lock = threading.RLock()
        """Held from the check of what is in flight until the call is in flight too."""
        self._judge = judge
        self._flights = flights
        self._judge_again = judge_again
        self._refuse = refuse
        self._waiting: dict[RequestId, _Waiting] = {}
        self._timer: threading.Timer | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def __contains__(self, request_id: RequestId) -> bool:
        return request_id in self._waiting

    def obstacle(self, question: JudgedMessage) -> str:
        """The tool of a running call that this one must wait for; empty if there is none."""
        if not self._flights or not self._judge.follows_links:
            return ""
        if not _allows_path(question.decision.rule):
            return ""
        oldest = time.monotonic() - question.policy.limits.path_timeout
        for flight in list(self._flights.values()):
            # A cancelled call may never be answered: it counts until the timeout.
            ended = flight.cancelled and flight.cancelled < oldest
            if flight.call.method == "tools/call" and not ended and self._changes(flight.call.tool):
                return flight.call.tool
        return ""

    def wait(self, question: JudgedMessage) -> None:
        """Queue a call; `lock` must be held."""
        deadline = time.monotonic() + question.policy.limits.path_timeout
        self._waiting[question.message["id"]] = _Waiting(question, deadline)
        self._set_timer()

    def _set_timer(self) -> None:
        """Start one timer for all: a client may have sent a thousand calls at once."""
        if self._timer is None and self._waiting:
            first = min(waiting.deadline for waiting in self._waiting.values())
            self._timer = threading.Timer(max(0.0, first - time.monotonic()), self._expire)
            self._timer.daemon = True
            self._timer.start()

    def go_on(self) -> None:
        """Judge queued calls again, in order, up to the first that still has to wait."""
        with self.lock:
            for request_id, waiting in list(self._waiting.items()):
                if self.obstacle(waiting.question):
                    return
                if self.withdraw(request_id):
                    # Before anything else can be sent that would be in flight beside it.
                    waiting.question.deliver(self._judge_again(waiting.question))

    def withdraw(self, request_id: RequestId) -> bool:
        """Remove a call from the queue; whether it was there."""
        return self._waiting.pop(request_id, None) is not None

    def end(self) -> list[RequestId]:
        """Empty the queue; returns the ids that were in it."""
        with self.lock:
            if self._timer is not None:
                self._timer.cancel()
            return [request_id for request_id in list(self._waiting) if self.withdraw(request_id)]

    def _expire(self) -> None:
        self.go_on()
        with self.lock:
            now = time.monotonic()
            for request_id, waiting in list(self._waiting.items()):
                if waiting.deadline <= now and self.withdraw(request_id):
                    self._give_up(waiting.question)
            self._timer = None
            self._set_timer()

    def _give_up(self, question: JudgedMessage) -> None:
        reason = (
            f"the call of {self.obstacle(question)!r} still runs, and could change where a path "
            "leads; try again when it has ended"
        )
        refusal = Decision(action="deny", rule=question.decision.rule, reason=reason)
        question.deliver(self._refuse(question._replace(decision=refusal)))

    def _changes(self, tool: str) -> bool:
        """Whether a tool may change files: unless its pinned definition says `readOnlyHint`."""
        try:
            definition = self._judge.pins.accepted(tool, TOOLS)
        except PinError:
            return True
        annotations = as_object((definition or {}).get("annotations")) or {}
        return annotations.get("readOnlyHint") is not True


def _allows_path(rule: Rule | None) -> bool:
    if rule is None or rule.action != "allow":
        return False
    patterns = [pattern for argument in rule.args for pattern in argument.patterns]
    return any(kind_of(pattern) == "path" for pattern in (*patterns, *rule.resources))
