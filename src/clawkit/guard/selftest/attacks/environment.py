"""Attacks on the environment: what the server finds in it."""

from __future__ import annotations

import json

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.registry import Setup, attack
from clawkit.guard.selftest.verdicts import Leaked, Unclear


@attack(
    "environment-narrowed",
    categories.ENVIRONMENT,
    "the server gets only what the policy names",
    setup=Setup(policy="tight"),
)
def narrowed(bench: Bench) -> None:
    found = json.dumps(bench.act("environment"))
    if "SELFTEST_API_KEY" in found:
        raise Leaked("the server has the variable SELFTEST_API_KEY")
    if "SELFTEST_SEEN" not in found:
        raise Unclear("the server has not got the variable that the policy allows")
