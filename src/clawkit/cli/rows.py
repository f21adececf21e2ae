"""How commands about clients' files print: rows, JSON, and errors as lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence


class Failing:
    """An error on purpose ends the command with a line, not with a traceback."""

    def __init__(self, verb: str) -> None:
        self._verb = verb

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from clawkit.errors import ClawError

        if isinstance(error, ClawError):
            for line in str(error).split("\n"):
                print(f"claw {self._verb}: {shown(line)}", file=sys.stderr)
            raise typer.Exit(1) from None


def print_rows(rows: Sequence[tuple[str, ...]]) -> None:
    """Aligned; the last cell of a row is a note, on a line of its own below it."""
    cells = [[shown(cell) for cell in row] for row in rows]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for *row, note in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, wide, strict=False))
        print("  ".join(padded).rstrip())
        if note:
            print(f"    {note}")


def print_json(value: object) -> None:
    import msgspec

    print(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def at_home(file: str) -> str:
    home = str(Path.home())
    return "~" + file[len(home) :] if file.startswith(home + "/") else file


def shown(text: str) -> str:
    from clawkit.guard.scan import visible

    return visible(text)
