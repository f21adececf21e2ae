"""`prompt`: a person is asked through the client, and the answer is worth exactly what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from clawkit.guard.audit.reader import was_asked
from clawkit.guard.audit.record import AuditEntry
from tests.guard.guarded_server import CLIENT, Guarded, guarded, records
from tests.processes import PATIENCE

META = "io.modelcontextprotocol/"
POLICY = """
[limits]
prompts = 3
prompts_per_minute = 8
prompt_timeout = 20

[[rule]]
action = "prompt"
tool = "delete_file"
description = "Ask before deleting"

[[rule]]
action = "prompt"
tool = "sampling/createMessage"
description = "Ask before sampling"

[[rule]]
action = "allow"
tool = "*"
"""
ELICITS = {"elicitation": {}}


def answer(guard: Guarded, question: dict[str, Any], decision: str, action: str = "accept") -> None:
    content = {"action": action, "content": {"decision": decision}}
    guard.send({"jsonrpc": "2.0", "id": question["id"], "result": content})


def delete(guard: Guarded, number: int, path: str = "/tmp/a") -> dict[str, Any]:
    """Send the call; gives what comes first, the question or the answer."""
    params = {"name": "delete_file", "arguments": {"path": path}}
    guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
    return guard.receive()


def deletions(guard: Guarded) -> int:
    return sum(b"delete_file" in line for line in guard.heard())


def test_a_person_is_asked_in_a_form_and_the_call_waits_for_the_answer(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "/tmp/\x1b[2Jx\u202e")
        assert question["method"] == "elicitation/create"
        text = question["params"]["message"]
        assert "delete_file" in text
        assert "files" in text
        assert "Ask before deleting" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert deletions(guard) == 0
        answer(guard, question, "allow once")
        assert guard.receive()["result"]
        assert deletions(guard) == 1


def test_characters_that_belong_to_their_neighbours_are_spelled_out_too(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize(ELICITS)
        text = delete(guard, 1, "/tmp/pa\xadss \u0628\u200c\u0628 \u2764\ufe0f \ue000")["params"][
            "message"
        ]
        for hidden in "\xad\u200c\ufe0f\ue000":
            assert hidden not in text
            assert hidden.encode("unicode_escape").decode() in text


def test_a_form_says_that_letters_from_right_to_left_may_change_the_order(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "pay \u05d0 100 200 300")
        assert "may be shown in another order" in question["params"]["message"]
        answer(guard, question, "deny")
        guard.receive()
        assert "another order" not in delete(guard, 2, "pay \u00e9 100")["params"]["message"]


def test_other_calls_go_on_while_a_person_thinks(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        assert guard.tool("echo", id=2, text="meanwhile")["result"]
        answer(guard, question, "deny")
        assert guard.receive()["error"]["code"] == -32001


def test_once_is_once_and_a_session_is_for_this_call_only(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        answer(guard, delete(guard, 1), "allow once")
        assert guard.receive()["id"] == 1
        answer(guard, delete(guard, 2), "allow for this session")
        assert guard.receive()["id"] == 2
        assert delete(guard, 3)["result"]
        assert delete(guard, 4, "/tmp/b")["method"] == "elicitation/create"


def test_whatever_is_not_a_clear_yes_allows_nothing_and_only_a_no_is_called_one(
    tmp_path: Path,
) -> None:
    said = [
        ("allow once", "decline", "a person said no"),
        ("allow once", "cancel", "the form was dismissed"),
        ("yes", "accept", "no answer of a person"),
        ("", "accept", "no answer of a person"),
        ("deny", "accept", "a person said no"),
    ]
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        for number, (decision, action, why) in enumerate(said):
            answer(guard, delete(guard, number), decision, action)
            assert guard.receive()["error"]["message"].count(why) == 1
        question = delete(guard, 9)
        guard.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
        assert "no answer of a person" in guard.receive()["error"]["message"]
        assert deletions(guard) == 0


def test_a_client_that_fails_to_ask_is_no_person_who_says_no(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        error = {"code": -32603, "message": "no window"}
        guard.send({"jsonrpc": "2.0", "id": question["id"], "error": error})
        denied = guard.receive()["error"]["message"]
        assert "no answer of a person" in denied
        assert "said no" not in denied
        assert deletions(guard) == 0


def test_an_approval_cannot_be_used_twice_and_a_guessed_one_not_at_all(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        answer(guard, {"id": "claw-" + "0" * 32}, "allow once")
        question = delete(guard, 1)
        answer(guard, question, "allow once")
        answer(guard, question, "allow once")
        assert guard.receive()["id"] == 1
        assert guard.tool("echo", id=2, text="x")["result"]
        assert deletions(guard) == 1


def test_a_policy_that_changed_meanwhile_makes_the_answer_worthless(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        guard.policy.write_text(POLICY + "# a remark\n")
        answer(guard, question, "allow once")
        assert "changed" in guard.receive()["error"]["message"]
        assert deletions(guard) == 0


def test_a_flood_of_questions_is_stopped(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        assert delete(guard, 1, "/tmp/1")["method"] == "elicitation/create"
        for number in (2, 3):
            params = {"name": "delete_file", "arguments": {"path": f"/tmp/{number}"}}
            guard.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        assert "3 questions to a person wait already" in delete(guard, 4)["error"]["message"]


def test_nobody_to_ask_is_a_no_at_once(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize()
        assert "nobody can be asked" in delete(guard, 1)["error"]["message"]


def test_nobody_answering_is_a_no_in_the_end(tmp_path: Path) -> None:
    policy = POLICY.replace("prompt_timeout = 20", "prompt_timeout = 0.3")
    with guarded(tmp_path, policy) as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        withdrawn = guard.receive()
        assert withdrawn["method"] == "notifications/cancelled"
        assert withdrawn["params"] == {"requestId": question["id"]}
        assert "in time" in guard.receive()["error"]["message"]
        answer(guard, question, "allow once")
        assert guard.tool("echo", id=2, text="x")["result"]
        assert deletions(guard) == 0


def test_a_call_that_is_cancelled_while_it_waits_never_happens(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        guard.send({**cancelled, "params": {"requestId": 1}})
        assert guard.receive()["method"] == "notifications/cancelled"
        answer(guard, question, "allow once")
        assert guard.tool("echo", id=2, text="x")["result"]
        assert deletions(guard) == 0


def test_approvals_are_in_the_log(tmp_path: Path, home: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        answer(guard, delete(guard, 1), "allow once")
        guard.receive()
        answer(guard, delete(guard, 2), "deny")
        guard.receive()
    found = [r for r in records(home) if r["kind"] == "approval"]
    assert [(r["tool"], r["decision"]) for r in found] == [
        ("delete_file", "allow"),
        ("delete_file", "deny"),
    ]
    asked = [r["id"] for r in records(home) if r.get("decision") == "prompt"]
    assert [r["of"] for r in found] == asked


def test_a_call_whose_client_cancels_it_or_goes_away_is_asked_and_not_run_in_the_log(
    tmp_path: Path, home: Path
) -> None:
    with guarded(tmp_path, POLICY) as guard:
        guard.initialize(ELICITS)
        delete(guard, 1)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled"}
        guard.send({**cancelled, "params": {"requestId": 1}})
        assert guard.receive()["method"] == "notifications/cancelled"
        delete(guard, 2)
        assert guard.process.stdin is not None
        guard.process.stdin.close()
        guard.process.wait(PATIENCE)
    found = [r for r in records(home) if r["kind"] == "approval"]
    why = "withdrawn before anybody answered; not run"
    assert [(r["decision"], r["reason"]) for r in found] == [("deny", why), ("deny", why)]
    assert all(was_asked(cast("AuditEntry", r)) for r in found)
    assert deletions(guard) == 0


MODERN_META = {
    f"{META}protocolVersion": "2026-07-28",
    f"{META}clientInfo": CLIENT,
    f"{META}clientCapabilities": ELICITS,
}


def modern(
    guard: Guarded, number: int, method: str = "tools/call", **params: Any
) -> dict[str, Any]:
    meta = {**MODERN_META, **params.get("_meta", {})}
    return guard.call(method, {**params, "_meta": meta}, number)


def approve(result: dict[str, Any], decision: str = "allow once") -> dict[str, Any]:
    key = next(iter(result["inputRequests"]))
    content = {"action": "accept", "content": {"decision": decision}}
    return {"requestState": result["requestState"], "inputResponses": {key: content}}


CALL = {"name": "delete_file", "arguments": {"path": "/tmp/a"}}


def test_in_the_modern_era_the_question_is_the_result(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        result = modern(guard, 1, **CALL)["result"]
        assert result["resultType"] == "input_required"
        assert deletions(guard) == 0
        assert modern(guard, 2, **CALL, **approve(result))["result"]["resultType"] == "complete"
        heard = next(line for line in guard.heard() if b"delete_file" in line)
        assert b"requestState" not in heard
        assert b"inputResponses" not in heard


def test_a_modern_approval_is_for_its_own_call_and_once(tmp_path: Path) -> None:
    with guarded(tmp_path, POLICY) as guard:
        other = {"name": "delete_file", "arguments": {"path": "/tmp/b"}}
        first = approve(modern(guard, 1, **CALL)["result"])
        assert "error" in modern(guard, 2, **other, **first)
        second = approve(modern(guard, 3, **CALL)["result"])
        assert modern(guard, 4, **CALL, **second)["result"]["resultType"] == "complete"
        assert modern(guard, 5, **CALL, **second)["result"]["resultType"] == "input_required"
        third = approve(modern(guard, 6, **CALL)["result"], "deny")
        assert "a person said no" in modern(guard, 7, **CALL, **third)["error"]["message"]
        assert deletions(guard) == 1
