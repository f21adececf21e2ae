"""`learn`: a policy that allows what was seen and little else, and fixtures that show it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.errors import PolicyError
from clawkit.guard.authoring.default_policy import DEFAULT_POLICY
from clawkit.guard.authoring.fixtures import decide, fixture_json, read_fixture
from clawkit.guard.authoring.learn import Learnt, fixture_name, generalise, learn
from clawkit.guard.authoring.replay import Recorded, recorded_calls
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Paths
from clawkit.guard.scan.logged_arguments import redact_arguments
from tests.guard.policy.recordings import Recording


@pytest.fixture
def audit(tmp_path: Path) -> Recording:
    return Recording(tmp_path / "audit")


def learnt(audit: Recording) -> Learnt:
    return learn(recorded_calls(audit.close()))


def rules(found: Learnt) -> list[dict[str, Any]]:
    """All but the denies of the default policy."""
    known = {rule["description"] for rule in tomllib.loads(DEFAULT_POLICY)["rule"]}
    return [r for r in tomllib.loads(found.policy)["rule"] if r["description"] not in known]


def decision(found: Learnt, tool: str, arguments: dict[str, Any], server: str = "files") -> str:
    call = Call("tools/call", tool, arguments)
    return read_policy(found.policy, "p").decide(call, (server,), Paths()).action


def test_several_paths_become_their_common_folder(audit: Recording) -> None:
    for name in ("a.py", "sub/b.py", "sub/deep/c.py"):
        audit.call("read", {"path": f"/home/u/project/{name}"})
    found = learnt(audit)
    assert rules(found)[0]["args"] == {"path": "/home/u/project/**"}
    assert decision(found, "read", {"path": "/home/u/project/new.py"}) == "allow"
    assert decision(found, "read", {"path": "/home/u/.ssh/id_rsa"}) == "deny"


def test_one_value_stays_exact_and_the_rest_is_denied(audit: Recording) -> None:
    audit.call("read", {"path": "/srv/data/report.csv", "limit": 10})
    found = learnt(audit)
    first, last = rules(found)
    assert first["args"] == {"path": "/srv/data/report.csv", "limit": "10"}
    assert (first["tool"], first["server"]) == ("read", "files")
    assert (last["action"], last["tool"]) == ("deny", "*")
    assert decision(found, "read", {"path": "/srv/data/other.csv", "limit": 10}) == "deny"
    assert decision(found, "write", {}) == "deny"


@pytest.mark.parametrize(
    ("values", "patterns"),
    [
        (["a", "b", "a"], ("a", "b")),
        ([True, False], ("true", "false")),
        ([str(number) for number in range(20)], ("*",)),
        (["/home/u/a.txt", "/home/u/b.txt"], ("/home/u/a.txt", "/home/u/b.txt")),
        (["/etc/hosts", "/srv/x/1", "/srv/x/2"], ("/etc/hosts", "/srv/x/**")),
        (["/srv/x", "/srv/x/1"], ("/srv/x", "/srv/x/**")),
        (["/a/b/../c/d", "/a/c/e"], ("/a/c/**",)),
        (["~/p/a", "~/p/b"], ("~/p/**",)),
        (["src/a.py", "src/b.py"], ("src/a.py", "src/b.py")),
        (["x", "/srv/x/1", "/srv/x/2"], ("x", "/srv/x/**")),
        ([1.0, 2], ("1.0", "1", "2")),
        ([f"name {n}" for n in range(13)], tuple(f"name {n}" for n in range(13))),
        (
            ["https://h.example/v1/a", "https://h.example/v1/b"],
            ("https://h.example/v1/a", "https://h.example/v1/b"),
        ),
    ],
)
def test_values_become_the_narrowest_patterns(values: list[Any], patterns: tuple[str, ...]) -> None:
    assert generalise(values)[0] == patterns


SECRET = "gh" + "p_" + "A1b2" * 9
INEXACT: dict[str, Any] = {
    "star": "rm *",
    "question": "rm ?",
    "lines": "ls\nrm x",
    "long": "echo " + "a" * 400,
    "cut": redact_arguments("x" * 9000),
    "secret": redact_arguments(f"curl {SECRET}"),
    "list": ["rm", "x"],
    "empty": "",
    "hidden": "ls\u202e",
    "path": "cat a/b",
}


@pytest.mark.parametrize(
    ("tool", "value"),
    [
        *(("shell-execute", value) for value in INEXACT.values()),
        *((tool, INEXACT["star"]) for tool in ("shell_execute", "Bash", "run-it", "other")),
    ],
    ids=[*INEXACT, "shell_execute", "Bash", "run-it", "other"],
)
def test_a_command_that_no_rule_can_say_is_prompted_and_widens_nothing(
    audit: Recording, tool: str, value: object
) -> None:
    audit.call(tool, {"command": "ls"})
    audit.call(tool, {"command": value})
    found = learnt(audit)
    allow, prompt, _ = rules(found)
    assert (allow["action"], allow["args"]) == ("allow", {"command": "ls"})
    assert (prompt["action"], prompt["tool"], prompt.get("args")) == ("prompt", tool, None)
    assert "# Not allowed exactly, so prompted: command " in found.policy
    assert decision(found, tool, {"command": "ls"}) == "allow"
    for other in (value, "rm x", "ls; rm x", "ls x"):
        assert decision(found, tool, {"command": other}) == "prompt"
    assert decision(found, tool, {"command": "ls", "cwd": "/x"}) == "prompt"


def test_many_commands_are_listed_and_their_parts_are_not_mixed(audit: Recording) -> None:
    for number in range(20):
        audit.call("exec", {"command": f"job{number}"})
    audit.call("exec", {"command": "rm", "on": "old"})
    audit.call("exec", {"command": "ls", "on": "all"})
    audit.call("exec", {"command": "ls", "on": "all"}, rule=2)
    found = learnt(audit)
    assert [rule["action"] for rule in rules(found)] == ["allow", "allow", "allow", "deny"]
    assert decision(found, "exec", {"command": "job7"}) == "allow"
    assert decision(found, "exec", {"command": "rm", "on": "old"}) == "allow"
    for arguments in ({"command": "rm", "on": "all"}, {"command": "job20"}, {"command": "rm"}):
        assert decision(found, "exec", arguments) == "deny"


def test_a_program_without_arguments_is_not_one_with_any(audit: Recording) -> None:
    audit.call("run_tests", {})
    audit.call("list_tables", {})
    audit.call("list_tables", {"schema": "a"})
    found = learnt(audit)
    assert decision(found, "run_tests", {}) == "allow"
    assert decision(found, "run_tests", {"command": "rm x"}) == "deny"
    assert decision(found, "list_tables", {}) == "allow"
    assert decision(found, "list_tables", {"schema": "a"}) == "allow"
    assert decision(found, "list_tables", {"schema": "b"}) == "deny"


def test_plain_names_in_plenty_may_be_anything_and_the_policy_says_so(audit: Recording) -> None:
    for number in range(12):
        audit.call("show", {"issue": number})
        audit.call("name", {"text": f"some {number}"})
    found = learnt(audit)
    assert decision(found, "show", {"issue": 99}) == "allow"
    assert "# issue may be anything: many different names or numbers" in found.policy
    assert decision(found, "name", {"text": "some 99"}) == "deny"


@pytest.mark.parametrize("name", ["*", "re?d"])
def test_a_tool_whose_name_is_a_pattern_is_never_allowed(audit: Recording, name: str) -> None:
    audit.call(name, {"path": "/srv/x/a"})
    found = learnt(audit)
    assert "allow" not in [rule["action"] for rule in rules(found)]
    assert decision(found, name, {"path": "/srv/x/a"}) == "prompt"


def test_the_denies_of_the_default_policy_come_first(audit: Recording) -> None:
    for name in ("a", "b"):
        audit.call("read", {"path": f"/srv/project/{name}"})
    found = learnt(audit)
    assert found.notes == ()
    for path in ("/srv/project/.env", "/srv/project/.ssh/id_rsa", "/srv/project/x.pem"):
        assert decision(found, "read", {"path": path}) == "deny"


def test_a_default_deny_of_what_was_allowed_is_left_out_and_noted(audit: Recording) -> None:
    audit.call("read", {"path": "/srv/project/.env"})
    audit.call("read", {"path": "/srv/project/a"})
    found = learnt(audit)
    assert decision(found, "read", {"path": "/srv/project/.env"}) == "allow"
    assert decision(found, "read", {"path": "/srv/project/.env.local"}) == "deny"
    assert found.notes == ("**/.env is not denied as it is by default: an allowed call needs it",)
    assert "# **/.env is not denied here" in found.policy


def test_an_argument_that_only_some_calls_have_is_limited_too(audit: Recording) -> None:
    audit.call("read", {"path": "/srv/x/a"})
    audit.call("read", {"path": "/srv/x/b", "head": 5})
    found = learnt(audit)
    assert decision(found, "read", {"path": "/srv/x/c", "head": 5}) == "allow"
    assert decision(found, "read", {"path": "/srv/x/c", "follow": "/etc/shadow"}) == "deny"


def test_what_is_learnt_allows_no_other_argument_at_any_depth(audit: Recording) -> None:
    audit.call("push", {"branch": "main", "dry_run": True})
    audit.call("commit", {"message": "x", "options": {"sign": True}})
    audit.call("status", {})
    found = learnt(audit)
    assert {rule.get("only_args") for rule in rules(found)} == {True, None}
    assert decision(found, "push", {"branch": "main", "dry_run": True}) == "allow"
    assert decision(found, "push", {"branch": "main", "dry_run": True, "force": True}) == "deny"
    signed: dict[str, Any] = {"message": "x", "options": {"sign": True}}
    assert decision(found, "commit", signed) == "allow"
    assert decision(found, "commit", {**signed, "amend": True}) == "deny"
    assert decision(found, "commit", {**signed, "options": {"sign": True, "a": 1}}) == "deny"
    assert decision(found, "status", {}) == "allow"
    assert decision(found, "status", {"verbose": True}) == "deny"


def test_nested_arguments_are_named_and_lists_are_prompted(audit: Recording) -> None:
    audit.call("edit", {"target": {"path": "/srv/x/a"}})
    audit.call("edit", {"target": {"path": "/srv/x/a"}, "edits": [{"old": "a"}]})
    audit.call("move", {"target": {"path": "/srv/x/a"}, "edits": [{"old": "a"}]})
    found = learnt(audit)
    assert rules(found)[0]["args"] == {"target": {"path": "/srv/x/a"}}
    assert "edits is a list" in found.policy
    assert decision(found, "edit", {"target": {"path": "/srv/x/a"}}) == "allow"
    assert decision(found, "edit", {"target": {"path": "/srv/y"}}) == "prompt"
    assert decision(found, "move", {"target": {"path": "/srv/x/a"}, "edits": []}) == "prompt"
    assert decision(found, "move", {"target": {"path": "/etc/x"}, "edits": []}) == "deny"


def test_each_server_has_its_own_rules(audit: Recording) -> None:
    audit.call("read", {"path": "/srv/x/a"}, server="one")
    found = learnt(audit)
    assert decision(found, "read", {"path": "/srv/x/a"}, server="one") == "allow"
    assert decision(found, "read", {"path": "/srv/x/a"}, server="two") == "deny"


def test_what_a_person_approved_is_learnt_and_what_they_refused_is_not(audit: Recording) -> None:
    audit.call("push", {"branch": "main"}, "prompt", answer="allow")
    audit.call("drop", {}, "prompt", answer="deny")
    audit.call("wait", {}, "prompt")
    found = learnt(audit)
    expected = {fixture.call.tool: fixture.expected for fixture in found.fixtures}
    assert expected == {"push": "allow", "drop": "deny", "wait": "deny"}
    assert [rule.get("tool") for rule in rules(found)] == ["push", "*"]


def test_a_call_like_the_prompted_ones_that_was_denied_stays_denied(audit: Recording) -> None:
    audit.call("shell", {"command": "ls *"})
    audit.call("shell", {"command": "reboot"}, "deny")
    found = learnt(audit)
    expected = {each.call.arguments["command"]: each.expected for each in found.fixtures}
    assert expected == {"ls *": "prompt", "reboot": "deny"}
    assert found.notes == ("1 call allowed then and prompted now: no rule can allow exactly that",)


def test_a_denied_call_within_an_allowed_folder_stays_denied(audit: Recording) -> None:
    for name in ("a", "b"):
        audit.call("read", {"path": f"/srv/project/{name}"})
    audit.call("read", {"path": "/srv/project/.env"}, "deny")
    found = learnt(audit)
    assert decision(found, "read", {"path": "/srv/project/.env"}) == "deny"
    assert decision(found, "read", {"path": "/srv/project/c"}) == "allow"
    assert [fixture.expected for fixture in found.fixtures] == ["allow", "allow", "deny"]


def test_a_call_that_was_both_denied_and_allowed_is_allowed_and_noted(audit: Recording) -> None:
    audit.call("read", {"path": "/srv/x/a"}, "deny")
    audit.call("read", {"path": "/srv/x/a"}, "allow")
    found = learnt(audit)
    assert decision(found, "read", {"path": "/srv/x/a"}) == "allow"
    assert len(found.fixtures) == 1
    assert "denied at one time and allowed at another" in found.notes[0]


def test_redacted_values_are_prompted_and_have_no_fixture(audit: Recording) -> None:
    audit.call("login", redact_arguments({"user": "u", "token": "anything"}))
    found = learnt(audit)
    assert [rule["action"] for rule in rules(found)] == ["prompt", "deny"]
    assert decision(found, "login", {"user": "u", "token": "x"}) == "prompt"
    assert found.fixtures == ()
    assert found.notes[0].startswith("1 call with redacted or cut arguments: left out of")


@pytest.mark.parametrize(
    ("method", "arguments", "expected"),
    [
        ("resources/read", {"uri": "db://main/users"}, "allow"),
        ("prompts/get", {"name": "greet", "who": "you"}, "allow"),
        ("sampling/createMessage", {"messages": [{"role": "user"}], "maxTokens": 10}, "prompt"),
    ],
    ids=["resource", "prompt", "sampling"],
)
def test_other_methods_of_the_table_are_learnt_too(
    audit: Recording, method: str, arguments: dict[str, Any], expected: str
) -> None:
    audit.call(method, arguments, method=method)
    found = learnt(audit)
    policy = read_policy(found.policy, "p")
    assert policy.decide(Call(method, method, arguments), ("files",), Paths()).action == expected
    assert (
        policy.decide(Call("tools/call", method, arguments), ("files",), Paths()).action == "deny"
    )


def test_nothing_allowed_is_nothing_to_learn(audit: Recording) -> None:
    audit.call("read", {}, "deny")
    with pytest.raises(PolicyError, match="nothing to learn"):
        learnt(audit)


def test_every_fixture_has_a_name_of_its_own_that_is_safe(audit: Recording) -> None:
    audit.call("../../etc/x", {"path": "/a/b/c"})
    audit.call("../../etc/x", {"path": "/a/b/d"})
    names = {fixture_name(fixture) for fixture in learnt(audit).fixtures}
    assert len(names) == 2
    assert all(name.startswith("allow-files-etc-x-") and "/" not in name for name in names)


_names = st.text(min_size=1, max_size=8)
_scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=30),
)
_paths = st.lists(st.sampled_from(["a", "..", "b c", "%2e", "x*"]), max_size=5).map("/".join)
_values = st.one_of(
    _scalars,
    _paths.map(lambda path: f"/{path}"),
    st.lists(_scalars, max_size=3),
    st.dictionaries(_names, _scalars, max_size=2),
)


@settings(max_examples=settings().max_examples * 3 // 5)
@given(
    st.lists(
        st.tuples(_names, st.dictionaries(_names, _values, max_size=3), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_whatever_was_seen_is_allowed_or_prompted_by_what_is_learnt(
    seen: list[tuple[str, dict[str, Any], bool]],
) -> None:
    calls = [
        Recorded(Call("tools/call", tool, arguments), "s", said, 1, "", "", 1)
        for tool, arguments, good in seen
        for said in ("allow" if good else "deny",)
    ]
    calls.append(Recorded(Call("tools/call", "last", {}), "s", "allow", 1, "", "", 1))
    found = learn(calls)
    policy = read_policy(found.policy, "p")
    for recorded in calls:
        if recorded.decision == "allow":
            assert policy.decide(recorded.call, ("s",), Paths()).action in ("allow", "prompt")
    for fixture in found.fixtures:
        again = read_fixture(fixture_json(fixture), "f")
        assert decide(policy, again).action == fixture.expected
