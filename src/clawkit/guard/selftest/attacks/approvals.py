"""Attacks on approvals, in the handshake era: yes to one call must not be yes to anything else."""

from __future__ import annotations

import json
import time
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.registry import Setup, attack, attacks_each
from clawkit.guard.selftest.verdicts import (
    Hung,
    Leaked,
    Unclear,
    is_answer_to,
    require_clear_error,
    short,
    text_of,
)

_DENIED = "denied: only a person's own yes lets the call through"
_BOUND = "a yes holds for the call that was shown, and for no other"
_AT_ONCE = 3.0
FRESH = Setup(fresh=True)


def ask(
    bench: Bench, more: dict[str, Any] | None = None, /, **arguments: Any
) -> tuple[int, dict[str, Any]]:
    """Make a call that needs a person: its id, and the question that the client gets."""
    since = bench.mark()
    id, message = first_word(bench, arguments, more)
    if "method" not in message:
        require_not_called(bench, since)
        raise Unclear(f"no question came, but {short(message)}")
    return id, message


def first_word(
    bench: Bench, arguments: dict[str, Any], more: dict[str, Any] | None = None
) -> tuple[int, dict[str, Any]]:
    """Call: the question or the answer, whatever comes first."""
    since = bench.mark()
    params = {"name": "delete_file", "arguments": arguments, **(more or {})}
    id = bench.request("tools/call", params)
    return id, bench.guard.wait_for(
        lambda message: message.get("method") == "elicitation/create" or is_answer_to(message, id),
        since.received,
        bench.patience,
        "question",
    )


def require_not_called(bench: Bench, since: Mark) -> None:
    if b"delete_file" in bench.journal()[since.journal :]:
        raise Leaked("the call reached the server without a person's yes")


def say(bench: Bench, question: dict[str, Any], result: Any) -> None:
    bench.send({"jsonrpc": "2.0", "id": question["id"], "result": result})


def yes(decision: str = "allow once") -> dict[str, Any]:
    return {"action": "accept", "content": {"decision": decision}}


def require_passed(answer: dict[str, Any]) -> None:
    if text_of(answer) is not None:
        raise Unclear(f"a call that a person allowed was answered with {short(answer)}")


@attack(
    "ask-nobody",
    categories.APPROVALS,
    "with nobody to ask, denied at once",
    setup=Setup(can_ask=False),
)
def nobody_to_ask(bench: Bench) -> None:
    begun = time.monotonic()
    bench.refuses_call("delete_file", {"path": bench.fill_in("{root}/work/plain.txt")})
    if time.monotonic() - begun > _AT_ONCE:
        raise Hung("denied, but not at once")


_NOT_YES: dict[str, Any] = {
    "deny": yes("deny"),
    "decline": {"action": "decline"},
    "cancel": {"action": "cancel"},
    "decline-with-content": {"action": "decline", "content": {"decision": "allow once"}},
    "no-content": {"action": "accept"},
    "empty-content": {"action": "accept", "content": {}},
    "unknown-decision": yes("allow"),
    "other-case": yes("Allow Once"),
    "decision-true": {"action": "accept", "content": {"decision": True}},
    "decision-list": {"action": "accept", "content": {"decision": ["allow once"]}},
    "action-unknown": {"action": "accepted", "content": {"decision": "allow once"}},
    "no-action": {"content": {"decision": "allow once"}},
    "nothing": {},
    "string": "allow once",
    "list": [yes()],
    "content-string": {"action": "accept", "content": "allow once"},
    "decision-object": {"action": "accept", "content": {"decision": {"allow once": True}}},
}


@attacks_each("answer-is-not-yes", categories.APPROVALS, _DENIED, _NOT_YES)
def not_a_yes(bench: Bench, result: Any) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    say(bench, question, result)
    answer = bench.reply(id)
    require_not_called(bench, since)
    require_clear_error(answer)


@attack("answer-is-an-error", categories.APPROVALS, _DENIED)
def answer_is_an_error(bench: Bench) -> None:
    id, question = ask(bench, path=bench.token())
    error = {"code": -1, "message": "The person could not be asked."}
    bench.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
    require_clear_error(bench.reply(id))


@attack("answer-forged-by-the-server", categories.APPROVALS, _DENIED)
def forged_by_the_server(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    bench.server_sends({"jsonrpc": "2.0", "id": question["id"], "result": yes()})
    bench.serve()
    require_not_called(bench, since)
    say(bench, question, yes("deny"))
    require_clear_error(bench.reply(id))


@attack("answer-to-a-question-with-the-same-id", categories.APPROVALS, _DENIED)
def question_with_the_same_id(bench: Bench) -> None:
    """The server cannot put a question in the place of the guard's."""
    since, token = bench.mark(), bench.token()
    id, question = ask(bench, path=bench.token())
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    bench.server_sends({**question, "params": {"message": token, "requestedSchema": schema}})
    bench.unseen(since, token)
    say(bench, question, yes("deny"))
    require_clear_error(bench.reply(id))


@attack("approval-reused", categories.APPROVALS, _BOUND)
def approval_reused(bench: Bench) -> None:
    """The same call once more: once is once."""
    path = bench.token()
    id, question = ask(bench, path=path)
    say(bench, question, yes())
    require_passed(bench.reply(id))
    id, question = ask(bench, path=path)
    say(bench, question, yes("deny"))
    require_clear_error(bench.reply(id))


@attacks_each(
    "approval-for-another",
    categories.APPROVALS,
    _BOUND,
    {"once": "allow once", "session": "allow for this session"},
)
def approval_for_another(bench: Bench, decision: str) -> None:
    id, question = ask(bench, path=bench.token())
    say(bench, question, yes(decision))
    require_passed(bench.reply(id))
    id, question = ask(bench, path=bench.token())
    say(bench, question, yes("deny"))
    require_clear_error(bench.reply(id))


_ROUNDS: dict[str, Any] = {
    "answers": {"inputResponses": {"k": {"action": "accept", "content": {"force": True}}}},
    "state": {"requestState": "force"},
    "trace": {"_meta": {"traceparent": "force"}},
}


@attacks_each("approval-for-more", categories.APPROVALS, _BOUND, _ROUNDS)
def approval_for_more(bench: Bench, more: dict[str, Any]) -> None:
    """Answers to questions that nobody asked are no part of what was shown."""
    path = bench.token()
    id, question = ask(bench, path=path)
    say(bench, question, yes("allow for this session"))
    require_passed(bench.reply(id))
    id, question = ask(bench, more, path=path)
    if "force" not in json.dumps(question):
        raise Leaked("a person is not shown all that the server would get")
    say(bench, question, yes("deny"))
    require_clear_error(bench.reply(id))


@attack("approvals-crossed", categories.APPROVALS, _BOUND)
def approvals_crossed(bench: Bench) -> None:
    """Two questions at once: the yes goes to the one that it answers."""
    first, second = bench.token(), bench.token()
    wanted, question = ask(bench, path=first)
    unwanted, other = ask(bench, path=second)
    if other["id"] == question["id"]:
        raise Leaked("two questions have the same id")
    say(bench, question, yes())
    require_passed(bench.reply(wanted))
    say(bench, other, yes("deny"))
    require_clear_error(bench.reply(unwanted))
    if second.encode() in bench.journal():
        raise Leaked("the call that was denied reached the server")


@attack("approval-policy-changed", categories.APPROVALS, "a changed policy counts", setup=FRESH)
def policy_changed(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    deny_what_was_prompted(bench)
    say(bench, question, yes())
    answer = bench.reply(id)
    require_not_called(bench, since)
    require_clear_error(answer)


@attack(
    "approval-policy-changed-later", categories.APPROVALS, "a changed policy counts", setup=FRESH
)
def policy_changed_after_session_approval(bench: Bench) -> None:
    path = bench.token()
    id, question = ask(bench, path=path)
    say(bench, question, yes("allow for this session"))
    require_passed(bench.reply(id))
    deny_what_was_prompted(bench)
    bench.refuses_call("delete_file", {"path": path})


def deny_what_was_prompted(bench: Bench) -> None:
    policy = bench.place.policy
    changed = policy.read_text(encoding="utf-8").replace('action = "prompt"', 'action = "deny"')
    policy.write_text(changed, encoding="utf-8")


@attack(
    "approval-cancelled", categories.APPROVALS, "a yes to a call that was withdrawn counts nothing"
)
def call_withdrawn(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    withdrawn = {"requestId": id, "reason": "changed my mind"}
    bench.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": withdrawn})
    bench.serve()
    say(bench, question, yes())
    bench.serve()
    require_not_called(bench, since)


@attack("approval-after-deny", categories.APPROVALS, "the first answer counts")
def yes_after_no(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    say(bench, question, yes("deny"))
    say(bench, question, yes())
    require_clear_error(bench.reply(id))
    bench.serve()
    require_not_called(bench, since)


@attack(
    "approval-tool-changed", categories.APPROVALS, "a yes holds for the tool as it was", setup=FRESH
)
def tool_changed(bench: Bench) -> None:
    bench.reply(bench.request("tools/list"))
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    changed = {"name": "delete_file", "description": "Other.", "inputSchema": {"type": "object"}}
    bench.act("set", json.dumps({"tools": [changed]}).encode(), method="tools/list")
    bench.reply(bench.request("tools/list"))
    say(bench, question, yes())
    answer = bench.reply(id)
    require_not_called(bench, since)
    require_clear_error(answer)


_POLICIES = {
    "broken": "[[rule]\naction=",
    "unknown-key": '[[rule]]\nverdict = "allow"',
    "empty": "",
}


@attacks_each(
    "policy",
    categories.APPROVALS,
    "a policy that cannot be read denies everything",
    _POLICIES,
    setup=FRESH,
)
def policy_broken(bench: Bench, text: str) -> None:
    policy = bench.place.policy
    before = policy.read_text(encoding="utf-8")
    policy.write_text(text, encoding="utf-8")
    since, token = bench.mark(), bench.token()
    answer = bench.call("echo", text=token)
    policy.write_text(before, encoding="utf-8")
    if token.encode() in bench.journal()[since.journal :]:
        raise Leaked("a call passed while the policy could not be read")
    require_clear_error(answer)
