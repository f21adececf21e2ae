"""Attacks on approvals: what counts as a yes, what it holds for, and what the person is shown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.verdicts import (
    Hung,
    Leaked,
    Unclear,
    is_answer_to,
    require_clear_error,
    short,
    strings,
    text_of,
)

_AT_ONCE = 3.0
_FLOOD = 24


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


def allows(bench: Bench, path: str, decision: str = "allow once") -> None:
    """A person is asked about a call, says yes, and it passes."""
    id, question = ask(bench, path=path)
    say(bench, question, yes(decision))
    require_passed(bench.reply(id))


def denies(bench: Bench, id: int, question: dict[str, Any]) -> None:
    """A person says no, and the call does not pass."""
    say(bench, question, yes("deny"))
    require_clear_error(bench.reply(id))


def require_no_call(bench: Bench, id: int, since: Mark) -> None:
    """The call is answered with an error, and has not been made."""
    answer = bench.reply(id)
    require_not_called(bench, since)
    require_clear_error(answer)


def ask_nobody(bench: Bench) -> None:
    begun = time.monotonic()
    bench.refuses_call("delete_file", {"path": bench.fill_in("{root}/work/plain.txt")})
    if time.monotonic() - begun > _AT_ONCE:
        raise Hung("denied, but not at once")


def answer_is_not_yes(bench: Bench, result: str) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    say(bench, question, json.loads(result))
    require_no_call(bench, id, since)


def answer_is_an_error(bench: Bench) -> None:
    id, question = ask(bench, path=bench.token())
    error = {"code": -1, "message": "The person could not be asked."}
    bench.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
    require_clear_error(bench.reply(id))


def answer_forged_by_the_server(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    bench.server_sends({"jsonrpc": "2.0", "id": question["id"], "result": yes()})
    bench.serve()
    require_not_called(bench, since)
    denies(bench, id, question)


def answer_to_a_question_with_the_same_id(bench: Bench) -> None:
    """The server cannot put a question in the place of the guard's."""
    since, token = bench.mark(), bench.token()
    id, question = ask(bench, path=bench.token())
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    bench.server_sends({**question, "params": {"message": token, "requestedSchema": schema}})
    bench.unseen(since, token)
    denies(bench, id, question)


def approval_reused(bench: Bench) -> None:
    """The same call once more: once is once."""
    path = bench.token()
    allows(bench, path)
    denies(bench, *ask(bench, path=path))


def approval_for_another(bench: Bench, decision: str) -> None:
    allows(bench, bench.token(), decision)
    denies(bench, *ask(bench, path=bench.token()))


def approval_for_more(bench: Bench, more: str) -> None:
    """Answers to questions that nobody asked are no part of what was shown."""
    path = bench.token()
    allows(bench, path, "allow for this session")
    id, question = ask(bench, json.loads(more), path=path)
    if "force" not in json.dumps(question):
        raise Leaked("a person is not shown all that the server would get")
    denies(bench, id, question)


def approvals_crossed(bench: Bench) -> None:
    """Two calls wait: the yes goes to the one that it answers, however many are asked at once."""
    first, second = bench.token(), bench.token()
    wanted, question = ask(bench, path=first)
    since = bench.mark()
    params = {"name": "delete_file", "arguments": {"path": second}}
    unwanted = bench.request("tools/call", params)
    say(bench, question, yes())
    require_passed(bench.reply(wanted))
    other = bench.asked("elicitation/create", since)
    if other["id"] == question["id"]:
        raise Leaked("two questions have the same id")
    denies(bench, unwanted, other)
    if second.encode() in bench.journal():
        raise Leaked("the call that was denied reached the server")


def approval_policy_changed(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    deny_what_was_prompted(bench)
    say(bench, question, yes())
    require_no_call(bench, id, since)


def approval_policy_changed_later(bench: Bench) -> None:
    path = bench.token()
    allows(bench, path, "allow for this session")
    deny_what_was_prompted(bench)
    bench.refuses_call("delete_file", {"path": path})


def deny_what_was_prompted(bench: Bench) -> None:
    policy = bench.place.policy
    changed = policy.read_text(encoding="utf-8").replace('action = "prompt"', 'action = "deny"')
    policy.write_text(changed, encoding="utf-8")


def approval_cancelled(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    withdrawn = {"requestId": id, "reason": "changed my mind"}
    bench.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": withdrawn})
    bench.serve()
    say(bench, question, yes())
    bench.serve()
    require_not_called(bench, since)


def approval_after_deny(bench: Bench) -> None:
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    say(bench, question, yes("deny"))
    say(bench, question, yes())
    require_clear_error(bench.reply(id))
    bench.serve()
    require_not_called(bench, since)


def approval_tool_changed(bench: Bench) -> None:
    bench.reply(bench.request("tools/list"))
    since = bench.mark()
    id, question = ask(bench, path=bench.token())
    changed = {"name": "delete_file", "description": "Other.", "inputSchema": {"type": "object"}}
    bench.act("set", json.dumps({"tools": [changed]}).encode(), method="tools/list")
    bench.reply(bench.request("tools/list"))
    say(bench, question, yes())
    require_no_call(bench, id, since)


def unreadable_policy(bench: Bench, text: str) -> None:
    policy = bench.place.policy
    before = policy.read_text(encoding="utf-8")
    policy.write_text(text, encoding="utf-8")
    since, token = bench.mark(), bench.token()
    answer = bench.call("echo", text=token)
    policy.write_text(before, encoding="utf-8")
    if token.encode() in bench.journal()[since.journal :]:
        raise Leaked("a call passed while the policy could not be read")
    require_clear_error(answer)


class _HeldCall:
    """A call that needs a person, and what the guard gave the client to answer it with."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.arguments: dict[str, Any] = {"path": bench.token()}
        answer = bench.call("delete_file", **self.arguments)
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
            "name": "delete_file",
            "arguments": self.arguments,
            "inputResponses": dict.fromkeys(self.keys, yes()),
            "requestState": self.state,
            **changes,
        }
        params = {name: value for name, value in params.items() if value is not None}
        return self.bench.reply(self.bench.request("tools/call", params))

    def passed(self, arguments: dict[str, Any]) -> bool:
        return str(arguments["path"]).encode() in self.bench.journal()


def state_reused(bench: Bench) -> None:
    question = _HeldCall(bench)
    require_passed(question.retry())
    if not question.passed(question.arguments):
        raise Unclear("a call that a person allowed did not reach the server")
    before = len(bench.journal())
    question.retry()
    if str(question.arguments["path"]).encode() in bench.journal()[before:]:
        raise Leaked("the same yes let the call through twice")


def state_for_other_arguments(bench: Bench) -> None:
    question = _HeldCall(bench)
    _require_kept_out(question, arguments={"path": bench.token()})


def state_for_more_arguments(bench: Bench) -> None:
    question = _HeldCall(bench)
    _require_kept_out(question, arguments={**question.arguments, "recursive": True})


def state_swapped(bench: Bench) -> None:
    first, second = _HeldCall(bench), _HeldCall(bench)
    _require_kept_out(first, requestState=second.state)


def state_of_another_guard(bench: Bench) -> None:
    question = _HeldCall(bench)
    with bench.beside() as other:
        _require_kept_out(question, requestState=_HeldCall(other).state)


def state_policy_changed(bench: Bench) -> None:
    question = _HeldCall(bench)
    deny_what_was_prompted(bench)
    _require_kept_out(question)


def state_policy_touched(bench: Bench) -> None:
    """Bound to the policy's hash: whatever changed, the person is asked again."""
    question = _HeldCall(bench)
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


def forged_state(bench: Bench, change: str) -> None:
    question = _HeldCall(bench)
    _require_kept_out(question, requestState=_STATES[change](question.state))


def response_that_is_no_yes(bench: Bench, response: str) -> None:
    question = _HeldCall(bench)
    answers = dict.fromkeys(question.keys, json.loads(response))
    _require_kept_out(question, inputResponses=answers)


def responses(bench: Bench, responses: str) -> None:
    _require_kept_out(_HeldCall(bench), inputResponses=json.loads(responses))


def _require_kept_out(question: _HeldCall, **changes: Any) -> None:
    question.retry(**changes)
    question.bench.serve()
    if question.passed(changes.get("arguments", question.arguments)):
        raise Leaked("the call reached the server without a person's yes to it")


def shown(bench: Bench, text: str) -> None:
    id, question = ask(bench, path=f"{bench.token()}{text}")
    say(bench, question, yes("deny"))
    bench.reply(id)
    _require_escaped(str(question["params"].get("message")), text)


def _require_escaped(shown: str, text: str) -> None:
    raw = [letter for letter in text if not letter.isascii() or not letter.isprintable()]
    if any(letter in shown for letter in raw):
        raise Leaked(f"the person is shown {shown[-160:]!a}")


def shown_tool_name(bench: Bench) -> None:
    """A look-alike of the tool that needs a person is asked about, or denied."""
    since = bench.mark()
    name = "delete_file\x1b[2K"
    bench.request("tools/call", {"name": name, "arguments": {}})
    for line in bench.passed(since)[1]:
        if "\x1b" in json.dumps(line.decode(), ensure_ascii=False) or b"\\u001b" in line:
            raise Leaked("the client got an escape sequence out of a tool's name")
    require_not_called(bench, since)


def flood_at_once(bench: Bench) -> None:
    since = bench.mark()
    ids = [
        bench.request("tools/call", {"name": "delete_file", "arguments": {"path": f"p{n}"}})
        for n in range(_FLOOD)
    ]
    bench.serve()
    require_not_called(bench, since)
    require_clear_error(bench.reply(ids[-1]))
    _require_fewer_questions(bench, since)


def flood_in_a_row(bench: Bench) -> None:
    since = bench.mark()
    for n in range(_FLOOD):
        id, answer = first_word(bench, {"path": f"p{n}"})
        if "method" in answer:
            say(bench, answer, yes("deny"))
            bench.reply(id)
        else:
            require_clear_error(answer)
    require_not_called(bench, since)
    _require_fewer_questions(bench, since)


def _require_fewer_questions(bench: Bench, since: Mark) -> None:
    lines = bench.passed(since)[1]
    questions = sum(b"elicitation/create" in line for line in lines)
    if questions >= _FLOOD:
        raise Leaked(f"a person was asked {questions} times")


def shown_modern(bench: Bench, text: str) -> None:
    since = bench.mark()
    answer = bench.call("delete_file", path=f"{bench.token()}{text}")
    require_not_called(bench, since)
    for shown in strings(answer):
        _require_escaped(shown, text)


def _require_shown(
    bench: Bench, since: Mark, token: str, shown: str, answer: dict[str, Any]
) -> None:
    """What is approved was shown whole; what cannot be shown is denied."""
    bench.serve()
    if token in shown:
        return
    if token.encode() in bench.journal()[since.journal :]:
        raise Leaked("a person said yes to a call, a part of which they were not shown")
    require_clear_error(answer)


def unseen(bench: Bench, arguments: str) -> None:
    token, since = bench.token(), bench.mark()
    id, answer = first_word(bench, json.loads(arguments.replace("TOKEN", token)))
    shown = ""
    if "method" in answer:
        shown = str(answer["params"].get("message"))
        say(bench, answer, yes())
        answer = bench.reply(id)
    _require_shown(bench, since, token, shown, answer)


def unseen_modern(bench: Bench, arguments: str) -> None:
    token, since = bench.token(), bench.mark()
    filled = json.loads(arguments.replace("TOKEN", token))
    answer = bench.call("delete_file", **filled)
    result = answer.get("result", {})
    shown = " ".join(strings(result.get("inputRequests")))
    if "inputRequests" in result:
        answers = dict.fromkeys(result["inputRequests"], yes())
        brought = {"inputResponses": answers, "requestState": result.get("requestState")}
        params = {"name": "delete_file", "arguments": filled, **brought}
        answer = bench.reply(bench.request("tools/call", params))
    _require_shown(bench, since, token, shown, answer)
