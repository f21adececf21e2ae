"""Checks each value of a policy file; an error names its line and what may stand there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

from clawkit.errors import PolicyError
from clawkit.guard.policy.rules import Rate

_HEADER = re.compile(r"\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_DOTS = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^.="'\s]+))\s*(\.|=|$)""")
_QUOTES = re.compile(r'"""|\'\'\'')


class TomlLines:
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


_SIZES = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_SIZE = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3600}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)", re.IGNORECASE)
_PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_RATE = re.compile(r"(\d+)\s*/\s*([a-z]+)")


class ValuePosition:
    """Where in the file a value stands, so that what is wrong with it can be said there."""

    def __init__(
        self, file: str, lines: TomlLines, path: tuple[str, ...] = (), rule: int = 0
    ) -> None:
        self.file = file
        self.lines = lines
        self.path = path
        self.number = rule

    def __truediv__(self, key: str) -> ValuePosition:
        return ValuePosition(self.file, self.lines, (*self.path, key), self.number)

    @property
    def line(self) -> int:
        return self.lines.find(self.path, rule=self.number)

    @property
    def name(self) -> str:
        path = self.path[1:] if self.number else self.path
        return ".".join(path) or "policy"

    def wrong(self, reason: str) -> PolicyError:
        return PolicyError(self.file, self.line, reason)


def known(table: dict[str, Any], allowed: Iterable[str], place: ValuePosition, what: str) -> None:
    """Refuse keys that mean nothing: a misspelt one would silently guard nothing."""
    names = sorted(allowed)
    for key in table:
        if key not in names:
            raise (place / key).wrong(
                f'unknown key "{key}" in {what}{_meant(key, names)}; known are {", ".join(names)}'
            )


def choice(value: Any, choices: tuple[str, ...], place: ValuePosition) -> str:
    if isinstance(value, str) and value in choices:
        return value
    meant = _meant(value, choices) if isinstance(value, str) else ""
    options = ", ".join(f'"{each}"' for each in choices)
    raise place.wrong(f"{place.name} = {shown(value)} is none of {options}{meant}")


def table(value: Any, place: ValuePosition) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise place.wrong(f"{place.name} = {shown(value)} must be a table, as in [{place.name}]")
    return cast("dict[str, Any]", value)


def text(value: Any, place: ValuePosition) -> str:
    if not isinstance(value, str):
        raise place.wrong(f"{place.name} = {shown(value)} must be a string")
    return value


def strings(value: Any, place: ValuePosition) -> tuple[str, ...]:
    """One string or a list of them, none of them empty."""
    found = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not found:
        raise place.wrong(f"{place.name} = [] would match nothing; give at least one pattern")
    for each in found:
        if not isinstance(each, str):
            raise place.wrong(f"{place.name} = {shown(each)} must be a string or a list of strings")
        if not each:
            raise place.wrong(
                f'{place.name} has an empty pattern, which matches nothing; "**" is any'
            )
    return tuple(found)


def size(value: Any, place: ValuePosition) -> int:
    """Bytes: a number, or a text such as "400MB"."""
    found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    if found and found[2].lower() in _SIZES:
        number = int(found[1]) * _SIZES[found[2].lower()]
    if number < 1:
        raise place.wrong(f'{place.name} = {shown(value)} is no size; write bytes or "400MB"')
    return number


def seconds(value: Any, place: ValuePosition) -> float:
    """Seconds: a number, or a text such as "60s" or "2m"."""
    found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
    number = (
        float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
    )
    if found and found[2].lower() in _TIMES:
        number = float(found[1]) * _TIMES[found[2].lower()]
    if not 0 < number < float("inf"):
        raise place.wrong(f'{place.name} = {shown(value)} is no time; write seconds or "60s"')
    return number


def count(value: Any, place: ValuePosition) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise place.wrong(f"{place.name} = {shown(value)} must be a whole number from 1")
    return value


def rate(value: Any, place: ValuePosition) -> Rate:
    found = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found[2] not in _PERIODS or int(found[1]) < 1:
        periods = ", ".join(_PERIODS)
        raise place.wrong(f'rate = {shown(value)} must be like "10/minute"; periods are {periods}')
    return Rate(int(found[1]), _PERIODS[found[2]], f"{int(found[1])}/{found[2]}")


def expressions(value: Any, place: ValuePosition) -> tuple[re.Pattern[str], ...]:
    found: list[re.Pattern[str]] = []
    for each in strings(value, place):
        try:
            found.append(re.compile(each))
        except re.error as error:
            raise place.wrong(f"redact = {shown(each)} is no regular expression: {error}") from None
    return tuple(found)


def shown(value: Any) -> str:
    """A value as a short text: a long one says nothing more."""
    words = f'"{value}"' if isinstance(value, str) else str(value)
    return words if len(words) <= 60 else f"{words[:57]}…"


def _meant(word: str, choices: Iterable[str]) -> str:
    from difflib import get_close_matches

    close = get_close_matches(word.lower(), list(choices), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""
