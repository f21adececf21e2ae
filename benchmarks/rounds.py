"""Runs contenders in turn (A B C, A B C), so that a busy moment of the machine hits all of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Generic, Protocol, TypeVar

from benchmarks.measure import ChildFailed
from benchmarks.messages import WrongReply
from benchmarks.report import MISSING

Sample = TypeVar("Sample")


class Entrant(Protocol):
    """Who can be measured: it has a name, and knows whether it can run here."""

    @property
    def name(self) -> str: ...
    @property
    def installed(self) -> bool: ...


Who = TypeVar("Who", bound=Entrant)


@dataclass(frozen=True)
class Samples(Generic[Sample]):
    """What each contender showed in each round, and why some showed nothing."""

    by_name: dict[str, list[Sample]]
    notes: tuple[str, ...]

    def median(self, name: str, figure: Callable[[Sample], float]) -> float:
        """The middle of one figure over the rounds; missing for who did not run."""
        samples = self.by_name.get(name)
        return median(map(figure, samples)) if samples else MISSING


def interleaved(field: Sequence[Who], rounds: int, run: Callable[[Who], Sample]) -> Samples[Sample]:
    """Run every installed contender once a round; one that fails is left out from then on."""
    samples: dict[str, list[Sample]] = {each.name: [] for each in field}
    notes = {each.name: f"{each.name} is not installed" for each in field if not each.installed}
    for _ in range(rounds):
        for contender in field:
            if contender.name in notes:
                continue
            try:
                samples[contender.name].append(run(contender))
            except (ChildFailed, WrongReply) as error:
                notes[contender.name] = f"{contender.name} failed: {error}"
                samples[contender.name].clear()
    return Samples(samples, tuple(notes.values()))
