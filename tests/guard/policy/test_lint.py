"""`lint`: rules that never decide, patterns that miss, and what lets in too much."""

from __future__ import annotations

from pathlib import Path

import pytest

from clawkit.guard.authoring.default_policy import DEFAULT_POLICY
from clawkit.guard.authoring.lint import Issue, lint, lint_file
from tests.work_counter import calls

END = '[[rule]]\naction = "deny"\ntool = "*"\ndescription = "Default deny"\n'


def rule(action: str, tool: str = "*", more: str = "") -> str:
    named = f'description = "{action} {tool}"\n'
    return f'[[rule]]\naction = "{action}"\ntool = "{tool}"\n{named}{more}\n'


def remarks(*rules: str, end: str = END) -> list[Issue]:
    return lint("".join(rules) + end, "policy.toml")


def reasons(*rules: str, end: str = END) -> str:
    return "\n".join(f"{issue.level}: {issue.reason}" for issue in remarks(*rules, end=end))


def test_a_sound_policy_has_nothing_to_remark() -> None:
    assert (
        remarks(
            rule("deny", "*", 'args."*" = ["**/.ssh/**", "/etc/**"]'),
            rule("allow", "read_file", 'args.path = "/home/u/project/**"\nonly_args = true'),
            rule("prompt", "run_*"),
        )
        == []
    )


def test_a_broken_file_is_an_error_with_its_line() -> None:
    (issue,) = lint('[[rule]]\naction = "allow"\ntool = "x"\nagrs.path = "y"\n', "policy.toml")
    assert (issue.level, issue.line) == ("error", 4)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (rule("allow", "read_*"), rule("deny", "read_file")),
        (rule("deny", "*"), rule("allow", "read_file", 'args.path = "/home/**"')),
        (
            rule("prompt", "read", 'args."*" = "/etc/**"'),
            rule("allow", "read", 'args.path = "/etc/hosts"'),
        ),
        (
            rule("allow", "read", 'args.path = "/a/**"'),
            rule("deny", "read", 'args.path = "/a/secret/**"'),
        ),
        (rule("deny", "READ"), rule("allow", "read")),
        (rule("deny", "x", 'server = "data*"'), rule("allow", "x", 'server = "database"')),
    ],
    ids=["glob", "star", "every-argument", "deny-after-allow", "case", "server"],
)
def test_a_rule_behind_one_that_matches_the_same_can_never_decide(first: str, second: str) -> None:
    assert "warning: rule 2 can never decide: rule 1 before it" in reasons(first, second)


def test_a_rule_that_several_before_it_cover_together_can_never_decide() -> None:
    both = '[[rule]]\naction = "allow"\ntool = ["a", "b"]\n'
    found = reasons(rule("deny", "a"), rule("deny", "b"), both)
    assert "rule 3 can never decide: rules 1, 2 before it" in found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (rule("deny", "read_file"), rule("allow", "read_*")),
        (rule("deny", "*", 'args."*" = "/etc/**"'), rule("allow", "read")),
        (rule("deny", "x", 'server = "a"'), rule("allow", "x")),
        (rule("allow", "read", 'args.path = "/a/*"'), rule("prompt", "read", 'args."*" = "/a/**"')),
        (rule("deny", "x", "expires = 2020-01-01"), rule("allow", "x")),
    ],
    ids=["narrower", "some-arguments", "one-server", "one-level", "expired"],
)
def test_a_rule_that_decides_about_something_is_not_called_shadowed(
    first: str, second: str
) -> None:
    assert "never decide" not in reasons(first, second)


def test_a_pattern_of_a_list_that_never_counts_is_noted() -> None:
    found = reasons(rule("deny", "a"), '[[rule]]\naction = "allow"\ntool = ["a", "b"]\n')
    assert "note: rule 2 names 'a' in vain: rule 1 before it" in found


def test_a_rule_whose_fields_exclude_each_other_can_never_match() -> None:
    found = reasons('[[rule]]\naction = "allow"\ntool = "read"\nresource = "db://**"\n')
    assert "warning: rule 1 can never match" in found


def test_an_allow_for_every_tool_before_a_guarding_star_leaves_it_other_methods_only() -> None:
    found = reasons(rule("allow", "*"), rule("deny", "*", 'args."*" = "/etc/**"'), end="")
    assert "rule 2 can never decide" in found


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (rule("deny", "x", 'args."*" = "/etc/*"'), "'/etc/*', which matches nothing in subfolders"),
        (rule("deny", "x", 'args."*" = "/etc/"'), "'/etc/', the folder alone"),
        (rule("deny", "x", 'args."*" = "/[ab]/**"'), "brackets and braces stand for themselves"),
        (rule("deny", "x", 'args."*" = "*.{pem,key}"'), "brackets and braces"),
        (rule("deny", "^read.*$"), "looks like a regular expression"),
        (rule("deny", "mcp__files__read"), "write 'read', and server"),
        (rule("allow", "shell_execute"), "looks like a shell"),
        (rule("allow", "runCommand"), "looks like a shell"),
        (rule("allow", "git", 'args.command = "git *"'), "a star also matches"),
        (rule("allow", "*"), "allows every call that no rule before it stops"),
        (rule("deny", "x", "redact = ['a']"), "a denied call has no result"),
        (rule("allow", "push", 'args.branch = "main"'), "beside any others"),
        (rule("allow", "get", 'args.url = "https://a.example**"'), "write 'https://a.example/**'"),
    ],
    ids=[
        *("one-level", "folder", "brackets", "braces", "regex", "prefix", "shell", "camel-case"),
        *("command", "everything", "redact", "other-arguments", "open-host"),
    ],
)
def test_a_trap_is_a_warning(rules: str, expected: str) -> None:
    found = [issue for issue in remarks(rules, end="") if expected in issue.reason]
    assert [issue.level for issue in found] == ["warning"]


@pytest.mark.parametrize(
    "rules",
    [
        rule("deny", "x", 'args."*" = "**/*.pem"'),
        rule("deny", "x", 'args."*" = "**/.env.*"'),
        rule("allow", "overrun_report"),
        rule("allow", "shell", 'args.command = "git status"\nonly_args = true'),
        rule("allow", "read", 'args.path = "/home/u/project/*"\nonly_args = false'),
        rule("allow", "fetch", 'args.url = "https://example.com/**"\nonly_args = false'),
    ],
    ids=["extension", "dotfile", "word-within", "whole-command", "narrow-allow", "url"],
)
def test_what_is_no_trap_is_no_warning(rules: str) -> None:
    assert [issue for issue in remarks(rules) if issue.level == "warning"] == []


def test_a_guard_of_one_argument_is_told_of_the_safer_star() -> None:
    found = reasons(rule("deny", "x", 'args.path = "/etc/**"'))
    assert 'note: rule 1 denies this value in args.path only: args."*"' in found


def test_a_relative_pattern_is_told_where_it_begins() -> None:
    found = reasons(rule("deny", "x", 'args."*" = "src/**"'))
    assert "note: rule 1 has 'src/**' in args.*, which begins in the server's directory" in found
    assert "'**/src/**'" in found


def test_an_expired_rule_is_a_warning_with_its_date() -> None:
    found = reasons(rule("allow", "x", "expires = 2020-01-01"))
    assert "warning: rule 1 expired at 2020-01-02 00:00 and does nothing" in found


def test_no_rule_at_the_end_is_noted_as_the_default() -> None:
    assert "what no rule matches is denied" in reasons(rule("allow", "x"), end="")
    assert "every call is denied" in reasons(end="")


def test_an_issue_stands_at_the_line_of_its_rule() -> None:
    lines = {issue.rule: issue.line for issue in remarks(rule("allow", "*"), rule("allow", "b"))}
    assert lines[2] == 6


def test_a_policy_that_others_may_write_to_is_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(END)
    file.chmod(0o600)
    assert lint_file(file) == []
    file.chmod(0o666)
    assert "chmod go-w" in lint_file(file)[0].reason


def test_a_missing_policy_is_an_error_that_says_how_to_make_one(tmp_path: Path) -> None:
    (issue,) = lint_file(tmp_path / "policy.toml")
    assert issue.level == "error"
    assert "claw policy init" in issue.reason


@pytest.mark.slow
def test_each_rule_is_checked_against_the_others_and_no_more() -> None:
    closed = "only_args = true"
    many = [rule("allow", f"tool_{n}", f'args.path = "/data/{n}/**"\n{closed}') for n in range(300)]
    assert remarks(*many) == []
    few, twice = (calls(lambda count=count: remarks(*many[:count])) for count in (75, 150))
    assert twice < 4.5 * few


@pytest.mark.parametrize("action", ["allow", "deny"])
def test_a_pattern_in_the_home_is_noted(action: str) -> None:
    found = reasons(rule(action, "read", 'args.path = "~/projects/**"'))
    assert "note: rule 1 has '~/projects/**' in args.path, which matches only where the" in found
    assert "not in `claw policy test`" in found


def test_what_the_default_policy_denies_by_now_is_pointed_out() -> None:
    known = rule("deny", "*", 'args."*" = ["**/.ssh/**", "/etc/**"]')
    found = reasons(known, end=rule("prompt", "*"))
    assert "note: does not deny" in found
    assert "`claw policy init --print` shows its rules" in found
    assert lint(DEFAULT_POLICY, "p") == []
