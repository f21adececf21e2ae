"""Paths: as text, on this machine's disk with links followed, and the server's directories."""

from __future__ import annotations

import errno
import os
import posixpath
import re
from collections.abc import Iterable, Iterator

import msgspec

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


LONGEST_PATH = 4096
_MOST_LINKS = 40
_OF_A_PROCESS = ("/proc/self", "/proc/thread-self")


def follow(path: str, real_folder: str = "") -> tuple[str, bool]:
    """The real path, and whether that is certain: a loop or a closed folder leaves it open.

    So does a way through `/proc/self`, which is another place for the server than for us.
    `real_folder` is a beginning of the path that is known to have no links in it.
    """
    if len(path) > LONGEST_PATH:
        return path, False
    rest = path[len(real_folder) :]
    if ".." in rest or os.name == "nt":
        return _real(path)
    place = real_folder
    try:
        for name in rest.split("/"):
            if name not in {"", "."}:
                place = f"{place}/{name}"
                if _is_link(place):
                    return _real(path)
    except FileNotFoundError:
        pass  # What does not exist links to nothing.
    except (OSError, ValueError):
        return path, False
    return path, True


def home_of_another(text: str) -> str:
    """`~name/…` with the home of that person, if the machine knows one."""
    name, slash, rest = text.partition("/")
    try:
        return os.path.expanduser(name) + slash + rest  # noqa: PTH111 - text that may be no path
    except ValueError:
        return text


def _is_link(path: str) -> bool:
    """One system call, and no result to take apart: this runs for every name in every argument."""
    try:
        os.readlink(path)  # noqa: PTH115 - pathlib costs more than the call
    except OSError as error:
        if error.errno == errno.EINVAL:
            return False
        raise
    return True


def _real(path: str) -> tuple[str, bool]:
    try:
        return _slashed(_realpath(path)), not is_of_a_process(path)
    except (OSError, ValueError):
        return path, False


def is_of_a_process(path: str, links: int = _MOST_LINKS) -> bool:
    """Whether a path leads through what is another place for each process, as `/proc/self` is."""
    place, names = "/", path.split("/")
    for at, name in enumerate(names, 1):
        place = posixpath.normpath(posixpath.join(place, name))
        if place in _OF_A_PROCESS:
            return True
        try:
            target = os.readlink(place)  # noqa: PTH115 - text that may be no path
        except (OSError, ValueError):
            continue
        led = posixpath.join(posixpath.dirname(place), target, *names[at:])
        return links > 0 and is_of_a_process(led, links - 1)
    return False


def _realpath(path: str) -> str:
    try:
        return os.path.realpath(path, strict=True)
    except FileNotFoundError:
        return os.path.realpath(path)


def _slashed(path: str) -> str:
    return path.replace("\\", "/") if os.name == "nt" else path


# `--root=/a`, `/a:/b`, `/a,/b`, `file:///a`, `cd /a && serve`: each part may be a directory.
_SEPARATORS = re.compile(r"""[=:,;\s'"]""")


class Paths(msgspec.Struct, frozen=True):
    """The server's directory and home, and whether to follow symlinks. Default: text only.

    `bases` are other directories that the server may take relative paths from.
    """

    cwd: str | None = None
    home: str | None = None
    resolve: bool = False
    bases: tuple[str, ...] = ()


def directories(words: Iterable[str], cwd: str, home: str) -> tuple[str, ...]:
    """The directories that exist among some words, such as the arguments of a server."""
    found = (
        os.path.join(cwd, path)  # noqa: PTH118 - text that may be no path
        for word in words
        for part in (word, word.partition("=")[2], *_SEPARATORS.split(word))
        for path in _readings(part, home)
    )
    return tuple(path for path in dict.fromkeys(found) if os.path.isdir(path))  # noqa: PTH112 - the same


def _readings(part: str, home: str) -> Iterator[str]:
    if part:
        yield part
    if part == "~" or part.startswith("~/"):
        yield home + part[1:]
    if "%" in part:
        from urllib.parse import unquote

        yield unquote(part)
