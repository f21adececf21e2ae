"""A year and a half of a family's life in Japanese, written for this, and questions about it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.recall.pools import Asked, Memory, Pool
from clawkit.memory.records import moment

FILE = Path(__file__).parent / "data" / "japanese.txt"


def pool() -> Pool:
    """Memories without a speaker or a conversation, as notes are."""
    memories: list[Memory] = []
    questions: list[Asked] = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            when, _, text = line[1:].partition(" ")
            memories.append(Memory(text, when=when))
        elif line.startswith("? "):
            questions.append(Asked(line[2:], (len(memories),)))
    return Pool("日本語", tuple(memories), tuple(questions), moment(memories[-1].when))
