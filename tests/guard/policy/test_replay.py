"""`replay`: what another policy would have decided, and where nobody can know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import AuditError
from clawkit.guard.authoring.replay import DecisionChange, changes, recorded_calls, replay
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.scan.logged_arguments import redact_arguments
from tests.guard.policy.decisions import KEYS_DENIED
from tests.guard.policy.recordings import Recording

OTHERS_ALLOWED = f"""{KEYS_DENIED}
[[rule]]
action = "allow"
tool = "*"
"""
CUT = redact_arguments("x" * 9000)
REDACTED = redact_arguments("gh" + "p_" + "A1b2" * 9)


@pytest.fixture
def audit(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "audit")


def changed(audit: Recording, policy: str) -> list[DecisionChange]:
    calls = recorded_calls(audit.close())
    return changes(replay(lambda _: read_policy(policy, "new.toml"), calls))


def test_what_stays_the_same_is_no_change(audit: Recording) -> None:
    audit.call("read", {"path": "/a"}, "allow", rule=4)
    audit.call("read", {"path": "/h/.ssh/id"}, "deny", rule=2)
    audit.call("completion/complete", {}, "pass", method="completion/complete", rule=0)
    audit.notice()
    assert changed(audit, OTHERS_ALLOWED) == []


def test_changes_are_grouped_by_both_rules_and_counted(audit: Recording) -> None:
    for _ in range(3):
        audit.call("read", {"path": "/h/.ssh/id"}, "allow", rule=4)
    audit.call("read", {"path": "/h/.ssh/config"}, "allow", rule=4)
    audit.call("write", {"path": "/a"}, "deny", rule=7)
    first, second = changed(audit, OTHERS_ALLOWED)
    assert (first.was, first.was_rule, first.now, first.count) == ("allow", 4, "deny", 4)
    assert [recorded.count for recorded in first.calls] == [3, 1]
    assert first.now_rule is not None
    assert first.now_rule.number == 1
    assert (second.was, second.was_rule, second.now, second.count) == ("deny", 7, "allow", 1)


@pytest.mark.parametrize(
    ("answer", "now", "changes_much"),
    [
        ("", "allow", True),
        ("", "deny", True),
        ("allow", "allow", False),
        ("allow", "prompt", False),
        ("allow", "deny", True),
        ("deny", "deny", False),
        ("deny", "prompt", False),
        ("deny", "allow", True),
    ],
)
def test_a_prompt_counts_as_what_a_person_said_to_it(
    audit: Recording, answer: str, now: str, *, changes_much: bool
) -> None:
    audit.call("read", {}, "prompt", answer=answer)
    found = changed(audit, f'[[rule]]\naction = "{now}"\ntool = "read"\n')
    expected = [("prompt", answer, now)] if changes_much else []
    assert [(change.was, change.answer, change.now) for change in found] == expected


def test_what_passed_outside_the_table_can_become_denied(audit: Recording) -> None:
    method = "completion/complete"
    audit.call(method, {"argument": {"value": "/h/.ssh/"}}, "pass", method=method, rule=0)
    (change,) = changed(audit, OTHERS_ALLOWED)
    assert (change.was, change.now) == ("pass", "deny")


def test_rules_for_a_server_see_the_recorded_server(audit: Recording) -> None:
    audit.call("read", {}, server="files")
    audit.call("read", {}, server="other")
    only = '[[rule]]\naction = "allow"\ntool = "*"\nserver = "files"\n'
    (change,) = changed(audit, only)
    assert [recorded.server for recorded in change.calls] == ["other"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "x" * 9000},
        {"path": "gh" + "p_" + "A1b2" * 9},
        {"password": "anything"},
        {"options": [{"token": "anything"}]},
        {"a": {"b": {"c": {"d": {"e": {"f": {"g": "deep"}}}}}}},
        {"list": ["y" * 500] * 100},
        {f"name{number}": "z" * 500 for number in range(100)},
        {"number": 1 << 80},
    ],
    ids=["cut", "secret", "password", "within", "deep", "long-list", "many", "big-number"],
)
def test_a_rule_that_looks_at_what_is_not_recorded_is_uncertain(
    audit: Recording, arguments: dict[str, Any]
) -> None:
    audit.call("read", redact_arguments(arguments), "allow")
    (change,) = changed(audit, OTHERS_ALLOWED)
    assert (change.now, change.was) == ("uncertain", "allow")
    assert change.now_rule is not None
    assert change.now_rule.number == 1


def test_arguments_that_were_dropped_are_uncertain(audit: Recording) -> None:
    audit.call("read", {"dropped": "the record had 99999 bytes"}, "allow")
    assert [change.now for change in changed(audit, OTHERS_ALLOWED)] == ["uncertain"]


@pytest.mark.parametrize(
    ("policy", "arguments"),
    [
        ('[[rule]]\naction = "allow"\ntool = "read"\n', {"token": REDACTED}),
        ('[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "/a"\n', {"path": "/a", "t": CUT}),
        ('[[rule]]\naction = "allow"\ntool = "*"\nargs.t = "**"\n', {"t": CUT}),
        ('[[rule]]\naction = "deny"\ntool = "other"\nargs.t = "x"\n', {"t": CUT}),
        ('[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = "/b"\n', {"p": "/b", "t": CUT}),
    ],
    ids=[
        "no-arguments",
        "other-argument",
        "anything-goes",
        "other-tool",
        "denied-by-what-is-known",
    ],
)
def test_what_no_rule_depends_on_is_certain(
    audit: Recording, policy: str, arguments: dict[str, Any]
) -> None:
    audit.call("read", arguments, "prompt")
    assert "uncertain" not in [change.now for change in changed(audit, policy)]


def test_a_redacted_resource_is_uncertain(audit: Recording) -> None:
    audit.call("resources/read", {"uri": CUT}, method="resources/read")
    assert [
        c.now for c in changed(audit, '[[rule]]\naction = "allow"\nresource = "db://**"\n')
    ] == ["uncertain"]


def test_a_single_file_of_an_audit_is_enough(audit: Recording, tmp_path: Path) -> None:
    audit.call("read", {"path": "/a"})
    source = audit.close() / "audit.jsonl"
    part = tmp_path / "part.jsonl"
    part.write_bytes(source.read_bytes() + b'{"seq": 2, "kind": "ca')
    (recorded,) = recorded_calls(part)
    assert (recorded.call.tool, recorded.call.arguments) == ("read", {"path": "/a"})


@pytest.mark.parametrize("name", ["missing", "empty", "empty.jsonl"])
def test_an_audit_without_records_is_an_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(AuditError, match=name):
        recorded_calls(tmp_path / name)


def test_an_answer_belongs_to_its_prompt_only(audit: Recording) -> None:
    audit.call("a", {}, "prompt", answer="allow")
    audit.call("a", {}, "prompt", answer="deny")
    audit.call("a", {}, "prompt")
    found = {recorded.answer: recorded.count for recorded in recorded_calls(audit.close())}
    assert found == {"allow": 1, "deny": 1, "": 1}


def test_a_closed_rule_is_replayed_by_the_names_that_are_recorded(audit: Recording) -> None:
    rule = 'action = "allow"\ntool = "login"\nonly_args = true\n'
    audit.call("login", redact_arguments({"user": "u", "token": "anything"}))
    for args, now in (
        ('args.user = "u"\nargs.token = "x"', ["uncertain"]),
        ('args.user = "u"\nargs.token = "*"', []),
        ('args.user = "u"', ["deny"]),
        ("", ["deny"]),
    ):
        assert [change.now for change in changed(audit, f"[[rule]]\n{rule}{args}\n")] == now


def test_what_is_uncertain_is_so_at_every_rule_that_may_decide_it(audit: Recording) -> None:
    audit.call("login", redact_arguments({"user": "u", "token": "anything"}))
    policy = "".join(
        f'[[rule]]\naction = "{action}"\ntool = "{tool}"\n{args}\n'
        for action, tool, args in (
            ("deny", "login", 'args.token = "x*"'),
            ("deny", "logout", ""),
            ("allow", "login", 'args.token = "a*"'),
            ("prompt", "login", ""),
            ("allow", "*", ""),
        )
    )
    (found,) = replay(lambda _: read_policy(policy, "new.toml"), recorded_calls(audit.close()))
    assert found.decision is None
    assert [rule.number for rule in found.possible] == [1, 3, 4]
