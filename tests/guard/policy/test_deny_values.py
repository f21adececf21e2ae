"""A value that is denied is found wherever it stands in the arguments."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawkit.guard.policy.policy import Paths
from tests.guard.policy.decisions import IN_PROJECT, TEXT_ONLY, action, deny, on_path, policy

BAD = "/etc/shadow"
ON_PATH = deny("/etc/**", "path")
ANYWHERE = deny("/etc/**")


def nested(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def in_strings(value: Any, depth: int) -> Any:
    for _ in range(depth):
        value = json.dumps(value)
    return value


VALUES = [
    [BAD],
    ["/ok", BAD],
    {"x": BAD},
    {BAD: 1},
    {"x": [{"y": BAD}]},
    nested(BAD, 150),
    json.dumps(BAD),
    json.dumps([BAD]),
    json.dumps({"x": BAD}),
    json.dumps({BAD: None}),
    f" \n{json.dumps({'x': BAD})}\t",
    f"\ufeff{json.dumps([BAD])}",
    '{"x": "\\u002fetc\\/shadow"}',
    '{"x": "/etc/shadow", "x": "/ok"}',
    '{"x": "/ok", "x": "/etc/shadow"}',
    in_strings({"x": BAD}, 4),
    [json.dumps({"a": json.dumps([BAD])})],
    "[" * 5000 + '"/etc/shadow"' + "]" * 5000,
]


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_denied_value_is_found_inside_the_named_argument(value: Any) -> None:
    assert on_path(ON_PATH, value) == "deny"


@pytest.mark.parametrize("value", [BAD, *VALUES], ids=range(len(VALUES) + 1))
@pytest.mark.parametrize("name", ["path", "anything", "", "a.b"])
def test_a_star_finds_it_in_every_argument(name: str, value: Any) -> None:
    assert action(ANYWHERE, {"other": 1, name: value}) == "deny"


def test_a_star_finds_the_name_of_an_argument() -> None:
    assert action(ANYWHERE, {BAD: "x"}) == "deny"
    assert action(ANYWHERE, {"%2fetc/x": "x"}) == "deny"
    assert action(deny("secret"), {"Secret": 1}) == "deny"


def test_a_named_argument_is_that_one_only() -> None:
    assert action(ON_PATH, {"file": BAD}) == "allow"
    assert action(ON_PATH, {"outer": {"path": BAD}}) == "allow"


@pytest.mark.parametrize("name", ["Path", "PATH", " path", "p\u0430th", "pa\u200bth", "\uff50ath"])
def test_the_name_of_an_argument_has_spellings_too(name: str) -> None:
    assert action(ON_PATH, {name: BAD}) == "deny"


@pytest.mark.parametrize("name", ["path", "file_path", "PATH2"])
def test_the_name_of_an_argument_may_be_a_glob(name: str) -> None:
    assert action(deny("/etc/**", '"*path*"'), {name: BAD}) == "deny"
    assert action(deny("/etc/**", '"*path*"'), {"file": BAD}) == "allow"


@pytest.mark.parametrize(
    "value",
    [
        {"b": BAD},
        {"B": BAD},
        [{"b": BAD}],
        [[{"b": "/ok"}, {"b": BAD}]],
        json.dumps({"b": BAD}),
        [json.dumps([{"b": {"c": BAD}}])],
        '{"b": "/etc/shadow", "b": "/ok"}',
        {"b": json.dumps({"x": BAD})},
    ],
    ids=str,
)
def test_a_nested_argument_is_found_in_lists_and_strings(value: Any) -> None:
    assert action(deny("/etc/**", "a.b"), {"a": value}) == "deny"


@pytest.mark.parametrize("value", [BAD, [BAD], {"c": BAD}, {"c": {"b": BAD}}], ids=str)
def test_a_nested_argument_is_that_one_only(value: Any) -> None:
    assert action(deny("/etc/**", "a.b"), {"a": value}) == "allow"


def test_all_arguments_of_a_rule_must_match() -> None:
    rules = policy(
        'action = "deny"\ntool = "*"\nargs.a = "1"\nargs.b = ["2", "3"]',
        'action = "allow"\ntool = "*"',
    )
    assert action(rules, {"a": "1", "b": "3"}) == "deny"
    assert action(rules, {"a": "1"}) == "allow"
    assert action(rules, {"a": "1", "b": "4"}) == "allow"


@pytest.mark.parametrize(
    "value", [22, 22.0, "22", "022", "22.0", "+22", "2.2e1", "0x16", " 22 ", "22."], ids=repr
)
def test_a_number_is_denied_in_every_spelling(value: Any) -> None:
    assert action(deny("22", "port"), {"port": value}) == "deny"


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("true", True),
        ("false", False),
        ("null", None),
        ("1000", 1e3),
        ("5.5", 5.5),
        ("-3", -3),
        ("2*", 25),
    ],
)
def test_other_scalars_are_compared_as_text(pattern: str, value: Any) -> None:
    assert action(deny(pattern, "x"), {"x": value}) == "deny"


def test_a_number_too_long_to_write_out_is_still_some_text() -> None:
    huge = 10**5000
    assert action(deny("**", "x"), {"x": huge}) == "deny"
    assert action(deny("5", "x"), {"x": huge}) == "allow"
    assert action(deny("5", "x"), {"x": "1e999999"}) == "allow"


def test_a_lone_star_denies_whatever_is_there() -> None:
    assert action(deny("*", "x"), {"x": "a/b"}) == "deny"
    assert action(deny("*", "x"), {"x": ""}) == "deny"
    assert action(deny("*", "x"), {"y": 1}) == "allow"


def test_text_is_found_at_the_end_of_a_long_one() -> None:
    content = "The quick brown fox, over and over.\n" * 230_000
    assert (
        action(deny("**/.ssh/**"), {"content": f"{content} ~/.ssh/id"}, paths=IN_PROJECT) == "deny"
    )
    assert action(deny("**BEGIN KEY**"), {"content": f"{content}begin key"}) == "deny"
    assert action(deny("**/.ssh/**"), {"content": content}, paths=IN_PROJECT) == "allow"


@pytest.mark.parametrize(
    "content",
    [
        "%25" * 500_000 + "2fetc/shadow",
        "%" * 1_000_000,
        "\\" * 1_000_000,
        "../" * 400_000,
        "é" * 500_000,
    ],
    ids=["escaped percents", "percents", "backslashes", "climbing", "letters"],
)
def test_a_long_text_of_tricks_takes_no_long_time(content: str) -> None:
    # In the square of its length it would not end within a test's time.
    action(ANYWHERE, {"content": content}, paths=IN_PROJECT)


LONG = "The quick brown fox jumps over the lazy dog. " * 1500


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("*secret*", f"{LONG}SECRET{LONG}"),
        ("**secret", f"\n {LONG}Secret \t"),
        ("the quick**", f"  {LONG}\n"),
        ("**/id_rsa*", f"{LONG}/id_RSA.pub"),
        ("**/.ssh/**", f"{LONG}/.ssh/{LONG}"),
        ("*secret*", f"{LONG}sec\x08ret"),
        ("*secret*", f"{LONG}sec\x7fret{LONG}"),
    ],
    ids=range(7),
)
def test_a_long_text_is_read_in_the_same_ways(pattern: str, value: str) -> None:
    assert action(deny(pattern), {"text": value}, paths=IN_PROJECT) == "deny"
    assert action(deny(pattern), {"text": LONG[4:]}, paths=IN_PROJECT) == "allow"


WRAPPED = deny(["/etc/**", "**/.env", "**/private/**"])


@pytest.mark.parametrize(
    "value",
    [
        *("--file=/etc/x", "@/etc/x", "a=@/etc/x", "'/etc/x'", "`/etc/x`", "jar:file:///etc/x!/y"),
        *("<URL:file:///etc/x>", "url: file:///etc/x", "--file%3D/etc/x", "sqlite:////etc/x"),
        *("HEAD:.env", ":0:.env", "HEAD^{/fix}:.env", "stash@{0}:.env", "host:/etc/x"),
        *("--file=..\\..\\..\\etc\\x", "--FILE=/ETC/x", "\uff1cfile:///etc/x\uff1e"),
        *("-f/etc/x", "-f /etc/x", "--file  /etc/x", ":(top).env", ":(top,icase)a/.env"),
        *("/e*/shad*", "/???/x", "/*/x", "/e?c/*"),
        *("/e?c/x", "/*/x/../../etc/x", "/[de]tc/x", "/{a,e{t,x}c}/x", "a/pri*e/x", "a/.e[n]v"),
    ],
)
@pytest.mark.parametrize("paths", [TEXT_ONLY, IN_PROJECT], ids=["text", "project"])
def test_a_value_is_found_in_what_programs_wrap_it_in(value: str, paths: Paths) -> None:
    assert action(WRAPPED, {"x": value}, paths=paths) == "deny"


@pytest.mark.parametrize(
    "value",
    [
        *("*", "**", "*/x", "**/*.env2", ".*", "a*/b", "user@etc.example", "a: /etc/x is there"),
        *(
            "x=1",
            "12:30:05",
            "https://a.example/?f=/etc/x",
            "12:00Z",
            "C:/x",
            "- /etc/x is",
            "/*",
            "/**/*.py",
            "/**/x.py",
            "/* x */",
            "/*/*.py",
            "a\n--file=/etc/x",
        ),
    ],
)
def test_what_is_no_wrapper_holds_nothing(value: str) -> None:
    assert action(WRAPPED, {"x": value}, paths=IN_PROJECT) == "allow"
