"""How often recall finds what answers a question, and how often it stays silent when nothing does.

`python -m benchmarks recall_quality`; the public set is used where CLAW_LOCOMO says it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.recall import contenders, japanese, locomo, pools
from benchmarks.recall.contenders import Contender
from benchmarks.report import MISSING, Bar, Report, Row, at_least, at_most, table
from clawkit.memory.embed.embedder import BuiltinEmbedder, shared
from clawkit.memory.recall.search import SearchResult

COLUMNS = ("R@3", "R@5", "R@10", "R@5 of 1–4", "R@10 of 1–4")
JAPANESE_COLUMNS = ("hit@1", "hit@3", "hit@10")
GATE_R5, GATE_R10 = 69.0, 79.0
AIM_R5, AIM_R10 = 75.0, 83.0
MOST_INJECTED, LEAST_KEPT = 32.0, 90.0
HIT_3 = 90.0


@dataclass(frozen=True)
class Answer:
    """What one contender made of one question."""

    question: pools.Asked
    ranked: Sequence[int]
    told: bool = True
    confidence: float = 1.0

    def recall(self, k: int) -> float:
        """The share of what answers the question among the first."""
        right = set(self.question.evidence)
        return len(right.intersection(self.ranked[:k])) / len(right)

    @property
    def answerable(self) -> bool:
        """LoCoMo's fifth category asks one person for what the other did."""
        return self.question.kind != locomo.UNANSWERABLE


def answers(contender: Contender, stored: Sequence[pools.Stored], step: int) -> list[Answer]:
    """Everything asked, or every so manieth question."""
    return [
        Answer(question, contender.ranked(each, question))
        for each in stored
        for question in each.pool.questions[::step]
    ]


def ours(embedder: BuiltinEmbedder, stored: Sequence[pools.Stored], step: int) -> list[Answer]:
    """The product's search, and whether it would tell anything."""
    return [
        Answer(question, [hit.node.seq for hit in found.hits], found.relevant, found.confidence)
        for each in stored
        for question in each.pool.questions[::step]
        for found in (_found(embedder, each, question),)
    ]


def _found(embedder: BuiltinEmbedder, stored: pools.Stored, question: pools.Asked) -> SearchResult:
    return contenders.found(embedder, stored, question)


def field(embedder: BuiltinEmbedder) -> list[Contender]:
    """Who is compared with the product's search."""
    return [
        Contender("BM25 alone", contenders.words_alone),
        Contender("vectors alone", contenders.meaning_alone(embedder)),
    ]


def recall(found: Sequence[Answer], k: int) -> float:
    """In percent, the mean over the questions."""
    return 100 * sum(each.recall(k) for each in found) / len(found) if found else MISSING


def hits(found: Sequence[Answer], k: int) -> float:
    """In percent, how often anything right is among the first."""
    return 100 * sum(each.recall(k) > 0 for each in found) / len(found) if found else MISSING


def told(found: Sequence[Answer], *, answerable: bool) -> float:
    """In percent, for how many questions of a sort something would be told."""
    sort = [each for each in found if each.answerable is answerable]
    return 100 * sum(each.told for each in sort) / len(sort) if sort else MISSING


def told_where_kept(found: Sequence[Answer], share: float) -> float:
    """In percent, what a threshold that keeps this share of the answerable would let pass.

    That threshold is read off the set itself: it shows how well the gate tells the two apart. What
    ships is set elsewhere, and told apart in the notes.
    """
    sure = sorted(each.confidence for each in found if each.answerable)
    if not sure:
        return MISSING
    least = sure[int(len(sure) * (100 - share) / 100)]
    others = [each for each in found if not each.answerable]
    return 100 * sum(each.confidence >= least for each in others) / len(others)


def public(quick: bool) -> Report:
    """LoCoMo, one Being for each conversation, through the product's search."""
    file = locomo.path()
    title = "LoCoMo: share of the evidence found, all five categories as published figures count"
    if file is None:
        note = f"set {locomo.VARIABLE} to the path of locomo10.json; it is no part of this project"
        bars = tuple(Bar(promise, "not measured", None) for promise in ("R@5", "R@10", "the gate"))
        return Report("recall_quality", title, COLUMNS, (), bars, (note,))
    step = 5 if quick else 1
    with pools.stored(locomo.pools(file), shared) as stored:
        rows = [(each.name, answers(each, stored, step)) for each in field(shared)]
        mine = ours(shared, stored, step)
    rows.append(("hybrid (ours)", mine))
    kept, passed = (told(mine, answerable=answerable) for answerable in (True, False))
    return Report(
        "recall_quality",
        f"{title}; {len(mine):,} questions",
        COLUMNS,
        tuple(Row(name, _cells(found)) for name, found in rows),
        _bars(mine),
        (
            "1–4 leaves out the questions that ask one person for what the other did",
            "the gate's bar is where it keeps that share, as published figures are taken",
            f"the threshold that ships keeps {kept:.1f} % and lets {passed:.1f} % pass",
        ),
    )


def _cells(found: Sequence[Answer]) -> tuple[float, ...]:
    answerable = [each for each in found if each.answerable]
    return (*(recall(found, k) for k in (3, 5, 10)), *(recall(answerable, k) for k in (5, 10)))


def _bars(mine: Sequence[Answer]) -> tuple[Bar, ...]:
    r5, r10 = recall(mine, 5), recall(mine, 10)
    passed = told_where_kept(mine, LEAST_KEPT)
    return (
        at_least(f"R@5 ≥ {GATE_R5:g} (aim {AIM_R5:g})", r5, GATE_R5),
        at_least(f"R@10 ≥ {GATE_R10:g} (aim {AIM_R10:g})", r10, GATE_R10),
        at_most(
            f"where the gate keeps {LEAST_KEPT:g} % of the answerable, unanswerable that pass "
            f"≤ {MOST_INJECTED:g} %",
            passed,
            MOST_INJECTED,
        ),
    )


def own() -> Report:
    """The Japanese set."""
    pool = japanese.pool()
    with pools.stored([pool], shared) as stored:
        rows = [(each.name, answers(each, stored, 1)) for each in field(shared)]
        mine = ours(shared, stored, 1)
    rows.append(("hybrid (ours)", mine))
    return Report(
        "recall_quality",
        f"Japanese: {len(pool.questions)} questions over {len(pool.memories)} memories",
        JAPANESE_COLUMNS,
        tuple(Row(name, tuple(hits(found, k) for k in (1, 3, 10))) for name, found in rows),
        (at_least(f"hit@3 ≥ {HIT_3:g} %", hits(mine, 3), HIT_3),),
        (f"the gate lets {told(mine, answerable=True):.0f} % of them pass",),
    )


def run(quick: bool) -> list[Report]:
    """Measure both."""
    return [public(quick), own()]


if __name__ == "__main__":
    for report in run("--quick" in sys.argv):
        print(table(report), end="\n\n")
