"""Groups memories by what they mean and by the telling words that they share, without a model.

Average-link agglomeration: the two groups that are nearest to each other become one, until none
are near enough. It is exact and always the same; who calls it gives it no more than a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from clawkit.memory.arrays import Floats
    from clawkit.memory.patrol.telling import Words

_OF_WORDS = 2.0
_MOST_OF_WORDS = 0.4
_DECIMALS = 5
_NEVER = -9.0


def similarity(vectors: Floats, words: Words, at: Sequence[int]) -> Floats:
    """How near each of these texts is to each: the cosine, and more for the words they share."""
    columns = {word: column for column, word in enumerate(sorted(words.weights))}
    shared = np.zeros((len(at), len(columns)), np.float32)
    for row, text in enumerate(at):
        for word in words.texts[text]:
            if word in columns:
                shared[row, columns[word]] = math.sqrt(words.weights[word])
    rows = vectors[list(at)]
    near = rows @ rows.T + _OF_WORDS * np.minimum(shared @ shared.T, _MOST_OF_WORDS)
    return near.round(_DECIMALS).astype(np.float32)


def groups(near: Floats, least: float) -> list[list[int]]:
    """Groups whose members are `least` near to each other on average; the largest first."""
    members = {at: [at] for at in range(len(near))}
    state = _State(near)
    while (pair := state.nearest(least)) is not None:
        kept, gone = pair
        members[kept] += members.pop(gone)
        state.join(kept, gone)
    return sorted((sorted(group) for group in members.values()), key=lambda g: (-len(g), g[0]))


class _State:
    """Which groups there are, how near they are, and which is the nearest to each."""

    def __init__(self, near: Floats) -> None:
        self._near = near.copy()
        np.fill_diagonal(self._near, _NEVER)
        self._sizes = np.ones(len(near), np.float32)
        self._there = np.ones(len(near), bool)
        self._best = self._near.argmax(axis=1)
        self._how_near = self._near.max(axis=1)

    def nearest(self, least: float) -> tuple[int, int] | None:
        if not len(self._near):
            return None
        one = int(self._how_near.argmax())
        if self._how_near[one] < least:
            return None
        other = int(self._best[one])
        return min(one, other), max(one, other)

    def join(self, kept: int, gone: int) -> None:
        sizes, near = self._sizes, self._near
        both = sizes[kept] + sizes[gone]
        row = (sizes[kept] * near[kept] + sizes[gone] * near[gone]) / both
        self._there[gone] = False
        row[~self._there] = _NEVER
        row[kept] = _NEVER
        near[kept] = near[:, kept] = row
        near[gone] = near[:, gone] = _NEVER
        sizes[kept] = both
        stale = self._there & ((self._best == kept) | (self._best == gone))
        stale[kept] = True
        for at in np.flatnonzero(stale).tolist():
            self._best[at] = near[at].argmax()
            self._how_near[at] = near[at].max()
        nearer = self._there & (row > self._how_near)
        self._best[nearer] = kept
        self._how_near[nearer] = row[nearer]
        self._how_near[gone] = _NEVER
