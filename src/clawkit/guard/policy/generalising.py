"""From values that were seen to patterns that fit them, and not much more."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from clawkit.guard.policy.pathtext import normal

Patterns = tuple[str, ...]

_MOST_VALUES = 5
_LONGEST = 200
_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:[\\/]")
_RELATIVE = re.compile(r"\.{0,2}[\w-][\w .@+-]*(/[\w .@+-]+)+/?")
_URL = re.compile(r"([a-z][a-z0-9+.-]+://[^/?#\s]+)([^\s]*)", re.IGNORECASE)
_HOMES = frozenset({"home", "Users", "users"})


def generalise(values: list[Any]) -> list[Patterns]:
    """Patterns for the values of one argument, the narrowest first; the caller sees which fit."""
    texts = list(dict.fromkeys(map(text_of, values)))
    if any(len(text) > _LONGEST or "\n" in text for text in texts):
        return []
    if not all(texts):
        return [("*",)]
    if all(_URL.fullmatch(text) for text in texts):
        return [tuple(texts[:1]), _sites(texts)] if len(texts) == 1 else [_sites(texts)]
    if all(map(is_path, texts)):
        return _places(texts)
    if len(texts) <= _MOST_VALUES:
        return [tuple(texts)]
    return [("*",)]


def is_path(text: str) -> bool:
    """Whether a value looks like a path; a URL does not."""
    return bool(_ABSOLUTE.match(text) or _RELATIVE.fullmatch(text))


def text_of(value: Any) -> str:
    """A scalar as patterns are compared with it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _places(texts: list[str]) -> list[Patterns]:
    plain = sorted({normal(text.replace("\\", "/")) or "." for text in texts})
    if len(plain) == 1:
        return [(plain[0],), (_folder(plain[0]) + "/**",)]
    parts = [tuple(path.split("/")) for path in plain]
    narrow = tuple(_covers(parts))
    folders = sorted({_folder(path) + "/**" for path in plain})
    return [narrow, tuple(folders)]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _covers(paths: list[tuple[str, ...]]) -> list[str]:
    """Folders that hold all paths; one too near the root is taken apart."""
    if len(paths) == 1:
        return ["/".join(paths[0])]
    common = _common(paths)
    if _is_narrow(common):
        folder = "/".join(common)
        return [folder, f"{folder}/**"] if common in paths else [f"{folder}/**"]
    groups: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in paths:
        groups.setdefault(path[: len(common) + 1], []).append(path)
    if len(groups) == 1:  # every path is the common one
        return ["/".join(common)]
    return [pattern for key in sorted(groups) for pattern in _covers(groups[key])]


def _common(paths: list[tuple[str, ...]]) -> tuple[str, ...]:
    first, last = min(paths), max(paths)
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]


def _is_narrow(folder: tuple[str, ...]) -> bool:
    """Neither the root, nor a folder right below it, nor somebody's whole home."""
    rooted = bool(folder) and (folder[0] in ("", "~") or folder[0].endswith(":"))
    names = folder[1:] if rooted else folder
    if folder[:1] == ("~",):
        return bool(names)
    if not rooted:
        return bool(names) and ".." not in names
    return len(names) >= (3 if names[0] in _HOMES else 2) if names else False


def _sites(urls: list[str]) -> Patterns:
    """`https://host/common/folder/**` for each host."""
    hosts: dict[str, list[tuple[str, ...]]] = {}
    for url in urls:
        found = _URL.fullmatch(url)
        assert found is not None  # the caller has looked
        path = re.split(r"[?#]", found[2], maxsplit=1)[0]
        hosts.setdefault(found[1], []).append(tuple(path.split("/")[1:-1]))
    return tuple("/".join((host, *_common(hosts[host]), "**")) for host in sorted(hosts))
