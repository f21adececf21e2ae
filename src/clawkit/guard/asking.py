"""How one conversation gets a person's word on a message: the way there, and the way back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from clawkit.errors import AuditError, PinError
from clawkit.guard.client import Client
from clawkit.guard.journal import Flight, Journal
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.policy.rules import Rule
from clawkit.guard.prompts import (
    APPROVAL,
    Answer,
    Binding,
    Held,
    Passage,
    Side,
    Ticket,
    can_be_shown,
    decision_of,
    question,
    shown,
)
from clawkit.guard.replies import back, denied
from clawkit.guard.warden import Warden
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId, as_object

_WHY: dict[Answer, str] = {
    "deny": "a person said no",
    "timeout": "nobody answered in time",
    "nobody": "a person must approve this call, and nobody can be asked; "
    'open "claw approvals" in a terminal and try again',
}

_TOO_LARGE = "it is too large to be shown to a person"
_FLOOD = "too many questions to a person at once; try again later"
_ROUND = ("requestState", "inputResponses")
"""What a call brings along from its earlier rounds."""

Release = Callable[..., Passage]


class Question(NamedTuple):
    """A message that needs a person's word."""

    side: Side
    message: Message
    line: bytes
    call: Call
    decision: Decision
    policy: Policy
    deliver: Callable[[Passage], None]

    @property
    def rule(self) -> Rule:
        assert self.decision.rule is not None  # Only a rule can say `prompt`.
        return self.decision.rule

    def released(self, line: bytes) -> tuple[Side, Message, bytes, Call, Decision]:
        """What it takes to send it on, as `line`."""
        return self.side, self.message, line, self.call, self.decision


class Asking:
    """What waits for a person in one conversation, and what they allowed for all of it."""

    def __init__(self, warden: Warden, client: Client, journal: Journal) -> None:
        self._warden = warden
        self._client = client
        self._journal = journal
        self._waiting: dict[tuple[Side, RequestId], Held] = {}
        self._granted: set[Binding] = set()

    def redeemed(self, asked: Question, release: Release) -> Passage | None:
        """What a call leads to that brings a person's answer with it; None if it brings none."""
        params: dict[str, Any] = asked.message.get("params", {})
        ticket = self._warden.prompts.redeem(params.get("requestState"))
        if ticket is None:
            return None
        record = self._journal.call(asked.side, asked.call, asked.decision)
        responses = as_object(params.get("inputResponses")) or {}
        answer = decision_of(responses.get(APPROVAL))
        if answer == "session" and ticket.result is not None:
            answer = "once"  # It is the result that was asked about, not the call.
        allowed, why = self._worth(answer, asked.call, ticket.binding)
        self._journal.approval(record, asked.call, why, allowed=allowed)
        if not allowed:
            return _denied(asked, why)
        if ticket.result is not None:
            result = {**ticket.result, "id": asked.message["id"]}
            return Passage(to_client=jsonrpc.encode(result))
        kept = {k: v for k, v in params.items() if k not in _ROUND}
        line = jsonrpc.encode({**asked.message, "params": {**kept, **ticket.resume}})
        return release(*asked.released(line), record, ticket.binding)

    def ask(self, asked: Question, release: Release) -> Passage:
        """Let it pass if a person has allowed it already; else ask, or deny if nobody can be."""
        binding = self._warden.binding(asked.call, asked.policy)
        params: dict[str, Any] = asked.message.get("params", {})
        record = self._journal.call(asked.side, asked.call, asked.decision)
        if binding in self._granted or self._continued(params, binding):
            self._journal.approval(record, asked.call, "allowed before", allowed=True)
            return release(*asked.released(asked.line), record, binding)
        why = "" if self._admitted(asked.policy) else _FLOOD
        if not can_be_shown(asked.call.arguments):
            why = _TOO_LARGE
        if why:
            self._journal.approval(record, asked.call, why, allowed=False)
            return _denied(asked, why)
        if asked.side == "client" and self._client.takes_questions(asked.call.method):
            resume = {key: params[key] for key in _ROUND if key in params}
            ticket = self._ticket(binding, asked.policy, resume)
            about = ((asked.call, asked.rule),)
            return self._question_as_result(asked.message, about, ticket)
        return self._hold(asked, binding, record, release)

    def ask_about(
        self, message: Message, about: tuple[tuple[Call, Rule], ...], flight: Flight, policy: Policy
    ) -> Passage:
        """A result that carries questions which the policy wants a person to see first."""
        why = "" if self._admitted(policy) else _FLOOD
        if not all(can_be_shown(call.arguments) for call, _ in about):
            why = _TOO_LARGE
        if not self._client.takes_questions(flight.call.method):
            why = _WHY["nobody"]
        if why:
            call = about[0][0]
            self._journal.approval(flight.record, call, why, allowed=False)
            return Passage(to_client=denied(message["id"], f"{call.tool}: {why}"))
        binding = self._warden.binding(flight.call, policy)
        ticket = self._ticket(binding, policy, {}, message)
        return self._question_as_result(message, about, ticket)

    def _admitted(self, policy: Policy) -> bool:
        return self._warden.prompts.admit(policy.limits.prompts, policy.limits.prompts_per_minute)

    def _ticket(
        self,
        binding: Binding,
        policy: Policy,
        resume: dict[str, Any],
        result: Message | None = None,
    ) -> Ticket:
        expires = time.monotonic() + policy.limits.prompt_timeout
        return Ticket(binding=binding, expires=expires, resume=resume, result=result)

    def _question_as_result(
        self, message: Message, about: tuple[tuple[Call, Rule], ...], ticket: Ticket
    ) -> Passage:
        params = question(self._warden.server, about)
        result: dict[str, Any] = {
            "resultType": "input_required",
            "inputRequests": {APPROVAL: {"method": "elicitation/create", "params": params}},
            "requestState": self._warden.prompts.issue(ticket),
        }
        return Passage(to_client=jsonrpc.encode(jsonrpc.success(message["id"], result)))

    def answered(self, request_id: object, message: Message) -> Passage | None:
        """What a client's answer to a question of ours leads to; None if it is no such answer."""
        return self._warden.prompts.answered(request_id, decision_of(message.get("result")))

    def holds(self, side: Side, request_id: RequestId) -> bool:
        return (side, request_id) in self._waiting

    def withdraw(self, side: Side, request_id: RequestId) -> bool:
        held = self._waiting.pop((side, request_id), None)
        return held is not None and self._warden.prompts.withdraw(held)

    def end(self) -> list[RequestId]:
        """Nobody needs to answer any more; gives the client's requests that still waited."""
        waiting = dict(self._waiting)
        return [
            request_id
            for (side, request_id), held in waiting.items()
            if self._warden.prompts.withdraw(held) and side == "client"
        ]

    def _continued(self, params: dict[str, Any], binding: Binding) -> bool:
        """Whether this is the next round of a call that a person has allowed."""
        if not any(key in params for key in _ROUND):
            return False
        return self._warden.prompts.is_continued(binding, params.get("requestState"))

    def _hold(self, asked: Question, binding: Binding, record: str, release: Release) -> Passage:
        key = (asked.side, asked.message["id"])

        def settle(answer: Answer) -> Passage:
            self._waiting.pop(key, None)
            try:
                allowed, why = self._worth(answer, asked.call, binding)
                self._journal.approval(record, asked.call, why or answer, allowed=allowed)
            except (AuditError, PinError) as error:
                return _denied(asked, f"nothing may pass: {error}")
            if not allowed:
                return _denied(asked, why)
            return release(*asked.released(asked.line), record, binding)

        held = Held(
            call=asked.call,
            rule=asked.rule,
            binding=binding,
            settle=settle,
            deliver=asked.deliver,
            cancelled=threading.Event(),
            form=self._client.takes_requests(),
        )
        self._waiting[key] = held
        timeout = asked.policy.limits.prompt_timeout
        token = self._warden.prompts.hold(held, timeout)
        if self._client.takes_requests():
            params = question(self._warden.server, ((asked.call, asked.rule),))
            request = jsonrpc.request(token, "elicitation/create", params)
            return Passage(to_client=jsonrpc.encode(request))
        self._ask_in_view(token, held, timeout)
        return Passage()

    def _ask_in_view(self, token: str, held: Held, timeout: float) -> None:
        """Ask in `claw approvals`, in a thread of its own; without one, the answer is `nobody`."""
        from clawkit.guard.approvals import Ask, ask_view
        from clawkit.guard.places import approvals_socket

        call = held.call
        ask = Ask(
            id=token,
            server=self._warden.server,
            client=self._client.name,
            method=call.method,
            tool=call.tool,
            arguments=shown(call.arguments),
            rule=held.rule.number,
            description=held.rule.description,
            digest=held.binding.call,
            policy=held.binding.policy,
            deadline=time.time() + timeout,
            call={"method": call.method, "tool": call.tool, "arguments": call.arguments},
            servers=self._warden.servers,
            file=str(self._warden.policy.path),
        )

        def wait() -> None:
            answer = ask_view(approvals_socket(), ask, held.cancelled)
            late = answer == "deny" and time.time() >= ask.deadline
            answered = "timeout" if late else answer or "nobody"
            passage = self._warden.prompts.answered(token, answered)
            if passage is not None:
                held.deliver(passage)

        threading.Thread(target=wait, daemon=True).start()

    def _worth(self, answer: Answer, call: Call, binding: Binding) -> tuple[bool, str]:
        """Whether an answer allows the call now, and why not if it does not."""
        if answer in _WHY:
            return False, _WHY[answer]
        policy = self._warden.policy.current()
        if answer == "always":
            # The person wrote a rule: it is the rule that allows the call, if it does.
            allowed = self._warden.judge(call, policy, counts=False).action == "allow"
            return allowed, "" if allowed else "the rule that was written does not allow it"
        if self._warden.binding(call, policy) != binding:
            return False, "the policy or the tool changed while a person was asked; try again"
        if answer == "session":
            self._granted.add(binding)
        return True, ""


def _denied(asked: Question, why: str) -> Passage:
    reason = f"{asked.decision.reason}: {why}" if asked.decision.reason else why
    return back(asked.side, denied(asked.message["id"], reason))
