"""Fits the gate before what people told an assistant on the made lives, and prints it.

`python -m benchmarks.lives.fitting`: how well it tells questions with an answer from others on each
life that it was not fitted on, the trade-off between both, and the gate for `weights.json`.

Each question is asked of the whole life, and of a few of its memories, so that the gate means the
same among five as among hundreds.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from benchmarks.lives.life import Life, is_told, lives
from benchmarks.lives.telling import told_store
from benchmarks.recall.fitting import logistic
from clawkit.memory.being_store import BeingStore
from clawkit.memory.recall.search import NOTES, Gathered, ReadMemories, features, gather, weighted
from clawkit.memory.recall.signals import matrix
from clawkit.memory.store import nodes

SIZES = (5, 20, 80, 0)
"""Of how many memories questions are asked; 0 is all of them."""

FEATURES = (
    *("nearest", "ordinary", "best", "few", "about_named"),
    *("answered", "missing", "same_words", "asked_words"),
)
_SILENT = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


class Example(msgspec.Struct, frozen=True):
    """One question, asked of so many memories of a life, as the gate sees it."""

    life: str
    size: int
    answerable: bool
    features: dict[str, float]


def examples(store: BeingStore, life: Life) -> Iterator[Example]:
    """Every question of a life, asked of all and of some of its memories."""
    chance = random.Random(life.name)
    with store.database.read(store.called(life.name).n) as unit:
        known = {node.seq: node for node in nodes.page(unit, order="seq", limit=10_000)}
        for question in life.questions:
            answers = {s for s, n in known.items() if is_told(n.scene.action, question.accept)}
            for size in SIZES:
                kept = answers | set(chance.sample(sorted(known), size)) if size else set(known)
                gathered = gather(
                    unit,
                    question.text,
                    store.embedder,
                    life.now,
                    asker=question.by,
                    exclude=known.keys() - kept,
                    only_telling=True,
                )
                gathered = msgspec.structs.replace(gathered, memories=len(kept))
                yield Example(life.name, size, question.kind != "untold", _features(gathered))


def _features(gathered: Gathered) -> dict[str, float]:
    if not gathered.candidates.nodes:
        return {}
    rows = matrix(gathered.question, gathered.candidates)
    scores = weighted(rows, NOTES)
    found = features(gathered, rows, scores)
    read = ReadMemories(gathered, rows, scores)
    return found | read.features(gathered.embedder)


def chances(found: Sequence[Example], features: Sequence[str] = FEATURES) -> np.ndarray:
    """How sure a gate is of each example that was fitted on all lives but its own."""
    x, y = table(found, features)
    of_life = np.array([each.life for each in found])
    sure = np.zeros(len(found))
    for life in sorted(set(of_life)):
        others = of_life != life
        weights, bias = logistic(x[others], y[others])
        sure[~others] = 1 / (1 + np.exp(-(x[~others] @ weights + bias)))
    return sure


def table(found: Sequence[Example], features: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    rows = [[each.features.get(name, 0.0) for name in features] for each in found]
    return np.array(rows), np.array([each.answerable for each in found], float)


def area(sure: np.ndarray, answerable: np.ndarray) -> float:
    """How often a question with an answer is the surer one of two."""
    yes, no = sure[answerable > 0], sure[answerable == 0]
    return float(np.mean(yes[:, None] > no) + np.mean(yes[:, None] == no) / 2)


def main() -> None:
    """Tell all lives, fit, and print."""
    found: list[Example] = []
    for life in lives():
        with told_store(life) as store:
            found += examples(store, life)
    sure = chances(found)
    answerable = np.array([each.answerable for each in found])
    for size in SIZES:
        here = np.array([each.size == size for each in found])
        yes, no = sure[here & answerable], sure[here & ~answerable]
        passed = {share: np.mean(yes > np.quantile(no, share)) for share in _SILENT}
        curve = ", ".join(f"silent {share:.0%} open {there:.0%}" for share, there in passed.items())
        print(f"of {size or 'all'}: area {area(sure[here], answerable[here]):.3f}; {curve}")
    weights, bias = logistic(*table(found, FEATURES))
    fitted = {"bias": bias, **dict(zip(FEATURES, map(float, weights), strict=True))}
    print(json.dumps({name: round(value, 3) for name, value in fitted.items()}, indent=2))


if __name__ == "__main__":
    main()
