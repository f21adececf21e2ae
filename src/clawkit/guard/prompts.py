"""Calls that wait for a person: who is asked, what the answer is worth, and how long it counts.

A person is asked through the client where it can show a form, else in `claw approvals`. An approval
is bound to one call, its policy and its pin, can be used once, and expires.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.rules import Rule
from clawkit.guard.scan import visible
from clawkit.wire.jsonrpc import Message, RequestId, as_object

Side = Literal["client", "server"]
Answer = Literal["once", "session", "always", "deny", "timeout", "nobody"]

APPROVAL = "claw-approval"
"""The name of our own question among a result's `inputRequests`."""

_ANSWERS: dict[str, Answer] = {
    "allow once": "once",
    "allow for this session": "session",
    "deny": "deny",
}
_MINUTE = 60.0
_CONTINUES = 600.0
_MOST_REMEMBERED = 1024


class Passage(Struct, frozen=True):
    """What a message leads to: bytes for the server, bytes for the client, or neither."""

    to_server: bytes | None = None
    to_client: bytes | None = None


class Binding(Struct, frozen=True):
    """What exactly is approved: digests of the call, the policy and the tool's definition."""

    call: str
    policy: str
    pin: str


class Held(Struct, frozen=True):
    """A message that waits for a person, and what to do once they have spoken."""

    call: Call
    rule: Rule
    binding: Binding
    settle: Callable[[Answer], Passage]
    deliver: Callable[[Passage], None]
    cancelled: threading.Event


class Ticket(Struct, frozen=True):
    """A question that went out as a result; its `requestState` brings the call back here."""

    binding: Binding
    expires: float
    resume: dict[str, Any]
    """What the call itself brought from an earlier round."""
    result: Message | None = None
    """The server's result, if it is that one that waits."""


class Prompts:
    """Everything that waits for a person, at one server."""

    def __init__(self) -> None:
        self._held: dict[str, Held] = {}
        self._tickets: dict[str, Ticket] = {}
        self._continued: dict[tuple[str, object], float] = {}
        self._asked: deque[float] = deque()
        self._lock = threading.Lock()

    def admit(self, at_once: int, per_minute: int) -> bool:
        """Whether one more question may be put to a person: a flood of them is an attack."""
        now = time.monotonic()
        with self._lock:
            while self._asked and self._asked[0] < now - _MINUTE:
                self._asked.popleft()
            for token in [k for k, ticket in self._tickets.items() if ticket.expires <= now]:
                del self._tickets[token]
            waiting = len(self._held) + len(self._tickets)
            if waiting >= at_once or len(self._asked) >= per_minute:
                return False
            self._asked.append(now)
            return True

    def hold(self, held: Held, timeout: float) -> str:
        """Keep a message until `answered`; after the timeout it is denied."""
        token = _token()
        self._held[token] = held
        timer = threading.Timer(timeout, self._expire, (token,))
        timer.daemon = True
        timer.start()
        return token

    def answered(self, token: object, answer: Answer) -> Passage | None:
        """What the answer leads to; None if nothing waits for it."""
        held = self._held.pop(token, None) if isinstance(token, str) else None
        return None if held is None else held.settle(answer)

    def is_waiting(self, token: RequestId) -> bool:
        return token in self._held

    def withdraw(self, held: Held) -> bool:
        """The sender no longer wants it: nobody needs to answer. Whether it still waited."""
        held.cancelled.set()
        tokens = [token for token, other in list(self._held.items()) if other is held]
        return any(self._held.pop(token, None) is not None for token in tokens)

    def issue(self, ticket: Ticket) -> str:
        token = _token()
        with self._lock:
            self._tickets[token] = ticket
        return token

    def redeem(self, token: object) -> Ticket | None:
        """The ticket of a `requestState`, once, if it has not expired."""
        with self._lock:
            ticket = self._tickets.pop(token, None) if isinstance(token, str) else None
        return ticket if ticket is not None and ticket.expires > time.monotonic() else None

    def continues(self, call: str, state: object) -> None:
        """An approved call was answered with a question: its next round is approved with it."""
        if len(self._continued) >= _MOST_REMEMBERED:
            self._continued.clear()
        self._continued[(call, state)] = time.monotonic() + _CONTINUES

    def is_continued(self, call: str, state: object) -> bool:
        if not isinstance(state, str | None):
            return False
        return self._continued.pop((call, state), 0.0) > time.monotonic()

    def _expire(self, token: str) -> None:
        held = self._held.pop(token, None)
        if held is not None:
            held.cancelled.set()
            held.deliver(held.settle("timeout"))


def question(server: str, call: Call, rule: Rule) -> dict[str, Any]:
    """The parameters of the `elicitation/create` that puts a call before a person."""
    lines = [
        f"Allow {visible(call.tool, 200)} on {visible(server, 200)}?",
        f"Arguments: {shown(call.arguments)}",
    ]
    if rule.description:
        lines.append(f"Rule: {visible(rule.description, 500)}")
    choice = {"type": "string", "title": "Decision", "enum": list(_ANSWERS)}
    return {
        "message": "\n".join(lines),
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": choice},
            "required": ["decision"],
        },
    }


def decision_of(result: object) -> Answer:
    """What a person said in the form; whatever is not a clear yes is a no."""
    found = as_object(result) or {}
    content = as_object(found.get("content")) or {}
    decision = content.get("decision")
    if found.get("action") != "accept" or not isinstance(decision, str):
        return "deny"
    return _ANSWERS.get(decision, "deny")


def shown(arguments: dict[str, Any]) -> str:
    """Arguments for a person's eyes: as JSON, with everything invisible made visible."""
    import msgspec

    return visible(msgspec.json.encode(arguments).decode())


def _token() -> str:
    return f"claw-{os.urandom(16).hex()}"
