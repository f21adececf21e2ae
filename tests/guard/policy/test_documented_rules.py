"""The documented rules, literally."""

from __future__ import annotations

from typing import Any

import pytest

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from tests.guard.policy.decisions import DOCUMENTED, TEXT_ONLY, action, on_method, policy


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("shell_execute", {"command": "ls"}, "deny"),
        ("filesystem_read", {"path": "/etc/passwd"}, "prompt"),
        ("filesystem_write", {"path": "/etc/passwd"}, "prompt"),
        ("filesystem_read", {"path": "/home/user/projects/a/b.py"}, "allow"),
        ("filesystem_read", {"path": "/home/user/.ssh/id_rsa"}, "deny"),
        ("filesystem_write", {"path": "/home/user/projects/a"}, "deny"),
        ("filesystem_read", {}, "deny"),
        ("other", {}, "deny"),
    ],
)
def test_the_documented_policy_decides_as_documented(
    tool: str, arguments: dict[str, Any], expected: str
) -> None:
    assert action(read_policy(DOCUMENTED, "policy.toml"), arguments, tool=tool) == expected


def test_the_first_rule_that_matches_wins() -> None:
    rules = policy('action = "allow"\ntool = "a*"', 'action = "deny"\ntool = "ab"')
    assert action(rules, tool="ab") == "allow"
    turned = policy('action = "deny"\ntool = "ab"', 'action = "allow"\ntool = "a*"')
    assert action(turned, tool="ab") == "deny"


def test_a_call_that_no_rule_matches_is_denied_and_told_so() -> None:
    rules = policy('action = "allow"\ntool = "a"\ndescription = "only a"')
    decision = rules.decide(Call("tools/call", "b", {}), ("s",), TEXT_ONLY)
    assert (decision.action, decision.rule) == ("deny", None)
    assert "No rule allows the tool 'b'" in decision.reason
    assert "only a" not in decision.reason


def test_the_reason_is_the_description_of_the_rule_that_decided() -> None:
    rules = read_policy(DOCUMENTED, "policy.toml")
    decision = rules.decide(Call("tools/call", "shell_execute", {}), ("s",), TEXT_ONLY)
    assert decision.reason == "Block all shell execution"
    assert decision.rule is not None
    assert (decision.rule.number, decision.rule.line) == (1, 2)


def test_methods_outside_the_table_pass_without_a_rule() -> None:
    rules = read_policy(DOCUMENTED, "policy.toml")
    assert on_method(rules, "logging/setLevel", level="debug") == "allow"
    assert on_method(rules, "resources/read", uri="file:///x") == "deny"


@pytest.mark.parametrize(
    "method", ["Tools/Call", "TOOLS/CALL", "tools\uff0fcall", "resources/Read"]
)
def test_a_method_that_a_lenient_server_could_take_for_one_of_the_table_is_denied(
    method: str,
) -> None:
    assert on_method(policy('action = "allow"\ntool = "*"'), method) == "deny"


def test_an_empty_policy_denies_what_is_in_the_table() -> None:
    rules = read_policy("", "policy.toml")
    assert action(rules) == "deny"
    assert on_method(rules, "ping") == "allow"
