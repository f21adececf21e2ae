"""Paths as text: what a path says without looking at any disk. `/` is the only separator."""

from __future__ import annotations

import posixpath
import re

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_DEVICE = re.compile(r"//[?.]/")
_FILE = re.compile(r"\s*file:", re.IGNORECASE)
_LOCALHOST = re.compile(r"(\s*file:[\\/]{2})localhost(?=[\\/])", re.IGNORECASE)
_HOST = re.compile(r"\s*file:[\\/]{2}[^\\/]", re.IGNORECASE)
_DETOUR = re.compile(r"/(?:/|\.?\.?(?:/|\Z))")
_QUERY = re.compile(r"[?#]")
_WILD = re.compile(r"[*?]")
_STEPS_IN_PLACE = re.compile(r"/(?:\./|/)*")


def slashed(text: str) -> str:
    """With "/" for each backslash."""
    return text.replace("\\", "/")


def without_device(text: str) -> str:
    """Without the mark that begins a device path, `//?/` or `//./`."""
    return text[4:] if _DEVICE.match(text) else text


def has_drive(text: str) -> bool:
    return _DRIVE.match(text) is not None


def is_absolute(text: str) -> bool:
    return text.startswith("/") or has_drive(text)


def normal(path: str) -> str:
    """Without `.`, `..`, doubled slashes and a slash at the end; "" for the directory itself."""
    if _is_normal(path):
        return path
    if has_drive(path):
        return path[:2] + normal("/" + path[3:])
    rooted = path.startswith("/")
    found = posixpath.normpath("/" + path.lstrip("/") if rooted else path)
    return "" if found == "." else found


def _is_normal(path: str) -> bool:
    if path == "/":
        return True
    detour = "/" in path and _DETOUR.search(path)
    return not (path.startswith(".") or detour or has_drive(path))


def join(folder: str, path: str) -> str:
    return f"{folder.rstrip('/')}/{path}" if path else folder


def is_file_url(text: str) -> bool:
    return _FILE.match(text) is not None


def file_paths(url: str) -> list[str]:
    """The paths that a `file:` URL may mean: behind its host or with it, with a query or not."""
    rest = slashed(url[url.index(":") + 1 :].strip())
    bare = rest.lstrip("/")
    found = [f"/{bare}"]
    if rest.startswith("//") and not rest.startswith("///"):
        found.append("/" + bare.partition("/")[2])
    found = [path[1:] if has_drive(path[1:]) else path for path in found]
    cut = [_QUERY.split(path, maxsplit=1)[0] for path in found]
    return list(dict.fromkeys((*found, *cut)))


def local_file_url(url: str) -> str | None:
    """A `file:` URL without its host, None where that is another machine."""
    url = _LOCALHOST.sub(r"\1", url, count=1)
    return None if _HOST.match(url) else url


def literal_head(pattern: str) -> tuple[str, str]:
    """A pattern, split behind the folders without wildcards: those a disk can be asked about."""
    wild = _WILD.search(pattern)
    if wild is None:
        return pattern, ""
    split = max(pattern.rfind("/", 0, wild.start()), 0)
    return pattern[:split], pattern[split:]


def normal_pattern(pattern: str) -> str:
    """`normal` for a pattern: `..` counts before the first wildcard only."""
    head, rest = literal_head(pattern)
    if not rest:
        return normal(pattern)
    rest = _STEPS_IN_PLACE.sub("/", rest)
    if not head:
        return rest
    found = normal(head)
    return found.rstrip("/") + rest if found else rest[1:]
