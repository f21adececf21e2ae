"""Attacks on the person who is asked: what the question shows, and how many there are."""

from __future__ import annotations

import json
from typing import Any

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.attacks.approvals import ask, first_word, require_not_called, say, yes
from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.registry import Setup, attack, attacks_each
from clawkit.guard.selftest.verdicts import Leaked, require_clear_error, strings

_FLOOD = 24

_ESCAPES = {
    "colour": "\x1b[31mred",
    "carriage-return": "rm -rf /\rls",
    "bidi": "\N{RIGHT-TO-LEFT OVERRIDE}fdp.exe",
    "zero-width": "a\N{ZERO WIDTH SPACE}b",
    "backspace": "rm\x08\x08ls",
    "c1": "\x9b2J",
    "tags": "\N{TAG LATIN SMALL LETTER A}",
}


@attacks_each("shown", categories.SHOWN, "shown escaped", _ESCAPES)
def escapes_in_the_question(bench: Bench, text: str) -> None:
    id, question = ask(bench, path=f"{bench.token()}{text}")
    say(bench, question, yes("deny"))
    bench.reply(id)
    _require_escaped(str(question["params"].get("message")), text)


def _require_escaped(shown: str, text: str) -> None:
    raw = [letter for letter in text if not letter.isascii() or not letter.isprintable()]
    if any(letter in shown for letter in raw):
        raise Leaked(f"the person is shown {shown[-160:]!a}")


@attack("shown-tool-name", categories.SHOWN, "shown escaped")
def escapes_in_the_tool_name(bench: Bench) -> None:
    """A look-alike of the tool that needs a person is asked about, or denied."""
    since = bench.mark()
    name = "delete_file\x1b[2K"
    bench.request("tools/call", {"name": name, "arguments": {}})
    for line in bench.passed(since)[1]:
        if "\x1b" in json.dumps(line.decode(), ensure_ascii=False) or b"\\u001b" in line:
            raise Leaked("the client got an escape sequence out of a tool's name")
    require_not_called(bench, since)


@attack(
    "flood-at-once",
    categories.FLOOD,
    "capped; then denied",
    setup=Setup(policy="tight", fresh=True),
)
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


@attack(
    "flood-in-a-row",
    categories.FLOOD,
    "capped; then denied",
    setup=Setup(policy="tight", fresh=True),
)
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


@attacks_each(
    "shown-modern", categories.SHOWN, "shown escaped", _ESCAPES, setup=Setup(era="modern")
)
def escapes_in_the_question_of_the_modern_era(bench: Bench, text: str) -> None:
    since = bench.mark()
    answer = bench.call("delete_file", path=f"{bench.token()}{text}")
    require_not_called(bench, since)
    for shown in strings(answer):
        _require_escaped(shown, text)


_SHOWN_WHOLE = "what is approved was shown whole; what cannot be shown is denied"
_PADDING = "harmless " * 400
_HIDDEN: dict[str, dict[str, Any]] = {
    "middle": {"path": f"{_PADDING}TOKEN{_PADDING}"},
    "end": {"path": f"{_PADDING}{_PADDING}TOKEN"},
    "blanks": {"path": f"a{' ' * 20_000}TOKEN"},
    "blank-lines": {"path": "\n" * 20_000 + "TOKEN"},
    "key": {f"{_PADDING}TOKEN{_PADDING}": "a"},
    "many": {"a": 1, **{f"a{n}": "a" for n in range(900)}, "path": "TOKEN", "z": _PADDING},
    "list": {"path": [*["a"] * 900, "TOKEN", *["a"] * 900]},
    "nested": {"path": {"a": {"b": [_PADDING, {"c": f"{_PADDING}TOKEN{_PADDING}"}]}}},
}


def _hiding(bench: Bench, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    token = bench.token()
    return token, json.loads(json.dumps(arguments).replace("TOKEN", token))


def _require_shown(bench: Bench, since: Mark, token: str, shown: str) -> None:
    bench.serve()
    passed = token.encode() in bench.journal()[since.journal :]
    if passed and token not in shown:
        raise Leaked("a person said yes to a call, a part of which they were not shown")


@attacks_each("unseen", categories.UNSEEN, _SHOWN_WHOLE, _HIDDEN)
def hidden_in_a_long_call(bench: Bench, arguments: dict[str, Any]) -> None:
    token, filled = _hiding(bench, arguments)
    since = bench.mark()
    id, answer = first_word(bench, filled)
    shown = ""
    if "method" in answer:
        shown = str(answer["params"].get("message"))
        say(bench, answer, yes())
        answer = bench.reply(id)
    _require_shown(bench, since, token, shown)
    if token not in shown:
        require_clear_error(answer)


@attacks_each("unseen-modern", categories.UNSEEN, _SHOWN_WHOLE, _HIDDEN, setup=Setup(era="modern"))
def hidden_in_a_long_call_of_the_modern_era(bench: Bench, arguments: dict[str, Any]) -> None:
    token, filled = _hiding(bench, arguments)
    since = bench.mark()
    answer = bench.call("delete_file", **filled)
    result = answer.get("result", {})
    shown = " ".join(strings(result.get("inputRequests")))
    if "inputRequests" in result:
        answers = dict.fromkeys(result["inputRequests"], yes())
        brought = {"inputResponses": answers, "requestState": result.get("requestState")}
        params = {"name": "delete_file", "arguments": filled, **brought}
        answer = bench.reply(bench.request("tools/call", params))
    _require_shown(bench, since, token, shown)
    if token not in shown:
        require_clear_error(answer)
