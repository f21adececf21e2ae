"""Which rule conditions hold: allow needs every reading of every value, deny and prompt any one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from clawkit.guard.policy.globs import (
    Expansions,
    Glob,
    GlobIndex,
    has_wildcards,
    is_any,
    is_wild,
    may_have_wildcards,
)
from clawkit.guard.policy.patterns import Kind, allowed, denied_globs
from clawkit.guard.policy.readings import (
    Reader,
    as_number,
    embedded_json,
    is_plain,
    is_read_differently,
    is_wrapped,
    items,
    texts,
)
from clawkit.guard.policy.rules import Argument
from clawkit.guard.policy.spellings import fold, folded

if TYPE_CHECKING:
    from clawkit.guard.policy.prefilter import Prefilter

_Name = tuple[str, ...]
_ITEMS = ("*",)
"""Behind the name of a list: each of its items."""
# What an exemption may be for: one path, and nothing that a program could take apart.
_ONE_PATH = re.compile(r"(?:[a-z]:)?[\w./~+-]+")


class AllowConditions:
    """The conditions of many rules, each on the arguments that it names exactly."""

    def __init__(
        self,
        conditions: list[tuple[int, Argument]],
        reader: Reader,
        heads: dict[str, str],
        real: AbstractSet[int] = frozenset(),
    ) -> None:
        """`real` are the conditions whose paths are meant as they stand, whatever is a link."""
        numbered: dict[_Name, list[tuple[int, str]]] = {}
        for number, condition in conditions:
            entry = numbered.setdefault(condition.name, [])
            entry.extend((number, pattern) for pattern in condition.patterns)
        self._named = {name: _Values(each, reader, heads, real) for name, each in numbered.items()}

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
        self,
        patterns: list[tuple[int, str]],
        reader: Reader,
        heads: dict[str, str],
        real: AbstractSet[int],
    ) -> None:
        self._any: set[int] = set()
        self._literals: dict[str, set[int]] = {}
        globs: dict[Kind, list[tuple[Glob, int]]]
        globs = {"text": [], "path": [], "url": [], "public": []}
        for number, pattern in patterns:
            permit = allowed(pattern, reader, heads, real=number in real)
            if permit.kind == "any":
                self._any.add(number)
            elif permit.kind == "text" and not is_wild(pattern):
                self._literals.setdefault(pattern, set()).add(number)
            else:
                globs[permit.kind].extend((glob, number) for glob in permit.globs)
        self._read = [
            (reader.allowed[kind], GlobIndex(each)) for kind, each in globs.items() if each
        ]

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
        if isinstance(value, list) and _ITEMS in rests:
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
    if isinstance(value, list) and rest == _ITEMS:
        return cast("list[Any]", value) or [[]]
    if not isinstance(value, dict):
        return [[]]  # There and not of this form: like a list, it fulfils nothing.
    return _pick(cast("dict[str, Any]", value), rest) or [[]]


_DEEPEST_STRING = 4
_MOST_NAMES = 1024
_LONGEST_NAME = 100
_LONG = 4096
_SHORT = 256
_NUMERIC = frozenset("+-.0123456789 ")


class _Node:
    """One step in the names of arguments, `a` or `b` of `args.a.b`."""

    __slots__ = ("any", "entries", "globs", "index", "names")

    def __init__(self) -> None:
        self.entries: list[tuple[Glob, int]] = []
        self.index: GlobIndex | None = None
        self.names: dict[str, _Node] = {}
        self.globs: list[tuple[Glob, _Node]] = []
        self.any: _Node | None = None

    def step(self, name: str) -> list[_Node]:
        """The nodes below for one name of a rule, made where they are missing."""
        if is_any(name):
            self.any = self.any or _Node()
            return [self.any]
        if is_wild(name):
            found = [(Glob(spelling), _Node()) for spelling in folded(name)]
            self.globs.extend(found)
            return [node for _, node in found]
        return [self.names.setdefault(spelling, _Node()) for spelling in folded(name)]

    def below(self, name: str) -> list[_Node]:
        found = [] if self.any is None else [self.any]
        if self.names or self.globs:
            for spelling in folded(name):
                if node := self.names.get(spelling):
                    found.append(node)
                found.extend(node for glob, node in self.globs if glob.matches(spelling))
        return found

    def close(self) -> None:
        """Make the tables, once everything is in."""
        self.index = GlobIndex(self.entries) if self.entries else None
        for node in (*self.names.values(), *(node for _, node in self.globs), self.any):
            if node is not None:
                node.close()


_Place = tuple[Any, tuple[GlobIndex, ...], tuple[_Node, ...], int]


class DenyConditions:
    """The conditions of many rules, looked for in one walk through the arguments."""

    def __init__(
        self,
        conditions: list[tuple[int, Argument]],
        reader: Reader,
        exempt: Mapping[int, tuple[str, ...]],
    ) -> None:
        """`exempt` are the patterns of paths that the condition of a number does not mean."""
        self._reader = reader
        exemptions = [(Glob(fold(each)), n) for n, patterns in exempt.items() for each in patterns]
        self._exempt = GlobIndex(exemptions) if exemptions else None
        self._root = _Node()
        self._names: dict[str, set[int]] = {}
        self._known: dict[tuple[str, tuple[GlobIndex, ...]], set[int]] = {}
        self._screens: dict[GlobIndex, Prefilter] = {}
        self._expanding: dict[GlobIndex, Expansions] = {}
        for number, condition in conditions:
            globs = [glob for text in condition.patterns for glob in denied_globs(text, reader)]
            nodes = [self._root]
            for name in condition.name:
                nodes = [below for node in nodes for below in node.step(name)]
            for node in nodes:
                node.entries.extend((glob, number) for glob in globs)
        self._root.close()

    def hits(self, arguments: dict[str, Any]) -> set[int]:
        """The numbers of the conditions that hold."""
        found: set[int] = set()
        todo: list[_Place] = []
        every = self._root.any.index if self._root.any else None
        for name, value in arguments.items():
            if every is not None:
                self._test_name(name, every, found)
            todo.extend(_enter(name, value, (), (self._root,), 0))
        while todo:
            self._look(todo.pop(), todo, found)
        return found

    def _look(self, place: _Place, todo: list[_Place], found: set[int]) -> None:
        value, indexes, nodes, depth = place
        if isinstance(value, str):
            if indexes:
                self._test(value, indexes, found)
            if depth < _DEEPEST_STRING and (content := embedded_json(value)) is not None:
                todo.append((content, indexes, nodes, depth + 1))
        elif (pairs := items(value)) is not None:
            for name, item in pairs:
                keyed = (*indexes, *(n.any.index for n in nodes if n.any and n.any.index))
                if keyed:
                    self._test(name, keyed, found)
                todo.extend(_enter(name, item, indexes, nodes, depth))
        elif isinstance(value, list):
            below = [node.any for node in nodes if node.any]
            reached = (
                (*indexes, *(node.index for node in below if node.index)) if below else indexes
            )
            todo.extend(
                (each, reached, (*nodes, *below), depth) for each in cast("list[Any]", value)
            )
        elif indexes:
            for text in texts(value):
                self._test(text, indexes, found)

    def _test(self, text: str, indexes: tuple[GlobIndex, ...], found: set[int]) -> None:
        if len(text) > _SHORT:
            if len(text) <= _LONG or self._may_match(text, indexes):
                self._test_readings(text, indexes, found)
            return
        known = self._known.get((text, indexes))
        if known is not None and self._reader.stays(text):
            found |= known
            return
        hits: set[int] = set()
        self._test_readings(text, indexes, hits)
        found |= hits
        if known is None and self._is_certain(text) and self._reader.stays(text):
            if len(self._known) >= _MOST_NAMES:
                self._known.clear()
            self._known[(text, indexes)] = hits

    def _is_certain(self, text: str) -> bool:
        """Whether what a text leads to depends on nothing but where it is as a path."""
        return is_plain(text) and not is_wrapped(text)

    def _may_match(self, text: str, indexes: tuple[GlobIndex, ...]) -> bool:
        """Whether a long text is worth reading in every way."""
        from clawkit.guard.policy.prefilter import Prefilter, gists

        found = gists(text, _LONG)
        if found is None:
            return True
        for index in indexes:
            if index not in self._screens:
                self._screens[index] = Prefilter(index.globs, self._reader.inserted)
        return any(self._screens[index].may_match(found) for index in indexes)

    def _test_readings(self, text: str, indexes: tuple[GlobIndex, ...], found: set[int]) -> None:
        wild = may_have_wildcards(text)
        for reading, segments in _split(self._reader.denied(text)):
            for index in indexes:
                if hits := index.find(reading, segments):
                    found |= hits - self._exempted(reading) if self._exempt else hits
                if wild and has_wildcards(reading):
                    for other in self._expansions(index).of(reading):
                        found |= index.find(other)
        if text[:1] in _NUMERIC:
            for number in as_number(text):
                for index in indexes:
                    found |= index.find(number)

    def _exempted(self, reading: str) -> set[int]:
        """The conditions that do not mean this path, in this reading of it."""
        if self._exempt is None or _ONE_PATH.fullmatch(reading) is None:
            return set()
        return self._exempt.find(reading)

    def _expansions(self, index: GlobIndex) -> Expansions:
        known = self._expanding.get(index)
        if known is None:
            known = self._expanding[index] = Expansions(index.globs)
        return known

    def _test_name(self, name: str, index: GlobIndex, found: set[int]) -> None:
        """An argument's own name; an ordinary one gives the same in every call."""
        if not (name.isascii() and name.isidentifier() and len(name) < _LONGEST_NAME):
            self._test(name, (index,), found)
            return
        hits = self._names.get(name)
        if hits is None:
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            hits = self._names[name] = index.find(name.lower())
        found |= hits


def _split(readings: Iterator[str]) -> Iterator[tuple[str, list[str] | None]]:
    """Readings and their segments, if they are long: most end in the one before, split already."""
    whole, segments = "", [""]
    for reading in readings:
        if len(reading) < _LONG or "/" not in reading:
            yield reading, None
            continue
        if not (whole and reading.endswith("/" + whole)):
            whole, segments = reading, reading.split("/")
            yield reading, segments
        else:
            yield reading, reading[: -len(whole)].split("/") + segments


def _enter(
    name: str, value: Any, indexes: tuple[GlobIndex, ...], nodes: tuple[_Node, ...], depth: int
) -> list[_Place]:
    """Where the walk goes on below a name: nowhere if no rule asks about it."""
    below = [inner for node in nodes for inner in node.below(name)]
    reached = (*indexes, *(node.index for node in below if node.index is not None))
    return [(value, reached, tuple(below), depth)] if reached or below else []
