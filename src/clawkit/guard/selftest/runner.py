"""The attacks that `attacks/*.toml` describes: listed, and run, each against a guard that works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from clawkit.guard.selftest.bench import Bench, SelftestOptions
from clawkit.guard.selftest.scratch import PolicyKind, Scratch
from clawkit.guard.selftest.verdicts import AttackOutcome, Crashed, NotHeld

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
        row = categories()[entry.category]
        setup = Setup(entry.era, entry.policy, entry.can_ask, entry.fresh)
        for suffix, given in _variants(entry, entries).items():
            ready = partial(run, **entry.options) if given is None else _given(run, given, entry)
            found.append(Attack(entry.name + suffix, row, entry.must, setup, entry.ends, ready))
    return found


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


def run(
    attacks: Iterable[Attack], options: SelftestOptions, scratch: Scratch
) -> Iterator[AttackOutcome]:
    guards = _Guards(options, scratch)
    try:
        for attack in attacks:
            yield guards.try_out(attack)
    finally:
        guards.stop()


def require_serving(options: SelftestOptions, scratch: Scratch) -> None:
    """Raise NotHeld where the guard does not even serve a call that its policy allows."""
    guards = _Guards(options, scratch)
    try:
        guards.bench(Setup()).serve()
    finally:
        guards.stop()


class _Guards:
    """The running guards, one for each setup; a guard that is not in order is not used again."""

    def __init__(self, options: SelftestOptions, scratch: Scratch) -> None:
        self._options = options
        self._scratch = scratch
        self._benches: dict[Setup, Bench] = {}

    def try_out(self, attack: Attack) -> AttackOutcome:
        begun = time.perf_counter()
        failure: NotHeld | None = None
        try:
            self._attempt(attack)
        except NotHeld as error:
            failure = error
        return AttackOutcome(
            attack=attack.name,
            row=attack.row,
            must=attack.must,
            result=failure.result if failure else "held",
            seen=str(failure) if failure else "",
            seconds=round(time.perf_counter() - begun, 3),
        )

    def _attempt(self, attack: Attack) -> None:
        bench = self.bench(attack.setup)
        in_order = False
        try:
            attack.run(bench)
            if not attack.ends:
                self._still_serves(bench)
                in_order = not attack.setup.fresh
        except NotHeld:
            in_order = not attack.setup.fresh and self._in_order(bench)
            raise
        finally:
            if not in_order:
                self._drop(attack.setup)

    def bench(self, setup: Setup) -> Bench:
        if setup in self._benches:
            return self._benches[setup]
        place = self._scratch.place(setup.policy)
        try:
            bench = Bench(
                self._options,
                self._scratch,
                place,
                modern=setup.era == "modern",
                can_ask=setup.can_ask,
            )
        except OSError as error:
            command = self._options.command[0]
            raise Crashed(f"{command} cannot be started: {error.strerror}") from error
        self._benches[setup] = bench
        try:
            bench.open()
        except NotHeld:
            self._drop(setup)
            raise
        return bench

    def _still_serves(self, bench: Bench) -> None:
        try:
            bench.serve()
        except NotHeld as error:
            raise Crashed(f"does not serve the next call: {error}") from error

    def _in_order(self, bench: Bench) -> bool:
        try:
            bench.serve()
        except NotHeld:
            return False
        return True

    def _drop(self, setup: Setup) -> None:
        if bench := self._benches.pop(setup, None):
            bench.stop()

    def stop(self) -> None:
        for setup in list(self._benches):
            self._drop(setup)
