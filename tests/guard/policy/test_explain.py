"""`explain`: the deciding rule and why, the near misses, and what would be needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawkit.guard.authoring.explain import Explanation, explain
from clawkit.guard.authoring.fixtures import NAMELESS
from clawkit.guard.policy.call import Call, call_of
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Paths

RULES = """
[[rule]]
action = "deny"
tool = "*"
args."*" = ["**/.ssh/**", "/etc/**"]

[[rule]]
action = "allow"
tool = "read_*"
args.path = "/home/**"

[[rule]]
action = "allow"
tool = "query"
server = "database"

[[rule]]
action = "allow"
tool = "old"
expires = 2020-01-01

[[rule]]
action = "deny"
tool = "*"
"""


def told(
    tool: str,
    arguments: dict[str, Any],
    *,
    rules: str = RULES,
    servers: tuple[str, ...] = NAMELESS,
    paths: Paths | None = None,
) -> Explanation:
    call = Call("tools/call", tool, arguments)
    return explain(read_policy(rules, "policy.toml"), call, servers, paths or Paths())


def because(explanation: Explanation) -> str:
    return "; ".join(clause.text for clause in explanation.because)


def near(explanation: Explanation) -> dict[int, str]:
    return {
        reading.rule.number: "; ".join(clause.text for clause in reading.missing)
        for reading in explanation.near
    }


def test_the_rule_that_decides_says_which_value_matched_which_pattern() -> None:
    explanation = told("read_file", {"path": "/home/u/a.txt"})
    assert explanation.decision.action == "allow"
    assert because(explanation) == (
        "tool 'read_file' matches 'read_*'; args.path '/home/u/a.txt' is under '/home/**'"
    )


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "/etc/passwd"}, "args.path '/etc/passwd' is under '/etc/**'"),
        ({"path": "/ETC/Passwd"}, "args.path '/ETC/Passwd', read as '/etc/passwd', is under"),
        ({"path": "/home/../etc/x"}, "read as '/etc/x', is under '/etc/**'"),
        ({"path": "%2fetc%2fx"}, "read as '/etc/x', is under '/etc/**'"),
        ({"o": {"files": ["a", "/h/.ssh/id"]}}, "args.o.files[1] '/h/.ssh/id' is under '**/.ssh"),
        ({"json": '{"p": "/etc/x"}'}, "args.json"),
    ],
    ids=["plain", "case", "dots", "percent", "nested", "json"],
)
def test_a_denied_value_is_named_with_the_form_that_was_caught(
    arguments: dict[str, Any], expected: str
) -> None:
    explanation = told("read_file", arguments)
    assert explanation.decision.action == "deny"
    assert expected in because(explanation)


def test_a_rule_before_it_that_nearly_matched_says_what_was_missing() -> None:
    explanation = told("read_file", {"path": "/srv/hosts"})
    missing = near(explanation)
    assert missing[2] == "args.path '/srv/hosts' is not under '/home/**'"
    assert 1 not in missing  # it looks into every call, and found nothing
    assert "rule 2 would allow it with args.path under '/home/**'" in explanation.needed
    assert "a rule that allows it must stand before rule 5, line 22" in explanation.needed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, "the call has no argument 'path'"),
        ({"path": ["/home/u"]}, "args.path is no single value"),
        ({"path": "/home/../srv/x"}, "read as '/srv/x', is not under '/home/**'"),
        ({"path": "/home/u\u200b"}, "can be read in ways that no rule allows"),
    ],
    ids=["missing", "list", "dots", "hidden"],
)
def test_what_keeps_an_allow_from_matching_is_said(
    arguments: dict[str, Any], expected: str
) -> None:
    explanation = told("read_file", arguments)
    assert explanation.decision.action == "deny"
    assert expected in near(explanation)[2]


def test_a_link_is_shown_as_the_file_it_leads_to(tmp_path: Path) -> None:
    real, public = tmp_path / "private", tmp_path / "public"
    real.mkdir()
    public.mkdir()
    (public / "link").symlink_to(real)
    rules = f'[[rule]]\naction = "allow"\ntool = "*"\nargs.path = "{public}/**"\n'
    value = {"path": f"{public}/link/key"}
    machine = Paths(cwd=str(tmp_path), home=str(tmp_path), resolve=True)
    refused = told("read", value, rules=rules, paths=machine)
    assert refused.decision.action == "deny"
    assert f"read as '{real}/key'" in near(refused)[1]
    assert told("read", value, rules=rules).decision.action == "allow"


def test_a_rule_for_another_server_is_a_near_miss() -> None:
    other = told("query", {}, servers=("files",))
    assert near(other)[3] == "server 'files' does not match 'database'"
    assert "rule 3 would allow it with server 'database'" in other.needed
    assert near(told("query", {}))[3] == "it is for server 'database'; none is named"
    assert told("query", {}, servers=("database",)).decision.action == "allow"


def test_an_expired_rule_is_a_near_miss() -> None:
    assert near(told("old", {}))[4] == "it expired at 2020-01-02 00:00"


def test_without_a_matching_rule_the_default_is_explained() -> None:
    rules = '[[rule]]\naction = "allow"\ntool = "read"\n'
    explanation = told("write", {}, rules=rules)
    assert (explanation.decision.rule, explanation.near) == (None, ())
    assert explanation.needed == ("a rule that allows it may stand anywhere: no rule matches it",)


@pytest.mark.parametrize(
    ("method", "params", "action", "text"),
    [
        ("resources/read", {"uri": "db://a/b"}, "allow", "resource 'db://a/b' matches 'db://**'"),
        ("prompts/get", {"name": "greet"}, "prompt", "prompt 'greet' matches 'greet'"),
        ("sampling/createMessage", {}, "deny", "method 'sampling/createMessage' matches"),
    ],
    ids=["resource", "prompt", "method"],
)
def test_other_methods_are_explained_by_their_own_fields(
    method: str, params: dict[str, Any], action: str, text: str
) -> None:
    rules = """
[[rule]]
action = "allow"
resource = "db://**"
[[rule]]
action = "prompt"
prompt = "greet"
[[rule]]
action = "deny"
method = "sampling/*"
"""
    call = call_of(method, params)
    explanation = explain(read_policy(rules, "p"), call, NAMELESS, Paths())
    assert explanation.decision.action == action
    assert text in because(explanation)


def test_what_is_never_judged_passes_without_near_misses() -> None:
    call = Call("ping", "ping", {})
    explanation = explain(read_policy(RULES, "p"), call, NAMELESS, Paths())
    assert (explanation.decision.action, explanation.near, explanation.needed) == ("allow", (), ())


def test_many_patterns_are_shortened() -> None:
    patterns = ", ".join(f'"/p{number}/**"' for number in range(9))
    rules = f'[[rule]]\naction = "allow"\ntool = "*"\nargs.path = [{patterns}]\n'
    missing = near(told("read", {"path": "/x"}, rules=rules))[1]
    assert missing == "args.path '/x' matches none of '/p0/**', '/p1/**', '/p2/**' (and 6 more)"


_RULES = [
    'tool = "*"\nargs."*" = ["/etc/**", "5"]',
    'tool = "read*"\nargs.path = "/home/**"',
    'tool = "read"\nargs.o.p = ["a", "/srv/*"]\nargs.path = "**"',
    'tool = ["read", "write"]\nserver = "s*"',
    'tool = "*"\nserver = "other"\nargs."p*" = "/home/u"',
    'method = "resources/*"\nargs.uri = "db://**"',
    'resource = "file:///etc/**"',
    'prompt = "greet"',
    'tool = "*"\nmethod = "tools/call"',
    'tool = "read"\nexpires = 2020-01-01',
]
_rules = st.lists(st.tuples(st.sampled_from(["allow", "deny", "prompt"]), st.sampled_from(_RULES)))
_values = st.sampled_from(
    ["/etc/x", "/ETC", "/home/u", "/home/../srv/q", "a", 5, None, ["/etc/x"], {"p": "a"}, '["5"]']
)
_arguments = st.dictionaries(st.sampled_from(["path", "o", "PATH", "uri", "name"]), _values)
_calls = st.one_of(
    st.builds(Call, st.just("tools/call"), st.sampled_from(["read", "READ", "write"]), _arguments),
    st.sampled_from(["resources/read", "prompts/get", "completion/complete"]).flatmap(
        lambda method: st.builds(Call, st.just(method), st.just(method), _arguments)
    ),
)


@settings(max_examples=settings().max_examples * 3 // 2)
@given(_rules, _calls, st.sampled_from([NAMELESS, ("s1",), ("s1", "other")]))
def test_an_explanation_never_disagrees_with_the_decision(
    rules: list[tuple[str, str]], call: Call, servers: tuple[str, ...]
) -> None:
    text = "".join(f'[[rule]]\naction = "{action}"\n{rest}\n' for action, rest in rules)
    explanation = explain(read_policy(text, "p"), call, servers, Paths())
    assert all(clause.met for clause in explanation.because)
    assert all(reading.missing for reading in explanation.near)


def test_an_argument_that_a_closed_rule_does_not_name_is_told() -> None:
    closed = '[[rule]]\naction = "allow"\ntool = "push"\nargs.branch = "main"\nonly_args = true\n'
    more = told("push", {"branch": "main", "force": True}, rules=closed)
    assert more.decision.action == "deny"
    assert more.near[0].missing[0].text == "the call also has 'force'"
    assert more.needed[0] == "rule 1 would allow it with no other argument"
    shadowed = told("push", {"branch": "main", "Branch": "x"}, rules=closed)
    assert "may take for it" in shadowed.near[0].missing[0].text
    assert told("push", {"branch": "main"}, rules=closed).because[-1].met


def test_what_is_denied_outside_the_arguments_is_told() -> None:
    call = call_of("tools/call", {"name": "read_file", "_meta": {"x": "/etc/passwd"}})
    found = explain(read_policy(RULES, "p"), call, NAMELESS, Paths())
    assert found.decision.action == "deny"
    assert found.because[-1].met
    assert "outside the arguments" in found.because[-1].text
