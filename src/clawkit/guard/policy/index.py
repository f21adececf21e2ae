"""Many globs at once: tables find the few that can match, so that hundreds cost little more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from clawkit.guard.policy.globs import Glob

_Entry = tuple[Glob, int]
_Table = dict[str, list[_Entry]]


class GlobIndex:
    """Globs, each with the number of the condition it stands for."""

    __slots__ = ("_exact", "_longest", "_prefixes", "_rest", "_segments", "_suffixes", "globs")

    def __init__(self, entries: Iterable[_Entry]) -> None:
        entries = list(entries)
        self.globs = tuple(glob for glob, _ in entries)
        common = Counter(key for glob, _ in entries for key in set(glob.keys()))
        tables: dict[str, _Table] = {"exact": {}, "prefix": {}, "suffix": {}, "segment": {}}
        self._rest: list[_Entry] = []
        for entry in entries:
            key = _rarest_key(entry[0], common)
            place = self._rest if key is None else tables[key[0]].setdefault(key[1], [])
            place.append(entry)
        self._exact = tables["exact"]
        self._longest = max(map(len, self._exact), default=-1)
        self._prefixes = _by_length(tables["prefix"])
        self._suffixes = _by_length(tables["suffix"])
        self._segments = tables["segment"]

    def find(self, text: str, segments: Collection[str] | None = None) -> set[int]:
        """The numbers of all globs that match; `segments` are the text's, if they are known."""
        found: set[int] = set()
        # To look a text up is to hash all of it, so long ones are not.
        if len(text) <= self._longest:
            found.update(number for _, number in self._exact.get(text, ()))
        for length, table in self._prefixes:
            if entries := table.get(text[:length]):
                _match(entries, text, found)
        for length, table in self._suffixes:
            if entries := table.get(text[-length:]):
                _match(entries, text, found)
        if self._segments and "/" in text:
            for segment in self._segments.keys() & (segments or text.split("/")):
                _match(self._segments[segment], text, found)
        if self._rest:
            _match(self._rest, text, found)
        return found


def _match(entries: list[_Entry], text: str, found: set[int]) -> None:
    for glob, number in entries:
        if number not in found and glob.matches(text):
            found.add(number)


def _rarest_key(glob: Glob, common: Counter[tuple[str, str]]) -> tuple[str, str] | None:
    if glob.literal is not None:
        return "exact", glob.literal
    return min(glob.keys(), key=lambda key: (common[key], -len(key[1])), default=None)


def _by_length(table: _Table) -> list[tuple[int, _Table]]:
    lengths: dict[int, _Table] = {}
    for text, entries in table.items():
        lengths.setdefault(len(text), {})[text] = entries
    return list(lengths.items())
