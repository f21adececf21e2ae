"""What a question may be answered with, the rules that answers write, and how its end is told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

import msgspec

from clawkit.errors import PolicyError
from clawkit.guard.approvals import EACH_CALL, Answer, Ask, End, EndNote, Source, call_digest
from clawkit.guard.authoring.edit import check_insertion, folder_rule, rule_for, tool_rule
from clawkit.guard.locations import policy_file
from clawkit.guard.policy.call import Call


class Ended(EndNote, frozen=True, kw_only=True):
    """A question that waits no longer, and how it ended."""

    ask: Ask


def policy_of(ask: Ask) -> Path:
    """The policy that asked."""
    return Path(ask.file) if ask.file else policy_file()


def is_whole(ask: Ask) -> bool:
    """Whether the call shown is the one that the answer is bound to."""
    return call_digest(ask.call) == ask.digest


BY_SERVER = "{} asks its client for this: what follows are the words of that server."
"""What to say of a question that a server wants to put to its client."""
Scope = Literal["folder", "tool", "call"]
"""What a rule that is written for an answer is about."""
SCOPES: tuple[Scope, ...] = get_args(Scope)


def rule_of(ask: Ask, scope: Scope = "call") -> str:
    """The rule that allows this call from now on, its tool in its folder, or its tool, as TOML."""
    file = os.fspath(policy_of(ask))
    if not is_whole(ask):
        raise PolicyError(file, 0, "the arguments are not those that were asked about")
    try:
        call = msgspec.convert(ask.call, Call)
    except msgspec.ValidationError as error:
        raise PolicyError(file, 0, f"what was asked about is not a call: {error}") from error
    if call.has_extras:
        raise PolicyError(file, 0, "what stands outside the arguments cannot be said in a rule")
    if ask.each_call:
        raise PolicyError(file, 0, EACH_CALL)
    if scope != "call" and call.method != "tools/call":
        raise PolicyError(file, 0, "a rule for a tool or a folder is for calls of tools only")
    if ask.no_rule:
        raise PolicyError(file, 0, f"below rule {ask.rule} a rule denies, and stays the first word")
    if scope == "tool":
        return tool_rule(call.tool, call.method, ask.servers)
    if scope == "folder":
        return folder_rule(call, ask.servers, str(Path.home()))
    return rule_for(call.tool, call.method, call.arguments, ask.servers or ask.server)


def wider_answers(ask: Ask) -> tuple[Answer, ...]:
    """The answers that allow more than this one call, while the client stays connected."""
    if ask.each_call:
        return ()
    return ("session", "tool") if ask.method == "tools/call" else ("session",)


def scopes_of(ask: Ask) -> Iterator[Scope]:
    """The scopes for which a rule can be written."""
    for scope in SCOPES:
        with suppress(PolicyError):
            rule_of(ask, scope)
            yield scope


def check_rule(ask: Ask, rule: str) -> None:
    """Raise PolicyError where the proxy could not write a rule above the one that asked."""
    if ask.each_call:
        raise PolicyError(os.fspath(policy_of(ask)), 0, EACH_CALL)
    check_insertion(policy_of(ask), rule, ask.rule, digest=ask.policy)


def is_rule_of(rule: str, ask: Ask) -> bool:
    """Whether a rule is one that a window may propose for a question."""
    return rule in [rule_of(ask, scope) for scope in scopes_of(ask)]


ENDS: dict[End, str] = {
    "once": "allowed once",
    "session": "allowed for this session",
    "tool": "its tool allowed for this session",
    "always": "allowed always",
    "deny": "denied",
    "refused": "allowed, and refused all the same",
    "expired": "denied, because nobody answered in time",
    "withdrawn": "withdrawn by its client, not run",
    "form": "answered in its client",
    "covered": "allowed by another answer",
    "allowed": "allowed by the policy, which has changed",
    "closed": "denied, because no window was left",
    "unknown": "its guard ended before it said what became of it",
    "silent": "its time is over, and its guard has not said what became of it; `claw log` will",
}
"""How a question ended, in words."""
_SOURCES: dict[Source | None, str] = {
    "page": " in the console",
    "terminal": " in a terminal",
    "script": " by claw approvals answer",
}


def in_words(end: EndNote) -> str:
    """How a question ended, where it was answered, and why that was refused."""
    why = f": {end.problem}" if end.problem else ""
    return f"{ENDS[end.how]}{_SOURCES.get(end.source, '')}{why}"


def not_counted(end: EndNote | None, answer: Answer, sent: Answer | None) -> str:
    """What to tell somebody whose answer is not what became of the call; `sent` is what was sent.

    It is the same in every window and for scripts.
    """
    if end is not None and end.how == "refused" and end.answer == answer:
        return in_words(end)
    if end is not None:
        return f"this answer came too late; the call no longer waits: {in_words(end)}"
    if sent is None:
        return "this answer was not given, because no guard took it; try again"
    return (
        unconfirmed(sent) if sent == answer else f"this answer was not given; {unconfirmed(sent)}"
    )


def unconfirmed(sent: Answer) -> str:
    """What to say of a call to which an answer was sent, while its guard is silent."""
    still = "" if sent == "deny" else "; until it has, Deny still counts"
    return f"“{SAID[sent]}” is sent, and its guard has not confirmed it yet{still}"


SAID: dict[Answer, str] = {
    "once": "Allow once",
    "session": "Allow for this session",
    "tool": "Allow this tool for this session",
    "always": "Allow always",
    "deny": "Deny",
}
"""The answers, as they are called."""


def sentence(text: str) -> str:
    """The same words as a sentence of their own."""
    return f"{text[:1].upper()}{text[1:]}."
