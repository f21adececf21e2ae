"""How much of what lives were told is told again, beside the naive way: keep all, tell the nearest.

`CLAW_LIVES` names a folder with further lives, such as those kept unseen while weights were chosen.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.lives.life import DATA, Life, Question, is_told, lives
from benchmarks.lives.telling import Asked, asked, knows, told
from benchmarks.report import Bar, Report, Row
from clawkit.memory.embed.factory import embedder
from clawkit.memory.recollection import NOTHING

NAME = "lives"
COLUMNS = ("told %", "naive %", "outdated %", "silent %", "of the important", "no ids: told %")


class Measured(msgspec.Struct, frozen=True):
    """The figures of one life, as shares."""

    told: float
    naive: float
    outdated: float
    silent: float
    important: int
    without_ids: float


def run(quick: bool) -> list[Report]:
    folder = Path(os.environ.get("CLAW_LIVES") or DATA)
    found = lives(folder)[: 1 if quick else None]
    rows: list[Row] = []
    bars: list[Bar] = []
    for life in found:
        one = measured(life)
        shares = (one.told, one.naive, one.outdated, one.silent)
        cells = (*(round(100 * share, 1) for share in shares), one.important)
        rows.append(Row(life.name, (*cells, round(100 * one.without_ids, 1))))
        bars += _bars(life.name, one)
    title = "made-up lives of 300 inputs, 60 questions weeks later, without a model"
    notes = ("`untold` are 12 of the 60; half of them name a person and a topic of that life",)
    return [Report(NAME, title, COLUMNS, tuple(rows), tuple(bars), notes)]


def measured(life: Life) -> Measured:
    """Tell it and ask it, with names of conversations and without."""
    with told(life) as memory:
        answers = [asked(memory, question) for question in life.questions]
        important = sum(knows(memory, life))
    with told(life, conversations=False) as memory:
        without = [asked(memory, question) for question in life.questions]
    changed = [one for one in answers if one.question.kind == "now"]
    untold = [one for one in answers if one.question.kind == "untold"]
    return Measured(
        told=_share_told(answers),
        naive=_naive(life),
        outdated=_share([one.outdated for one in changed]),
        silent=_share([one.block == NOTHING for one in untold]),
        important=important,
        without_ids=_share_told(without),
    )


def _bars(name: str, one: Measured) -> list[Bar]:
    return [
        Bar(f"{name}: told ≥ 85 %", f"{100 * one.told:.1f}", one.told >= 0.85),
        Bar(
            f"{name}: more than the naive way", f"{one.told - one.naive:+.2f}", one.told > one.naive
        ),
        Bar(f"{name}: only outdated ≤ 10 %", f"{100 * one.outdated:.1f}", one.outdated <= 0.1),
        Bar(f"{name}: silent ≥ 80 %", f"{100 * one.silent:.1f}", one.silent >= 0.8),
        Bar(f"{name}: knows ≥ 4 of 5", f"{one.important}", one.important >= 4),
    ]


def _naive(life: Life) -> float:
    """Every input whole, and the three nearest by the built-in vectors."""
    model = embedder()
    assert model is not None
    texts = [given.text for given in life.inputs]
    vectors = np.concatenate([model.embed(texts[at : at + 64]) for at in range(0, len(texts), 64)])

    def found(question: Question) -> bool:
        nearest = np.argsort(-(vectors @ model.embed([question.text])[0]))[:3]
        return is_told("\n".join(texts[at] for at in nearest), question.accept)

    return _share([found(one) for one in life.questions if one.kind != "untold"])


def _share_told(answers: Sequence[Asked]) -> float:
    return _share([one.told for one in answers if one.question.kind != "untold"])


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else 0.0
