"""An entry as it may be shown: the values of its environment and headers are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from clawkit.hosts.documents.nodes import Dialect, Field, Node

_VALUES = frozenset({"env", "environment", "envs", "headers", "http_headers"})
_SECRET = re.compile(r"(?i)key|token|secret|passw|auth|bearer|credential|cookie|session")
_ASSIGNED = re.compile(r"(?s)^(?P<name>[\"']?[^=:]*[=:]\s*)(?P<value>.+?)(?P<end>[\"']?)$")
_USER_INFO = re.compile(r"(?<=//)[^/@\s\"']*@")
_QUERY = re.compile(r"[?#][^\"'\s]*")
_LONG_SEGMENT = re.compile(r"(?<=/)(?=[^/]*\d)(?=[^/]*[A-Za-z])[\w~.%+=-]{20,}")
_HARMLESS = re.compile(r"[\"']?(?:Bearer )?\$?\{[^}]*\}[\"']?|[\"']{2}|true|false|null")
_HIDDEN = "…"

Cut = tuple[int, int, str]


def shown(dialect: Dialect, block: str, file: str) -> str:
    """The entry's text with `…` for whatever may be a secret."""
    cuts = sorted(_cuts(block, dialect.block(block, file)), reverse=True)
    for start, end, text in cuts:
        block = block[:start] + text + block[end:]
    return block


def _cuts(text: str, node: Node) -> Iterator[Cut]:
    for field in node.fields or ():
        if field.key in _VALUES:
            yield from _hidden(text, field.node)
        elif field.node.items is not None:
            yield from _arguments(text, field.node.items)
        elif field.node.fields is not None:
            yield from _cuts(text, field.node)
        else:
            yield from _scalar(text, field)


def _hidden(text: str, node: Node) -> Iterator[Cut]:
    for field in node.fields or ():
        yield from _hidden(text, field.node)
    for item in node.items or ():
        yield from _hidden(text, item)
    if node.fields is None and node.items is None and not _HARMLESS.fullmatch(_raw(text, node)):
        yield node.start, node.end, _quoted(_raw(text, node))


def _scalar(text: str, field: Field) -> Iterator[Cut]:
    raw = _raw(text, field.node)
    if "//" in raw:
        yield from _address(field.node, raw)
    elif _SECRET.search(field.key) and not field.key.endswith("env_var"):
        yield from _hidden(text, field.node)


def _arguments(text: str, items: tuple[Node, ...]) -> Iterator[Cut]:
    """A flag that names a secret hides its value, in the same argument or the next one."""
    follows = False
    for item in items:
        raw = _raw(text, item)
        assigned = _ASSIGNED.match(raw)
        if follows:
            yield from _hidden(text, item)
        elif assigned and _SECRET.search(assigned["name"]):
            yield item.start, item.end, assigned["name"] + _HIDDEN + assigned["end"]
        elif "//" in raw:
            yield from _address(item, raw)
        follows = not assigned and not follows and _is_flag(raw) and bool(_SECRET.search(raw))


def _address(node: Node, raw: str) -> Iterator[Cut]:
    text = _USER_INFO.sub(f"{_HIDDEN}@", raw)
    text = _QUERY.sub(lambda match: match.group()[0] + _HIDDEN, text)
    text = _LONG_SEGMENT.sub(_HIDDEN, text)
    if text != raw:
        yield node.start, node.end, text


def _is_flag(raw: str) -> bool:
    return raw.lstrip("\"'").startswith("-")


def _raw(text: str, node: Node) -> str:
    return text[node.start : node.end]


def _quoted(raw: str) -> str:
    quote = raw[:1] if raw[:1] in ("'", '"') else ""
    return f"{quote}{_HIDDEN}{quote}"
