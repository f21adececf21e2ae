"""On which line of a TOML file something stands: its parser tells only what, not where."""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_DOTS = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^.="'\s]+))\s*(\.|=|$)""")
_QUOTES = re.compile(r'"""|\'\'\'')


class Lines:
    """The headers and keys of a TOML text."""

    def __init__(self, text: str) -> None:
        self._first: dict[tuple[int, tuple[str, ...]], int] = {}
        self._read(text)

    def find(self, path: tuple[str, ...], *, rule: int = 0) -> int:
        """The line of a key, in the rule of that number or anywhere; else of what it stands in."""
        for length in range(len(path), 0, -1):
            if line := self._first.get((rule, path[:length])):
                return line
        return 0

    def _read(self, text: str) -> None:
        table: tuple[str, ...] = ()
        rule = 0
        quoted = ""
        for number, line in enumerate(text.splitlines(), 1):
            inside = bool(quoted)
            for quotes in _QUOTES.findall(line):
                quoted = "" if quoted == quotes else quoted or quotes
            if inside:
                continue
            if header := _HEADER.match(line):
                table = _path(header[2])
                rule += header[1] == "[[" and table == ("rule",)
                self._note(table, rule, number)
            elif key := _path(line):
                self._note(table + key, rule, number)

    def _note(self, path: tuple[str, ...], rule: int, line: int) -> None:
        inside = rule if path[0] == "rule" else 0
        for length in range(1, len(path) + 1):
            self._first.setdefault((inside, path[:length]), line)


def _path(text: str) -> tuple[str, ...]:
    """The dotted name that a text begins with."""
    found: list[str] = []
    place = 0
    while part := _DOTS.match(text, place):
        found.append(part[1] or part[2] or part[3] or "")
        place = part.end()
        if part[4] != ".":
            break
    return tuple(found)
