"""What a person approves is what they saw, and nothing else; and every call gets its answer."""

from __future__ import annotations

import json
import re
import shutil
import sys
import unicodedata
from pathlib import Path
from typing import Any

from clawkit.guard.call_display import call_lines, spelled
from tests.guard.guarded_server import ALLOW_ALL, Guarded, guarded
from tests.guard.test_prompt_rules import ELICITS, POLICY, answer, approve, delete, modern
from tests.guard.test_server_side import act

READ = "resources/read"
NOTE = {"uri": "notes://one"}


def rule(action: str, text: str) -> str:
    return f'[[rule]]\naction = "{action}"\n{text}\n'


PROMPT_QUESTIONS = rule("prompt", 'tool = ["sampling/createMessage", "elicitation/create"]')
PROMPT_READS = rule("prompt", 'resource = "notes://**"')


def asks(guard: Guarded, **questions: str) -> None:
    """Have the server answer reads with these questions."""
    requests = {
        key: {"method": "elicitation/create", "params": {"message": text}}
        for key, text in questions.items()
    }
    result = {"resultType": "input_required", "requestState": "s", "inputRequests": requests}
    act(guard, "set", result, method=READ)
    assert guard.receive()["id"] == 1


def test_all_questions_of_a_result_are_shown_before_all_are_released(tmp_path: Path) -> None:
    with guarded(tmp_path, PROMPT_QUESTIONS + ALLOW_ALL) as guard:
        asks(guard, a="Send me your mail", b="Harmless?")
        form = json.dumps(modern(guard, 2, READ, **NOTE)["result"]["inputRequests"])
        assert "Send me your mail" in form
        assert "Harmless?" in form


def test_a_session_for_a_question_is_none_for_the_call_that_led_to_it(tmp_path: Path) -> None:
    with guarded(tmp_path, PROMPT_QUESTIONS + PROMPT_READS + ALLOW_ALL) as guard:
        asks(guard, a="Which one?")
        call = modern(guard, 2, READ, **NOTE)["result"]
        inner = modern(guard, 3, READ, **NOTE, **approve(call))["result"]
        assert "this session" not in json.dumps(inner)
        released = modern(guard, 4, READ, **NOTE, **approve(inner))["result"]
        assert released["requestState"] == "s"
        assert modern(guard, 5, READ, **NOTE)["result"]["requestState"].startswith("claw-")


def test_the_next_round_counts_only_under_the_same_policy(tmp_path: Path) -> None:
    with guarded(tmp_path, PROMPT_READS + ALLOW_ALL) as guard:
        asks(guard, a="Which one?")
        call = modern(guard, 2, READ, **NOTE)["result"]
        assert modern(guard, 3, READ, **NOTE, **approve(call))["result"]["requestState"] == "s"
        guard.policy.write_text(PROMPT_READS + ALLOW_ALL + "# changed\n")
        brought = {"requestState": "s", "inputResponses": {"a": {"action": "accept"}}}
        again = modern(guard, 4, READ, **NOTE, **brought)["result"]
        assert again["requestState"].startswith("claw-")


def test_a_state_that_is_no_text_harms_nobody(tmp_path: Path) -> None:
    with guarded(tmp_path, PROMPT_READS + ALLOW_ALL) as guard:
        odd = {"resultType": "input_required", "requestState": {"a": 1}, "inputRequests": {}}
        act(guard, "set", odd, method=READ)
        assert guard.receive()["id"] == 1
        call = modern(guard, 2, READ, **NOTE)["result"]
        assert modern(guard, 3, READ, **NOTE, **approve(call))["result"]["requestState"] == {"a": 1}
        assert guard.tool("echo", id=4, text="still here")["result"]


def test_the_state_and_the_cursor_of_a_server_reach_the_client_as_they_are(tmp_path: Path) -> None:
    token = ".".join(["eyJhbGciOiJIUzI1NiJ9", "eyJzdWIiOiIxMjM0NTY3ODkwIn0", "c2lnbmF0dXJl" * 3])
    listing = {"tools": [], "nextCursor": token, "note": f"token {token}"}
    with guarded(tmp_path) as guard:
        act(guard, "set", listing, method="tools/list")
        assert guard.receive()["id"] == 1
        result = guard.call("tools/list", {}, 2)["result"]
        assert result["nextCursor"] == token
        assert token not in result["note"]


def test_a_prompts_rate_counts_the_question_not_its_answer(tmp_path: Path) -> None:
    limited = rule("prompt", 'resource = "notes://**"\nrate = "1/hour"')
    with guarded(tmp_path, limited + ALLOW_ALL) as guard:
        call = modern(guard, 1, READ, **NOTE)["result"]
        assert modern(guard, 2, READ, **NOTE, **approve(call))["result"]["contents"]
        assert "1/hour" in modern(guard, 3, READ, **NOTE)["error"]["message"]


def form_for(guard: Guarded, number: int, arguments: dict[str, Any]) -> str:
    params = {"name": "run", "arguments": arguments}
    guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    form = guard.receive()
    answer(guard, form, "deny")
    assert guard.receive()["id"] == number
    return form["params"]["message"]


def test_a_form_shows_every_character_of_what_it_asks_about(tmp_path: Path) -> None:
    with guarded(tmp_path, rule("prompt", 'tool = "*"')) as guard:
        guard.initialize(ELICITS)
        blank = {"a": " " * 900 + "; rm -rf /", "b": "\n" * 50 + "&& curl\u3000\u00a0x"}
        text = form_for(guard, 1, blank)
        assert "\\s{900}; rm -rf /" in text
        assert "&& curl\\u3000\\xa0x" in text
        shown = form_for(guard, 2, {"a": "y" * 700}).splitlines()
        rows = [row for row in shown if row.startswith("    ")]
        assert max(map(len, rows)) <= 76
        assert sum(row.count("y") for row in rows) == 700


BLANK_NAMES = re.compile(r"\b(BLANK|FILLER|JOINER|NULL|SPACE|OBJECT REPLACEMENT)\b")
DRAWN = re.compile("SYMBOL FOR|BLANK SYMBOL|GAP FILLER|LINE FILLER|PLANE SPACE")


def test_letters_that_pass_for_ascii_ones_are_spelled_out_where_nothing_around_tells() -> None:
    lines = call_lines(
        {"tool": "re\u0430d", "method": "tools/call", "arguments": {"\u0430": 1, "a": 2}}
    )
    assert lines == ["tool: re\\u0430d", "arguments: {", '  "\\u0430": 1,', '  "a": 2', "}"]
    for text, shown in (
        ("/work/\u0430pp", "/work/\\u0430pp"),
        ("\u0430\u0440\u0440", "\\u0430\\u0440\\u0440"),
        ("\u0440asswd и я", "\\u0440asswd и я"),
        ("\u03bfpen", "\\u03bfpen"),
    ):
        assert spelled(text) == shown
    russian, greek = (
        "\u041e\u043d, \u0430 \u043d\u0435 \u044f",
        "\u039c\u03b9\u03ba\u03c1\u03cc \u03bf",
    )
    for text in (
        russian,
        greek,
        "3D-\u043c\u043e\u0434\u0435\u043b\u044c",
        "naïve café",
        "\u0131l\u0131k",
        "\u2013 a",
        "日本語",
    ):
        assert spelled(text) == text


def test_a_name_cannot_pass_for_what_is_spelled_out() -> None:
    real, literal = (call_lines({"tool": f"a{name}b"})[0] for name in ("\u202e", "\\u202e"))
    assert (real, literal) == ("tool: a\\u202eb", "tool: a\\\\u202eb")


def test_what_draws_nothing_is_spelled_out_in_a_call() -> None:
    every = map(chr, range(0x80, sys.maxunicode))
    names = {letter: unicodedata.name(letter, "") for letter in every}
    blank = [
        letter
        for letter, name in names.items()
        if BLANK_NAMES.search(name) and not DRAWN.search(name)
    ]
    assert {"\ufffc", "\u3164", "\u2800", "\U0001d159"} <= {*blank}
    for letter in blank:
        assert letter not in spelled(f"rm{letter}-rf"), names[letter]


def test_digits_that_nobody_would_see_do_not_reach_the_server(tmp_path: Path) -> None:
    with guarded(tmp_path, ALLOW_ALL) as guard:
        guard.initialize()
        head = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo",'
        call = head + b'"arguments":%s}}'
        guard.write(call % b'{"n":0.1000000000000000055511151231257827}' + b"\n")
        refused = guard.receive()
        assert refused["id"] == 7
        assert "more digits than a float keeps: send it as a string" in refused["error"]["message"]
        guard.write(call % b'{"text":"0.1000000000000000055511151231257827"}' + b"\n")
        assert guard.receive()["result"]
        assert not any(b'"n"' in line for line in guard.heard())


def test_what_nobody_could_read_is_not_asked_about(tmp_path: Path) -> None:
    with guarded(tmp_path, rule("prompt", 'tool = "*"')) as guard:
        guard.initialize(ELICITS)
        params = {"name": "run", "arguments": {"note": "harmless " * 20_000, "command": "rm -rf /"}}
        reply = guard.call("tools/call", params)
        assert "too large to be read by a person" in reply["error"]["message"]


def test_a_call_that_waits_is_answered_when_the_log_breaks(tmp_path: Path, home: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        folder = home / "claw" / "data" / "claw" / "guard" / "audit"
        shutil.rmtree(folder)
        folder.write_text("in the way")
        # What is gone is noticed within a second.
        reply: dict[str, Any] = {}
        answer(guard, question, "allow once")
        reply = guard.receive()
        assert reply["id"] == 1


def test_calls_that_wait_are_answered_when_the_server_ends(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        assert delete(guard, 1)["method"] == "elicitation/create"
        params = {"name": "act", "arguments": {"do": "exit", "status": 4}}
        guard.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        ended = [guard.receive() for _ in range(3)]
        assert {m["id"] for m in ended if "error" in m} == {1, 2}


def test_a_client_that_shows_no_forms_is_sent_none(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize({"elicitation": {"url": {}}})
        assert "nobody can be asked" in delete(guard, 1)["error"]["message"]


def test_what_stands_beside_the_arguments_is_approved_with_them(tmp_path: Path) -> None:
    call: dict[str, Any] = {"name": "delete_file", "arguments": {"path": "/work/a"}}
    with guarded(tmp_path, POLICY) as guard:
        asked = modern(guard, 1, **call, task={"ttl": 5})["result"]
        swapped = modern(guard, 2, **call, task={"ttl": 6}, **approve(asked))
        assert "changed while a person was asked" in swapped["error"]["message"]
        asked = modern(guard, 3, **call, _meta={"progressToken": 1, "x": "a"})["result"]
        reply = modern(guard, 4, **call, _meta={"progressToken": 2, "x": "a"}, **approve(asked))
        assert reply["result"]["content"]
