"""How one conversation asks a person for approval: what its client can show, what follows."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec.structs import replace

from clawkit.errors import AuditError, PinError, PolicyError
from clawkit.guard.call_display import call_fields, can_be_read
from clawkit.guard.journal import Flight, Journal
from clawkit.guard.judge import Judge
from clawkit.guard.passages import Passage, Side, denied, returned
from clawkit.guard.pending_approvals import (
    APPROVAL,
    REFERRED,
    Answer,
    ApprovalTicket,
    Binding,
    Choices,
    Commit,
    GivenAnswer,
    HeldMessage,
    Settlement,
    Wait,
    choices,
    decision_of,
    fits_form,
    question,
    referral,
)
from clawkit.guard.policy.call import CLIENT_CAPABILITIES, CLIENT_INFO, ROUND, Call, CallSession
from clawkit.guard.policy.policy import Decision, Policy
from clawkit.guard.policy.rules import Rule
from clawkit.text.normalization import visible
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId, as_object
from clawkit.wire.revisions import NEWEST_LEGACY

if TYPE_CHECKING:
    from clawkit.guard.approvals import AnswerLine, Ask, EndNote

_META = "io.modelcontextprotocol/"
_ROUND_TRIPS = ("tools/call", "resources/read", "prompts/get")
"""What may be answered with a question, in the era of multi-round-trip results."""


class ClientProfile:
    """The program at the other end, as far as its messages tell."""

    def __init__(self) -> None:
        self.name = ""
        self.known = CallSession()
        """What its calls are compared with: what it said first, and what was agreed upon."""
        self._about: object = None
        self._elicits = False
        self._modern = False

    def learn_from_request(self, method: str, params: dict[str, Any]) -> None:
        """Learn from an `initialize`, or from the `_meta` of a request of the modern era."""
        meta = as_object(params.get("_meta")) or {}
        if method == "initialize":
            self._modern = False
            info, capabilities = params.get("clientInfo"), params.get("capabilities")
            self.known = CallSession(client={CLIENT_INFO: info, CLIENT_CAPABILITIES: capabilities})
            self._learn(info, capabilities)
        elif f"{_META}protocolVersion" in meta:
            self._modern = True
            said = (key for key in (CLIENT_INFO, CLIENT_CAPABILITIES) if key in meta)
            if new := {key: meta[key] for key in said if key not in self.known.client}:
                self.known = replace(self.known, client={**self.known.client, **new})
            self._learn(meta.get(CLIENT_INFO), meta.get(CLIENT_CAPABILITIES))

    def learn_from_initialize_result(self, result: dict[str, Any] | None) -> None:
        """Learn from the answer to `initialize` which revision they speak."""
        tasks = (result or {}).get("protocolVersion") == NEWEST_LEGACY
        self.known = replace(self.known, tasks=tasks)

    def _learn(self, info: object, capabilities: object) -> None:
        about = as_object(info)
        if about is not None and about != self._about:
            self._about = about
            self.name = visible(f"{about.get('name', '')}/{about.get('version', '')}", 100)
        elicitation = as_object((as_object(capabilities) or {}).get("elicitation"))
        # One that names what it can show must name forms.
        self._elicits = elicitation is not None and (not elicitation or "form" in elicitation)

    @property
    def is_modern(self) -> bool:
        """Whether its calls can have a next round: only in the modern era."""
        return self._modern

    def takes_requests(self) -> bool:
        """Whether a question can be sent to it as a request: not since the modern era."""
        return self._elicits and not self._modern

    def takes_questions(self, method: str) -> bool:
        """Whether its request can be answered with a question."""
        return self._elicits and self._modern and method in _ROUND_TRIPS


_WHY: dict[Answer, str] = {
    "deny": "a person said no",
    "dismissed": "the form was dismissed",
    "timeout": "nobody answered in time",
    "withdrawn": "withdrawn before anybody answered; not run",
    "nobody": "a person must approve this call, and nobody can be asked; "
    'open "claw approvals" in a terminal, or "claw console", and try again',
    "closed": "the window was closed before anybody answered, and nobody is left to ask; "
    'open "claw approvals" in a terminal, or "claw console", and try again',
    "unclear": "what came back to the question is no answer of a person; try again, or open "
    '"claw approvals" in a terminal, or "claw console"',
    "version": "the window that is to ask is of another version of clawkit; close it, and start "
    "anew what runs since before the update",
    "guarded": "it is asked about from within a guarded server, for which no person is asked",
}

_SCRIPT_SAID_NO = "a script said no"
_UNANSWERED: tuple[Answer, ...] = ("nobody", "closed", "unclear", "version", "guarded")
_ALLOWED_BY_NOW: dict[Answer, str] = {
    "before": "allowed by another answer",
    "policy": "the policy was changed, and allows it",
}

_CHANGED = (
    "this is not the call that was asked about, or the policy or the tool changed while a "
    "person was asked; try again"
)
_TOO_LARGE = "it is too large to be read by a person, and nothing is approved unread"
_NO_ROOM = (
    "it is too long to be shown whole in a form, and nothing is approved unseen; "
    'open "claw approvals" in a terminal, or "claw console", and try again'
)
Release = Callable[["JudgedMessage", str, Binding], Passage]
"""Sends a message on: with its record in the log, and what a person approved."""
About = tuple[tuple[Call, Rule], ...]
"""Calls that a person has to allow together, each with the rule that wants it."""


class JudgedMessage(NamedTuple):
    """A request, and what was decided about it."""

    side: Side
    message: Message
    line: bytes
    call: Call
    decision: Decision
    policy: Policy
    deliver: Callable[[Passage], None]
    ticket: ApprovalTicket | None = None
    """The question of ours that it answers, if it does."""
    approved: Binding | None = None
    """What a person approved in its earlier round, if they did."""
    record: str = ""
    """Its record in the log, if it has one already."""

    @property
    def key(self) -> tuple[Side, RequestId]:
        return self.side, self.message["id"]

    @property
    def rule(self) -> Rule:
        assert self.decision.rule is not None  # Only a rule can say `prompt`.
        return self.decision.rule

    @property
    def rule_wants_each_call(self) -> bool:
        return self.decision.rule is not None and self.decision.rule.each_call


class ToolGrant(NamedTuple):
    """A tool that a person allowed for the session, where this rule asks about it."""

    tool: str
    pin: str
    rule: Rule


class ApprovalFlow:
    """What waits for a person in one conversation, and what they allowed for all of it."""

    def __init__(
        self,
        judge: Judge,
        client: ClientProfile,
        journal: Journal,
        release: Release,
        judge_again: Callable[[JudgedMessage], Passage],
        caught_up: Callable[[], bool],
    ) -> None:
        """`judge_again` is for what was allowed while it waited, by a rule or for this session.

        `caught_up` is whether all was taken in that the client has said.
        """
        self._judge = judge
        self._client = client
        self._journal = journal
        self._release = release
        self._judge_again = judge_again
        self._caught_up = caught_up
        self._waiting: dict[tuple[Side, RequestId], HeldMessage] = {}
        self._granted: set[Binding] = set()
        self._granted_tools: set[ToolGrant] = set()

    def redeemed(self, asked: JudgedMessage) -> Passage | None:
        """What a call leads to that brings a person's answer with it; None if it brings none."""
        ticket = asked.ticket
        if ticket is None:
            return None
        params: dict[str, Any] = asked.message.get("params", {})
        record = self._journal.call(asked.side, asked.call, asked.decision)
        responses = as_object(params.get("inputResponses")) or {}
        answer = decision_of(responses.get(APPROVAL), ticket.choices)
        given = GivenAnswer(answer, "form")
        if answer not in _WHY and ticket.binding != self._binding(asked):
            self._log(record, asked, given, _CHANGED, allowed=False)
            return _denied(asked, _CHANGED)
        if answer == "elsewhere" and ticket.referred is not None:
            held = self._held(
                asked,
                ticket.binding,
                ticket.referred,
                lambda given, commit: self._settled(asked, ticket, record, given, commit),
            )
            return self._hold(asked, held)
        settlement = self._settled(asked, ticket, record, given, Commit())
        if given.covers_others:
            threading.Thread(target=self._judge.prompts.release_covered, daemon=True).start()
        return settlement.passage

    def _settled(
        self,
        asked: JudgedMessage,
        ticket: ApprovalTicket,
        record: str,
        given: GivenAnswer,
        commit: Commit,
    ) -> Settlement:
        """What an answer to a question that went out as a result leads to."""
        if ticket.result is not None and given.answer not in (*_WHY, "elsewhere"):
            # It is the result that was asked about, not the call.
            given = replace(given, answer="once")
        allowed, why = self._commit(given, asked, ticket.binding, ticket.choices, record, commit)
        if not allowed:
            return Settlement(_denied(asked, why), why)
        if ticket.result is not None:
            result = {**ticket.result, "id": asked.message["id"]}
            return Settlement(Passage(to_client=jsonrpc.encode(result)))
        params: dict[str, Any] = asked.message.get("params", {})
        kept = {k: v for k, v in params.items() if k not in ROUND}
        line = jsonrpc.encode({**asked.message, "params": {**kept, **ticket.resume}})
        released = self._release(asked._replace(line=line), record, ticket.binding)
        return Settlement(released)

    def _commit(
        self,
        given: GivenAnswer,
        asked: JudgedMessage,
        binding: Binding,
        offered: Choices,
        record: str,
        commit: Commit,
    ) -> tuple[bool, str]:
        """Let an answer count, and write it down; whether it allows the call, and why not."""
        is_logged = False

        def log_first() -> None:
            """A rule is written when the answer counts and is in the log, and not before."""
            nonlocal is_logged
            commit()
            self._log(record, asked, given, "", allowed=True)
            is_logged = True

        allowed, why = self._worth(given, asked, binding, offered, log_first)
        commit()  # What was weighed may have taken its time: a no that came meanwhile wins.
        if allowed and not is_logged and given.answer not in _ALLOWED_BY_NOW:
            # So may have the log; a rule is written under the policy's lock.
            unchanged = self._judge.policy.current().digest == binding.policy
            allowed, why = unchanged, "" if unchanged else _CHANGED
        if not (is_logged and allowed):
            self._log(record, asked, given, why, allowed=allowed)
        commit.done()
        if allowed and not asked.rule_wants_each_call:
            self._grant(given.answer, asked, binding)
        return allowed, why

    def _grant(self, answer: Answer, asked: JudgedMessage, binding: Binding) -> None:
        """Remember what an answer allows besides the call."""
        if answer == "session":
            self._granted.add(binding)
        elif answer == "tool" and (grant := _grant(asked.call, asked.rule, binding)) is not None:
            self._granted_tools.add(grant)

    def _log(
        self, record: str, asked: JudgedMessage, given: GivenAnswer, why: str, *, allowed: bool
    ) -> None:
        """Write down what became of a question, and where it was answered if it was."""
        said = why or _ALLOWED_BY_NOW.get(given.answer, given.answer)
        source = "" if given.answer in _UNANSWERED else given.source or ""
        self._journal.approval(record, asked.call, said, allowed=allowed, source=source)

    def ask(self, asked: JudgedMessage) -> Passage:
        """Let it pass if a person has allowed it already; else ask, or deny if nobody can be."""
        binding = self._binding(asked)
        record = asked.record or self._journal.call(asked.side, asked.call, asked.decision)
        if binding == asked.approved or self._is_granted(asked.call, asked.rule, binding):
            self._journal.approval(record, asked.call, "allowed before", allowed=True)
            return self._release(asked, record, binding)
        offered = self._choices(asked)

        def settle(given: GivenAnswer, commit: Commit) -> Settlement:
            allowed, why = self._commit(given, asked, binding, offered, record, commit)
            if not allowed:
                return Settlement(_denied(asked, why), why)
            if given.answer in _ALLOWED_BY_NOW and asked.side == "client":
                return Settlement(self._judge_again(asked._replace(record=record)))
            return Settlement(self._release(asked, record, binding))

        about = ((asked.call, asked.rule),)
        as_result = asked.side == "client" and self._client.takes_questions(asked.call.method)
        form = as_result or self._client.takes_requests()
        held = self._held(asked, binding, asked.call, settle, offered, form=form)
        why = self._obstacle(about, asked.policy, form=form)
        if why:
            self._journal.approval(record, asked.call, why, allowed=False)
            return _denied(asked, why)
        if as_result:
            ticket = self._ticket(binding, asked.policy, asked.call)
            return self._question_as_result(asked.message, about, ticket, offered)
        return self._hold(asked, held, form=form)

    def _binding(self, asked: JudgedMessage) -> Binding:
        return self._judge.binding(asked.call, asked.policy, asked.decision.rule)

    def _choices(self, asked: JudgedMessage) -> Choices:
        """What a person may answer: also for good, where a rule can say it."""
        if asked.call.method != "tools/call" or asked.call.unusual():
            return choices(asked.rule, {}, tool=False)
        if asked.policy.denies_below(asked.rule):
            return choices(asked.rule, {})
        from pathlib import Path

        from clawkit.guard.authoring.edit import folder_rule, tool_rule

        call, servers = asked.call, self._judge.servers
        rules: dict[Answer, str] = {}
        with suppress(PolicyError):
            rules["folder"] = folder_rule(
                call, servers, str(Path.home()), follows_links=self._judge.follows_links
            )
        with suppress(PolicyError):
            rules["tool always"] = tool_rule(call.tool, call.method, servers)
        return choices(asked.rule, rules)

    def _is_granted(self, call: Call, rule: Rule, binding: Binding) -> bool:
        """Whether a person has allowed the call, or its tool, for this session."""
        if binding in self._granted:
            return True
        grant = _grant(call, rule, binding) if self._granted_tools else None
        return grant in self._granted_tools

    def ask_about(self, message: Message, about: About, flight: Flight, policy: Policy) -> Passage:
        """A result that carries questions which the policy wants a person to see first."""
        why = self._obstacle(about, policy, form=True)
        if not self._client.takes_questions(flight.call.method):
            why = _WHY["nobody"]
        if why:
            call = about[0][0]
            self._journal.approval(flight.record, call, why, allowed=False)
            return Passage(to_client=denied(message["id"], f"{call.tool}: {why}"))
        binding = self._judge.binding(flight.call, policy, flight.decision.rule)
        ticket = self._ticket(binding, policy, flight.call, message)
        # It is about a result: no answer counts for more than that.
        offered = choices(replace(about[0][1], each_call=True), {}, tool=False)
        return self._question_as_result(message, about, ticket, offered)

    def _obstacle(self, about: About, policy: Policy, *, form: bool) -> str:
        """Why a person cannot be asked about these calls, if they cannot."""
        limits = policy.limits
        if why := self._judge.prompts.admit(limits.prompts, limits.prompts_per_minute):
            return why
        if not all(can_be_read(call) for call, _ in about):
            return _TOO_LARGE
        return _NO_ROOM if form and not fits_form(about) and not _has_window() else ""

    def _ticket(
        self,
        binding: Binding,
        policy: Policy,
        call: Call,
        result: Message | None = None,
    ) -> ApprovalTicket:
        return ApprovalTicket(
            binding=binding,
            expires=time.monotonic() + policy.limits.prompt_timeout,
            resume=call.round(),
            result=result,
            next_round=call.known.next_round,
        )

    def _question_as_result(
        self, message: Message, about: About, ticket: ApprovalTicket, offered: Choices
    ) -> Passage:
        if fits_form(about):
            params = question(self._judge.server, about, offered, str(self._judge.policy.path))
            ticket = replace(ticket, choices=offered)
        else:
            params = referral(self._judge.server, about)
            ticket = replace(ticket, referred=_together(about))
        result: dict[str, Any] = {
            "resultType": "input_required",
            "inputRequests": {APPROVAL: {"method": "elicitation/create", "params": params}},
            "requestState": self._judge.prompts.issue(ticket),
        }
        return Passage(to_client=jsonrpc.encode(jsonrpc.success(message["id"], result)))

    def answered(self, request_id: object, message: Message) -> Passage | None:
        """What a client's answer to a question of ours leads to; None if it is no such answer."""
        return self._judge.prompts.answered_in_form(request_id, message.get("result"))

    def holds(self, side: Side, request_id: RequestId) -> bool:
        return (side, request_id) in self._waiting

    def withdraw(self, side: Side, request_id: RequestId) -> bool:
        held = self._waiting.pop((side, request_id), None)
        return held is not None and self._withdraw(held)

    def end(self) -> list[RequestId]:
        """Nobody needs to answer any more; gives the client's requests that still waited."""
        waiting = dict(self._waiting)
        return [
            request_id
            for (side, request_id), held in waiting.items()
            if self._withdraw(held) and side == "client"
        ]

    def _withdraw(self, held: HeldMessage) -> bool:
        """Whether it still waited; then the log says that it was asked about, and never run."""
        waited = self._judge.prompts.withdraw(held)
        if waited:
            held.settle(GivenAnswer("withdrawn"), Commit())
        return waited

    def _held(
        self,
        asked: JudgedMessage,
        binding: Binding,
        call: Call,
        settle: Callable[[GivenAnswer, Commit], Settlement],
        offered: Choices = REFERRED,
        *,
        form: bool = False,
    ) -> HeldMessage:
        """A message that is kept until a person has decided about `call`."""

        def settle_once(given: GivenAnswer, commit: Commit) -> Settlement:
            try:
                settlement = settle(given, commit)
            except (AuditError, PinError) as error:
                commit.without_log()
                why = f"nothing may pass: {error}"
                settlement = Settlement(_denied(asked, why), why)
            if self._waiting.get(asked.key) is held:  # it may have been asked about anew
                del self._waiting[asked.key]
            return settlement

        held = HeldMessage(
            call=call,
            rule=asked.rule,
            binding=binding,
            settle=settle_once,
            log=self._judge.audit.held,
            deliver=asked.deliver,
            cancelled=Wait(),
            choices=offered if form and fits_form(((call, asked.rule),)) else REFERRED,
            owner=self,
            by_server=asked.side == "server",
            covered=lambda: self._is_covered(asked, binding),
            caught_up=self._caught_up,
        )
        return held

    def _is_covered(
        self, asked: JudgedMessage, binding: Binding
    ) -> Literal["", "before", "policy"]:
        """Whether a call that waits is allowed by now: for this session, or by a rule."""
        if self._is_granted(asked.call, asked.rule, binding):
            return "before"
        policy = self._judge.policy.current()
        if policy.digest == binding.policy or asked.side != "client":
            return ""
        with suppress(PinError):  # what is not known covers nothing
            if self._judge.decide(asked.call, policy, counts=False).action == "allow":
                return "policy"
        return ""

    def _hold(self, asked: JudgedMessage, held: HeldMessage, *, form: bool = False) -> Passage:
        """Keep a message, and ask about it in a form or in the view."""
        self._waiting[asked.key] = held
        prompts, timeout = self._judge.prompts, asked.policy.limits.prompt_timeout
        fits = held.choices is not REFERRED
        waits = form and prompts.has_form(self)
        token = prompts.hold(held, timeout, self._form_of(held, fits=fits) if form else None)
        if not fits or (waits and _has_window()):
            self._ask_in_windows(token, held, asked.policy)
        shown = prompts.next_form(self) if form else None
        return Passage() if shown is None else Passage(to_client=shown[1])

    def _form_of(self, held: HeldMessage, *, fits: bool) -> Callable[[str], bytes]:
        """Writes the form that asks about a message, or sends to where there is room for it."""
        server, about = self._judge.server, ((held.call, held.rule),)
        file = str(self._judge.policy.path)
        params = question(server, about, held.choices, file) if fits else referral(server, about)
        return lambda token: jsonrpc.encode(jsonrpc.request(token, "elicitation/create", params))

    def _ask_in_windows(self, token: str, held: HeldMessage, policy: Policy) -> None:
        """Ask in `claw approvals`, in a thread of its own; without one, the answer is `nobody`."""
        from clawkit.guard.approval_socket import ask_windows
        from clawkit.guard.approvals import Ask, EndNote, call_digest
        from clawkit.guard.locations import approvals_folder

        call, timeout = call_fields(held.call), policy.limits.prompt_timeout
        ask = Ask(
            id=token,
            server=self._judge.server,
            client=self._client.name,
            method=held.call.method,
            tool=held.call.tool,
            rule=held.rule.number,
            description=held.rule.description,
            digest=call_digest(call),
            policy=held.binding.policy,
            deadline=time.time() + timeout,
            call=call,
            servers=self._judge.servers,
            file=str(self._judge.policy.path),
            asked=time.time(),
            local=self._judge.follows_links,
            each_call=held.rule.each_call,
            no_rule=policy.denies_below(held.rule),
            by_server=held.by_server,
        )

        def decide(line: AnswerLine) -> EndNote | None:
            given = _given(line, ask)
            settlement = self._judge.prompts.deliver_answer(token, given)
            if settlement is None:
                waits = self._judge.prompts.is_waiting(token)
                return None if waits else EndNote(token, held.cancelled.why)
            if settlement.refusal and line.answer != "deny":
                return EndNote(token, "refused", problem=settlement.refusal, answer=line.answer)
            return EndNote(token, line.answer, answer=line.answer)

        def wait() -> None:
            answer = ask_windows(approvals_folder(), ask, held.cancelled, decide) or "nobody"
            # Without an answer in the view, a form in the client that shows all of it still asks.
            if answer not in _UNANSWERED or held.choices is REFERRED:
                self._judge.prompts.deliver_answer(token, GivenAnswer(answer))

        threading.Thread(target=wait, daemon=True).start()

    def _worth(
        self,
        given: GivenAnswer,
        asked: JudgedMessage,
        binding: Binding,
        offered: Choices,
        last: Callable[[], None],
    ) -> tuple[bool, str]:
        """Whether an answer allows the call now, and why not if it does not.

        `last` is called before a rule is written, and may raise to prevent that.
        """
        answer = given.answer
        writes = answer == "always" or answer in offered.rules
        if answer in _WHY:
            scripted = answer == "deny" and given.source == "script"
            return False, _SCRIPT_SAID_NO if scripted else _WHY[answer]
        if answer in _ALLOWED_BY_NOW:
            covered = bool(self._is_covered(asked, binding))
            return covered, "" if covered else "what was allowed does not cover it"
        call, policy = asked.call, self._judge.policy.current()
        now = self._judge.binding(call, policy, asked.decision.rule)
        if replace(now, policy=binding.policy) != binding:
            return False, _CHANGED
        if asked.rule_wants_each_call:
            if answer == "always":
                return False, "the rule that asks wants to be asked about each such call"
            answer = "once"
        if writes:
            rule = offered.rules.get(answer, given.rule)
            if why := self._write(rule, asked.rule, binding, last):
                return False, why
            return self._worth_of_rule(call)
        why = _CHANGED if now != binding else self._denied_by_now(asked, policy)
        return not why, why

    def _worth_of_rule(self, call: Call) -> tuple[bool, str]:
        """The person wrote a rule: it is the rule that allows the call, if it does."""
        policy = self._judge.policy.current()
        allowed = self._judge.decide(call, policy, counts=False).action == "allow"
        return allowed, "" if allowed else "the rule that was written does not allow it"

    def _denied_by_now(self, asked: JudgedMessage, policy: Policy) -> str:
        """Why a call is denied after all: where its paths lead may have changed meanwhile."""
        if asked.side != "client":
            return ""
        again = self._judge.decide(asked.call, policy, counts=False)
        return again.reason if again.action == "deny" else ""

    def _write(self, rule: str, asking: Rule, binding: Binding, last: Callable[[], None]) -> str:
        """Write a rule that was shown and chosen, above the one that asked; else why not."""
        from clawkit.guard.authoring.edit import insert_rule

        if not rule:
            return "the rule that came with the answer is not one for this call"
        try:
            path = self._judge.policy.path
            insert_rule(path, rule, asking.number, digest=binding.policy, last=last)
        except PolicyError as error:
            return f"the rule could not be written: {error}"
        return ""


def _given(line: AnswerLine, ask: Ask) -> GivenAnswer:
    """An answer from a window, with its rule if that is one for this question."""
    rule = ""
    if line.answer == "always":
        from clawkit.guard.approval_answers import is_rule_of

        rule = line.rule if is_rule_of(line.rule, ask) else ""
    return GivenAnswer(line.answer, line.source, rule)


def _grant(call: Call, rule: Rule, binding: Binding) -> ToolGrant | None:
    """What stands for a tool in a session: not what is odd about one call of it."""
    if call.method != "tools/call" or rule.each_call or call.unusual():
        return None
    # Another rule written above it moves a rule, and leaves it what it is.
    return ToolGrant(call.tool, binding.pin, replace(rule, number=0, line=0))


def _together(about: About) -> Call:
    """Calls that are decided about together, as the one that the view shows."""
    if len(about) == 1:
        return about[0][0]
    questions = [call_fields(call) for call, _ in about]
    return Call("inputRequests", "inputRequests", {"questions": questions})


def _has_window() -> bool:
    from clawkit.guard.approvals import has_window
    from clawkit.guard.locations import approvals_folder

    return has_window(approvals_folder())


def _denied(asked: JudgedMessage, why: str) -> Passage:
    reason = f"{asked.decision.reason}: {why}" if asked.decision.reason else why
    return returned(asked.side, denied(asked.message["id"], reason))
