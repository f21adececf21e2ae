"""The names of the files in an audit directory."""

from __future__ import annotations

from pathlib import Path

LIVE = "audit.jsonl"
HEAD = "head"
_BEFORE, _AFTER = "audit-", ".jsonl"


def rotated_name(first: int) -> str:
    """What a file is called when it is full: by the number of its first record."""
    return f"{_BEFORE}{first:012d}{_AFTER}"


def rotated_files(directory: Path) -> list[tuple[int, Path]]:
    """The files that are no longer written, oldest first, each with its first record's number."""
    found = ((_first_seq(path.name), path) for path in directory.iterdir())
    return sorted((first, path) for first, path in found if first)


def _first_seq(name: str) -> int:
    digits = name.removeprefix(_BEFORE).removesuffix(_AFTER)
    is_number = digits.isascii() and digits.isdigit() and len(digits) <= 18
    return int(digits) if is_number and name == rotated_name(int(digits)) else 0
