from __future__ import annotations

from typing import Any

import pytest

from clawkit.errors import InvalidParamsError
from clawkit.guard.policy.call import Call, call_of, is_judged


def test_a_tool_call_is_its_name_and_arguments() -> None:
    call = call_of("tools/call", {"name": "read", "arguments": {"path": "/x"}, "_meta": {"a": 1}})
    assert call == Call("tools/call", "read", {"path": "/x"}, ({"_meta": {"a": 1}},))


def test_a_tool_call_may_leave_its_arguments_out() -> None:
    assert call_of("tools/call", {"name": "now"}).arguments == {}


def test_a_resource_read_is_a_tool_of_its_method() -> None:
    call = call_of("resources/read", {"uri": "file:///x", "_meta": {}})
    assert (call.tool, call.arguments) == ("resources/read", {"uri": "file:///x"})


def test_a_prompt_has_its_name_and_its_own_arguments() -> None:
    call = call_of("prompts/get", {"name": "greet", "arguments": {"style": "formal"}})
    assert call == Call("prompts/get", "prompts/get", {"name": "greet", "style": "formal"})


def test_an_argument_of_a_prompt_that_is_called_name_stays_visible() -> None:
    call = call_of("prompts/get", {"name": "greet", "arguments": {"name": "/etc/shadow"}})
    assert call.arguments == {"name": "greet", "arguments.name": "/etc/shadow"}


def test_any_other_method_has_its_parameters() -> None:
    call = call_of("sampling/createMessage", {"messages": [], "_meta": {"x": 1}})
    assert (call.tool, call.arguments) == ("sampling/createMessage", {"messages": []})
    assert call.outside == ({"_meta": {"x": 1}},)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {}),
        ("tools/call", {"name": 5}),
        ("tools/call", {"name": "x", "arguments": None}),
        ("tools/call", {"name": "x", "arguments": "{}"}),
        ("tools/call", {"name": "x", "arguments": []}),
        ("prompts/get", {"arguments": {}}),
        ("prompts/get", {"name": "x", "arguments": None}),
        ("prompts/get", {"name": "x", "arguments": "y"}),
        ("resources/read", {}),
        ("resources/read", {"uri": ["file:///x"]}),
    ],
    ids=str,
)
def test_what_servers_could_read_differently_is_invalid(
    method: str, params: dict[str, Any]
) -> None:
    with pytest.raises(InvalidParamsError) as raised:
        call_of(method, params)
    assert raised.value.code == -32602


@pytest.mark.parametrize(
    ("method", "judged"),
    [
        ("initialize", False),
        ("ping", False),
        ("server/discover", False),
        ("tools/list", False),
        ("resources/templates/list", False),
        ("roots/list", True),
        ("notifications/message", False),
        ("tools/call", True),
        ("completion/complete", True),
        ("elicitation/create", True),
        ("anything/else", True),
    ],
)
def test_rules_apply_to_all_methods_but_those_that_open_a_session(
    method: str, judged: bool
) -> None:
    assert is_judged(method) is judged
