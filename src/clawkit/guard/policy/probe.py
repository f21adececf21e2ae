"""One rule asked alone: the policy tools explain, check and compare rules by what they do."""

from __future__ import annotations

from functools import lru_cache

from clawkit.guard.policy.call import Call
from clawkit.guard.policy.policy import Paths, Policy
from clawkit.guard.policy.rules import Rule


def matches(rule: Rule, call: Call, servers: tuple[str, ...], paths: Paths) -> bool:
    """Whether this rule would decide about a call if it were the only one."""
    return _alone(rule).decide(call, servers, paths).rule is not None


@lru_cache(maxsize=4096)
def _alone(rule: Rule) -> Policy:
    return Policy((rule,))
