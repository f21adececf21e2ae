"""Calls that wait for a person's approval, and what an approval is bound to.

A person is asked through the client where it can show a form that has room for the whole call, else
in `claw approvals`. An approval is bound to one call, its policy and its pin, can be used once, and
expires. A call waits until an answer to it counts. A no does at once. A yes does with the log in
hand, if nobody has said no by then and nobody has withdrawn the call; what is left to do from there
on waits for nobody.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from typing import Any, Literal

from msgspec import Struct

from clawkit.guard.call_display import (
    REORDERED,
    call_fields,
    call_lines,
    has_right_to_left,
    rows,
    spelled,
)
from clawkit.guard.passages import Passage
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.rules import Rule
from clawkit.text.normalization import visible
from clawkit.wire import jsonrpc
from clawkit.wire.jsonrpc import Message, RequestId, as_object

Answer = Literal[
    "once",
    "session",
    "tool",
    "folder",
    "tool always",
    "always",
    "before",
    "policy",
    "deny",
    "dismissed",
    "timeout",
    "withdrawn",
    "nobody",
    "closed",
    "unclear",
    "version",
    "guarded",
    "elsewhere",
]
"""What a person said.

`session` is for the same call again, `tool` for every call of its tool in this session. `folder`,
`tool always` and, in the view, `always` are for good: the guard writes their rule. `before` is that
an answer to another question covers this one, `policy` that the policy has changed and allows it,
`elsewhere` that they decide in `claw approvals`. `dismissed` is that the form was closed without an
answer, `withdrawn` that who called no longer waits for it, `nobody` that there was nobody to ask,
`closed` that they went without an answer, `unclear` that what came is none, `guarded` that it is
asked about from within a guarded server.
"""


_COVERED: tuple[Answer, ...] = ("before", "policy")
_YES: tuple[Answer, ...] = (
    *("once", "session", "tool", "folder", "tool always", "always"),
    *_COVERED,
)
Heard = Literal["", "allow", "deny"]
"""What a person has said to a question in a window: nothing, a yes that stands, or a no."""


class GivenAnswer(Struct, frozen=True):
    """What a person said, and where; or why nobody did."""

    answer: Answer
    source: Literal["page", "terminal", "form", "script"] | None = None
    rule: str = ""
    """For `always`: the rule that they have read."""

    @property
    def allows(self) -> bool:
        return self.answer in _YES

    @property
    def covers_others(self) -> bool:
        """Whether it may allow other calls that wait."""
        return self.allows and self.answer not in ("once", *_COVERED)


class OverruledError(Exception):
    """An answer does not count: the message waits no longer, or something speaks against it."""


class NotYetError(Exception):
    """A yes does not count yet: what a person or the client has said may still be on its way."""


class Commit:
    """Lets an answer count, once; by itself at once, where no other one could come."""

    def __init__(
        self,
        take: Callable[[], None] = lambda: None,
        log: Callable[[], AbstractContextManager[None]] | None = None,
    ) -> None:
        """`take` takes the message out of the list, or raises; `log` is had before that."""
        self._take = take
        self._log = log
        self._until_done = ExitStack()
        self._counts = False

    def __call__(self) -> None:
        if not self._counts:
            if self._log is not None:
                self._until_done.enter_context(self._log())
            self._take()
            self._counts = True

    def without_log(self) -> None:
        """The same for a refusal, because the log cannot be had."""
        self._log = None
        self()

    def done(self) -> None:
        """What follows may wait for others who write to the log."""
        self._until_done.close()


class Settlement(Struct, frozen=True):
    """What an answer leads to, and why the call is refused if it is."""

    passage: Passage
    refusal: str = ""


APPROVAL = "claw-approval"
"""The name of our own question among a result's `inputRequests`."""

_ONCE: dict[str, Answer] = {"allow once": "once"}
_SESSION: dict[str, Answer] = {"allow for this session": "session"}
_TOOL: dict[str, Answer] = {"allow this tool for this session": "tool"}
_FOR_GOOD: dict[Answer, str] = {
    "folder": "allow this tool in this folder always",
    "tool always": "allow this tool always",
}
_DENY: dict[str, Answer] = {"deny": "deny"}
_REFERRALS: dict[str, Answer] = {"decide in claw approvals": "elsewhere", "deny": "deny"}
_FORM_ROWS, _FORM_WIDTH = 24, 72
_RULE_ROWS = 12
_INDENT = "    "
_TOO_MANY = "{}, so this was not asked; try again later ([limits] {} in the policy)"
_MINUTE = 60.0
_TICK = 0.005
_LOOK_EVERY = 1.0
_CONTINUES = 600.0
_MOST_REMEMBERED = 1024
_MOST_ALIKE = 64


class Wait(threading.Event):
    """Set when a message waits no longer; says why, where it was not answered in the view."""

    def __init__(self) -> None:
        super().__init__()
        self.why: Literal["expired", "withdrawn", "form", "covered", "allowed"] = "withdrawn"
        self.ends = math.inf
        """When it is too late for an answer, by the monotonic clock."""
        self.heard: Callable[[], Heard] = lambda: ""

    def end(self, answer: Answer) -> None:
        self.why = _WHY_ENDED.get(answer, "form")
        self.set()


_WHY_ENDED: dict[Answer, Literal["expired", "withdrawn", "covered", "allowed"]] = {
    "timeout": "expired",
    "withdrawn": "withdrawn",
    "before": "covered",
    "policy": "allowed",
}


class Binding(Struct, frozen=True):
    """What exactly is approved: digests of the call, the policy and the tool's definition."""

    call: str
    policy: str
    pin: str
    rule: Rule | None
    """The rule that the call came under."""


class Choices(Struct, frozen=True):
    """What a person may answer in a form, and the rules that some of the answers write."""

    answers: dict[str, Answer]
    rules: dict[Answer, str] = {}


def choices(rule: Rule, rules: dict[Answer, str], *, tool: bool = True) -> Choices:
    """The answers to a question of this rule, where these rules could be written.

    Without `tool` it is about more than the arguments of a tool, and no answer is for all of it.
    """
    if rule.each_call:
        return Choices({**_ONCE, **_DENY})
    short: dict[Answer, str] = {each: text for each, text in rules.items() if _is_short(text)}
    for_good: dict[str, Answer] = {_FOR_GOOD[each]: each for each in short}
    session: dict[str, Answer] = {**_SESSION, **_TOOL} if tool else _SESSION
    return Choices({**_ONCE, **session, **for_good, **_DENY}, short)


def _is_short(text: str) -> bool:
    """Whether a form has room for a rule."""
    found = sum(1 for line in text.splitlines() for _ in rows(spelled(line), _FORM_WIDTH))
    return found <= _RULE_ROWS


REFERRED = Choices(_REFERRALS)
"""What a form offers that has no room for the call."""


class HeldMessage(Struct, frozen=True):
    """A message that waits for a person, and what to do once they have spoken."""

    call: Call
    rule: Rule
    binding: Binding
    settle: Callable[[GivenAnswer, Commit], Settlement]
    log: Callable[[], AbstractContextManager[None]]
    """Has the log, in which it is written what becomes of it, alone for a block."""
    deliver: Callable[[Passage], None]
    cancelled: Wait
    choices: Choices
    """What a form in the client offers, perhaps no more than `claw approvals`."""
    owner: object
    """Whoever asks, and shows the form."""
    by_server: bool
    """Whether it is the server that wants something of the client."""
    covered: Callable[[], Literal["", "before", "policy"]]
    """Whether it is allowed by now: by another answer, or by the policy."""
    caught_up: Callable[[], bool]
    """Whether all was taken in that its client has said."""

    def check(self, given: GivenAnswer) -> None:
        """Raise where an answer does not count, or not yet."""
        if not given.allows:
            return
        heard = self.cancelled.heard()
        if given.answer in _COVERED:
            stands = heard == ""
        elif given.source == "form":
            stands = heard != "deny"
        else:
            stands = heard == "allow"
        if not stands or time.monotonic() >= self.cancelled.ends:
            raise OverruledError
        if not self.caught_up():
            raise NotYetError


class ApprovalTicket(Struct, frozen=True):
    """A question that went out as a result; its `requestState` brings the call back here."""

    binding: Binding
    expires: float
    resume: dict[str, Any]
    """What the call itself brought from an earlier round."""
    result: Message | None = None
    """The server's result, if it is that one that waits."""
    next_round: bool = False
    """Whether what the call brought was known to be its next round."""
    referred: Call | None = None
    """What is to be shown in `claw approvals`, because the form had no room for it."""
    choices: Choices = REFERRED


class Round(Struct, frozen=True):
    """A call that a server answered with a question, and who may go on with it."""

    expires: float
    approved: Binding | None
    """What a person approved, if they did: the next round is approved with it."""


class PendingApprovals:
    """Everything that waits for a person, at one server."""

    def __init__(self) -> None:
        self._held: dict[str, HeldMessage] = {}
        self._forms: dict[str, bytes] = {}
        """Those that a client shows or is yet to show, the oldest first."""
        self._shown: dict[object, str] = {}
        """The form that is open in each client: one at a time, the others wait in the list."""
        self._tickets: dict[str, ApprovalTicket] = {}
        self._rounds: dict[tuple[str, str | None], deque[Round]] = {}
        self._asked: deque[float] = deque()
        self._lock = threading.Lock()

    def admit(self, at_once: int, per_minute: int) -> str:
        """Why no more questions may be put to a person, if so: a flood of them is an attack."""
        now = time.monotonic()
        with self._lock:
            while self._asked and self._asked[0] < now - _MINUTE:
                self._asked.popleft()
            for token in [k for k, ticket in self._tickets.items() if ticket.expires <= now]:
                del self._tickets[token]
            waiting = len(self._held) + len(self._tickets)
            if waiting >= at_once:
                return _TOO_MANY.format(f"{waiting} questions to a person wait already", "prompts")
            if len(self._asked) >= per_minute:
                asked = f"{len(self._asked)} questions were put to a person within a minute"
                return _TOO_MANY.format(asked, "prompts_per_minute")
            self._asked.append(now)
            return ""

    def hold(
        self, held: HeldMessage, timeout: float, form: Callable[[str], bytes] | None = None
    ) -> str:
        """Keep a message until `answered`; after the timeout it is denied.

        With `form`, which writes one with a token, the client is to show that; `next_form` says
        when, and it is withdrawn in time.
        """
        token = _token()
        with self._lock:
            self._held[token] = held
            if form is not None:
                self._forms[token] = form(token)
        held.cancelled.ends = time.monotonic() + timeout
        threading.Thread(target=self._watch, args=(token, held.cancelled), daemon=True).start()
        return token

    def next_form(self, owner: object) -> tuple[HeldMessage, bytes] | None:
        """The form that a client is to show now; None while another one is open there."""
        with self._lock:
            if owner in self._shown:
                return None
            for token, form in self._forms.items():
                held = self._held.get(token)
                if held is not None and held.owner is owner:
                    self._shown[owner] = token
                    return held, form
        return None

    def has_form(self, owner: object) -> bool:
        """Whether a client shows a form."""
        return owner in self._shown

    def answered(self, token: str, given: GivenAnswer) -> Settlement | None:
        """What the answer leads to; None if it does not count. A yes is waited with until it can.

        Whoever takes the message out of the list has decided: every other answer finds nothing,
        and `cancelled` says what it was.
        """
        # What is covered is looked at again; others wait meanwhile.
        end = time.monotonic() + (_LOOK_EVERY if given.answer in _COVERED else math.inf)
        while (held := self._held.get(token)) is not None:
            try:
                return self._settled(token, held, given)
            except NotYetError:
                if time.monotonic() > end:
                    return None
                time.sleep(_TICK)
            except OverruledError:
                return None
        return None

    def _settled(self, token: str, held: HeldMessage, given: GivenAnswer) -> Settlement:
        held.check(given)  # before the log is had, which others need, too
        commit = Commit(partial(self._take, token, held, given), held.log if given.allows else None)
        try:
            settlement = held.settle(given, commit)
        finally:
            commit.done()
        self._close_form(token, held)
        return settlement

    def _take(self, token: str, held: HeldMessage, given: GivenAnswer) -> None:
        held.check(given)
        with self._lock:
            if self._held.pop(token, None) is None:
                raise OverruledError
            held.cancelled.end(given.answer)

    def deliver_answer(self, token: str, given: GivenAnswer) -> Settlement | None:
        """The same where nobody waits for what it leads to: it is delivered."""
        held = self._held.get(token)
        settlement = self.answered(token, given)
        if held is not None and settlement is not None:
            held.deliver(settlement.passage)
            # The call has gone on, whatever those wait for that its answer covers.
            threading.Thread(target=self._go_on, args=(held.owner, given), daemon=True).start()
        return settlement

    def _go_on(self, owner: object, given: GivenAnswer) -> None:
        if given.covers_others:
            self.release_covered()
        self._show_next(owner)

    def release_covered(self) -> None:
        """A person has allowed more than one call: let those go on that it covers."""
        for token, held in list(self._held.items()):
            if held.covered():
                self.deliver_answer(token, GivenAnswer("before"))

    def answered_in_form(self, token: object, result: object) -> Passage | None:
        """The same for a client's form; one that had no room for the call allows nothing."""
        held = self._held.get(token) if isinstance(token, str) else None
        if held is None or not isinstance(token, str):
            return None
        given = GivenAnswer(decision_of(result, held.choices), "form")
        self._forms.pop(token, None)
        if given.allows:
            # Whoever reads what the client says goes on: it may be a no.
            weigh = partial(self.deliver_answer, token, given)
            threading.Thread(target=weigh, daemon=True).start()
        elif given.answer == "elsewhere":
            self._end_form(token, held)
        else:
            self.deliver_answer(token, given)
        return Passage()

    def is_waiting(self, token: RequestId) -> bool:
        return token in self._held

    def withdraw(self, held: HeldMessage) -> bool:
        """The sender no longer wants it: nobody needs to answer. Whether it still waited."""
        with self._lock:
            token = next((token for token, other in self._held.items() if other is held), None)
            if token is None:
                return False
            del self._held[token]
            held.cancelled.end("withdrawn")
        self._end_form(token, held)
        return True

    def _end_form(self, token: str, held: HeldMessage) -> None:
        self._close_form(token, held)
        self._show_next(held.owner)

    def _close_form(self, token: str, held: HeldMessage) -> None:
        """Take a form out of the list, and out of its client if it is open."""
        with self._lock:
            is_open = self._forms.pop(token, None) is not None
            if self._shown.get(held.owner) != token:
                return
            del self._shown[held.owner]
        if is_open:
            held.deliver(Passage(to_client=jsonrpc.encode(withdrawn(token))))

    def _show_next(self, owner: object) -> None:
        following = self.next_form(owner)
        if following is not None:
            held, form = following
            held.deliver(Passage(to_client=form))

    def issue(self, ticket: ApprovalTicket) -> str:
        token = _token()
        with self._lock:
            self._tickets[token] = ticket
        return token

    def redeem(self, token: object) -> ApprovalTicket | None:
        """The ticket of a `requestState`, once, if it has not expired."""
        with self._lock:
            ticket = self._tickets.pop(token, None) if isinstance(token, str) else None
        return ticket if ticket is not None and ticket.expires > time.monotonic() else None

    def continues(self, call: str, state: object, approved: Binding | None) -> None:
        """A server answered a call with a question: its next round brings this state."""
        if not isinstance(state, str | None):
            return
        with self._lock:
            if len(self._rounds) >= _MOST_REMEMBERED:
                del self._rounds[next(iter(self._rounds))]
            # The same call may be made several times at once, and a state need not differ.
            alike = self._rounds.setdefault((call, state), deque(maxlen=_MOST_ALIKE))
            alike.append(Round(time.monotonic() + _CONTINUES, approved))

    def next_round(self, call: str, state: object) -> Round | None:
        """What is known of a call that brings this state, once; None if no server gave it."""
        if not isinstance(state, str | None):
            return None
        with self._lock:
            alike = self._rounds.pop((call, state), deque[Round]())
            live = [each for each in alike if each.expires > time.monotonic()]
            if live[1:]:
                self._rounds[(call, state)] = deque(live[1:], maxlen=_MOST_ALIKE)
        return live[0] if live else None

    def _watch(self, token: str, answered: Wait) -> None:
        """Let a message go that a rule allows by now, whoever wrote it; deny it at the end."""
        try:
            while not answered.wait(max(0.0, min(_LOOK_EVERY, answered.ends - time.monotonic()))):
                held = self._held.get(token)
                if held is None or time.monotonic() >= answered.ends:
                    return
                if covered := held.covered():
                    self.deliver_answer(token, GivenAnswer(covered))
        finally:
            self.deliver_answer(token, GivenAnswer("timeout"))


def withdrawn(token: str) -> Message:
    """The notice that a question of ours need not be answered any more."""
    return jsonrpc.notification("notifications/cancelled", {"requestId": token})


def question(
    server: str, asked: Sequence[tuple[Call, Rule]], choices: Choices, file: str
) -> dict[str, Any]:
    """The parameters of the `elicitation/create` that puts whole calls before a person.

    A rule that an answer would write into `file` is shown as it would stand there.
    """
    lines: list[str] = []
    for call, rule in asked:
        # Indented, no client takes it for markup in which parts are not shown.
        lines += [f"Allow this call on {visible(server, 200)}?", ""]
        shown = list(_form_rows(call))
        lines += [f"{_INDENT}{row}" for row in shown]
        lines += ["", REORDERED] if has_right_to_left(shown) else []
        if rule.description:
            lines += ["", f"Rule: {visible(rule.description, 500)}"]
    for answer, text in choices.rules.items():
        lines += ["", f"`{_FOR_GOOD[answer]}` writes this rule into {visible(file, 500)}:", ""]
        written = (row for line in text.splitlines() for row in rows(spelled(line), _FORM_WIDTH))
        lines += [f"{_INDENT}{row}" for row in written]
    return _form("\n".join(lines), choices.answers)


def referral(server: str, asked: Sequence[tuple[Call, Rule]]) -> dict[str, Any]:
    """The same for calls that a form has no room for: it can deny them, and allows nothing."""
    tools = ", ".join(visible(spelled(call.tool), 200) for call, _ in asked)
    text = (
        f"{tools} on {visible(server, 200)} needs your approval, and is too long to be shown whole "
        "in this form. Open `claw approvals` in a terminal, read it there and decide there."
    )
    return _form(text, _REFERRALS)


def _form(message: str, answers: dict[str, Answer]) -> dict[str, Any]:
    choice = {"type": "string", "title": "Decision", "enum": list(answers)}
    return {
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {"decision": choice},
            "required": ["decision"],
        },
    }


def fits_form(asked: Sequence[tuple[Call, Rule]]) -> bool:
    """Whether a form has room for all of these calls."""
    found = 0
    for call, _ in asked:
        for _row in _form_rows(call):
            found += 1
            if found > _FORM_ROWS:
                return False
    return True


def _form_rows(call: Call) -> Iterator[str]:
    for line in call_lines(call_fields(call)):
        yield from rows(line, _FORM_WIDTH)


def decision_of(result: object, choices: Choices) -> Answer:
    """What a person said in the form; whatever is not a clear yes allows nothing.

    Only what was chosen is a person's no: not a form that was closed, that the client failed to
    show, or that came back with what it did not offer.
    """
    found = as_object(result) or {}
    if found.get("action") == "decline":
        return "deny"
    if found.get("action") == "cancel":
        return "dismissed"
    decision = (as_object(found.get("content")) or {}).get("decision")
    if found.get("action") != "accept" or not isinstance(decision, str):
        return "unclear"
    return choices.answers.get(decision, "unclear")


def _token() -> str:
    return f"claw-{os.urandom(16).hex()}"
