"""Attacks on approvals, in the modern era: a question is a result, its state the client's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.attacks.approvals import (
    deny_what_was_prompted,
    require_passed,
    yes,
)
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import Setup, attack, attacks_each
from clawkit.guard.selftest.verdicts import Leaked, Unclear, short

_BOUND = "a yes holds for the call that was shown, and for no other"
_ONLY_YES = "denied: only a yes is a yes"
_MODERN = Setup(era="modern")
_FRESH = Setup(era="modern", fresh=True)


class _Question:
    """A call that needs a person, and what the guard gave the client to answer it with."""

    def __init__(self, bench: Bench, tool: str = "delete_file") -> None:
        self.bench = bench
        self.tool = tool
        self.arguments: dict[str, Any] = {"path": bench.token()}
        answer = bench.call(tool, **self.arguments)
        if self.passed(self.arguments):
            raise Leaked("the call reached the server and nobody was asked")
        result: dict[str, Any] = answer.get("result", {})
        if result.get("resultType") != "input_required":
            raise Unclear(f"no question came, but {short(answer)}")
        self.keys = list(result.get("inputRequests", {}))
        self.state: Any = result.get("requestState")

    def retry(self, **changes: Any) -> dict[str, Any]:
        """The call again with a yes; what is given here replaces its parts."""
        params: dict[str, Any] = {
            "name": self.tool,
            "arguments": self.arguments,
            "inputResponses": dict.fromkeys(self.keys, yes()),
            "requestState": self.state,
            **changes,
        }
        params = {name: value for name, value in params.items() if value is not None}
        return self.bench.reply(self.bench.request("tools/call", params))

    def passed(self, arguments: dict[str, Any]) -> bool:
        return str(arguments["path"]).encode() in self.bench.journal()


@attack("state-reused", categories.APPROVALS, _BOUND, setup=_MODERN)
def state_reused(bench: Bench) -> None:
    question = _Question(bench)
    require_passed(question.retry())
    if not question.passed(question.arguments):
        raise Unclear("a call that a person allowed did not reach the server")
    before = len(bench.journal())
    question.retry()
    if str(question.arguments["path"]).encode() in bench.journal()[before:]:
        raise Leaked("the same yes let the call through twice")


@attack("state-for-other-arguments", categories.APPROVALS, _BOUND, setup=_MODERN)
def other_arguments(bench: Bench) -> None:
    question = _Question(bench)
    _require_kept_out(question, arguments={"path": bench.token()})


@attack("state-for-more-arguments", categories.APPROVALS, _BOUND, setup=_MODERN)
def more_arguments(bench: Bench) -> None:
    question = _Question(bench)
    _require_kept_out(question, arguments={**question.arguments, "recursive": True})


@attack("state-swapped", categories.APPROVALS, _BOUND, setup=_MODERN)
def state_of_another_question(bench: Bench) -> None:
    first, second = _Question(bench), _Question(bench)
    _require_kept_out(first, requestState=second.state)


@attack("state-of-another-guard", categories.APPROVALS, _BOUND, setup=_MODERN)
def state_of_another_guard(bench: Bench) -> None:
    question = _Question(bench)
    other = bench.beside()
    try:
        stranger = _Question(other)
        _require_kept_out(question, requestState=stranger.state)
    finally:
        other.stop()


@attack("state-policy-changed", categories.APPROVALS, "a changed policy counts", setup=_FRESH)
def policy_changed(bench: Bench) -> None:
    question = _Question(bench)
    deny_what_was_prompted(bench)
    _require_kept_out(question)


@attack("state-policy-touched", categories.APPROVALS, "a changed policy counts", setup=_FRESH)
def policy_touched(bench: Bench) -> None:
    """Bound to the policy's hash: whatever changed, the person is asked again."""
    question = _Question(bench)
    with bench.place.policy.open("a", encoding="utf-8") as policy:
        policy.write("\n# changed\n")
    _require_kept_out(question)


_STATES: dict[str, Callable[[str], Any]] = {
    "missing": lambda _: None,
    "empty": lambda _: "",
    "made-up": lambda _: "allow once",
    "cut": lambda state: state[:-1],
    "longer": lambda state: f"{state}A",
    "first-letter": lambda state: _changed(state, 0),
    "middle-letter": lambda state: _changed(state, len(state) // 2),
    "list": lambda state: [state],
    "number": lambda _: 1,
}


def _changed(state: str, at: int) -> str:
    return state[:at] + ("B" if state[at] == "A" else "A") + state[at + 1 :]


@attacks_each("state", categories.APPROVALS, _BOUND, _STATES, setup=_MODERN)
def forged_state(bench: Bench, change: Callable[[str], Any]) -> None:
    question = _Question(bench)
    _require_kept_out(question, requestState=change(question.state))


_RESPONSES: dict[str, Any] = {
    "deny": yes("deny"),
    "decline": {"action": "decline", "content": {"decision": "allow once"}},
    "cancel": {"action": "cancel"},
    "empty": {},
    "list": [yes()],
    "string": "allow once",
    "decision-true": {"action": "accept", "content": {"decision": True}},
}


@attacks_each("response", categories.APPROVALS, _ONLY_YES, _RESPONSES, setup=_MODERN)
def not_a_yes(bench: Bench, response: Any) -> None:
    question = _Question(bench)
    _require_kept_out(question, inputResponses=dict.fromkeys(question.keys, response))


@attack("response-under-another-key", categories.APPROVALS, _ONLY_YES, setup=_MODERN)
def another_key(bench: Bench) -> None:
    _require_kept_out(_Question(bench), inputResponses={"other": yes()})


_ALL_RESPONSES: dict[str, Any] = {"list": [yes()], "string": "allow once", "number": 1, "empty": {}}


@attacks_each("responses", categories.APPROVALS, _ONLY_YES, _ALL_RESPONSES, setup=_MODERN)
def responses_of_another_shape(bench: Bench, responses: Any) -> None:
    _require_kept_out(_Question(bench), inputResponses=responses)


def _require_kept_out(question: _Question, **changes: Any) -> None:
    question.retry(**changes)
    question.bench.serve()
    if question.passed(changes.get("arguments", question.arguments)):
        raise Leaked("the call reached the server without a person's yes to it")
