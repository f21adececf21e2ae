"""The words that people are told for parts and states of a memory, instead of our own."""

from __future__ import annotations

STATES = {"active": "remembered", "dying": "fading", "dead": "asleep"}
ENDINGS = {
    "superseded": "replaced",
    "corrected": "corrected",
    "merged": "merged with others",
    "retracted": "taken back",
    "erased": "erased",
}

_PLAIN = {
    "another patrol is running": "it is being tidied up already",
    "memory patrol": "memory tidy",
    "one patrol may": "tidying up may",
    "would die": "would fall asleep",
    "a patrol": "tidying up",
    "patrol": "tidying up",
}


def plain(text: str) -> str:
    """A message of the program behind, in the words of the commands."""
    for theirs, ours in _PLAIN.items():
        text = text.replace(theirs, ours)
    return text
