from __future__ import annotations

import datetime
import hashlib

import pytest

from clawkit.errors import PolicyError
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.rules import Argument
from tests.guard.policy.decisions import policy

RULE = '[[rule]]\naction = "allow"\ntool = "a"\n'


def test_every_field_of_a_rule_is_read() -> None:
    rule = policy(
        'action = "prompt"\ntool = ["a", "b*"]\nserver = "s"\nmethod = ["tools/call"]\n'
        'description = "why"\nrate = "10/minute"\nredact = ["k-[0-9]+"]\nexpires = 2030-01-31\n'
        'injection = "remove"\nargs.path = "/x"\nargs.a.b = ["y", 5, true, 2.0]\nargs."*" = "z"'
    ).rules[0]
    assert (rule.number, rule.line, rule.action) == (1, 1, "prompt")
    assert (rule.tools, rule.server, rule.methods) == (("a", "b*"), ("s",), ("tools/call",))
    assert rule.args == (
        Argument(("path",), ("/x",)),
        Argument(("a", "b"), ("y", "5", "true", "2.0", "2")),
        Argument(("*",), ("z",)),
    )
    assert rule.rate is not None
    assert (rule.rate.count, rule.rate.seconds, str(rule.rate)) == (10, 60, "10/minute")
    assert [each.pattern for each in rule.redact] == ["k-[0-9]+"]
    assert rule.injection == "remove"
    assert rule.description == "why"


def test_arguments_may_stand_in_a_table_of_their_own() -> None:
    rules = policy(
        'action = "deny"\ntool = "a"\n[rule.args]\npath = "/x"\n', 'action = "deny"\ntool = "b"'
    )
    assert rules.rules[0].args == (Argument(("path",), ("/x",)),)
    assert rules.rules[1].line == 7


def test_rules_may_stand_in_one_list() -> None:
    rules = read_policy('rule = [{ action = "deny", tool = "a" }]', "p")
    assert rules.rules[0].tools == ("a",)


def test_a_day_on_which_a_rule_expires_is_its_last() -> None:
    rule = policy('action = "allow"\ntool = "a"\nexpires = 2030-01-31').rules[0]
    morning = datetime.datetime(2030, 1, 31, 9).astimezone().timestamp()
    assert not rule.expired(morning)
    assert rule.expired(morning + 86400)


@pytest.mark.parametrize("moment", ["9999-12-31", "9999-12-31T23:59:59"])
def test_a_rule_may_expire_never(moment: str) -> None:
    assert not policy(f'action = "allow"\ntool = "a"\nexpires = {moment}').rules[0].expired(1e11)


def test_a_moment_with_a_zone_is_exact() -> None:
    rule = policy('action = "allow"\ntool = "a"\nexpires = 2030-01-01T00:00:00Z').rules[0]
    assert rule.expires == 1893456000.0


def test_the_digest_is_of_the_bytes_of_the_file() -> None:
    text = "\ufeff" + RULE
    rules = read_policy(text, "p")
    assert rules.digest == hashlib.sha256(text.encode()).hexdigest()
    assert len(rules.rules) == 1


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('[[rule]]\naction = "alow"\ntool = "a"', 2, 'did you mean "allow"?'),
        ('[[rule]]\naction = 5\ntool = "a"', 2, 'action = 5 is none of "allow", "deny", "prompt"'),
        ('[[rule]]\ntool = "a"', 1, "needs an action"),
        ('\n\n[[rule]]\naction = "deny"', 3, "needs a tool"),
        (RULE + '[[rule]]\naction = "deny"\ntol = "b"', 6, 'did you mean "tool"?'),
        (RULE + '[[rule]]\naction = "deny"\ntool = ""', 6, "empty pattern"),
        (RULE + "[[rule]]\naction = 'deny'\ntool = []", 6, "would match nothing"),
        (RULE + "server = 5", 4, "server = 5 must be a string"),
        (RULE + "args = 'x'", 4, "must name an argument"),
        (RULE + "args.path = ''", 4, "args.path has an empty pattern"),
        (RULE + "args.p.q = [1979-05-27]", 4, "args.p.q = 1979-05-27 must be a string"),
        (RULE + '[rule.args]\na = "x"\nb = []', 6, "args.b = [] would match nothing"),
        (RULE + 'redact = ["("]', 4, 'redact = "(" is no regular expression'),
        (RULE + 'rate = "10/min"', 4, 'like "10/minute"'),
        (RULE + 'rate = "0/minute"', 4, 'like "10/minute"'),
        ('[[rule]]\naction = "deny"\ntool = "a"\nrate = "1/day"', 4, "has no rate"),
        (RULE + 'expires = "soon"', 4, "must be a date such as 2030-01-31"),
        (RULE + "expires = 07:32:00", 4, "must be a date"),
        (RULE + 'injection = "strip"', 4, 'is none of "block", "remove", "flag"'),
        (RULE + 'resource = "x"\nprompt = "y"', 5, "write two rules"),
        (RULE + "description = ['x']", 4, "must be a string"),
        ('[rule]\naction = "deny"', 1, "[[rule]]"),
        ("rules = []", 1, 'did you mean "rule"?'),
        ('[scan]\nhiden = "off"', 2, 'did you mean "hidden"?'),
        ('[scan]\nhidden = "of"', 2, 'did you mean "off"?'),
        ("[env]\nfoo = 1", 2, 'unknown key "foo" in [env]'),
        ("[env.files]\n", 1, "needs allow"),
        ('[env.files]\nalow = ["X"]', 2, 'did you mean "allow"?'),
        ('[limits]\nmessage = "big"', 2, 'write bytes or "400MB"'),
        ("[limits]\nmessage = -1", 2, "is no size"),
        ("[limits]\ndepth = true", 2, "must be a whole number"),
        ('[limits]\nprompt_timeout = "x"', 2, "is no time"),
        ("limits = 5", 1, "must be a table"),
        ("[audit]\nsize = 5", 2, 'unknown key "size" in [audit]'),
        ('# \n[[rule]\naction = "deny"', 2, "not TOML"),
        ('[[rule]]\naction = "deny', 2, "not TOML"),
        ('a = """\nx', 2, "not TOML"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_line(text: str, line: int, reason: str) -> None:
    with pytest.raises(PolicyError) as raised:
        read_policy(text, "policy.toml")
    assert raised.value.line == line
    assert reason in raised.value.reason
    assert str(raised.value).startswith(f"policy.toml:{line}: ")


def test_a_header_inside_a_long_string_is_no_header() -> None:
    text = (
        '[[rule]]\naction = "deny"\ntool = "a"\ndescription = """\n[[rule]]\n"""\n' + RULE + "x = 1"
    )
    with pytest.raises(PolicyError) as raised:
        read_policy(text, "p")
    assert raised.value.line == 10


def test_a_quoted_name_is_found_on_its_line() -> None:
    with pytest.raises(PolicyError) as raised:
        read_policy(RULE + 'args."a b" = "x"\nargs."*" = ""', "p")
    assert raised.value.line == 5
