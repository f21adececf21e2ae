"""LoCoMo's ten conversations as pools. It measures only; its path is in CLAW_LOCOMO."""

from __future__ import annotations

import json
import os
import re
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks.recall.pools import Asked, Memory, Pool
from clawkit.memory.records import moment

VARIABLE = "CLAW_LOCOMO"
UNANSWERABLE = "5"
_REFERENCE = re.compile(r"D(\d+):0*(\d+)")


def path() -> Path | None:
    """Where the file is, if somebody said so."""
    given = os.environ.get(VARIABLE, "")
    return Path(given).expanduser() if given else None


def pools(file: Path) -> list[Pool]:
    """Every turn a memory, every question that names a turn that exists."""
    return [_pool(raw) for raw in json.loads(file.read_text(encoding="utf-8"))]


def _pool(raw: dict[str, Any]) -> Pool:
    talk = raw["conversation"]
    people = (talk["speaker_a"], talk["speaker_b"])
    memories: list[Memory] = []
    numbers: dict[tuple[str, str], int] = {}
    for session in range(1, sum(key.startswith("session_") for key in talk) + 1):
        for turn in talk.get(f"session_{session}") or ():
            when = _day(talk[f"session_{session}_date_time"])
            memories.append(_memory(turn, people, when, f"session {session}"))
            reference = _REFERENCE.match(turn["dia_id"])
            assert reference is not None
            numbers[reference.group(1), reference.group(2)] = len(memories)
    questions: list[Asked] = []
    for qa in raw["qa"]:
        named = _REFERENCE.findall(" ".join(qa.get("evidence", ())))
        evidence = sorted({numbers[each] for each in named if each in numbers})
        if evidence:
            questions.append(Asked(qa["question"], tuple(evidence), str(qa["category"])))
    now = moment(memories[-1].when)
    return Pool(raw["sample_id"], tuple(memories), tuple(questions), now)


def _memory(turn: dict[str, Any], people: tuple[str, str], when: str, conversation: str) -> Memory:
    text = turn["text"]
    if caption := turn.get("blip_caption"):
        text += f" [photo: {caption}]"
    speaker = turn["speaker"]
    others = tuple(name for name in people if name != speaker)
    return Memory(text, speaker, (speaker, *others), when, conversation)


def _day(text: str) -> str:
    """`1:56 pm on 8 May, 2023` as 2023-05-08."""
    return datetime.strptime(text.partition(" on ")[2], "%d %B, %Y").date().isoformat()  # noqa: DTZ007
