"""Rules as TOML: what `policy learn` and the answer "always" write."""

from __future__ import annotations

import re

from clawkit.guard.policy.rules import Rule

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def rule_text(rule: Rule) -> str:
    """One `[[rule]]` with the fields that a learnt rule has."""
    lines = ["[[rule]]", f"action = {quoted(rule.action)}"]
    if rule.tools:
        lines.append(f"tool = {_patterns(rule.tools)}")
    if rule.methods:
        lines.append(f"method = {_patterns(rule.methods)}")
    if rule.server:
        lines.append(f"server = {_patterns(rule.server)}")
    for argument in rule.args:
        key = ".".join(map(_key, argument.name))
        lines.append(f"args.{key} = {_patterns(argument.patterns)}")
    if rule.only_args is not None:
        lines.append(f"only_args = {str(rule.only_args).lower()}")
    if rule.description:
        lines.append(f"description = {quoted(rule.description)}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A TOML string; what does not show is escaped, half a surrogate pair is replaced."""
    return f'"{"".join(map(_escaped, text))}"'


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else quoted(name)


def _patterns(patterns: tuple[str, ...]) -> str:
    texts = [quoted(pattern) for pattern in patterns]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"
