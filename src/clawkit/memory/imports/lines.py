"""Files with one JSON object a line: read one by one, so that an error has its number."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from clawkit.memory.imports.reading import Problem, read_bytes

_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Lines:
    """The objects of a file; what is none is a problem."""

    def __init__(self, file: Path) -> None:
        self.name = file.name
        self.problems: list[Problem] = []
        self._data = read_bytes(file).removeprefix(b"\xef\xbb\xbf")

    def __iter__(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number, line in enumerate(self._data.split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                yield number, _decode(line)
            except RecursionError:  # what it says differs from Python to Python
                self.wrong(number, "this is no JSON object: nested too deeply")
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                self.wrong(number, f"this is no JSON object: {error}")

    def wrong(self, line: int, what: str) -> None:
        self.problems.append(Problem(self.name, line, what))
