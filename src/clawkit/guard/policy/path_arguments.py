"""Which arguments are paths: by their names, and by what stands in them."""

from __future__ import annotations

import re
from typing import Any, cast

from clawkit.guard.policy.readings import inside, items

_NAMES = frozenset(
    {
        *("path", "paths", "file", "files", "filename", "filenames", "dir", "directory"),
        *("folder", "source", "destination", "src", "dst", "target", "cwd", "root"),
    }
)
_ENDS = ("path", "paths", "_file", "_files", "_dir", "_directory", "_folder")
# From the root, a home, a drive or here; or one word with a slash in it.
_PATH = re.compile(r"(?:[/~\\]|\.\.?(?:[/\\]|\Z)|[a-z]:[/\\]|file:)|\S*[/\\]\S*\Z", re.IGNORECASE)


def is_path_name(name: str) -> bool:
    """Whether an argument of this name is a path, whatever stands in it."""
    low = name.lower()
    return low in _NAMES or low.endswith(_ENDS)


def is_path(text: str) -> bool:
    """Whether a server could take a text for a path; one of several lines is a text."""
    text = text.strip()
    return "\n" not in text and _PATH.match(text) is not None


def holds_path(name: str, value: Any) -> bool:
    """Whether an argument is a path, or has one in it."""
    if is_path_name(name):
        return True
    if isinstance(value, str):
        found = None if "\n" in value.strip() else inside(value)
        return is_path(value) or (found is not None and holds_path("", found))
    if (pairs := items(value)) is not None:
        return any(is_path(key) or holds_path(key, each) for key, each in pairs)
    return isinstance(value, list) and any(
        holds_path("", each) for each in cast("list[Any]", value)
    )
