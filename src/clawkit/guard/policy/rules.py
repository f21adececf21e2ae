"""One rule of a policy, and the way from a policy file's text to a policy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from clawkit.guard.policy.policy import Policy

Action = Literal["allow", "deny", "prompt"]
Injection = Literal["block", "remove", "flag"]


class Argument(msgspec.Struct, frozen=True):
    """`args.a.b = ["x", "y"]` is the name ("a", "b") with the patterns "x" and "y"."""

    name: tuple[str, ...]
    patterns: tuple[str, ...]

    @property
    def label(self) -> str:
        return ".".join(("args", *self.name))


class Rate(msgspec.Struct, frozen=True):
    """At most `count` calls in any `seconds`; `text` is how the file says it."""

    count: int
    seconds: float
    text: str

    def __str__(self) -> str:
        return self.text


class Rule(msgspec.Struct, frozen=True):
    """One `[[rule]]`, checked. An empty tuple is a field that the rule does not have."""

    number: int  # from 1, in the order of the file
    line: int  # of its header
    action: Action
    tools: tuple[str, ...] = ()
    args: tuple[Argument, ...] = ()
    only_args: bool | None = None  # whether no other argument may be there; None: not said
    server: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    description: str = ""
    rate: Rate | None = None
    redact: tuple[re.Pattern[str], ...] = ()
    expires: float | None = None  # seconds since 1970
    injection: Injection = "block"

    def expired(self, now: float) -> bool:
        return self.expires is not None and now >= self.expires


def read_policy(text: str, file: str) -> Policy:
    """The policy that a file's text says. Raises PolicyError with the line and the reason."""
    from clawkit.guard.policy.reading import read

    return read(text, file)
