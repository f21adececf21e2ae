"""On which line of a TOML file something stands: its parser tells only what, not where."""

from __future__ import annotations

import re

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_DOTS = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^.="'\s]+))\s*(\.|=|$)""")
_QUOTES = re.compile(r'"""|\'\'\'')


class Lines:
    """The headers and keys of a TOML text."""

    def __init__(self, text: str) -> None:
        self._keys: list[tuple[int, tuple[str, ...], int]] = []
        self._read(text)

    def rule(self, number: int) -> int:
        """The line of the header of a rule; 0 if it has none."""
        return self.find(("rule",), rule=number)

    def find(self, path: tuple[str, ...], *, rule: int = 0) -> int:
        """The line of a key, in the rule of that number or anywhere; else of what it stands in."""
        for length in range(len(path), 0, -1):
            for line, key, inside in self._keys:
                if key[:length] == path[:length] and inside == rule:
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
                self._keys.append((number, table, rule if table[:1] == ("rule",) else 0))
            elif key := _path(line):
                self._keys.append((number, table + key, rule if table[:1] == ("rule",) else 0))


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
