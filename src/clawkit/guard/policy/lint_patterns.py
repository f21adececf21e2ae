"""Patterns that do not match what they seem to: the remarks of `policy lint` about one pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from clawkit.guard.policy.rules import Argument, Rule

Remark = tuple[Literal["error", "warning", "note"], str]

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_SHELL_WORDS = frozenset(
    {
        *("bash", "cmd", "command", "commands", "eval", "exec", "execute", "powershell", "pwsh"),
        *("python", "run", "script", "sh", "shell", "spawn", "subprocess", "system", "terminal"),
        *("zsh",),
    }
)
_CLASS = re.compile(r"\[[^\]/]+\]|\{[^}/]*,[^}/]*\}")
_PIPE = re.compile(r"\(.*\|.*\)")
_EXPRESSION = re.compile(r"^\^|\$$|\\[dwsSWD.]|\.\+|^\.\*|\.\*\.\*")
_OPEN_HOST = re.compile(r"([a-z][a-z0-9+.-]*://[^/*?]*[^/*?:.@])\*")
_RELATIVE = re.compile(r"(?![/~*?]|[A-Za-z][A-Za-z0-9+.-]*:)[^*?]*/")


def is_shell_like(tool: str) -> bool:
    """Whether a tool's name or pattern says that it runs what it is told to."""
    return any(word.lower() in _SHELL_WORDS for word in _WORDS.findall(tool))


def check_patterns(rule: Rule) -> Iterator[Remark]:
    """What each pattern of a rule misses or lets in."""
    for tool in rule.tools:
        yield from _foreign_syntax(tool)
        if tool.startswith("mcp__"):
            yield (
                "warning",
                (
                    f"names the tool {tool!r}, but servers are asked without the client's prefix: "
                    f"write {tool.split('__')[-1]!r}, and server = … for the rest"
                ),
            )
    for argument in rule.args:
        for pattern in argument.patterns:
            yield from _foreign_syntax(pattern)
            yield from _one_level(rule, pattern)
            yield from _relative(rule, argument, pattern)
            yield from _open_host(rule, pattern)
            yield from _home(argument, pattern)
            yield from _open_command(rule, argument, pattern)


def _foreign_syntax(pattern: str) -> Iterator[Remark]:
    known = "patterns know only `*`, `**` and `?`; a list of patterns says `or`"
    if _CLASS.search(pattern) or _PIPE.search(pattern):
        yield "warning", f"has {pattern!r}, where brackets and braces stand for themselves: {known}"
    elif _EXPRESSION.search(pattern):
        yield "warning", f"has {pattern!r}, which looks like a regular expression: {known}"


def _one_level(rule: Rule, pattern: str) -> Iterator[Remark]:
    if rule.action == "allow" or "/" not in pattern:
        return
    folder = pattern.rstrip("*").rstrip("/")
    if not folder:
        return
    named = {each for argument in rule.args for each in argument.patterns}
    if pattern == f"{folder}/*" and folder not in named:  # with both, levels are meant
        yield (
            "warning",
            f"has {pattern!r}, which matches nothing in subfolders: {folder + '/**'!r} does",
        )
    elif pattern == f"{folder}/":
        yield (
            "warning",
            f"has {pattern!r}, the folder alone: {folder + '/**'!r} is all that is in it",
        )


def _relative(rule: Rule, argument: Argument, pattern: str) -> Iterator[Remark]:
    if _RELATIVE.match(pattern):
        anywhere = "" if rule.action == "allow" else f", or {'**/' + pattern.removeprefix('./')!r}"
        yield (
            "note",
            (
                f"has {pattern!r} in {argument.label}, which begins in the server's directory, "
                f"wherever the client starts it: write the whole path{anywhere}"
            ),
        )


def _open_host(rule: Rule, pattern: str) -> Iterator[Remark]:
    if rule.action == "allow" and (found := _OPEN_HOST.match(pattern)):
        yield (
            "warning",
            (
                f"allows {pattern!r}, where the star also matches {found[1] + '.evil.example'!r}: "
                f"write {found[1] + '/**'!r}"
            ),
        )


def _home(argument: Argument, pattern: str) -> Iterator[Remark]:
    if pattern.startswith("~"):
        yield (
            "note",
            (
                f"has {pattern!r} in {argument.label}, which matches only where the home is known: "
                'not in `claw policy test`, unless the fixture says "home"'
            ),
        )


def _open_command(rule: Rule, argument: Argument, pattern: str) -> Iterator[Remark]:
    if rule.action != "allow" or pattern.strip("*") == "" or "*" not in pattern:
        return
    if argument.name[-1].lower() in _SHELL_WORDS:
        yield (
            "warning",
            (
                f"allows {pattern!r} in {argument.label}, where a star also matches `; anything`: "
                "name whole commands, or prompt"
            ),
        )
