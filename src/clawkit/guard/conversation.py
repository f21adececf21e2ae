"""The conversation of one client with one server: every message is parsed, judged and logged.

It knows no transport: a message comes in as bytes, and a `Passage` says which bytes go where. An
allowed message that needs no change is forwarded as the bytes it came as, on one line.
"""

from __future__ import annotations

import time
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Callable
from re import Pattern
from typing import Any

from msgspec.structs import replace

from clawkit.errors import (
    AuditError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    PinError,
    ProtocolError,
)
from clawkit.guard.approval_flow import ApprovalFlow, ClientProfile, JudgedMessage
from clawkit.guard.inspection import (
    Inspected,
    inspect_instructions,
    inspect_links,
    inspect_list,
    inspect_questions,
    inspect_text,
    judge_question,
    labelled,
    redacted,
    rest_blocked,
    with_declaration,
    without_declaration,
)
from clawkit.guard.journal import DeferredAudit, Flight, Journal
from clawkit.guard.judge import Judge, call_digest
from clawkit.guard.passages import Passage, Side, denied, failure, forwarded, id_within, returned
from clawkit.guard.path_queue import PathQueue
from clawkit.guard.pending_approvals import ApprovalTicket, Binding, Round
from clawkit.guard.pins import LISTS
from clawkit.guard.policy.call import Call, call_of
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.scan.sanitizer import holds_marker, without_nonce
from clawkit.guard.strict_parser import parse
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId, as_object

Deliver = Callable[[Passage], None]
Flights = dict[RequestId, Flight]

_OTHER: dict[Side, Side] = {"client": "server", "server": "client"}
_ENVELOPE = frozenset({"jsonrpc", "id", "method", "params"})
_MOST_CANCELLED = 1024
_MOST_ASKED = 1024
_LARGE = 64 * 1024
_WITHHELD = (
    "an argument holds a [redacted: …] marker, which is not the value: the guard withheld that "
    "from an earlier answer. Leave it out, or let the person fill it in"
)


class GuardConversation:
    """Handles the messages of one client and one server. `receive` is safe for two threads."""

    def __init__(
        self,
        judge: Judge,
        host: str,
        deliver: Deliver,
        *,
        asked: Flights | None = None,
        defers: bool = False,
        caught_up: Callable[[], bool] = lambda: True,
    ) -> None:
        """`deliver` takes passages that become ready later; conversations may share `asked`.

        With `defers`, the caller writes `deferred_audit` from time to time. `caught_up` is whether
        all was received that the client has said.
        """
        self.client = ClientProfile()
        self.journal = Journal(judge, host)
        self._judge = judge
        self._policy = judge.policy.current()
        self._deliver = deliver
        self._flights: dict[Side, Flights] = {
            "client": {},
            "server": {} if asked is None else asked,
        }
        self._cancelled: deque[tuple[Side, RequestId]] = deque()
        self.deferred_audit = DeferredAudit(self.journal, defers=defers)
        self._approvals = ApprovalFlow(
            judge, self.client, self.journal, self._forward, self._allow_in_turn, caught_up
        )
        self._path_queue = PathQueue(
            judge, self._flights["client"], self._decide_again, self._refuse
        )

    def receive(self, side: Side, line: bytes | None, deliver: Deliver | None = None) -> Passage:
        """Handle a line from one side; None is one that was too long."""
        passage = self._receive(side, line, deliver)
        if self._path_queue:
            self._path_queue.go_on()
        return passage

    async def receive_async(
        self, side: Side, line: bytes | None, deliver: Deliver | None = None
    ) -> Passage:
        """Like `receive`, for an event loop: a large line is handled in a thread."""
        if line is None or len(line) < _LARGE:
            return self.receive(side, line, deliver)
        import asyncio

        return await asyncio.to_thread(self.receive, side, line, deliver)

    def _receive(self, side: Side, line: bytes | None, deliver: Deliver | None) -> Passage:
        # An answer is inspected by the policy that judged its call, or a newer one.
        policy = self._fresh_policy() if side == "client" else self._policy
        try:
            if line is None:
                most = policy.limits.message
                raise InvalidRequestError(f"Invalid request: more than {most} bytes in one message")
            line = line.removeprefix(BOM_UTF8)  # some programs begin their output with it
            message = parse(line, policy.limits.depth, exact=side == "client")
        except ProtocolError as error:
            return self._unreadable(side, line, error)
        line = jsonrpc.one_line(line)
        try:
            return self._pass(side, message, line, policy, deliver or self._deliver)
        except (AuditError, PinError) as error:
            return self._closed(side, message, error)
        except Exception as error:  # noqa: BLE001 - a bug of ours must neither let it pass nor hang
            return self._failed(side, message, line, error)

    def _pass(
        self, side: Side, message: Message, line: bytes, policy: Policy, deliver: Deliver
    ) -> Passage:
        if "method" not in message:
            return self._answer(side, message, line, policy)
        if side == "server":
            policy = self._fresh_policy()
        if "id" not in message:
            return self._notice(side, message, line, policy)
        return self._request(side, message, line, policy, deliver)

    def _failed(self, side: Side, message: Message, line: bytes, error: Exception) -> Passage:
        """Report where the guard failed, without values (secrets); answer with an error."""
        import sys
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        name = type(error).__name__
        sys.stderr.write(f"claw proxy: {name} in {where.name}, line {where.lineno}\n")
        problem = InternalError("The guard failed on this message")
        if "method" in message:
            return self._unreadable(side, line, problem)
        # An answer that is awaited: others are dropped before anything can fail.
        return forwarded(side, failure(message.get("id"), problem))

    def _fresh_policy(self) -> Policy:
        self._policy = self._judge.policy.current()
        return self._policy

    def in_flight(self) -> int:
        """How many requests the server has not answered yet."""
        return len(self._flights["client"])

    def end(self, reason: str) -> list[bytes]:
        """The server is gone: returns an error for each request that it has not answered."""
        unanswered = [*self._flights["client"], *self._path_queue.end(), *self._approvals.end()]
        self._flights["client"].clear()
        return [failure(request_id, InternalError(reason)) for request_id in unanswered]

    # Requests, from either side.

    def _request(
        self, side: Side, message: Message, line: bytes, policy: Policy, deliver: Deliver
    ) -> Passage:
        if self._is_taken(side, message["id"]):
            error = InvalidRequestError("Invalid request: this id is already in use")
            return self._reject(side, message, line, error)
        if side == "client":
            return self._client_request(message, line, policy, deliver)
        if len(self._flights["server"]) >= _MOST_ASKED:
            error = InvalidRequestError("Too many requests that the client has not answered yet")
            return self._reject(side, message, line, error)
        return self._server_request(message, line, policy, deliver)

    def _reject(self, side: Side, message: Message, line: bytes, error: ProtocolError) -> Passage:
        self.journal.dropped(side, message["method"], error.message, line)
        return returned(side, failure(message["id"], error))

    def _is_taken(self, side: Side, request_id: RequestId) -> bool:
        if side == "server" and self._judge.prompts.is_waiting(request_id):
            return True
        if side == "client" and request_id in self._path_queue:
            return True
        return request_id in self._flights[side] or self._approvals.holds(side, request_id)

    def _client_request(
        self, message: Message, line: bytes, policy: Policy, deliver: Deliver
    ) -> Passage:
        params = message.get("params", {})
        self.client.learn_from_request(message["method"], params)
        self.journal.client = self.client.name
        try:
            call = _call_in(message)
        except InvalidParamsError as error:
            return self._reject("client", message, line, error)
        call, ticket, earlier = self._in_its_round(call)
        approved = None if earlier is None else earlier.approved
        if holds_marker(line):
            decision = Decision(action="deny", rule=None, reason=_WITHHELD)
        else:
            known = ticket is not None or approved is not None
            decision = self._decide(call, params, policy, counts=not known)
        judged = JudgedMessage(
            "client", message, line, call, decision, policy, deliver, ticket, approved
        )
        if decision.action == "deny":
            return self._refuse(judged)
        if (passage := self._approvals.redeemed(judged)) is not None:
            return passage
        if decision.action == "prompt":
            return self._approvals.ask(judged)
        return self._allow_in_turn(judged)

    def _allow_in_turn(self, asked: JudgedMessage) -> Passage:
        """Forward a call that a rule allows, or queue it behind calls that may change its paths."""
        with self._path_queue.lock:
            if asked.decision.action == "prompt":  # A rule that was written since may allow it.
                asked = self._judged_again(asked)
            if asked.decision.action != "allow":
                return self._decide_again(asked)
            if self._path_queue.obstacle(asked):
                self._path_queue.wait(asked)
                return Passage()
            return self._allow(asked)

    def _in_its_round(self, call: Call) -> tuple[Call, ApprovalTicket | None, Round | None]:
        """The call, and the question that it answers, if any: ours or the server's.

        Only then are its `requestState` and `inputResponses` no parameters of the call itself.
        """
        call = replace(call, known=self.client.known)
        brought = call.round()
        if not brought or not self.client.is_modern:
            return call, None, None
        state = brought.get("requestState")
        if (ticket := self._judge.prompts.redeem(state)) is not None:
            return call.resumed(ticket.resume, next_round=ticket.next_round), ticket, None
        following = call.following()
        earlier = self._judge.prompts.next_round(call_digest(following), state)
        return call if earlier is None else following, None, earlier

    def _allow(self, asked: JudgedMessage) -> Passage:
        record = asked.record or self.journal.call("client", asked.call, asked.decision)
        return self._forward(asked, record)

    def _refuse(self, asked: JudgedMessage) -> Passage:
        try:
            if asked.record:  # a person was asked about it before
                reason = asked.decision.reason
                self.journal.approval(asked.record, asked.call, reason, allowed=False)
            else:
                self.journal.call("client", asked.call, asked.decision)
        except AuditError as error:
            return self._closed("client", asked.message, error)
        return returned("client", denied(asked.message["id"], asked.decision.reason))

    def _judged_again(self, asked: JudgedMessage) -> JudgedMessage:
        policy = self._fresh_policy()
        decision = self._judge.decide(asked.call, policy, counts=False)
        return asked._replace(decision=decision, policy=policy)

    def _decide_again(self, asked: JudgedMessage) -> Passage:
        """Judge a queued call again, now that the calls before it have ended."""
        try:
            asked = self._judged_again(asked)
            if asked.decision.action == "deny":
                return self._refuse(asked)
            if asked.decision.action == "prompt":
                return self._approvals.ask(asked)
            return self._allow(asked)
        except (AuditError, PinError) as error:
            return self._closed("client", asked.message, error)

    @property
    def waits(self) -> bool:
        """Whether calls are queued behind other calls."""
        return bool(self._path_queue)

    def _decide(
        self, call: Call, params: dict[str, Any], policy: Policy, *, counts: bool
    ) -> Decision:
        """Decide about the call and about the answers to a server's questions in it."""
        if "inputResponses" in params:
            brought = {"inputResponses": params["inputResponses"]}
            answers = Call("inputResponses", "inputResponses", brought)
            decision = self._judge.decide(answers, policy, counts=False)
            if decision.action != "allow":
                return Decision(action="deny", rule=decision.rule, reason=decision.reason)
            for answer in (as_object(params["inputResponses"]) or {}).values():
                self._judge.learn_roots(answer)
        return self._judge.decide(call, policy, counts=counts)

    def _server_request(
        self, message: Message, line: bytes, policy: Policy, deliver: Deliver
    ) -> Passage:
        inspected = inspect_text(without_declaration(message), line, policy)
        original = inspected.message.get("params", {})
        decision, call, params = judge_question(message["method"], original, self._judge, policy)
        if inspected.refusal and decision.action != "deny":
            decision = Decision(action="deny", rule=decision.rule, reason=inspected.refusal)
        if decision.action != "deny":
            params = labelled(message["method"], params, self._judge)
        if params is not original or inspected.message is not message:
            message = with_declaration({**message, "params": params})
            line = jsonrpc.encode(message)
        judged = JudgedMessage("server", message, line, call, decision, policy, deliver)
        if decision.action == "prompt":
            return self._approvals.ask(judged)
        record = self.journal.call("server", call, decision)
        if decision.action == "deny":
            return returned("server", denied(message["id"], decision.reason))
        return self._forward(judged, record)

    def _forward(
        self, asked: JudgedMessage, record: str, approved: Binding | None = None
    ) -> Passage:
        self._flights[asked.side][asked.message["id"]] = Flight(
            call=asked.call,
            record=record,
            started=time.monotonic(),
            decision=asked.decision,
            first_page=asked.message.get("params", {}).get("cursor") is None,
            approved=approved,
        )
        return forwarded(asked.side, asked.line)

    # Answers.

    def _answer(self, side: Side, message: Message, line: bytes, policy: Policy) -> Passage:
        request_id = message.get("id")
        if request_id is not None and not jsonrpc.valid_id(request_id):
            error = InvalidRequestError("an answer whose id is neither a string nor an integer")
            return self._unreadable(side, line, error)
        if (
            side == "client"
            and (passage := self._approvals.answered(request_id, message)) is not None
        ):
            return passage
        flight = (
            self._flights[_OTHER[side]].pop(request_id, None) if request_id is not None else None
        )
        if flight is None:
            return self._dropped(side, "", "an answer that nobody waits for", line)
        try:
            if side == "server":
                return self._server_answer(message, line, flight, policy)
            if flight.call.method == "roots/list":
                self._judge.learn_roots(message.get("result"))
            self.deferred_audit.add(side, flight, Inspected(message), line)
            return forwarded(side, without_nonce(line))
        except (AuditError, PinError) as error:
            return forwarded(side, failure(request_id, InternalError(f"Not passed on: {error}")))

    def _server_answer(
        self, message: Message, line: bytes, flight: Flight, policy: Policy
    ) -> Passage:
        inspected = self._inspect_answer(message, line, flight, policy)
        refusal = inspected.refusal
        if inspected.message is not message:
            line = jsonrpc.encode(inspected.message)
        look = policy.scan.injection == "flag" and not refusal
        self.deferred_audit.add("server", flight, inspected, line, look=look)
        if refusal:
            return Passage(to_client=denied(message["id"], f"the answer was held back: {refusal}"))
        result = as_object(inspected.message.get("result"))
        if flight.call.method == "initialize":
            self.client.learn_from_initialize_result(result)
        if result is not None and result.get("resultType") == "input_required":
            self._await_next_round(flight, result.get("requestState"))
        if inspected.ask:
            return self._approvals.ask_about(inspected.message, inspected.ask, flight, policy)
        return Passage(to_client=line)

    def _await_next_round(self, flight: Flight, state: object) -> None:
        call, approved = call_digest(flight.call.following()), flight.approved
        if approved is not None:
            approved = replace(approved, call=call)
        self._judge.prompts.continues(call, state, approved)

    def _inspect_answer(
        self, message: Message, line: bytes, flight: Flight, policy: Policy
    ) -> Inspected:
        # Pins are of what the server sent, before anything is redacted.
        inspected, defines = self._inspect_definitions(without_declaration(message), flight, policy)
        if inspected.refusal:
            return inspected
        # Injections that are only flagged can be looked for after the answer is sent; definitions
        # have been scanned already, and a person may have accepted them.
        later = policy.scan.injection == "flag" or defines
        if inspected.message is not message:
            line = jsonrpc.encode(inspected.message)
        text = inspect_text(inspected.message, line, policy, injections=not later)
        inspected = Inspected(text.message, (*inspected.flags, *text.flags), text.refusal)
        if inspected.refusal:
            return inspected
        if patterns := _redactions(flight, policy):
            inspected = Inspected(redacted(inspected.message, patterns), inspected.flags)
        if inspected.message is not message:
            inspected = replace(inspected, message=with_declaration(inspected.message))
        inspected = inspect_questions(inspected, "result", self._judge, policy)
        return inspected if inspected.refusal else inspect_links(inspected, self._judge, policy)

    def _inspect_definitions(
        self, message: Message, flight: Flight, policy: Policy
    ) -> tuple[Inspected, bool]:
        """The answer without quarantined definitions, and whether it is one with definitions."""
        method = flight.call.method
        if (kind := LISTS.get(method)) is not None:
            member = kind.member
            found = inspect_list(
                Inspected(message), kind, self._judge, policy, first_page=flight.first_page
            )
        elif method in ("initialize", "server/discover"):
            member = "instructions"
            found = inspect_instructions(Inspected(message), method, self._judge, policy)
        else:
            return Inspected(message), False
        refusal = found.refusal or rest_blocked(message, member, policy)
        return replace(found, refusal=refusal), True

    # Notifications and invalid messages.

    def _notice(self, side: Side, message: Message, line: bytes, policy: Policy) -> Passage:
        method: str = message["method"]
        if not method.startswith("notifications/"):
            return self._dropped(side, method, "a request without an id", line)
        if method == "notifications/cancelled" and self._cancel(side, message.get("params", {})):
            self.journal.notice(side, method, line)
            return Passage()
        flags: tuple[str, ...] = ()
        if side == "client":
            if reason := self._why_not_noticed(message, policy):
                return self._dropped(side, method, reason, line)
            line = without_nonce(line)
        else:
            inspected = inspect_text(without_declaration(message), line, policy)
            if not inspected.refusal:
                inspected = inspect_questions(inspected, "params", self._judge, policy)
            if inspected.refusal or inspected.ask:
                reason = inspected.refusal or "a person has to allow it"
                return self._dropped(side, method, reason, line, inspected.flags)
            flags = inspected.flags
            patterns = tuple(p for rule in policy.rules for p in rule.redact)
            if patterns and method.startswith("notifications/tasks"):
                inspected = Inspected(redacted(inspected.message, patterns), flags)
            if inspected.message is not message:
                line = jsonrpc.encode(with_declaration(inspected.message))
        self.journal.notice(side, method, line, flags)
        return forwarded(side, line)

    def _dropped(
        self, side: Side, method: str, reason: str, line: bytes, flags: tuple[str, ...] = ()
    ) -> Passage:
        self.journal.dropped(side, method, reason, line, flags)
        return Passage()

    def _why_not_noticed(self, message: Message, policy: Policy) -> str:
        """Why a client's notification is not forwarded; empty if it is."""
        try:
            decision = self._judge.decide(_call_in(message), policy)
        except InvalidParamsError as error:
            return error.message
        return decision.reason if decision.action == "deny" else ""

    def _cancel(self, side: Side, params: dict[str, Any]) -> bool:
        """Cancel a request; whether it was still waiting here, not forwarded yet."""
        request_id: Any = params.get("requestId")
        if not jsonrpc.valid_id(request_id):
            return False
        if self._approvals.withdraw(side, request_id):
            return True
        if side == "client" and self._path_queue.withdraw(request_id):
            return True
        if (flight := self._flights[side].get(request_id)) is None:
            return False
        # It may never be answered: its arguments need not be kept.
        bare = Call(flight.call.method, flight.call.tool, {})
        self._flights[side][request_id] = replace(flight, call=bare, cancelled=time.monotonic())
        self._cancelled.append((side, request_id))
        if len(self._cancelled) > _MOST_CANCELLED:
            oldest_side, oldest = self._cancelled.popleft()
            self._flights[oldest_side].pop(oldest, None)
        return False

    def _unreadable(self, side: Side, line: bytes | None, error: ProtocolError) -> Passage:
        """Drop an invalid message; who waits for it gets an error, if its id is readable."""
        request_id = None if line is None else id_within(line)
        try:
            self.journal.dropped(side, "", error.message, line)
        except AuditError as problem:
            error = InternalError(str(problem))
        if side == "client":
            return Passage(to_client=failure(request_id, error))
        owed = self._flights["client"]
        # A line of plain text is noise; one that begins like JSON was meant as an answer.
        meant = line is None or line.lstrip()[:1] in (b"{", b"[")
        if request_id is None and meant and len(owed) == 1:
            request_id = next(iter(owed), None)
        if request_id is None or owed.pop(request_id, None) is None:
            return Passage()
        reason = f"The server's answer cannot be used: {error.message}"
        return Passage(to_client=failure(request_id, InternalError(reason)))

    def _closed(self, side: Side, message: Message, error: AuditError | PinError) -> Passage:
        """Fail closed: nothing passes while the log or the pins cannot be used."""
        if "method" not in message or "id" not in message:
            return Passage()
        reason = f"Nothing may pass: {error}"
        return returned(side, failure(message["id"], InternalError(reason)))


def _call_in(message: Message) -> Call:
    """The call that rules look at. Raises InvalidParamsError."""
    extras = {key: value for key, value in message.items() if key not in _ENVELOPE}
    return call_of(message["method"], message.get("params", {}), extras)


def _redactions(flight: Flight, policy: Policy) -> tuple[Pattern[str], ...]:
    """The patterns to redact from an answer. A task's result may belong to any rule's call."""
    if flight.call.method.startswith("tasks/"):
        return tuple(pattern for rule in policy.rules for pattern in rule.redact)
    return () if flight.decision.rule is None else flight.decision.rule.redact
