"""Which conditions of allowing rules hold for a call: every reading of every value must fit."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, cast

from clawkit.guard.policy.canonical import Reader
from clawkit.guard.policy.folding import folded
from clawkit.guard.policy.globs import Glob, is_any, is_wild
from clawkit.guard.policy.index import GlobIndex
from clawkit.guard.policy.leaves import is_read_differently, texts
from clawkit.guard.policy.patterns import Kind, allowed
from clawkit.guard.policy.rules import Argument

_Name = tuple[str, ...]


class Permits:
    """The conditions of many rules, each on the arguments that it names exactly."""

    def __init__(
        self, conditions: list[tuple[int, Argument]], reader: Reader, heads: dict[str, str]
    ) -> None:
        numbered: dict[_Name, list[tuple[int, str]]] = {}
        for number, condition in conditions:
            entry = numbered.setdefault(condition.name, [])
            entry.extend((number, pattern) for pattern in condition.patterns)
        self._named = {name: _Values(each, reader, heads) for name, each in numbered.items()}

    def hits(self, arguments: dict[str, Any]) -> set[int]:
        """The numbers of the conditions that hold."""
        found: set[int] = set()
        for name, values in self._named.items():
            if picked := _pick(arguments, name):
                found |= set[int].intersection(*map(values.hits, picked))
        return found


class _Values:
    """All patterns for the arguments of one name."""

    def __init__(
        self, patterns: list[tuple[int, str]], reader: Reader, heads: dict[str, str]
    ) -> None:
        self._any: set[int] = set()
        self._literals: dict[str, set[int]] = {}
        globs: dict[Kind, list[tuple[Glob, int]]] = {"text": [], "path": [], "url": []}
        for number, pattern in patterns:
            permit = allowed(pattern, reader, heads)
            if permit.kind == "any":
                self._any.add(number)
            elif permit.kind == "text" and not is_wild(pattern):
                self._literals.setdefault(pattern, set()).add(number)
            else:
                globs[permit.kind].extend((glob, number) for glob in permit.globs)
        read = {
            "text": reader.allowed_texts,
            "path": reader.allowed_paths,
            "url": reader.allowed_urls,
        }
        self._read = [(read[kind], GlobIndex(each)) for kind, each in globs.items() if each]

    def hits(self, value: object) -> set[int]:
        """The conditions that a value fulfils; a list or an object fulfils none.

        A number that a server may read as another one is only what any value is.
        """
        if isinstance(value, (dict, list)):
            return set()
        if is_read_differently(value):
            return self._any
        return set[int].intersection(*map(self._text_hits, texts(value)))

    def _text_hits(self, text: str) -> set[int]:
        found = self._any | self._literals.get(text, set())
        for read, index in self._read:
            if readings := read(text):
                found |= set[int].intersection(*map(index.find, readings))
        return found


def all_named(arguments: dict[str, Any], names: list[_Name]) -> bool:
    """Whether each argument is one of these names, and so is all that is within objects."""
    for key, value in arguments.items():
        rests = [name[1:] for name in names if _is_named(key, name[0])]
        if () in rests:
            continue
        if not rests or not isinstance(value, dict):
            return False
        if not all_named(cast("dict[str, Any]", value), rests):
            return False
    return True


def _is_named(key: str, name: str) -> bool:
    return key == name or is_any(name) or (is_wild(name) and Glob(name).matches(key))


def _pick(arguments: dict[str, Any], name: _Name) -> list[Any]:
    """The arguments of a name; with a wildcard in it, all that match."""
    first, rest = name[0], name[1:]
    if is_wild(first):
        found = [value for key, value in arguments.items() if _is_named(key, first)]
    elif first not in arguments:
        return []
    elif len(arguments) > 1 and has_other_spelling(arguments, first):
        return [[]]  # A server may take the other one: nothing about this name is known.
    else:
        found = [arguments[first]]
    return [inner for value in found for inner in _inner(value, rest)] if rest else found


def has_other_spelling(arguments: dict[str, Any], name: str) -> bool:
    """Whether a key besides a name would be the same in another case or without what is hidden."""
    spellings = _spellings(name)
    return any(key != name and not spellings.isdisjoint(folded(key)) for key in arguments)


@lru_cache(maxsize=1024)
def _spellings(name: str) -> frozenset[str]:
    return frozenset(folded(name))


def _inner(value: Any, rest: _Name) -> list[Any]:
    if not isinstance(value, dict):
        return [[]]  # There and not of this form: like a list, it fulfils nothing.
    return _pick(cast("dict[str, Any]", value), rest) or [[]]
