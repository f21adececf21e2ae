"""How often mcp-memory-service finds the same evidence, asked over MCP, beside our search.

`python -m benchmarks recall_peers`. Every conversation has a server of its own, so that it searches
among the same turns as ours. A turn is stored as it was said, and again with its speaker's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchmarks.measure import ChildFailed
from benchmarks.memory_serving import PEER, PEER_PYTHON, Client, peer_server
from benchmarks.messages import WrongReply
from benchmarks.recall import locomo, pools
from benchmarks.recall.pools import Asked, Memory, Pool
from benchmarks.recall.quality import Answer, ours, recall
from benchmarks.report import Bar, Report, Row
from clawkit.memory.embed.embedder import shared

COLUMNS = ("R@3", "R@5", "R@10")
DEEP = 10
QUICK_POOLS, QUICK_STEP = 2, 5
_HIT = re.compile(r"^\d+\. (.*?)\n   Hash: [0-9a-f]{64}$", re.DOTALL | re.MULTILINE)

Told = Callable[[Memory], str]


def as_said(memory: Memory) -> str:
    """The turn alone."""
    return memory.text.strip()


def with_speaker(memory: Memory) -> str:
    """The turn, and who said it."""
    return f"{memory.speaker}: {memory.text}".strip()


def answers(pool: Pool, told: Told, step: int) -> list[Answer]:
    """Everything asked of one conversation, by the peer."""
    texts = [told(memory) for memory in pool.memories]
    with peer_server(list(dict.fromkeys(texts))) as served:
        client = served.client()
        return [
            Answer(question, ranked(client, question, texts)) for question in pool.questions[::step]
        ]


def ranked(client: Client, question: Asked, texts: Sequence[str]) -> list[int]:
    """The numbers of what it finds, the best first."""
    answer = client.call("memory_search", query=question.text, limit=DEEP)
    found = _HIT.findall(answer)
    if not found and not answer.startswith("No "):
        raise WrongReply(f"this cannot be read: {answer[:500]}")
    return [_number(text, question, texts) for text in found]


def _number(text: str, question: Asked, texts: Sequence[str]) -> int:
    """Which turn it is; of those that were said in the same words, the one that answers."""
    right = [number for number in question.evidence if texts[number - 1] == text]
    return right[0] if right else texts.index(text) + 1


def run(quick: bool) -> list[Report]:
    """Both ways of storing, and ours on the same conversations and questions."""
    title = "LoCoMo: share of the evidence found; ours in process, the peer over MCP"
    file = locomo.path()
    if file is None or not PEER_PYTHON.exists():
        note = f"this needs {locomo.VARIABLE} and `make build/memory-peer/.ready`"
        return [Report("recall_peers", title, COLUMNS, (), (), (note,))]
    every, step = locomo.pools(file), 1
    if quick:
        every, step = every[:QUICK_POOLS], QUICK_STEP
    with pools.stored(every, shared) as stored:
        mine = ours(shared, stored, step)
    ways: dict[str, Told] = {"turns as said": as_said, "with the speaker": with_speaker}
    rows, notes = [Row("hybrid (ours)", _cells(mine))], list[str]()
    for name, told in ways.items():
        try:
            theirs = [each for pool in every for each in answers(pool, told, step)]
        except (ChildFailed, WrongReply) as error:
            notes.append(f"{PEER}, {name}: {error}")
            continue
        rows.append(Row(f"{PEER}, {name}", _cells(theirs)))
    asked = f"{len(mine):,} questions, {len(every)} conversations"
    return [
        Report("recall_peers", f"{title}; {asked}", COLUMNS, tuple(rows), _bars(rows), tuple(notes))
    ]


def _bars(rows: Sequence[Row]) -> tuple[Bar, ...]:
    """Ours is the first row."""
    promise = f"R@10 above {PEER}'s"
    if len(rows) < 2:
        return (Bar(promise, "not measured", None),)
    mine, theirs = float(rows[0].cells[2]), max(float(row.cells[2]) for row in rows[1:])
    return (Bar(promise, f"{mine:.1f} to {theirs:.1f}", mine > theirs),)


def _cells(found: Sequence[Answer]) -> tuple[float, ...]:
    return tuple(recall(found, k) for k in (3, 5, 10))
