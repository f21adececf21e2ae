"""What a rule allows is exactly what it names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from clawkit.guard.policy.call import CallSession, call_of
from clawkit.guard.policy.policy import Paths
from clawkit.guard.policy.readings import texts
from tests.guard.policy.decisions import IN_PROJECT, TEXT_ONLY, action, allow, deny, on_path, policy

WORK = allow("/home/user/project/**")


@pytest.mark.parametrize(
    "path",
    [
        "/home/user/project/a.txt",
        "/home/user/project/a/b/",
        "/home/user/project/./a//b",
        "/home/user/project/a/../b",
        "/home/user/other/../project/b",
        "file:///home/user/project/a%20b",
        "file://localhost/home/user/project/a",
        "FILE:/home/user/project/a",
        "/home/user/project/100%",
        "/home/user/project/..a/b..c/...",
        "/home/user/project/caf\u00e9/\u65e5\u672c\uff08x\uff09",
        "/home/user/project/a b",
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_a_path_inside_is_allowed(path: str, paths: Paths) -> None:
    assert on_path(WORK, path, paths) == "allow"


@pytest.mark.parametrize(
    "path",
    [
        "/home/user/project",
        "/home/user/project/",
        "/home/user/project/..",
        "/home/user/project/../secret",
        "/home/user/project/a/../../secret",
        "/home/user/project/..\\secret",
        "/home/user/project\\..\\secret",
        "/home/user/project/%2e%2e/secret",
        "/home/user/project/%252e%252e/secret",
        "/home/user/project/..%2fsecret",
        "/home/user/project/..%5csecret",
        "/home/user/project/%c0%ae%c0%ae/secret",
        "/home/user/project/\uff0e\uff0e/secret",
        "/home/user/project/..\u2215secret",
        "/home/user/project/\u2025/secret",
        "//./home/user/secret",
        "\\\\.\\project\\a",
        "/home/user/project/a\0",
        "/home/user/project/a\0/../../secret",
        "/home/user/project/a\n",
        "/home/user/project/a\u200b",
        "/home/user/project/\u202ea",
        "/home/user/Project/a",
        "/HOME/user/project/a",
        "/home/user/pr\u043eject/a",
        "/home/user/projects/a",
        "/x/home/user/project/a",
        "file://other/home/user/project/a",
        "file:///home/user/project/../secret",
        "file:///home/user/secret",
        "https://home/user/project/a",
        "~other/project/a",
        "",
        "/",
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_a_path_that_is_or_could_be_elsewhere_is_not(path: str, paths: Paths) -> None:
    assert on_path(WORK, path, paths) == "deny"


@pytest.mark.parametrize(
    ("path", "expected"), [("a", "allow"), ("../x", "deny"), ("a/../../x", "deny")]
)
def test_a_relative_path_starts_in_the_directory_of_the_server(path: str, expected: str) -> None:
    assert on_path(WORK, path, IN_PROJECT) == expected


def test_a_relative_path_is_not_allowed_where_the_directory_is_unknown() -> None:
    assert on_path(WORK, "a") == "deny"


@pytest.mark.parametrize("pattern", ["docs/**", "./docs/**"])
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("docs/a", "allow"),
        ("./docs/a", "allow"),
        ("x/../docs/a", "allow"),
        ("docs/../a", "deny"),
        ("../docs/a", "deny"),
        ("/docs/a", "deny"),
        ("DOCS/a", "deny"),
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_a_relative_pattern_is_of_the_directory_of_the_server(
    pattern: str, path: str, expected: str, paths: Paths
) -> None:
    assert on_path(allow(pattern), path, paths) == expected


def test_everything_below_the_directory_is_nothing_outside_of_it() -> None:
    for paths in (TEXT_ONLY, IN_PROJECT):
        assert on_path(allow("./**"), "a/b", paths) == "allow"
        assert on_path(allow("./**"), "/etc/passwd", paths) == "deny"
        assert on_path(allow("./**"), "../x", paths) == "deny"


@pytest.mark.parametrize("path", ["~/notes/a", "/home/user/notes/a"])
def test_a_pattern_may_begin_at_home(path: str) -> None:
    assert on_path(allow("~/notes/**"), path, IN_PROJECT) == "allow"
    assert on_path(allow("~/notes/**"), "~/notes/../.ssh/id", IN_PROJECT) == "deny"


def test_a_home_that_is_unknown_is_compared_as_text() -> None:
    assert on_path(allow("~/notes/**"), "~/notes/a") == "allow"
    assert on_path(allow("~/notes/**"), "~/notes/../a") == "deny"
    assert on_path(allow("~/notes/**"), "/home/user/notes/a") == "deny"


def test_a_drive_is_a_path() -> None:
    for pattern in ("C:/work/**", "C:\\work\\**"):
        assert on_path(allow(pattern), "C:\\work\\a") == "allow"
        assert on_path(allow(pattern), "C:\\work\\..\\a") == "deny"


@pytest.mark.parametrize(
    "value", [["/home/user/project/a"], {"a": "b"}, [], {}, None, 5, True], ids=repr
)
def test_only_a_scalar_is_allowed_by_a_path(value: Any) -> None:
    assert on_path(WORK, value) == "deny"


@pytest.mark.parametrize("value", [[], {}, ["x"]], ids=repr)
def test_a_list_is_not_even_allowed_by_a_star(value: Any) -> None:
    assert on_path(allow("*"), value) == "deny"


def test_a_lone_star_allows_any_scalar_that_is_there() -> None:
    for value in ("a/b", "", "hidden\u200b", 5, None, json.dumps(["x"])):
        assert on_path(allow("*"), value) == "allow"
    assert action(allow("*"), {"other": 1}) == "deny"


def test_names_are_exact() -> None:
    assert action(WORK, {"Path": "/home/user/project/a"}) == "deny"
    assert action(WORK, {"p\u0430th": "/home/user/project/a"}) == "deny"


def test_every_named_argument_must_match() -> None:
    rules = policy('action = "allow"\ntool = "*"\nargs.a = "x"\nargs.b = ["y", "z"]')
    assert action(rules, {"a": "x", "b": "z", "c": "free"}) == "allow"
    assert action(rules, {"a": "x"}) == "deny"
    assert action(rules, {"a": "x", "b": "x"}) == "deny"


def test_a_star_needs_every_argument_to_match() -> None:
    rules = allow("/home/user/project/**", '"*"')
    inside, outside = "/home/user/project/a", "/etc/x"
    assert action(rules, {"from": inside, "to": inside}) == "allow"
    assert action(rules, {"from": inside, "to": outside}) == "deny"
    assert action(rules, {"from": inside, "to": [inside]}) == "deny"
    assert action(rules, {}) == "deny"


def test_a_nested_argument_is_allowed_where_it_stands() -> None:
    rules = allow("x", "a.b")
    assert action(rules, {"a": {"b": "x"}}) == "allow"
    for value in ("x", [{"b": "x"}], json.dumps({"b": "x"}), {"b": ["x"]}, {"c": "x"}, {}):
        assert action(rules, {"a": value}) == "deny"


def test_readings_may_match_different_patterns_of_one_list() -> None:
    rules = allow(["/a/**", "/b/**"])
    assert on_path(rules, "/a/x%2f..%2f..%2fb/y") == "allow"
    assert on_path(rules, "/a/x%2f..%2f..%2fc/y") == "deny"


@pytest.mark.parametrize(
    ("pattern", "value", "expected"),
    [
        ("report-*", "report-5", "allow"),
        ("report-*", "Report-5", "deny"),
        ("report-*", "report-a/b", "deny"),
        ("report-*", "report-a\\b", "deny"),
        ("report-*", "report-a%2fb", "deny"),
        ("report-*", "report-a\uff0fb", "deny"),
        ("report-*", "report-\u200b", "deny"),
        ("report-**", "report-a/b", "allow"),
        ("100%25", "100%25", "allow"),
        ("C++ \\ x", "C++ \\ x", "allow"),
        ("TODO: *", "TODO: sleep", "allow"),
        ("5", 5, "allow"),
        ("5", 5.0, "deny"),
        ("5*", 5.0, "allow"),
        ("true", True, "allow"),
        ("true", "true", "allow"),
        ("null", None, "allow"),
        ("1", True, "deny"),
    ],
    ids=repr,
)
def test_text_is_compared_as_it_stands(pattern: str, value: Any, expected: str) -> None:
    assert action(allow(pattern, "x"), {"x": value}) == expected


def test_a_value_that_can_be_decoded_on_and_on_is_not_allowed() -> None:
    assert on_path(WORK, "/home/user/project/%252525252520a") == "allow"
    letter = "a"
    for _ in range(14):
        letter = "%" + letter.encode().hex("%")
    assert on_path(WORK, f"/home/user/project/{letter}") == "deny"


def test_a_backslash_may_be_a_letter_or_a_boundary() -> None:
    assert on_path(WORK, "\\home\\user\\project\\a") == "deny"
    assert on_path(WORK, "\\home\\user\\project\\a", IN_PROJECT) == "allow"


CLOSED = policy('action = "allow"\ntool = "push"\nargs.branch = "main"\nonly_args = true')
NESTED = policy('action = "allow"\ntool = "push"\nargs.a.b = "x"\nargs.c = "y"\nonly_args = true')


def test_a_rule_with_only_args_allows_no_other_argument() -> None:
    assert action(CLOSED, {"branch": "main"}, tool="push") == "allow"
    assert action(CLOSED, {"branch": "main", "force": True}, tool="push") == "deny"
    assert action(CLOSED, {"branch": "main", "force": None}, tool="push") == "deny"
    assert action(NESTED, {"a": {"b": "x"}, "c": "y"}, tool="push") == "allow"
    for more in ({"d": 1}, {"a": {"b": "x", "d": 1}}, {"a": {"b": "x", "d": {}}}):
        assert action(NESTED, {"a": {"b": "x"}, "c": "y", **more}, tool="push") == "deny"
    bare = policy('action = "allow"\ntool = "push"\nonly_args = true')
    assert action(bare, {}, tool="push") == "allow"
    assert action(bare, {"force": True}, tool="push") == "deny"


def test_only_args_is_about_what_stands_beside_the_arguments_too() -> None:
    def decided(known: CallSession | None = None, **params: Any) -> str:
        call = call_of("tools/call", {"name": "push", "arguments": {"branch": "main"}, **params})
        return CLOSED.decide(replace(call, known=known or CallSession()), ("git",), Paths()).action

    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    assert decided(_meta={"progressToken": 1, "traceparent": trace}) == "allow"
    assert decided(CallSession(tasks=True), task={"ttl": 1000}) == "allow"
    assert decided(task={"ttl": 1000}) == "deny"
    assert decided(input={"force": True}) == "deny"


@pytest.mark.parametrize("other", ["Path", "PATH", "pa\u200bth", "p\u0430th", " path", "\uff50ath"])
def test_an_allow_does_not_match_beside_a_name_that_a_server_may_take_for_it(other: str) -> None:
    rules = allow("/home/user/**")
    assert action(rules, {"path": "/home/user/x", "other": "/x"}) == "allow"
    assert action(rules, {"path": "/home/user/x", other: "/etc/passwd"}) == "deny"
    nested = policy('action = "allow"\ntool = "*"\nargs.a.path = "/home/user/**"')
    assert action(nested, {"a": {"path": "/home/user/x", other: "/etc/passwd"}}) == "deny"


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**53), 2**70, 1e22, float(2**53), -0.0])
def test_a_number_that_servers_read_differently_is_not_allowed(number: float) -> None:
    spellings = list(texts(number))
    assert action(allow(spellings, "id"), {"id": number}) == "deny"
    assert action(allow("*", "id"), {"id": number}) == "allow"
    assert action(deny(spellings), {"id": number}) == "deny"


def test_a_number_that_all_read_alike_is_allowed() -> None:
    for number in (2**53 - 1, -(2**53 - 1), 0, 1.5, 1.0):
        assert action(allow(list(texts(number)), "id"), {"id": number}) == "allow"
