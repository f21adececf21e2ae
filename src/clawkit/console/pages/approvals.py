"""Approvals: the calls that wait for a person, with the same answers as in the terminal."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, suppress
from hashlib import sha256
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from clawkit.console.api import ApiError, ConsolePage, get, post
from clawkit.console.file_changes import (
    FileChange,
    file_changes,
    paths_named,
    stamp_of_file,
)
from clawkit.errors import PolicyError
from clawkit.guard.approval_answers import (
    BY_SERVER,
    Ended,
    Scope,
    check_rule,
    in_words,
    is_whole,
    not_counted,
    policy_of,
    rule_of,
    scopes_of,
    sentence,
    unconfirmed,
    wider_answers,
)
from clawkit.guard.approval_window import ApprovalWindow
from clawkit.guard.approvals import EACH_CALL, Answer, Ask
from clawkit.guard.authoring.edit import rule_text
from clawkit.guard.call_display import call_lines, spelled
from clawkit.guard.locations import approvals_folder
from clawkit.guard.policy.parser import read_policy
from clawkit.wire.jsonrpc import as_object

ALONE_SECONDS = 15.0
"""How long after the last page was open calls are still taken to be asked about there."""
_TICK = 1.0
_NOT_WHOLE = "What came cannot be shown, or is not what was asked about: it can only be denied."
_LONGEST_NAME = 200
_LONGEST_ABOUT = 60
_Changes = tuple[tuple[FileChange, ...], dict[str, Any]]


class Waiting(Struct, frozen=True):
    """A question in the list."""

    id: str
    server: str
    tool: str
    about: str
    """What tells it from others of its tool: its paths, or the first text that it brings."""
    client: str
    deadline: float
    sent: str = ""
    """What to say where an answer was sent and is not confirmed."""
    denied: bool = False
    """Whether that was a no, after which nothing else is taken."""


class Past(Struct, frozen=True):
    """A question that waits no longer."""

    id: str
    server: str
    tool: str
    about: str
    how: str
    words: str
    """How it ended, where it was answered, and why that was refused."""


class Pending(Struct, frozen=True):
    """What the list shows."""

    asks: tuple[Waiting, ...]
    ended: tuple[Past, ...]


class ShownQuestion(Struct, frozen=True):
    """All that a person decides about, with everything hidden spelled out."""

    id: str
    digest: str
    server: str
    tool: str
    client: str
    deadline: float
    rule: int
    description: str
    rule_text: str
    policy: str
    changes: tuple[FileChange, ...]
    lines: tuple[str, ...]
    """The call without what is shown as a change."""
    call: tuple[str, ...]
    """The whole call, where that is another text."""
    is_whole: bool
    wider: tuple[Answer, ...]
    scopes: tuple[Scope, ...]
    words: str
    """Whose words they are, where it is the server that asks for something."""


class Which(Struct, frozen=True):
    """One question."""

    id: str


class ScopeOf(Struct, frozen=True):
    """A question, and how far a rule for it would reach."""

    id: str
    scope: Scope


class ProposedRule(Struct, frozen=True):
    """A rule as it would be written."""

    rule: str
    shown: str
    """With everything hidden spelled out."""
    file: str
    above: int


class AnswerOutcome(Struct, frozen=True):
    """What became of a call by an answer that counted, and what waits now."""

    how: str
    words: str
    pending: Pending


class PageAnswer(Struct, frozen=True):
    """A person's answer to what they were shown: the digest says what that was."""

    id: str
    digest: str
    answer: Literal["once", "session", "tool", "always", "deny"]
    scope: Scope = "call"
    rule: str = ""
    """For "always": the rule as it was shown."""


def page(until_end: ExitStack) -> ConsolePage:
    desk = ApprovalsDesk(ApprovalWindow(approvals_folder(), "page"))
    until_end.callback(desk.close)
    return ConsolePage(
        routes=(
            get("/api/approvals/question", Which, desk.question),
            get("/api/approvals/rule", ScopeOf, desk.proposed),
            post("/api/approvals/answer", PageAnswer, desk.answer),
        ),
        topics={"approvals": desk.pending},
    )


class ApprovalsDesk:
    """The view while a page is open: without one nobody would see a question, so none is taken."""

    def __init__(self, view: ApprovalWindow) -> None:
        self._view = view
        self._looked = 0.0
        self._shown: dict[str, tuple[str, _Changes]] = {}
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._leave_when_alone, daemon=True)
        self._watch.start()

    def close(self) -> None:
        self._closing.set()
        self._watch.join()
        self._view.close()

    def pending(self) -> Pending:
        """The list; whoever looks at it can be asked."""
        if self._closing.is_set():
            return Pending((), ())
        self._looked = time.monotonic()
        waiting, given = self._view.asks(), self._view.given()
        asks = tuple(
            Waiting(
                id=ask.id,
                server=_name(ask.server),
                tool=_name(ask.tool),
                about=_about(ask),
                client=_name(ask.client),
                deadline=ask.deadline,
                sent=sentence(unconfirmed(given[ask.id])) if ask.id in given else "",
                denied=given.get(ask.id) == "deny",
            )
            for ask in waiting
        )
        ended = tuple(
            Past(
                id=one.ask.id,
                server=_name(one.ask.server),
                tool=_name(one.ask.tool),
                about=_about(one.ask),
                how=one.how,
                words=spelled(in_words(one)),
            )
            for one in self._view.ended()
        )
        return Pending(asks, ended)

    def question(self, which: Which) -> ShownQuestion:
        ask = self._ask(which.id)
        call = _lines(ask)
        arguments = as_object(ask.call.get("arguments")) or {}
        changes, rest = self._changes(ask, arguments) if call else ((), {})
        less = bool(changes) and rest != arguments
        lines = tuple(call_lines({**ask.call, "arguments": rest})) if less else call
        return ShownQuestion(
            id=ask.id,
            digest=ask.digest,
            server=spelled(ask.server),
            tool=spelled(ask.tool),
            client=spelled(ask.client or "unknown"),
            deadline=ask.deadline,
            rule=ask.rule,
            description=spelled(ask.description),
            rule_text=_rule_that_asked(ask),
            policy=str(policy_of(ask)),
            changes=changes,
            lines=lines or (_NOT_WHOLE,),
            call=call if less and call else (),
            is_whole=call is not None,
            wider=wider_answers(ask),
            scopes=tuple(scopes_of(ask)),
            words=BY_SERVER.format(spelled(ask.server)) if ask.by_server else "",
        )

    def _changes(self, ask: Ask, arguments: dict[str, Any]) -> _Changes:
        """What a call changes, found once while it waits, unless its file is another one."""
        waiting = {one.id for one in self._view.asks()}
        stamp = stamp_of_file(arguments) if ask.local else ""
        known = self._shown.get(ask.id)
        if known is None or known[0] != stamp:
            known = (stamp, file_changes(arguments, local=ask.local))
        kept = {id: one for id, one in self._shown.items() if id in waiting}
        self._shown = {**kept, ask.id: known}
        return known[1]

    def proposed(self, given: ScopeOf) -> ProposedRule:
        ask = self._ask(given.id)
        rule = rule_of(ask, given.scope)
        shown = "\n".join(map(spelled, rule.splitlines()))
        return ProposedRule(rule, shown, str(policy_of(ask)), ask.rule)

    def answer(self, given: PageAnswer) -> AnswerOutcome:
        """Answer what was shown; it is told what the guard made of it."""
        ask = self._ask(given.id)
        if given.digest != ask.digest:
            raise ApiError("This is not the call that was shown: look at it again", 409)
        if given.answer != "deny":
            _check_allowing(ask, given.answer)
        if given.answer == "always":
            if rule_of(ask, given.scope) != given.rule:
                raise ApiError("This is not the rule that was shown: look at it again", 409)
            check_rule(ask, given.rule)
        counted = self._view.answer(given.id, given.answer, rule=given.rule)
        end = self._view.end_of(given.id)
        if end is None or not counted:
            sent = self._view.given().get(given.id)
            why = not_counted(end, given.answer, sent)
            raise ApiError(f"{_name(ask.tool)}: {spelled(sentence(why))}", 409)
        return AnswerOutcome(end.how, spelled(_without_source(end)), self.pending())

    def _ask(self, id: str) -> Ask:
        found = next((ask for ask in self._view.asks() if ask.id == id), None)
        if found is None:
            end = self._view.end_of(id)
            how = "answered or withdrawn elsewhere" if end is None else spelled(in_words(end))
            raise ApiError(f"The call no longer waits: {how}.", 404)
        return found

    def _leave_when_alone(self) -> None:
        while not self._closing.wait(_TICK):
            if time.monotonic() - self._looked > ALONE_SECONDS:
                self._view.close()


def _without_source(end: Ended) -> str:
    """How it ended, for whoever answered it here."""
    return in_words(replace(end, source=None))


def _check_allowing(ask: Ask, answer: Answer) -> None:
    if _lines(ask) is None:
        raise ApiError(_NOT_WHOLE, 409)
    if ask.each_call and answer != "once":
        raise ApiError(f"{EACH_CALL}: answer once or deny", 409)


def _lines(ask: Ask) -> tuple[str, ...] | None:
    """The call itself; None where what came cannot be shown, or is not what was asked about."""
    try:
        return tuple(call_lines(ask.call)) if is_whole(ask) else None
    except (RecursionError, ValueError):
        return None


def _rule_that_asked(ask: Ask) -> str:
    """The rule as the policy has it, while that is the policy that asked."""
    with suppress(OSError, UnicodeDecodeError, PolicyError):
        text = policy_of(ask).read_bytes()
        if sha256(text).hexdigest() == ask.policy:
            rules = read_policy(text.decode(), str(policy_of(ask))).rules
            return "".join(rule_text(rule) for rule in rules if rule.number == ask.rule)
    return ""


def _name(text: str) -> str:
    return _short(text, _LONGEST_NAME)


def _about(ask: Ask) -> str:
    """All paths that a call names, or how many; else its first text, on one line."""
    arguments = as_object(ask.call.get("arguments")) or {}
    paths = paths_named(arguments)
    if len(paths) > 1:
        together = " · ".join(spelled(path) for path in paths)
        return together if len(together) <= _LONGEST_ABOUT else f"{len(paths)} paths"
    texts = [value for value in arguments.values() if isinstance(value, str)]
    return _short((paths or texts or [""])[0], _LONGEST_ABOUT)


def _short(text: str, longest: int) -> str:
    """A text spelled out; of a long one its beginning and its end, which tells most."""
    if len(text) <= longest:
        return spelled(text)
    half = longest // 2
    return f"{spelled(text[:half])}…{spelled(text[-half:])}"
