"""YAML with spans: PyYAML's node graph, cut down to what may be edited in place."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clawkit.errors import HostError
from clawkit.hosts.documents.nodes import HASH_GAP, LEFT, REMEMBERED, Field, KeyPath, ValueNode

if TYPE_CHECKING:
    from collections.abc import Callable

    import yaml

_PLAIN = re.compile(r"[A-Za-z/~][A-Za-z0-9_./@+=-]*(?: [A-Za-z0-9_./@+=-]+)*")


class YamlDocument(msgspec.Struct, frozen=True):
    """A YAML file, read."""

    root: ValueNode
    text: str
    data: Any
    file: str

    def span(self, keys: KeyPath) -> tuple[int, int]:
        node = self.root
        for key in keys:
            field = node.field(key)
            if field is None or field.node.fields is None:
                name = ".".join(keys)
                raise HostError(
                    f"{self.file}: {name} is not written out in its place: replace the YAML alias"
                )
            node = field.node
        start = node.start if node.flow else self.text.rfind("\n", 0, node.start) + 1
        return start, node.end


class Yaml:
    """YAML as PyYAML reads it: 1.1, one document."""

    gap = HASH_GAP
    assign = ": "

    def open(self, text: str, file: str) -> YamlDocument:
        return _open(text, file)

    def block(self, text: str, file: str) -> ValueNode:
        return _read(text, file)

    def renamed(self, text: str, old: KeyPath, new: KeyPath) -> str:
        del old, new  # the keys stand outside of the entry
        return text

    def render(self, value: Any, like: str = "") -> str:
        """A form that is good inside brackets, too."""
        if not isinstance(value, str):
            return json.dumps(value, ensure_ascii=False)
        if like.startswith("'") and value.isprintable():
            return "'" + value.replace("'", "''") + "'"
        if like and like[0] not in "\"'|>" and _is_plain(value):
            return value
        return json.dumps(value, ensure_ascii=False)

    def key(self, name: str, like: str = "") -> str:
        return self.render(name, like or "k")


@lru_cache(REMEMBERED)
def _open(text: str, file: str) -> YamlDocument:
    import yaml

    root = _read(text, file)
    try:
        data = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise _as_host_error(error, file) from None
    return YamlDocument(root, text, {} if data is None else data, file)


def _read(text: str, file: str) -> ValueNode:
    import yaml

    # The stubs leave the type of the stream out.
    compose = cast("Callable[..., yaml.Node | None]", yaml.compose)
    try:
        tree = compose(text, Loader=yaml.SafeLoader)
        return ValueNode(0, 0, fields=()) if tree is None else _node(tree)
    except (yaml.YAMLError, RecursionError) as error:
        raise _as_host_error(error, file) from None


def _node(tree: yaml.Node) -> ValueNode:
    import yaml

    start, end = tree.start_mark.index, tree.end_mark.index
    if isinstance(tree, yaml.MappingNode):
        fields = tuple(_field(key, value) for key, value in tree.value)
        if not tree.flow_style and fields:
            start, end = fields[0].start, fields[-1].end
        return ValueNode(start, end, fields=fields, flow=bool(tree.flow_style))
    if isinstance(tree, yaml.SequenceNode):
        items = tuple(_here(item, start) for item in tree.value)
        if not tree.flow_style and items:
            end = items[-1].end
        return ValueNode(start, end, items=items, flow=bool(tree.flow_style))
    return ValueNode(start, end, tree.value)


def _field(key: yaml.Node, value: yaml.Node) -> Field:
    start, end = key.start_mark.index, key.end_mark.index
    return Field(str(key.value), start, end, _here(value, end))


def _here(tree: yaml.Node, after: int) -> ValueNode:
    """An alias stands for a node that was written further up; it has no text of its own to edit."""
    return ValueNode(after, after) if tree.start_mark.index < after else _node(tree)


def _is_plain(value: str) -> bool:
    import yaml

    if not _PLAIN.fullmatch(value):
        return False
    return yaml.safe_load(value) == value


def _as_host_error(error: Exception, file: str) -> HostError:
    import yaml

    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        where = f"{file}:{error.problem_mark.line + 1}"
        return HostError(f"{where}: {error.problem}. {LEFT}")
    reason = "is nested too deeply" if isinstance(error, RecursionError) else str(error)
    return HostError(f"{file}: {reason}. {LEFT}")
