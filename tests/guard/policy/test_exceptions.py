"""What a rule that denies does not mean, and what nobody can make of that."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawkit.errors import PolicyError
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.paths import Paths
from tests.guard.policy.decisions import on_path, policy

DENIED = 'action = "deny"\ntool = "*"\nargs."*" = ["**/.env", "**/.env.*", "**/.ssh/**"]'
REST = 'action = "allow"\ntool = "**"'
WITH = policy(f'{DENIED}\nexcept = ["**/.env.example", "**/id_*.pub"]', REST)
DENIED_NAMES = 'action = "deny"\ntool = "*"\nargs."*" = ["**/.env", "**/.env.*", "**/id_*"]'
NAMES = policy(f'{DENIED_NAMES}\nexcept = ["**/.env.example", "**/id_*.pub"]', REST)
ALL_NAMES = policy(DENIED_NAMES, REST)
EXEMPT = re.compile(r"\.env\.example|id_\w*\.pub")
PLACE = Paths(cwd="/home/user/project", home="/home/user")
PIECES = st.sampled_from(
    [
        *("/", "..", ".", "~", ".env", ".example", ".env.example", ".ssh", "id_rsa", ".pub", "a"),
        *(
            " ",
            ":",
            ",",
            ";",
            "\n",
            "\0",
            "%2e",
            "%00",
            "\\",
            "*",
            "?",
            "file://",
            "HEAD:",
            "=",
            "@",
        ),
        *("id_rsa.pub", "/.ssh/", "/.env", "\u200b", "$HOME", '"', "{", "["),
    ]
)


@given(st.lists(PIECES, max_size=9).map("".join))
def test_what_is_excepted_has_nothing_else_in_it_that_is_denied(value: str) -> None:
    if on_path(NAMES, value, PLACE) == "allow":
        rest = EXEMPT.sub("x", value)
        assert on_path(ALL_NAMES, rest, PLACE) == "allow", (value, rest)


@pytest.mark.parametrize(
    "path", ["/x/.env.example", ".env.example", "~/.ssh/id_rsa.pub", "C:/x/.env.example"]
)
def test_an_exempt_name_is_not_denied(path: str) -> None:
    assert on_path(WITH, path, PLACE) == "allow"


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ('action = "allow"\ntool = "a"\nexcept = "**/*.pub"', "except is for rules that deny"),
        ('action = "deny"\ntool = "a"\nexcept = "**"', "must be names of files"),
        ('action = "deny"\ntool = "a"\nexcept = "/etc/x"', "must be names of files"),
        ('action = "deny"\ntool = "a"\nexcept = "**/x/y"', "must be names of files"),
        ('action = "deny"\ntool = "a"\neach_call = true', "each_call is for rules that ask"),
        ('action = "allow"\ntool = "a"\nconfined = true', "confined is for rules that allow, and"),
        ('action = "deny"\ntool = "a"\nconfined = true', "confined is for rules that allow, and"),
        ('action = "prompt"\ntool = "a"\neach_call = "yes"', "must be true or false"),
        ('action = "deny"\ntool = "a"\nargs.u = "http://{public}/**"', "is for rules that allow"),
        ('action = "allow"\ntool = "a"\nonly_args = []', "would match nothing"),
        ('action = "prompt"\ntool = "a"\nonly_args = ["b"]', "only_args is for rules that allow"),
        ('profile = "first"', "is none of"),
        ('profile = "after"\naction = "allow"', 'unknown key "action" in a rule with profile'),
        ('action = "allow"\ntool = "a"\nplace = "before"', 'unknown key "place"'),
    ],
)
def test_a_field_that_means_nothing_there_is_refused(rule: str, problem: str) -> None:
    with pytest.raises(PolicyError, match=problem.replace("(", r"\(")):
        read_policy(f"[[rule]]\n{rule}\n", "policy.toml")
