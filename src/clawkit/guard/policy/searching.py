"""Which conditions of guarding rules hold for a call: any reading of any leaf is enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from clawkit.guard.policy.canonical import Reader, is_plain
from clawkit.guard.policy.expansion import Expansions, has_wildcards, may_have_wildcards
from clawkit.guard.policy.folding import folded
from clawkit.guard.policy.globs import Glob, is_any, is_wild
from clawkit.guard.policy.index import GlobIndex
from clawkit.guard.policy.leaves import as_number, inside, items, texts
from clawkit.guard.policy.patterns import denied_globs
from clawkit.guard.policy.rules import Argument
from clawkit.guard.policy.wrappers import is_wrapped

if TYPE_CHECKING:
    from clawkit.guard.policy.screen import Screen

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
        """The nodes for one name of a call."""
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


class Search:
    """The conditions of many rules, looked for in one walk through the arguments."""

    def __init__(self, conditions: list[tuple[int, Argument]], reader: Reader) -> None:
        self._reader = reader
        self._root = _Node()
        self._names: dict[str, set[int]] = {}
        self._known: dict[tuple[str, tuple[GlobIndex, ...]], set[int]] = {}
        self._screens: dict[GlobIndex, Screen] = {}
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
            if depth < _DEEPEST_STRING and (content := inside(value)) is not None:
                todo.append((content, indexes, nodes, depth + 1))
        elif (pairs := items(value)) is not None:
            for name, item in pairs:
                keyed = (*indexes, *(n.any.index for n in nodes if n.any and n.any.index))
                if keyed:
                    self._test(name, keyed, found)
                todo.extend(_enter(name, item, indexes, nodes, depth))
        elif isinstance(value, list):
            todo.extend((item, indexes, nodes, depth) for item in cast("list[Any]", value))
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
        from clawkit.guard.policy.screen import Screen, gists

        found = gists(text, _LONG)
        if found is None:
            return True
        for index in indexes:
            if index not in self._screens:
                self._screens[index] = Screen(index.globs, self._reader.inserted)
        return any(self._screens[index].may_match(found) for index in indexes)

    def _test_readings(self, text: str, indexes: tuple[GlobIndex, ...], found: set[int]) -> None:
        wild = may_have_wildcards(text)
        for reading, segments in _split(self._reader.denied(text)):
            for index in indexes:
                found |= index.find(reading, segments)
                if wild and has_wildcards(reading):
                    for other in self._expansions(index).of(reading):
                        found |= index.find(other)
        if text[:1] in _NUMERIC:
            for number in as_number(text):
                for index in indexes:
                    found |= index.find(number)

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
