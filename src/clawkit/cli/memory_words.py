"""What commands call the parts of a memory: the words that people use, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

STATES = {"active": "remembered", "dying": "fading", "dead": "asleep"}
ENDINGS = {
    "superseded": "replaced",
    "corrected": "corrected",
    "merged": "merged with others",
    "retracted": "taken back",
    "erased": "erased",
}
JOBS = {"patrol": "tidying up", "embed": "making vectors"}
TABLES = {"nodes": "the memories", "clusters": "the topics", "ledger": "the history"}
STEPS = {
    "superseded": "ending what is no longer so",
    "merged": "merging",
    "split": "finding topics",
    "diary": "the diary",
}

_PLAIN = {
    "another patrol is running": "it is being tidied up already",
    "memory patrol": "memory tidy",
    "one patrol may": "tidying up may",
    "would die": "would fall asleep",
    "a patrol": "tidying up",
    "patrol": "tidying up",
}


def counted(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"


def memories(number: int) -> str:
    return counted(number, "memory", "memories")


def waiting(number: int) -> str:
    """How many scenes no patrol has seen yet."""
    return f"{counted(number, 'new note waits', 'new notes wait')} to be put in order"


def by_state(counts: Mapping[str, int]) -> str:
    """How many memories there are, and how many of them fade or are asleep."""
    total = memories(sum(counts.get(state, 0) for state in STATES))
    some = [
        f"{counts[state]:,} {STATES[state]}" for state in ("dying", "dead") if counts.get(state)
    ]
    return f"{total} ({', '.join(some)})" if some else total


def plain(text: str) -> str:
    """A message of the program behind, in the words of the commands."""
    for theirs, ours in _PLAIN.items():
        text = text.replace(theirs, ours)
    return text


MANY: dict[str, Callable[[int], str]] = {
    "memories": memories,
    "messages": partial(counted, one="message", many="messages"),
    "notes": partial(counted, one="note", many="notes"),
    "entries": partial(counted, one="entry", many="entries"),
    "topics": partial(counted, one="topic", many="topics"),
    "tokens": partial(counted, one="token", many="tokens"),
}
