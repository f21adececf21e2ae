"""Runs attacks one after another, each against a guard that works."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from clawkit.guard.selftest.bench import Bench, SelftestOptions
from clawkit.guard.selftest.registry import Attack, Setup
from clawkit.guard.selftest.scratch import Scratch
from clawkit.guard.selftest.verdicts import AttackOutcome, Crashed, NotHeld


def run(
    attacks: Iterable[Attack], options: SelftestOptions, scratch: Scratch
) -> Iterator[AttackOutcome]:
    """The outcome of each attack, as it comes."""
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
