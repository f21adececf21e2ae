"""From values that were seen to patterns that fit them, and not much more."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from clawkit.guard.policy.globs import is_wild
from clawkit.guard.policy.leaves import is_read_differently, texts
from clawkit.guard.policy.pathtext import normal
from clawkit.guard.policy.patterns import kind_of

Patterns = tuple[str, ...]

MANY = 12
"""So many different plain values, and no list of them says what the next one will be."""
_LONGEST = 400
_ABSOLUTE = re.compile(r"/|~/|[A-Za-z]:[\\/]")
_PLAIN = re.compile(r"[A-Za-z_][\w-]{0,63}|-?\d+(\.\d+)?", re.ASCII)
_HOMES = frozenset({"home", "Users", "users"})


def why_inexact(value: Any, *, runs: bool) -> str:
    """Why no pattern stands for this value alone; empty if one does. `runs`: it is a command."""
    if isinstance(value, dict | list):
        return "is a list or an empty object"
    if is_read_differently(value):
        return "is a number that servers read differently"
    text = text_of(value)
    if not text:
        return "is empty"
    if len(text) > _LONGEST:
        return f"is longer than {_LONGEST} characters"
    if not text.isprintable():
        return "has line breaks or characters that do not show"
    if is_wild(text):
        return "has * or ?, which patterns read as wildcards"
    if runs and kind_of(text) != "text":
        return "is a command with a path or an address, of which patterns know other spellings"
    return ""


def exact(values: list[Any]) -> Patterns:
    """Each value as it is, a number in all its spellings."""
    return tuple(dict.fromkeys(pattern for value in values for pattern in _patterns(value)))


def generalise(values: list[Any]) -> list[Patterns]:
    """Patterns for the values of one argument, to be tried in this order.

    Only folders stand for more than was seen, and `*` for plain names and numbers in plenty.
    """
    found = list(dict.fromkeys(map(text_of, values)))
    if len(found) >= MANY and all(map(_PLAIN.fullmatch, found)):
        return [("*",)]
    plain = sorted(
        {pattern for value in values if _is_place(value) for pattern in _patterns(value)}
    )
    if len(plain) < 2:
        return [exact(values)]
    rest = exact([value for value in values if not _is_place(value)])
    covers = _covers([tuple(path.split("/")) for path in plain])
    return [(*rest, *covers), exact(values)]


def text_of(value: Any) -> str:
    """A scalar as patterns are compared with it."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and _ABSOLUTE.match(value) is not None


def _patterns(value: Any) -> Patterns:
    if _is_place(value):
        return (normal(value.replace("\\", "/")),)
    return texts(value)


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
