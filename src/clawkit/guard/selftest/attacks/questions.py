"""Attacks on the person who is asked: what the question shows, and how many there are."""

from __future__ import annotations

import json

from clawkit.guard.selftest import rows
from clawkit.guard.selftest.attacks.approvals import ask, first_word, require_not_called, say, yes
from clawkit.guard.selftest.bench import Bench, Mark
from clawkit.guard.selftest.registry import Setup, attack, attacks_each
from clawkit.guard.selftest.replies import require_clear_error, strings
from clawkit.guard.selftest.verdict import Leaked

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


@attacks_each("shown", rows.SHOWN, "shown escaped", _ESCAPES)
def escapes_in_the_question(bench: Bench, text: str) -> None:
    id, question = ask(bench, path=f"{bench.token()}{text}")
    say(bench, question, yes("deny"))
    bench.reply(id)
    _require_escaped(str(question["params"].get("message")), text)


def _require_escaped(shown: str, text: str) -> None:
    raw = [letter for letter in text if not letter.isascii() or not letter.isprintable()]
    if any(letter in shown for letter in raw):
        raise Leaked(f"the person is shown {shown[-160:]!a}")


@attack("shown-tool-name", rows.SHOWN, "shown escaped")
def escapes_in_the_tool_name(bench: Bench) -> None:
    """A look-alike of the tool that needs a person is asked about, or denied."""
    since = bench.mark()
    name = "delete_file\x1b[2K"
    bench.request("tools/call", {"name": name, "arguments": {}})
    for line in bench.passed(since)[1]:
        if "\x1b" in json.dumps(line.decode(), ensure_ascii=False) or b"\\u001b" in line:
            raise Leaked("the client got an escape sequence out of a tool's name")
    require_not_called(bench, since)


@attack("flood-at-once", rows.FLOOD, "capped; then denied", setup=Setup(policy="tight", fresh=True))
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
    "flood-in-a-row", rows.FLOOD, "capped; then denied", setup=Setup(policy="tight", fresh=True)
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


@attacks_each("shown-modern", rows.SHOWN, "shown escaped", _ESCAPES, setup=Setup(era="modern"))
def escapes_in_the_question_of_the_modern_era(bench: Bench, text: str) -> None:
    since = bench.mark()
    answer = bench.call("delete_file", path=f"{bench.token()}{text}")
    require_not_called(bench, since)
    for shown in strings(answer):
        _require_escaped(shown, text)
