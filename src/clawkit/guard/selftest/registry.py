"""The list of attacks: `attacks/*.toml` describes them, the functions beside it do them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from clawkit.guard.selftest.bench import Bench
from clawkit.guard.selftest.scratch import PolicyKind

_FOLDER = Path(__file__).parent
_SUBJECTS = ("requests", "answers", "server", "definitions", "approvals", "audit", "processes")


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


class _Entry(Setup, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An attack as it is written down; with variants, one attack for each of them."""

    name: str
    category: str
    must: str
    ends: bool = False
    run: str = ""
    """The function that carries it out; without it, the one that has the attack's name."""
    variants: dict[str, str] | list[str] | str = ""
    """What the function gets, by name; a list of names, or the entry that has the same variants."""
    only: list[str] = []
    options: dict[str, Any] = {}


class _Subject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attack: list[_Entry]


@cache
def categories() -> dict[str, str]:
    """What each category is called, in the order of the report."""
    return msgspec.toml.decode((_FOLDER / "categories.toml").read_bytes(), type=dict[str, str])


@cache
def all_attacks() -> tuple[Attack, ...]:
    """Every attack, in the order of the categories."""
    found: dict[str, Attack] = {}
    for subject in _SUBJECTS:
        for attack in _attacks_of(subject):
            if attack.name in found:
                raise ValueError(f"two attacks are called {attack.name!r}")
            found[attack.name] = attack
    order = list(categories().values())
    return tuple(sorted(found.values(), key=lambda attack: order.index(attack.row)))


def _attacks_of(subject: str) -> list[Attack]:
    module = import_module(f"clawkit.guard.selftest.attacks.{subject}")
    data = (_FOLDER / "attacks" / f"{subject}.toml").read_bytes()
    entries = msgspec.toml.decode(data, type=_Subject).attack
    found: list[Attack] = []
    for entry in entries:
        run = getattr(module, entry.run or entry.name.replace("-", "_"))
        row, setup = categories()[entry.category], _setup(entry)
        for suffix, given in _variants(entry, entries).items():
            ready = partial(run, **entry.options) if given is None else _given(run, given, entry)
            found.append(Attack(entry.name + suffix, row, entry.must, setup, entry.ends, ready))
    return found


def _setup(entry: _Entry) -> Setup:
    return Setup(entry.era, entry.policy, entry.can_ask, entry.fresh)


def _variants(entry: _Entry, entries: list[_Entry]) -> dict[str, str | None]:
    """What the function gets, by what follows the attack's name."""
    given = entry.variants
    if given == "":
        return {"": None}
    if isinstance(given, str):
        given = next(other.variants for other in entries if other.name == given)
    if isinstance(given, list):
        given = dict(zip(given, given, strict=True))
    assert isinstance(given, dict)
    return {f"-{name}": given[name] for name in entry.only or given}


def _given(run: Callable[..., None], value: str, entry: _Entry) -> Callable[[Bench], None]:
    return lambda bench: run(bench, bench.fill_in(value), **entry.options)
