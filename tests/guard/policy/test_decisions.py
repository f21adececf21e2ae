"""Many rules, many calls: order, expiry, what is remembered between calls, and what they cost."""

from __future__ import annotations

import pytest

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.policy import Paths, Policy
from tests.guard.policy.decisions import IN_PROJECT, SERVERS, TEXT_ONLY, action, on_path, policy
from tests.work_counter import calls

EXPIRING = 'action = "allow"\ntool = "a"\nexpires = 2030-01-01T00:00:00Z'
MOMENT = 1893456000.0


def test_a_rule_past_its_expiry_is_skipped() -> None:
    rules = policy(EXPIRING, 'action = "prompt"\ntool = "*"')
    assert action(rules, tool="a", now=MOMENT - 1) == "allow"
    assert action(rules, tool="a", now=MOMENT) == "prompt"
    assert action(rules, tool="a", now=MOMENT - 1) == "allow"


def test_a_rule_with_arguments_expires_too() -> None:
    rules = policy(f'{EXPIRING}\nargs.x = "1"', 'action = "deny"\ntool = "*"\nargs.x = "1"')
    assert action(rules, {"x": "1"}, tool="a", now=MOMENT - 1) == "allow"
    assert action(rules, {"x": "1"}, tool="a", now=MOMENT + 1) == "deny"


def test_a_deny_that_has_expired_opens_what_is_below() -> None:
    rules = policy(
        'action = "deny"\ntool = "*"\nargs."*" = "x"\nexpires = 2030-01-01T00:00:00Z',
        'action = "allow"\ntool = "*"',
    )
    assert action(rules, {"a": "x"}, now=MOMENT - 1) == "deny"
    assert action(rules, {"a": "x"}, now=MOMENT + 1) == "allow"


def test_without_a_moment_it_is_now() -> None:
    rules = policy('action = "allow"\ntool = "*"\nexpires = 2001-01-01')
    assert action(rules) == "deny"


def test_arguments_decide_between_rules_in_their_order() -> None:
    rules = policy(
        'action = "allow"\ntool = "*"\nargs.path = "/a/public/**"',
        'action = "deny"\ntool = "*"\nargs.path = "/a/**"',
        'action = "allow"\ntool = "*"\nargs.path = "/a/b/**"',
        'action = "prompt"\ntool = "*"',
    )
    assert on_path(rules, "/a/public/x") == "allow"
    assert on_path(rules, "/a/b/x") == "deny"
    assert on_path(rules, "/c") == "prompt"
    assert on_path(rules, "/A/PUBLIC/x") == "deny"


def test_what_one_call_decided_says_nothing_about_the_next() -> None:
    rules = policy('action = "allow"\ntool = "a"\nargs.x = "1"', 'action = "prompt"\ntool = "a"')
    for _ in range(3):
        assert action(rules, {"x": "1"}, tool="a") == "allow"
        assert action(rules, {"x": "2"}, tool="a") == "prompt"
        assert action(rules, {"x": "1"}, tool="b") == "deny"
        assert action(rules, {"x": "1"}, tool="a", servers=("other",)) == "allow"


def test_any_number_of_tools_and_places_is_served() -> None:
    rules = policy('action = "allow"\ntool = "t1*"', 'action = "deny"\ntool = "*"\nargs.x = "1"')
    for number in range(3000):
        expected = "allow" if str(number).startswith("1") else "deny"
        assert action(rules, {"x": "1"}, tool=f"t{number}") == expected
    for number in range(40):
        assert action(rules, {"x": "1"}, tool="t", paths=Paths(cwd=f"/{number}")) == "deny"
    assert action(rules, tool="t1" + "x" * 100_000) == "allow"


def test_the_same_arguments_object_is_not_changed() -> None:
    arguments = {"path": ["/etc/x", {"a": '{"b": 1}'}]}
    before = repr(arguments)
    on_path(policy('action = "deny"\ntool = "*"\nargs."*" = "/x"'), arguments)
    assert repr(arguments) == before


def cost(rules: Policy, call: Call, paths: Paths) -> int:
    """The calls of functions for one decision that is not the first."""
    rules.decide(call, SERVERS, paths)
    return calls(lambda: rules.decide(call, SERVERS, paths))


def test_a_rule_without_arguments_decides_from_memory() -> None:
    def rules(count: int) -> Policy:
        denied = (f'action = "deny"\ntool = "t{n}"' for n in range(count))
        return policy(*denied, 'action = "allow"\ntool = "*"')

    call = Call("tools/call", "x", {"a": 1})
    few, many = (cost(rules(count), call, TEXT_ONLY) for count in (5, 500))
    assert many == few < 15


@pytest.mark.parametrize("kind", ["allow", "deny"])
def test_hundreds_of_rules_for_one_tool_cost_little_more_than_ten(kind: str) -> None:
    def rules(count: int) -> Policy:
        return policy(
            *(
                f'action = "{kind}"\ntool = "read"\nargs.path = "/data/d{n}/**"'
                for n in range(count)
            ),
            'action = "prompt"\ntool = "*"',
        )

    call = Call("tools/call", "read", {"path": "/home/user/project/a/b.txt"})
    few, many = (cost(rules(count), call, IN_PROJECT) for count in (10, 500))
    assert many < 3 * few


def test_a_long_text_costs_what_reading_it_a_few_times_costs() -> None:
    patterns = ["**/.ssh/**", "**/.env", "**/*.pem", "/etc/**", "**/id_rsa*", "/sys/**", "/proc/**"]
    rules = policy(
        *(f'action = "deny"\ntool = "*"\nargs."*" = "{pattern}"' for pattern in patterns),
        'action = "allow"\ntool = "*"',
    )
    line = "The quick brown fox jumps over the lazy dog, and so/on and on.\n"
    calls = (
        Call("tools/call", "write", {"content": (line * 2200)[: size - 1] + "x"})
        for size in (65_536, 131_072)
    )
    long, longer = (cost(rules, call, IN_PROJECT) for call in calls)
    assert longer == long < 200
