"""Rules as a person writes them, and what they decide."""

from __future__ import annotations

import json
from typing import Any

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.parser import read_policy
from clawkit.guard.policy.policy import Paths, Policy

SERVERS = ("files",)
TEXT_ONLY = Paths()

DOCUMENTED = """
[[rule]]
action = "deny"                  # "allow", "deny", or "prompt"
tool = "shell_execute"           # Tool name (glob patterns supported)
description = "Block all shell execution"

[[rule]]
action = "prompt"
tool = "filesystem_*"
args.path = "/etc/**"            # Match on argument values (glob patterns)
description = "Ask before accessing system config"

[[rule]]
action = "allow"
tool = "filesystem_read"
args.path = "/home/user/projects/**"
description = "Allow reading project files"

[[rule]]
action = "deny"
tool = "*"
description = "Default deny"
"""
"""The rules of the document, literally."""

KEYS_DENIED = """
[[rule]]
action = "deny"
tool = "*"
args."*" = "**/.ssh/**"
"""
"""One rule; what is written behind it is asked afterwards."""

IN_PROJECT = Paths(cwd="/home/user/project", home="/home/user")


def policy(*rules: str) -> Policy:
    """A policy of rules, each the lines between one [[rule]] and the next."""
    return read_policy("\n".join(f"[[rule]]\n{rule}" for rule in rules), "policy.toml")


def deny(pattern: str | list[str], argument: str = '"*"') -> Policy:
    """One pattern denied, all else allowed."""
    written = json.dumps(pattern)
    return policy(
        f'action = "deny"\ntool = "*"\nargs.{argument} = {written}', 'action = "allow"\ntool = "**"'
    )


def allow(pattern: str | list[str], argument: str = "path") -> Policy:
    """One pattern allowed, all else denied."""
    return policy(f'action = "allow"\ntool = "*"\nargs.{argument} = {json.dumps(pattern)}')


def action(
    rules: Policy,
    arguments: dict[str, Any] | None = None,
    *,
    tool: str = "read",
    servers: tuple[str, ...] = SERVERS,
    paths: Paths = TEXT_ONLY,
    now: float | None = None,
) -> str:
    """What the policy does with a call of a tool."""
    call = Call("tools/call", tool, {} if arguments is None else arguments)
    return rules.decide(call, servers, paths, now).action


def on_path(rules: Policy, path: Any, paths: Paths = TEXT_ONLY) -> str:
    return action(rules, {"path": path}, paths=paths)


def on_method(rules: Policy, method: str, **params: Any) -> str:
    return rules.decide(Call(method, method, params), SERVERS, TEXT_ONLY).action
