"""How far an answer reaches: one call, a tool for the session, a folder, a tool for good."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, Literal

import pytest

from clawkit.errors import PolicyError
from clawkit.guard.approval_answers import check_rule, rule_of
from clawkit.guard.approval_window import ApprovalWindow, answer_pending
from clawkit.guard.authoring.edit import folder_rule, tool_rule
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.paths import Paths
from tests.guard.approvals import until
from tests.guard.guarded_server import Guarded, guarded
from tests.guard.test_prompt_rules import (
    ELICITS,
    POLICY,
    answer,
    approve,
    delete,
    deletions,
    modern,
)
from tests.guard.test_prompts_in_a_view import asked, send, socket, view
from tests.processes import PATIENCE

__all__ = ["socket", "view"]
DENIES = '[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = "**/.ssh/**"\n'
ASKS = f"{DENIES}{POLICY}"
EACH = ASKS.replace('"Ask before deleting"', '"Ask before deleting"\neach_call = true')
TOOL_SESSION = "allow this tool for this session"
FOLDER = "allow this tool in this folder always"
ALWAYS = "allow this tool always"


def offered(question: dict[str, Any]) -> list[str]:
    return question["params"]["requestedSchema"]["properties"]["decision"]["enum"]


def test_a_form_offers_every_scope_and_shows_the_rules_it_would_write(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "/work/app/a")
        assert offered(question) == [
            *("allow once", "allow for this session", TOOL_SESSION, FOLDER, ALWAYS, "deny")
        ]
        text = question["params"]["message"]
        assert 'args.path = ["/work/app", "/work/app/**"]' in text
        assert text.count('server = "files"') == 2
        assert str(guard.policy) in text


def test_a_tool_for_the_session_covers_other_arguments_and_nothing_that_is_denied(
    tmp_path: Path,
) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        answer(guard, delete(guard, 1, "/work/a"), TOOL_SESSION)
        assert guard.receive()["result"]
        assert delete(guard, 2, "/elsewhere/b")["result"]
        assert "error" in delete(guard, 3, "/home/me/.ssh/id_rsa")
        odd = {"name": "delete_file", "arguments": {"path": "/work/c"}, "more": {"force": True}}
        guard.send({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": odd})
        assert guard.receive()["method"] == "elicitation/create"


@pytest.mark.parametrize(
    ("decision", "elsewhere"), [(FOLDER, "elicitation/create"), (ALWAYS, None)]
)
def test_a_rule_that_is_chosen_in_a_form_is_written_above_the_one_that_asked(
    decision: str, elsewhere: str | None, tmp_path: Path
) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        answer(guard, delete(guard, 1, "/work/app/a"), decision)
        assert guard.receive()["result"]
        assert delete(guard, 2, "/work/app/deep/b")["result"]
        assert delete(guard, 3, "/work/other/c").get("method") == elsewhere
        rules = tomllib.loads(guard.policy.read_text())["rule"]
        assert [rule["action"] for rule in rules[:3]] == ["deny", "allow", "prompt"]
        assert rules[1]["server"] == "files"
        assert "error" in delete(guard, 4, "/work/app/.ssh/id_rsa")


def test_nothing_is_written_when_the_policy_changed_meanwhile(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "/work/app/a")
        changed = f"{ASKS}# mine\n"
        guard.policy.write_text(changed)
        answer(guard, question, ALWAYS)
        assert "has changed since" in guard.receive()["error"]["message"]
        assert guard.policy.read_text() == changed
        assert deletions(guard) == 0


def test_a_rule_that_asks_about_each_call_offers_nothing_else(tmp_path: Path) -> None:
    with guarded(tmp_path, EACH, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        assert offered(question) == ["allow once", "deny"]
        answer(guard, question, TOOL_SESSION)
        assert "no answer of a person" in guard.receive()["error"]["message"]


def test_a_server_without_a_name_gets_no_rule(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS) as guard:
        guard.initialize(ELICITS)
        assert FOLDER not in offered(delete(guard, 1))


def test_a_modern_client_chooses_a_scope_too(tmp_path: Path) -> None:
    call: dict[str, Any] = {"name": "delete_file", "arguments": {"path": "/work/app/a"}}
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        question = modern(guard, 1, "tools/call", **call)["result"]
        assert modern(guard, 2, "tools/call", **call, **approve(question, FOLDER))["result"]
        call["arguments"] = {"path": "/work/app/b"}
        assert "inputRequests" not in modern(guard, 3, "tools/call", **call)["result"]


def test_equal_calls_that_wait_are_asked_about_one_by_one(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1)
        send(guard, 2, "/tmp/a")
        answer(guard, question, "allow once")
        replies = [guard.receive() for _ in range(2)]
        assert [reply["id"] for reply in replies if "result" in reply] == [1]
        (other,) = (reply for reply in replies if "method" in reply)
        assert deletions(guard) == 1
        answer(guard, other, "deny")
        assert guard.receive()["error"]


def test_a_session_for_a_call_is_one_for_the_equal_calls_that_wait(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize()
        for number in (1, 2, 3):
            send(guard, number, "/tmp/a")
        until(lambda: len(view.asks()) == 3)
        assert view.answer(view.asks()[0].id, "session")
        assert {guard.receive()["id"] for _ in range(3)} == {1, 2, 3}


def test_no_more_equal_calls_wait_than_questions_may(view: ApprovalWindow, tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize()
        for number in range(20):
            send(guard, number, "/tmp/a")
        refused = [guard.receive()["error"]["message"] for _ in range(17)]
        assert all("wait already" in text for text in refused)
        until(lambda: len(view.asks()) == 3)
        for ask in view.asks():
            assert view.answer(ask.id, "once")
        assert all("result" in guard.receive() for _ in range(3))
        assert deletions(guard) == 3


def test_a_client_shows_one_form_at_a_time_and_the_others_wait(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "/work/1")
        for number in (2, 3):
            send(guard, number, f"/work/{number}")
        assert guard.tool("echo", id=9, text="no form before this")["id"] == 9
        for number in (1, 2, 3):
            assert f"/work/{number}" in question["params"]["message"]
            answer(guard, question, "allow once")
            replies = [guard.receive() for _ in range(2 if number < 3 else 1)]
            assert number in [reply.get("id") for reply in replies]
            question = next((reply for reply in replies if "method" in reply), question)
        assert deletions(guard) == 3


def test_the_next_form_comes_when_the_open_one_is_withdrawn(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        first = delete(guard, 1, "/work/1")
        send(guard, 2, "/work/2")
        cancelled = {"requestId": 1, "reason": "changed my mind"}
        guard.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
        assert guard.receive()["params"]["requestId"] == first["id"]
        assert "/work/2" in guard.receive()["params"]["message"]


def test_what_waits_for_its_form_can_be_answered_in_the_view(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "/work/1")
        send(guard, 2, "/work/2")
        ask = asked(view)
        assert ask.call["arguments"] == {"path": "/work/2"}
        view.answer(ask.id, "once")
        assert guard.receive()["id"] == 2
        answer(guard, question, "allow once")
        assert guard.receive()["id"] == 1


def test_an_answer_for_more_lets_the_others_go_that_it_covers(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        first = delete(guard, 1, "/work/app/a")
        send(guard, 2, "/work/app/b")
        answer(guard, first, FOLDER)
        replies = [guard.receive() for _ in range(2)]
        assert {reply["id"] for reply in replies if "result" in reply} == {1, 2}


@pytest.mark.parametrize("capabilities", [{}, ELICITS], ids=["in the view", "in a form"])
def test_a_rule_that_is_written_lets_calls_go_that_wait_in_another_guard(
    view: ApprovalWindow, tmp_path: Path, capabilities: dict[str, Any]
) -> None:
    patient = ASKS.replace("prompt_timeout = 20", f"prompt_timeout = {PATIENCE}")
    with (
        guarded(tmp_path, patient, "--name", "files") as guard,
        guarded(tmp_path, None, "--name", "files") as other,
    ):
        guard.initialize()
        other.initialize(capabilities)
        send(guard, 1, "/work/a")
        ask = asked(view)
        send(other, 2, "/work/a")
        if capabilities:
            assert other.receive()["method"] == "elicitation/create"
        else:
            until(lambda: len(view.asks()) == 2)
        view.answer(ask.id, "always", rule=rule_of(ask))
        assert "result" in guard.receive()
        if capabilities:
            assert other.receive()["method"] == "notifications/cancelled"
        assert "result" in other.receive()
        assert deletions(guard) == 2
        until(lambda: not view.asks())


def test_the_view_lets_a_tool_pass_for_the_session_with_all_that_waits(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize()
        for number in (1, 2, 3):
            send(guard, number, f"/work/{number}")
        while len(view.asks()) < 3:
            asked(view)
        view.answer(asked(view).id, "tool")
        assert {guard.receive()["id"] for _ in range(3)} == {1, 2, 3}
        assert guard.tool("delete_file", id=4, path="/elsewhere")["result"]


def test_the_view_writes_the_rule_for_a_folder_that_it_showed(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1, "/work/app/a")
        ask = asked(view)
        view.answer(ask.id, "always", rule=rule_of(ask, "folder"))
        assert guard.receive()["result"]
        assert guard.tool("delete_file", id=2, path="/work/app/b")["result"]


@pytest.mark.parametrize("wider", ["session", "tool"])
def test_the_view_knows_no_wider_scope_where_each_call_is_asked_about(
    wider: Literal["session", "tool"], view: ApprovalWindow, socket: Path, tmp_path: Path
) -> None:
    with guarded(tmp_path, EACH, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1, "/work/app/a")
        ask = asked(view)
        for scope in ("call", "folder", "tool"):
            with pytest.raises(PolicyError, match="each such call"):
                rule_of(ask, scope)
        with pytest.raises(PolicyError, match="each such call"):
            check_rule(ask, tool_rule("delete_file", "tools/call", ("files",)))
        assert "each such call" in (answer_pending(socket, ask.id, wider) or "")
        # A window that says so all the same is not believed.
        assert not view.answer(ask.id, wider)
        assert view.answer(ask.id, "once")
        assert guard.receive()["result"]
        send(guard, 2, "/work/app/a")
        assert asked(view).call["arguments"] == {"path": "/work/app/a"}


def test_a_rule_that_asks_about_each_call_takes_no_word_for_a_rule_that_was_written(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    with guarded(tmp_path, EACH, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1, "/work/app/a")
        ask = asked(view)
        assert not view.answer(ask.id, "always", rule="any")
        assert view.answer(ask.id, "deny")
        assert "a person said no" in guard.receive()["error"]["message"]


def rule_in(call: Call) -> dict[str, Any]:
    return tomllib.loads(folder_rule(call, ("files",), "/home/me"))["rule"][0]


def test_a_folder_is_where_all_paths_of_a_call_are_and_its_texts_may_differ() -> None:
    given = {"path": "/home/me/p/a.txt", "content": "x", "mode": "0644"}
    rule = rule_in(Call("tools/call", "write_file", given))
    assert rule["args"] == {"path": ["/home/me/p", "/home/me/p/**"], "mode": "0644"}
    assert rule["confined"]
    assert rule["only_args"] == ["content"]
    moved = {"source": "/home/me/p/a/x", "destination": "/home/me/p/b/y"}
    assert rule_in(Call("tools/call", "move", moved))["args"]["source"][0] == "/home/me/p"
    several = Call("tools/call", "read", {"paths": ["/home/me/p/a", "/home/me/p/b"]})
    assert rule_in(several)["args"] == {"paths": {"*": ["/home/me/p", "/home/me/p/**"]}}


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"text": "/home/me/p/a"},
        {"path": "relative/a"},
        {"path": "/a"},
        {"path": "/home/me/a"},
        {"path": "/home/a"},
        {"path": "/home/me/*/a"},
        {"path": "/home/me/p/../../../etc"},
        {"path": ["/home/me/p/a", {"b": "/home/me/p/b"}]},
        {"source": "/home/me/p/a", "destination": "/srv/data/a"},
        {"path": "/home/me/p/a", "file_path": "../../x"},
        {"path": "/home/me/p/a", "content": "/x"},
        {"path": "/home/me/p/a", "to": "b/c"},
        {"path": "/home/me/p/a", "to": {"path": "/home/me/p/b"}},
        {"path": "/home/me/p/a", "edits": [{"file": "b"}]},
        {"path": "/home/me/p/a", "content": '{"to": "/x"}'},
        {"path": "/home/me/p/a", "tags": ["b"]},
        {"path": "/mnt/c/notes.txt"},
        {"path": "/mnt/c/Users/me/notes.txt"},
        {"path": "/media/me/stick/notes.txt"},
        {"path": "/Volumes/Data/notes.txt"},
        {"path": "/home/other/notes.txt"},
    ],
)
def test_no_folder_is_offered_where_it_would_be_unclear_or_hold_too_much(
    arguments: dict[str, Any],
) -> None:
    with pytest.raises(PolicyError):
        rule_in(Call("tools/call", "write", arguments))


def test_a_tool_whose_name_is_a_pattern_gets_no_rule() -> None:
    with pytest.raises(PolicyError):
        tool_rule("read_*", "tools/call", ("files",))


def test_an_equal_question_of_another_session_is_asked_by_itself(tmp_path: Path) -> None:
    def ask(guard: Guarded) -> dict[str, Any]:
        guard.initialize(ELICITS)
        return delete(guard, 1)

    with (
        guarded(tmp_path, ASKS, "--name", "files") as one,
        guarded(tmp_path, None, "--name", "files") as other,
    ):
        assert ask(one)["method"] == ask(other)["method"] == "elicitation/create"


@pytest.mark.parametrize("decision", ["allow once", TOOL_SESSION, FOLDER, ALWAYS])
def test_an_answer_about_one_call_is_worth_nothing_for_another(
    decision: str, tmp_path: Path
) -> None:
    shown: dict[str, Any] = {"name": "delete_file", "arguments": {"path": "/work/app/a"}}
    other: dict[str, Any] = {"name": "delete_file", "arguments": {"path": "/work/app/b"}}
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        before = guard.policy.read_text()
        question = modern(guard, 1, "tools/call", **shown)["result"]
        reply = modern(guard, 2, "tools/call", **other, **approve(question, decision))
        assert "not the call" in reply["error"]["message"]
        assert guard.policy.read_text() == before
        assert "inputRequests" in modern(guard, 3, "tools/call", **other)["result"]
        assert deletions(guard) == 0


TEXTS_FIRST = (
    '[[rule]]\naction = "prompt"\ntool = "delete_file"\nargs.path = "**/.ssh/**"\n'
    'description = "first"\n'
)


def test_an_answer_to_another_rule_is_worth_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / ".ssh").mkdir()
    policy = f"{TEXTS_FIRST}{POLICY}"
    call: dict[str, Any] = {"name": "delete_file", "arguments": {"path": f"{folder}/a"}}
    with guarded(tmp_path, policy, "--name", "files") as guard:
        question = modern(guard, 1, "tools/call", **call)["result"]
        folder.rmdir()
        folder.symlink_to(tmp_path / ".ssh")
        reply = modern(guard, 2, "tools/call", **call, **approve(question, ALWAYS))
        assert "not the call" in reply["error"]["message"]
        assert guard.policy.read_text() == policy


def test_no_rule_is_offered_where_it_would_stand_above_one_that_denies(tmp_path: Path) -> None:
    policy = f"{POLICY}\n{DENIES}"
    with guarded(tmp_path, policy, "--name", "files") as guard:
        guard.initialize(ELICITS)
        assert offered(delete(guard, 1, "/work/app/a")) == [
            *("allow once", "allow for this session", TOOL_SESSION, "deny")
        ]


def test_the_view_writes_no_rule_above_one_that_denies(
    view: ApprovalWindow, tmp_path: Path
) -> None:
    policy = f"{POLICY}\n{DENIES}"
    with guarded(tmp_path, policy, "--name", "files") as guard:
        guard.initialize()
        send(guard, 1, "/work/app/a")
        ask = asked(view)
        for scope in ("call", "folder", "tool"):
            with pytest.raises(PolicyError, match="denies"):
                rule_of(ask, scope)
        with pytest.raises(PolicyError, match="rule 4 denies"):
            check_rule(ask, tool_rule("delete_file", "tools/call", ("files",)))
        assert guard.policy.read_text() == policy
        view.answer(ask.id, "deny")
        assert guard.receive()["error"]


def allowed_by(rule: str, tool: str, **arguments: Any) -> bool:
    paths = Paths(cwd="/", home="/home/me", resolve=True)
    call = Call("tools/call", tool, arguments)
    return read_policy(rule, "policy.toml").decide(call, ("files",), paths).action == "allow"


def test_every_path_of_a_later_call_is_in_the_folder_whatever_its_argument_is_called() -> None:
    call = Call("tools/call", "copy", {"path": "/work/p/a", "to": "/work/p/b", "mode": "x"})
    rule = folder_rule(call, ("files",), "/home/me")
    assert allowed_by(rule, "copy", path="/work/p/c", to="/work/p/d/e", mode="x")
    assert not allowed_by(rule, "copy", path="/work/p/c", to="/elsewhere/evil", mode="x")
    assert not allowed_by(rule, "copy", path="/work/p/c", to={"path": "/elsewhere"}, mode="x")
    assert not allowed_by(rule, "copy", path="/work/p/c", to="/work/p/d", mode="/elsewhere")
    listed = Call("tools/call", "note", {"path": "/work/p/a", "attach": ["/work/p/b"]})
    rule = folder_rule(listed, ("files",), "/home/me")
    assert allowed_by(rule, "note", path="/work/p/c", attach=["/work/p/b", "/work/p/d"])
    assert not allowed_by(rule, "note", path="/work/p/c", attach=["/work/p/b", "/elsewhere"])


@pytest.mark.parametrize(
    "value",
    [
        *("/elsewhere/evil", "~/x", "../x", "a/b", "C:\\x", "file:///x", "/a file", '["/x"]'),
        {"path": "x"},
        ["/x"],
        [{"to": "/x"}],
        {"/x": 1},
    ],
)
def test_a_text_that_may_differ_holds_no_path(value: object) -> None:
    call = Call("tools/call", "write", {"path": "/work/p/a", "content": "x"})
    rule = folder_rule(call, ("files",), "/home/me")
    assert allowed_by(rule, "write", path="/work/p/b", content="#!/bin/sh\ncat /etc/hosts\n")
    assert allowed_by(rule, "write", path="/work/p/b", content="see /etc/hosts")
    assert not allowed_by(rule, "write", path="/work/p/b", content=value)


def test_a_folder_behind_a_link_is_the_one_that_the_link_leads_to(tmp_path: Path) -> None:
    home, project, data = (tmp_path / name for name in ("me", "project", "data"))
    for folder in (home, project, data):
        folder.mkdir()
    (project / "docs").symlink_to(home)
    (project / "data").symlink_to(data)

    def rule(path: Path) -> str:
        call = Call("tools/call", "write", {"path": str(path)})
        return folder_rule(call, ("files",), str(home))

    with pytest.raises(PolicyError, match="holds too much"):
        rule(project / "docs" / "notes.txt")
    written = rule(project / "data" / "notes.txt")
    assert tomllib.loads(written)["rule"][0]["args"]["path"] == [str(data), f"{data}/**"]
    assert allowed_by(written, "write", path=f"{project}/data/more.txt")
    assert not allowed_by(written, "write", path=f"{project}/more.txt")


def test_a_folder_that_becomes_a_link_later_does_not_widen_its_rule(tmp_path: Path) -> None:
    home, folder = tmp_path / "me", tmp_path / "project" / "sub"
    home.mkdir()
    folder.mkdir(parents=True)
    call = Call("tools/call", "write", {"path": f"{folder}/a"})
    rule = folder_rule(call, ("files",), str(home))
    assert allowed_by(rule, "write", path=f"{folder}/b")
    folder.rename(tmp_path / "old")
    folder.symlink_to(home)
    assert not allowed_by(rule, "write", path=f"{folder}/b")
    assert not allowed_by(rule, "write", path=f"{home}/b")


def test_a_pattern_for_names_lets_no_path_into_a_confined_rule() -> None:
    rule = (
        '[[rule]]\naction = "allow"\ntool = "write"\nargs.path = "/work/p/**"\n'
        'only_args = ["con*"]\nconfined = true\n'
    )
    assert allowed_by(rule, "write", path="/work/p/b", content="x")
    assert not allowed_by(rule, "write", path="/work/p/b", content="/elsewhere")


def test_equal_calls_are_covered_by_the_rule_that_the_answer_wrote(tmp_path: Path) -> None:
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, "/work/app/a")
        params = {"name": "delete_file", "arguments": {"path": "/work/app/a"}}
        guard.send({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params})
        answer(guard, question, FOLDER)
        replies = {reply["id"]: reply for reply in (guard.receive(), guard.receive())}
        assert all("result" in replies[number] for number in (1, 2))


@pytest.mark.parametrize("decision", ["allow once", "allow for this session", TOOL_SESSION])
def test_a_link_that_is_turned_to_a_secret_while_a_person_reads_stays_denied(
    decision: str, tmp_path: Path
) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "harmless")
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 1, str(link))
        link.unlink()
        link.symlink_to(tmp_path / ".ssh" / "id_rsa")
        answer(guard, question, decision)
        assert "error" in guard.receive()
        assert deletions(guard) == 0


def test_an_answer_to_another_question_does_not_open_a_link_to_a_secret(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "harmless")
    with guarded(tmp_path, ASKS, "--name", "files") as guard:
        guard.initialize(ELICITS)
        question = delete(guard, 2, "/work/app/a")
        send(guard, 1, str(link))
        assert guard.tool("echo", id=9, text="both wait")["id"] == 9
        link.unlink()
        link.symlink_to(tmp_path / ".ssh" / "id_rsa")
        answer(guard, question, TOOL_SESSION)
        replies = [guard.receive() for _ in range(2)]
        assert "error" in next(reply for reply in replies if reply.get("id") == 1)
        assert deletions(guard) == 1
