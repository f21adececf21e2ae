"""The list of attacks: each a function with a name, its row, and what must be true after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Literal

import msgspec

from clawkit.guard.selftest import categories
from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.scratch import PolicyKind

_ROOMS = (
    "paths",
    "values",
    "framing",
    "sizes",
    "doors",
    "answers",
    "server_side",
    "results",
    "pins",
    "approvals",
    "approvals_modern",
    "questions",
    "environment",
    "audit",
    "process",
)


class Setup(msgspec.Struct, frozen=True):
    """How the guard is started and what the client says it can do. Equal ones share a guard."""

    era: Literal["legacy", "modern"] = "legacy"
    policy: PolicyKind = "usual"
    can_ask: bool = True
    """Whether the client can put questions to a person."""
    fresh: bool = False
    """Whether the guard must be new, and is not used again."""


class Attack(msgspec.Struct, frozen=True):
    """One attack: `run` raises NotHeld where the guard does not withstand it."""

    name: str
    row: str
    must: str
    setup: Setup
    ends: bool
    """Whether the guard ends with it, so that it need not serve the next call."""
    run: Callable[[Bench], None]


_attacks: dict[str, Attack] = {}


def attack(
    name: str, row: str, must: str, *, setup: Setup | None = None, ends: bool = False
) -> Callable[[Callable[[Bench], None]], Callable[[Bench], None]]:
    """Register a function as an attack."""

    def register(run: Callable[[Bench], None]) -> Callable[[Bench], None]:
        _add(Attack(name, row, must, setup or Setup(), ends, run))
        return run

    return register


def attacks_each(
    name: str, row: str, must: str, variants: Mapping[str, Any], *, setup: Setup | None = None
) -> Callable[[Callable[[Bench, Any], None]], Callable[[Bench, Any], None]]:
    """Register a function as one attack for each variant; it gets the variant's value."""

    def register(run: Callable[[Bench, Any], None]) -> Callable[[Bench, Any], None]:
        for variant, value in variants.items():
            _add(Attack(f"{name}-{variant}", row, must, setup or Setup(), False, _with(run, value)))
        return run

    return register


def _with(run: Callable[[Bench, Any], None], value: Any) -> Callable[[Bench], None]:
    return lambda bench: run(bench, value)


def _add(attack: Attack) -> None:
    if attack.name in _attacks:
        raise ValueError(f"two attacks are called {attack.name!r}")
    _attacks[attack.name] = attack


def all_attacks() -> tuple[Attack, ...]:
    """Every attack, in the order of the rows."""
    for room in _ROOMS:
        import_module(f"clawkit.guard.selftest.attacks.{room}")
    return tuple(sorted(_attacks.values(), key=lambda attack: categories.ORDER.index(attack.row)))
