"""Numbers with their nouns."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 memory`, `2 memories`; `many` where the plural is not made by rule."""
    if number == 1:
        return f"1 {one}"
    return f"{number:,} {many or (f'{one[:-1]}ies' if one.endswith('y') else f'{one}s')}"
