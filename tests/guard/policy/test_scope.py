"""Which methods, tools and servers a rule is about."""

from __future__ import annotations

import pytest

from clawkit.errors import InvalidParamsError
from clawkit.guard.policy.call import call_of
from clawkit.guard.policy.policy import Policy
from tests.guard.policy.decisions import SERVERS, TEXT_ONLY, action, on_method, policy

ALLOW_ALL = 'action = "allow"\ntool = "*"'
OUTSIDE_THE_TABLE = ["completion/complete", "resources/subscribe", "elicitation/create", "x/y"]
IN_THE_TABLE = ["resources/read", "prompts/get", "sampling/createMessage"]


def decided(rules: Policy, method: str, params: dict[str, object]) -> str:
    return rules.decide(call_of(method, params), SERVERS, TEXT_ONLY).action


@pytest.mark.parametrize("star", ["*", "**"])
@pytest.mark.parametrize("tool", ["read", "files/read", "", "resources/read"])
def test_a_lone_star_is_every_tool(star: str, tool: str) -> None:
    assert action(policy(f'action = "allow"\ntool = "{star}"'), tool=tool) == "allow"


@pytest.mark.parametrize("star", ["*", "**"])
@pytest.mark.parametrize("method", IN_THE_TABLE)
def test_a_lone_star_is_what_else_the_table_evaluates(star: str, method: str) -> None:
    assert on_method(policy(f'action = "allow"\ntool = "{star}"'), method) == "allow"
    assert on_method(policy(f'action = "prompt"\ntool = ["x", "{star}"]'), method) == "prompt"


@pytest.mark.parametrize("method", OUTSIDE_THE_TABLE)
def test_a_lone_star_without_arguments_is_no_other_method(method: str) -> None:
    assert on_method(policy('action = "deny"\ntool = "*"'), method) == "allow"


@pytest.mark.parametrize("method", OUTSIDE_THE_TABLE + IN_THE_TABLE)
@pytest.mark.parametrize("argument", ['"*"', "ref"])
def test_a_lone_star_with_arguments_looks_into_every_method(method: str, argument: str) -> None:
    rules = policy(f'action = "deny"\ntool = "*"\nargs.{argument} = "/etc/**"', ALLOW_ALL)
    assert on_method(rules, method, ref={"uri": "file:///etc/x"}) == "deny"
    assert on_method(rules, method, ref={"uri": "file:///x"}) == "allow"


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "notifications/x"])
def test_no_rule_keeps_a_session_from_starting(method: str) -> None:
    rules = policy('action = "deny"\ntool = "*"\nargs."*" = "**"', 'action = "deny"\nmethod = "**"')
    assert on_method(rules, method, a="b") == "allow"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        ("resources/read", "resources/read"),
        ("resources/*", "resources/read"),
        ("resources/*", "resources/subscribe"),
        ("sampling/createMessage", "sampling/createMessage"),
        ("*/createMessage", "sampling/createMessage"),
        ("completion/complete", "completion/complete"),
        ("elicitation/**", "elicitation/create"),
    ],
)
def test_a_tool_pattern_is_also_for_the_names_of_methods(pattern: str, method: str) -> None:
    assert on_method(policy(f'action = "prompt"\ntool = "{pattern}"'), method) == "prompt"


def test_the_documented_fields_reach_resources_and_prompts() -> None:
    rules = policy(
        'action = "allow"\ntool = "resources/read"\nargs.uri = "file:///docs/**"',
        'action = "allow"\ntool = "prompts/get"\nargs.name = "greet"\nargs.style = "formal"',
    )
    assert decided(rules, "resources/read", {"uri": "file:///docs/a"}) == "allow"
    assert decided(rules, "resources/read", {"uri": "file:///docs/../a"}) == "deny"
    formal = {"name": "greet", "arguments": {"style": "formal"}}
    assert decided(rules, "prompts/get", formal) == "allow"
    assert decided(rules, "prompts/get", {"name": "greet"}) == "deny"


def test_an_argument_cannot_stand_in_for_the_name_of_a_prompt() -> None:
    rules = policy('action = "allow"\nprompt = "greet"')
    assert decided(rules, "prompts/get", {"name": "evil", "arguments": {"name": "greet"}}) == "deny"


@pytest.mark.parametrize("pattern", ["resources/*", "**", "*", "RESOURCES/read"])
def test_method_is_a_shorthand_for_a_method(pattern: str) -> None:
    rules = policy(f'action = "deny"\nmethod = "{pattern}"', ALLOW_ALL)
    assert on_method(rules, "resources/read", uri="x") == "deny"


def test_a_shorthand_is_not_fooled_by_a_tool_of_that_name() -> None:
    for shorthand in ('method = "resources/read"', 'resource = "**"'):
        rules = policy(f'action = "allow"\n{shorthand}')
        assert action(rules, {"uri": "x"}, tool="resources/read") == "deny"
        assert on_method(rules, "resources/read", uri="x") == "allow"
    rules = policy('action = "allow"\nprompt = "*"')
    assert action(rules, {"name": "x"}, tool="prompts/get") == "deny"


def test_method_and_tool_must_both_match() -> None:
    rules = policy('action = "deny"\nmethod = "tools/call"\ntool = "a*"', ALLOW_ALL)
    assert action(rules, tool="ab") == "deny"
    assert action(rules, tool="b") == "allow"
    assert on_method(rules, "a/b") == "allow"


@pytest.mark.parametrize("method", ["logging/setLevel", "tools/call"])
def test_a_lone_star_may_name_any_method(method: str) -> None:
    rules = policy(f'action = "deny"\ntool = "*"\nmethod = "{method}"', ALLOW_ALL)
    assert on_method(rules, method) == "deny"


def test_a_resource_is_allowed_to_be_read_and_nothing_else() -> None:
    rules = policy('action = "allow"\nresource = ["file:///docs/**", "memo://*"]')
    assert on_method(rules, "resources/read", uri="file:///docs/a") == "allow"
    assert on_method(rules, "resources/read", uri="memo://a") == "allow"
    assert on_method(rules, "resources/read", uri="file:///etc/x") == "deny"
    assert on_method(rules, "prompts/get", name="file:///docs/a") == "deny"


@pytest.mark.parametrize("kind", ["deny", "prompt"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {"uri": "file:///etc/x"}),
        ("resources/subscribe", {"uri": "FILE:///ETC/x"}),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["file:///etc/x"]}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": "file:///etc/x"}}),
    ],
)
def test_a_resource_is_guarded_wherever_it_is_named(
    kind: str, method: str, params: dict[str, object]
) -> None:
    rules = policy(f'action = "{kind}"\nresource = "/etc/**"', ALLOW_ALL)
    assert decided(rules, method, params) == kind
    assert decided(rules, method, {"uri": "file:///docs/x"}) == "allow"
    assert action(rules, {"uri": "file:///etc/x"}) == "allow"


def test_a_prompt_is_guarded_by_its_name() -> None:
    rules = policy('action = "deny"\nprompt = "admin*"', ALLOW_ALL)
    assert decided(rules, "prompts/get", {"name": "Admin-tools"}) == "deny"
    assert decided(rules, "prompts/get", {"name": "x", "arguments": {"a": "admin"}}) == "allow"
    assert on_method(rules, "completion/complete", ref={"name": "admin"}) == "deny"
    assert on_method(rules, "resources/read", uri="admin") == "allow"


@pytest.mark.parametrize(
    "tool", ["shell", "SHELL", "Shell ", "sh\u0435ll", "she\u200bll", "\uff53hell"]
)
def test_a_guarded_tool_has_other_spellings(tool: str) -> None:
    assert action(policy('action = "deny"\ntool = "shell"', ALLOW_ALL), tool=tool) == "deny"
    assert action(policy('action = "prompt"\ntool = "sh*l"', ALLOW_ALL), tool=tool) == "prompt"


@pytest.mark.parametrize("tool", ["Read", "read ", "r\u0435ad", "rea\u200bd"])
def test_an_allowed_tool_has_no_other_spelling(tool: str) -> None:
    assert action(policy('action = "allow"\ntool = "read"'), tool=tool) == "deny"


@pytest.mark.parametrize(
    ("servers", "guarded", "trusted"),
    [
        (("files",), True, True),
        (("Files",), True, False),
        (("other",), False, False),
        (("files", "other"), True, False),
        ((), True, False),
    ],
)
def test_a_server_is_guarded_if_it_may_be_that_one_and_trusted_if_it_is(
    servers: tuple[str, ...], guarded: bool, trusted: bool
) -> None:
    guard = policy('action = "deny"\ntool = "*"\nserver = "files"', ALLOW_ALL)
    trust = policy('action = "allow"\ntool = "*"\nserver = "files"')
    assert (action(guard, servers=servers) == "deny") is guarded
    assert (action(trust, servers=servers) == "allow") is trusted


def test_servers_may_be_several_patterns() -> None:
    rules = policy('action = "allow"\ntool = "*"\nserver = ["a-*", "b"]')
    assert action(rules, servers=("a-1", "b")) == "allow"
    assert action(rules, servers=("c",)) == "deny"


NO_KEYS = 'action = "deny"\ntool = "*"\nargs."*" = "**/.ssh/**"'
KEY = "/root/.ssh/id_rsa"


@pytest.mark.parametrize(
    "params",
    [
        {"_meta": {"x": KEY}},
        {"task": {"ttl": 1, "file": KEY}},
        {"input": {"path": KEY}},
        {"path": KEY},
        {KEY: 1},
    ],
)
def test_what_stands_beside_the_arguments_is_denied_too(params: dict[str, object]) -> None:
    rules = policy(NO_KEYS, ALLOW_ALL)
    assert decided(rules, "tools/call", {"name": "t", **params}) == "deny"
    assert decided(rules, "prompts/get", {"name": "t", **params}) == "deny"
    assert decided(rules, "resources/read", {"uri": "notes://x", **params}) == "deny"
    assert decided(rules, "tools/call", {"name": "t", "_meta": {"progressToken": 1}}) == "allow"


def test_a_named_argument_is_denied_where_a_server_may_look_for_it_instead() -> None:
    rules = policy('action = "deny"\ntool = "t"\nargs.port = "22"', ALLOW_ALL)
    for params in ({"input": {"port": 22}}, {"port": 22}, {"_meta": {"Port": "22"}}):
        assert decided(rules, "tools/call", {"name": "t", "arguments": {}, **params}) == "deny"


@pytest.mark.parametrize("method", ["tools/list", "initialize", "notifications/progress", "ping"])
def test_lists_and_notices_are_stopped_by_what_is_denied_in_them_and_nothing_else(
    method: str,
) -> None:
    rules = policy(
        NO_KEYS,
        'action = "deny"\ntool = "*"\nargs."*" = "**"',
        'action = "prompt"\ntool = "*"\nargs."*" = "x"',
        'action = "deny"\nmethod = "**"',
    )
    assert decided(rules, method, {"cursor": KEY}) == "deny"
    assert decided(rules, method, {"_meta": {"x": KEY}}) == "deny"
    assert decided(rules, method, {"cursor": "x"}) == "allow"


def test_a_method_that_mcp_does_not_have_passes_unless_a_rule_denies_it() -> None:
    unknown = 'action = "deny"\nmethod = "unknown"'
    for method in ("resources/write", "tools/execute", "x"):
        assert on_method(policy(ALLOW_ALL), method) == "allow"
        assert on_method(policy(unknown), method) == "deny"
        assert (
            on_method(policy(f'action = "allow"\nmethod = "{method}"', unknown), method) == "allow"
        )
    for method in ("completion/complete", "logging/setLevel", "tasks/get", "elicitation/create"):
        assert on_method(policy(unknown), method) == "allow"


def test_a_parameter_that_could_be_taken_for_the_arguments_is_invalid() -> None:
    for key in ("argu\u200bments", "n\u0430me"):
        with pytest.raises(InvalidParamsError, match="taken for another"):
            call_of("tools/call", {"name": "t", "arguments": {}, key: {}})
