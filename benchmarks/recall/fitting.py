"""Fits recall's weights and its gate on made conversations, and prints `weights.json`.

`python -m benchmarks.recall.fitting > weights.json`, to be put into src/clawkit/memory/recall
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from benchmarks.recall import pools, synthetic
from clawkit.memory.embed.factory import embedder
from clawkit.memory.recall.search import DIALOGUE, PROFILES, Gathered, features, gather
from clawkit.memory.recall.signals import SIGNALS, matrix

SEED = 7
CONVERSATIONS = {"en": 12, "ja": 8}
PASSED = 1 / 3
"""The share of unanswerable questions that the gate lets pass on what it is fitted on."""

BY_HAND = {"importance": 0.3}
"""What made conversations cannot tell: nobody has said there what matters."""

_RIDGE = 0.03
_STEPS = 150
_RATE = 0.1


@dataclass(frozen=True)
class Example:
    """One question's candidates as signals, and which of them answer it."""

    gathered: Gathered
    signals: np.ndarray
    right: np.ndarray
    answerable: bool


def examples(stored: Iterable[pools.Stored]) -> list[Example]:
    """Every question, through the same search as the product's."""
    model = embedder()
    found: list[Example] = []
    for each in stored:
        for question in each.pool.questions:
            with each.database.read(each.being) as unit:
                gathered = gather(unit, question.text, embedder=model, now=each.pool.now)
            right = np.array([node.seq in question.evidence for node in gathered.candidates.nodes])
            answerable = bool(question.evidence) and question.kind != synthetic.MIXED_UP
            table = matrix(gathered.question, gathered.candidates)
            found.append(Example(gathered, table, right, answerable))
    return found


def ranking(
    found: Sequence[Example], frozen: Sequence[str] = (), ridge: float = _RIDGE
) -> np.ndarray:
    """Weights under which the right candidates come first: a softmax over each question's."""
    usable = [each for each in found if each.right.any()]
    starts = np.cumsum([0, *(len(each.right) for each in usable)])[:-1]
    x = np.concatenate([each.signals for each in usable])
    right = np.concatenate([each.right for each in usable])
    free = np.array([name not in frozen for name in SIGNALS], float)
    scale = x.std(axis=0) + 1e-6
    x = x / scale
    weights = np.zeros(x.shape[1], np.float32)
    momentum, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, _STEPS + 1):
        gradient = _gradient(x, right, starts, weights) / len(usable)
        gradient = (gradient + ridge * weights) * free
        momentum = 0.9 * momentum + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        ahead = momentum / (1 - 0.9**step)
        weights -= _RATE * ahead / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    return weights / scale


def _gradient(
    x: np.ndarray, right: np.ndarray, starts: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    sizes = np.diff([*starts, len(x)])
    scores = x @ weights
    scores -= np.repeat(np.maximum.reduceat(scores, starts), sizes)
    shares = np.exp(scores)
    among_all = shares / np.repeat(np.add.reduceat(shares, starts), sizes)
    hits = shares * right
    among_right = hits / np.repeat(np.add.reduceat(hits, starts), sizes)
    return x.T @ (among_all - among_right)


def gating(found: Sequence[Example], weights: np.ndarray) -> tuple[dict[str, float], float]:
    """A logistic that tells answerable questions from others, and the share to be sure of."""
    by_speaker = weights[SIGNALS.index("speaker")], weights[SIGNALS.index("other_speaker")]
    rows = [
        features(each.gathered, each.signals, each.signals @ weights, by_speaker) for each in found
    ]
    names = sorted({name for row in rows for name in row})
    x = np.array([[row.get(name, 0.0) for name in names] for row in rows])
    y = np.array([each.answerable for each in found], float)
    fitted, bias = logistic(x, y)
    chances = 1 / (1 + np.exp(-(x @ fitted + bias)))
    threshold = float(np.quantile(chances[y == 0], 1 - PASSED))
    return {"bias": bias, **dict(zip(names, map(float, fitted), strict=True))}, threshold


def logistic(x: np.ndarray, y: np.ndarray, ridge: float = 1.0) -> tuple[np.ndarray, float]:
    """Newton's steps, both answers weighing the same."""
    mean, scale = x.mean(axis=0), x.std(axis=0) + 1e-6
    z = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    importance = np.where(y > 0, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    penalty = np.diag([ridge] * x.shape[1] + [0.0])
    beta = np.zeros(z.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-z @ beta))
        slope = z.T @ (importance * (chance - y)) + penalty @ beta
        curve = (z * (importance * chance * (1 - chance))[:, None]).T @ z + penalty
        beta -= np.linalg.solve(curve, slope)
    fitted = beta[:-1] / scale
    return fitted, float(beta[-1] - fitted @ mean)


def made() -> list[pools.Pool]:
    """What everything is fitted on."""
    return [
        pool
        for language, count in CONVERSATIONS.items()
        for pool in synthetic.pools(language, count, SEED)
    ]


def main() -> None:
    """Fit, and print all weights, those that were not fitted here as they are."""
    with pools.stored(made(), embedder()) as stored:
        found = examples(stored)
    weights = ranking(found)
    gates, threshold = gating(found, weights)
    firsts = np.mean([e.right[np.argmax(e.signals @ weights)] for e in found if e.right.any()])
    print(f"{len(found)} questions, {firsts:.1%} first", file=sys.stderr)
    named = dict(zip(SIGNALS, map(float, weights), strict=True)) | BY_HAND
    profile = msgspec.structs.replace(
        DIALOGUE,
        weights=_rounded(named),
        gate=_rounded(gates),
        threshold=round(threshold, 4),
    )
    profiles = {**PROFILES, "dialogue": profile}
    print(msgspec.json.format(msgspec.json.encode(profiles)).decode())


def _rounded(table: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in table.items()}


if __name__ == "__main__":
    main()
