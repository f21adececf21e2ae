"""Fixtures: what is read, what is refused, and that they decide the same on every machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clawkit.errors import PolicyError
from clawkit.guard.authoring.fixtures import (
    Fixture,
    decide,
    fixture_json,
    fixtures_in,
    load_policy,
    read_fixture,
    run,
)
from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from tests.guard.policy.decisions import DOCUMENTED


def fixture(tool: str = "filesystem_read", path: str = "/etc/hosts", **more: Any) -> str:
    params = {"name": tool, "arguments": {"path": path}}
    return json.dumps({"method": "tools/call", "params": params, **more})


def test_the_documented_fixture_is_denied_by_the_documented_policy() -> None:
    policy = read_policy(DOCUMENTED, "policy.toml")
    found = read_fixture(fixture(path="/home/user/.ssh/id_rsa", expected="deny"), "f.json")
    decision = decide(policy, found)
    assert (decision.action, found.expected) == ("deny", "deny")
    assert decision.rule is not None
    assert decision.rule.number == 4


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "must be an object"),
        ("{}", 'has no "method"'),
        ('{"method": 5}', '"method" must be a string'),
        ('{"method": "tools/call", "params": []}', '"params" must be an object'),
        ('{"method": "tools/call", "params": {}}', 'needs "name"'),
        ('{"method": "tools/call", "params": {"name": "x", "arguments": null}}', "an object"),
        (fixture(expected="block"), "allow, deny or prompt"),
        (fixture(expect="deny"), 'did you mean "expected"'),
        (fixture(Expected="deny"), 'did you mean "expected"'),
        (fixture(server=5), '"server" must be a string'),
        ('{"method": "ping", "method": "tools/call"}', "stands twice"),
        ('{"method": "tools/call", "params": {"name": "x", "arguments": {"a": NaN}}}', "NaN"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_fixture_that_cannot_be_used_says_why(text: str, reason: str) -> None:
    with pytest.raises(PolicyError, match=reason) as caught:
        read_fixture(text, "f.json")
    assert caught.value.file == "f.json"


def test_broken_json_names_its_line() -> None:
    with pytest.raises(PolicyError) as caught:
        read_fixture('{\n"method": "tools/call",\n"params": oops}', "f.json")
    assert caught.value.line == 3


def test_other_keys_of_a_request_are_no_problem() -> None:
    found = read_fixture(fixture(jsonrpc="2.0", id=1, description="why"), "f.json")
    assert found.call == Call("tools/call", "filesystem_read", {"path": "/etc/hosts"})


def test_a_fixture_decides_without_this_machine(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    text = f'[[rule]]\naction = "deny"\ntool = "*"\nargs."*" = "{target}/**"\n'
    policy = read_policy(f'{text}[[rule]]\naction = "allow"\ntool = "*"\n', "policy.toml")
    through_link = read_fixture(fixture(path=f"{tmp_path}/link/key"), "f.json")
    assert decide(policy, through_link).action == "allow"


def test_a_fixture_may_say_where_the_server_runs() -> None:
    policy = read_policy(DOCUMENTED, "policy.toml")
    inside = read_fixture(fixture(path="a.py", cwd="/home/user/projects"), "f.json")
    assert decide(policy, inside).action == "allow"
    outside = read_fixture(fixture(path="a.py", cwd="/home/user"), "f.json")
    assert decide(policy, outside).action == "deny"


def test_a_fixture_may_say_whose_home_a_tilde_is() -> None:
    text = '[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "~/notes/**"\n'
    policy = read_policy(text, "policy.toml")
    found = read_fixture(fixture(path="/home/u/notes/a", home="/home/u"), "f.json")
    assert decide(policy, found).action == "allow"


def test_a_rule_for_one_server_decides_only_about_fixtures_of_that_server() -> None:
    text = '[[rule]]\naction = "allow"\ntool = "*"\nserver = "files"\n'
    policy = read_policy(text, "policy.toml")
    assert decide(policy, read_fixture(fixture(server="files"), "f")).action == "allow"
    assert decide(policy, read_fixture(fixture(server="other"), "f")).action == "deny"
    assert decide(policy, read_fixture(fixture(), "f")).action == "deny"
    assert decide(policy, read_fixture(fixture(), "f"), "files").action == "allow"


def test_what_is_expected_of_all_stands_over_what_each_expects(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(fixture(expected="prompt"))
    policy = read_policy(DOCUMENTED, "policy.toml")
    assert [outcome.failed for outcome in run(policy, [file])] == [False]
    assert [outcome.failed for outcome in run(policy, [file], expect="deny")] == [True]


def test_an_unreadable_fixture_does_not_keep_the_others_from_being_tried(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.json", tmp_path / "good.json"
    bad.write_bytes(b"\xff")
    good.write_text(fixture(expected="deny"))
    missing = tmp_path / "missing.json"
    outcomes = list(run(read_policy(DOCUMENTED, "p"), [bad, missing, good]))
    assert ["UTF-8" in o.problem for o in outcomes] == [True, False, False]
    assert "no such file" in outcomes[1].problem
    assert outcomes[2].failed


def test_fixtures_are_found_below_a_directory_in_order(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.json", "a.json", "sub/c.json", "note.txt"):
        (tmp_path / name).write_text("{}")
    found = [str(path.relative_to(tmp_path)) for path in fixtures_in(tmp_path)]
    assert found == ["a.json", "b.json", "sub/c.json"]


@pytest.mark.parametrize("name", ["empty", "missing"])
def test_a_directory_without_fixtures_is_no_success(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PolicyError, match="no"):
        fixtures_in(tmp_path / name)


@pytest.mark.parametrize(
    "call",
    [
        Call("tools/call", "read", {"a": [1, {"b": None}], "t": "\ud800 \x1b[0m ü"}),
        Call("resources/read", "resources/read", {"uri": "file:///x"}),
        Call("prompts/get", "prompts/get", {"name": "p", "topic": "t"}),
        Call("prompts/get", "prompts/get", {"name": "p", "arguments.name": "inner"}),
        Call("sampling/createMessage", "sampling/createMessage", {"messages": []}),
    ],
    ids=["tool", "resource", "prompt", "prompt-with-name", "sampling"],
)
def test_a_fixture_written_is_the_same_when_read(call: Call) -> None:
    written = Fixture("f", call, "allow", "server", "/cwd", "/home/u")
    assert read_fixture(fixture_json(written), "f") == written


def test_a_policy_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="claw policy init"):
        load_policy(tmp_path / "policy.toml")
