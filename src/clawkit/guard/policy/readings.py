"""The values in a call's arguments, and the ways a server may read each of them.

Deny and prompt match if one reading does, so there are many, also of what programs take for a path
or an address inside a longer value: `--file=…`, `@…`, `HEAD:…`. Allow matches only if all do, so
there are those by which a server could end up elsewhere; None where that cannot be known.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple, cast

from clawkit.guard.policy.paths import (
    Paths,
    file_paths,
    follow,
    has_drive,
    home_of_another,
    is_absolute,
    is_file_url,
    join,
    local_file_url,
    normal,
    slashed,
    without_device,
)
from clawkit.guard.policy.spellings import boundary_stages, every_stage, fold, has_hidden
from clawkit.guard.policy.urls import (
    addresses,
    allowed_readings,
    is_address,
    scheme,
    url_readings,
    with_public_host,
)

_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-f]+|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)", re.IGNORECASE)
_QUOTE_OR_ESCAPE = re.compile(r'"|\\.', re.DOTALL)
_LONGEST_NUMBER = 40
_LARGEST_EXACT = 2**53 - 1
_ENDS = {"{": "}", "[": "]", '"': '"'}


class Pairs(list[tuple[str, Any]]):
    """An object out of a string: all that it says, where a key may stand twice."""


_decode = json.JSONDecoder(object_pairs_hook=Pairs, strict=False).decode


def items(value: Any) -> list[tuple[str, Any]] | None:
    """The keys and values of an object, None for what is no object."""
    if isinstance(value, Pairs):
        return value
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).items())
    return None


def embedded_json(text: str) -> Any:
    """The value of a string that is JSON itself; None for other strings."""
    text = text.strip("\ufeff \t\r\n")
    if len(text) < 2 or _ENDS.get(text[0]) != text[-1]:
        return None
    try:
        return _decode(text)
    except ValueError:
        return None
    except RecursionError:  # A parser that goes deeper would come to these.
        return [part for quoted in _strings(text) if (part := embedded_json(quoted)) is not None]


def _strings(text: str) -> Iterator[str]:
    """The strings in a JSON text, quotes included; no part of the text is looked at twice."""
    start = -1
    for mark in _QUOTE_OR_ESCAPE.finditer(text):
        if start < 0:
            start = mark.end() - 1 if mark.group().endswith('"') else -1
        elif mark.group() == '"':
            yield text[start : mark.end()]
            start = -1


def texts(leaf: object) -> tuple[str, ...]:
    """A leaf as text; a number in each of its spellings, `5.0` as "5.0" and "5"."""
    if isinstance(leaf, str):
        return (leaf,)
    if leaf is None or isinstance(leaf, bool):
        return (json.dumps(leaf),)
    if isinstance(leaf, int):
        return (_digits(leaf),)
    if isinstance(leaf, float):
        whole = math.isfinite(leaf) and leaf.is_integer()
        return (repr(leaf), _digits(int(leaf))) if whole else (repr(leaf),)
    return (str(leaf),)


def is_read_differently(leaf: object) -> bool:
    """Whether a number becomes another one in a program that keeps all of them as 64-bit floats."""
    if isinstance(leaf, int):
        return not -_LARGEST_EXACT <= leaf <= _LARGEST_EXACT
    if not isinstance(leaf, float):
        return False
    if not leaf:
        return math.copysign(1, leaf) < 0
    return not math.isfinite(leaf) or (leaf.is_integer() and abs(leaf) > _LARGEST_EXACT)


def as_number(text: str) -> tuple[str, ...]:
    """The number that a string spells, as `texts` would: "0x16", "022" and "2.2e1" are 22."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text.strip()):
        return ()
    number = text.strip().lower()
    sign = -1 if number.startswith("-") else 1
    if "0x" in number:
        return texts(sign * int(number.lstrip("+-"), 16))
    return texts(float(number))


def _digits(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # Python does not write out numbers of more than some thousand digits.
        return hex(number)


_LONGEST = 32768  # No system opens a longer path.
_MOST_INNER = 32
_FIRST_COLONS, _LAST_COLONS = 4, 8
_SIGNS = re.compile(r"[=:@<'\"`-]")
_QUOTES = "\"'`"
_QUOTE_ENDS = frozenset(_QUOTES)
_WRAPPER = re.compile(
    r"<\s*(?=[/~.\\]|[a-z][a-z0-9+.-]*:)"  # <file:///x>, <URL:file:///x>
    r"|url:\s*"
    r"|-[a-z](?=[/~.\\])|--?[\w-]{1,40}\s+(?=[/~.\\])"  # -f/x, -f /x, --file /x
    r"|:\([a-z,:]{0,60}\)"  # :(top)x
    r"|[^\s=:@/\\]{0,64}[=@]",  # --file=x, @x, name=@x
    re.IGNORECASE,
)
# HEAD:x, host:x, jar:file:x, but no time of day and no address of a host
_COLON = re.compile(r":(?=\S)(?!//[^/]|\d\d(?::\d|Z|\Z))")


def is_wrapped(text: str) -> bool:
    """Whether a value may hold another one."""
    return bool(_within(text)) or next(_after_colons(text), None) is not None


def inner_values(text: str) -> list[str]:
    """What a value may hold, also inside of what it holds."""
    found: dict[str, None] = {}
    todo = [text]
    while todo and len(found) < _MOST_INNER:
        value = todo.pop()
        inner = [each for each in (_within(value), *_after_colons(value)) if each]
        todo.extend(each for each in inner if each not in found)
        found.update(dict.fromkeys(inner))
    return list(found)


def _after_colons(text: str) -> Iterator[str]:
    """What stands behind each colon, whatever and however much is before it.

    Of many the first and the last: `HEAD^{/a: b}:x` names x, and no path has that many in it.
    """
    end = text.rstrip()
    line = end[max(end.rfind("\n") + 1, len(end) - _LONGEST) :]
    start = 2 if has_drive(line) else 0
    first = (found.end() for found in islice(_COLON.finditer(line, start), _FIRST_COLONS))
    places = dict.fromkeys((*first, *islice(_from_the_end(line, start), _LAST_COLONS)))
    return (line[place:] for place in places)


def _from_the_end(line: str, start: int) -> Iterator[int]:
    at = len(line)
    while (at := line.rfind(":", start, at)) >= 0:
        if _COLON.match(line, at):
            yield at + 1


def _within(text: str) -> str:
    if len(text) > _LONGEST:
        return ""
    text = text.strip()
    quoted = not _QUOTE_ENDS.isdisjoint((text[:1], text[-1:]))
    if "\n" in text or not (quoted or _SIGNS.search(text, 0, 128)):
        return ""
    if quoted:  # Also at one end only: some programs take off whatever quotes there are.
        return text.strip(_QUOTES)
    if has_drive(text):
        return ""
    found = _WRAPPER.match(text)
    if found is None:
        return ""
    inner = text[found.end() :]
    return inner.rstrip("> ") if text.startswith("<") else inner


_CONTROLS = re.compile(r"[\t\r\n]")
_STREAM = re.compile(r"::\$\w+")  # the content of a file or folder itself, on Windows
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}", re.IGNORECASE)
_OTHER_HOME = re.compile(r"\s*~[^/\\\s]")
_UP = re.compile(r"(?:\.\./)+|\.\.$")
_NO_PLAIN_PATH = re.compile(r"""\s*[\[{"'`]""")
_PLAIN = re.compile(r"[^\s;|&$`<>()'\"#*?!]+")
# Links that lead elsewhere in every process: here they would be followed in the wrong one.
_GAP = r"/(?:\.?/)*"
_OWN_PROCESS = re.compile(
    rf"{_GAP}proc{_GAP}(?:self|thread-self)(?:{_GAP}task{_GAP}\d+)?{_GAP}(cwd|root)(?=/|$)"
)
_LONG = 4096


class _Base(NamedTuple):
    """A directory that a relative path may start from."""

    folder: str
    low: str
    real: str


class Reader:
    """Reads values as the server would from each of its directories, with its home."""

    def __init__(self, paths: Paths) -> None:
        self.cwd = None if paths.cwd is None else normal(slashed(paths.cwd))
        self.home = None if paths.home is None else normal(slashed(paths.home))
        self.resolve = paths.resolve
        self._followed_heads: dict[str, str] = {}
        self._others = paths.bases
        # A running server stays where it started, whatever becomes of the links that led there.
        own = () if self.cwd is None else (self._base(self.cwd),)
        self._bases = (*own, *self._other_bases())
        self.allowed = {
            "text": self.allowed_texts,
            "path": self.allowed_paths,
            "url": self.allowed_urls,
            "public": self.allowed_public_urls,
        }
        """How a value is read for a pattern that allows, by the pattern's kind."""

    @property
    def inserted(self) -> str:
        """What a reading can have that the text has not, but for where links lead."""
        return "/".join(base.folder for base in self._bases)

    def _base(self, folder: str) -> _Base:
        return _Base(folder, fold(folder), self.real(folder))

    def _other_bases(self) -> list[_Base]:
        """Both where a directory is by its name and where its links lead: a server may keep it."""
        found: dict[str, None] = {}
        for path in map(slashed, self._others):
            found.update(dict.fromkeys((normal(path), normal(self.real(path)))))
        return [self._base(path) for path in found if path != self.cwd]

    def real(self, path: str) -> str:
        """A path of the policy with its links followed, where the machine may be asked."""
        if not self.resolve or not path.startswith("/"):
            return path
        return self._followed_heads.setdefault(path, follow(path)[0])

    def has_moved(self) -> bool:
        """Whether a path of the policy or a base leads elsewhere by now; then all are forgotten."""
        if all(follow(path)[0] == real for path, real in self._followed_heads.items()):
            return False
        self._followed_heads.clear()
        self._bases = tuple(dict.fromkeys((*self._bases, *self._other_bases())))
        return True

    def denied(self, text: str) -> Iterator[str]:
        """All readings, without case; long ones are made one at a time, and may repeat."""
        stripped = text.strip()
        if is_plain(stripped):
            low = fold(stripped)
            yield from self._as_path(stripped, low)
            if len(stripped) != len(text):
                start = len(text) - len(text.lstrip())
                whole = f"{text[:start]}{low}{text[start + len(low) :]}"
                yield from self._as_path(text, whole) if len(text) <= _LONGEST else (whole,)
            for inner in inner_values(stripped):
                yield from self._in_all_stages(inner, [])
            return
        yield from self._in_all_stages(text)

    def _in_all_stages(self, text: str, inner: list[str] | None = None) -> Iterator[str]:
        """`inner` is what a text holds, if that is known."""
        seen: set[str] = set()
        for stage in every_stage(text):
            yield fold(stage)
            for variant in self._variants(stage, inner):
                for reading in self._as_path_and_url(variant):
                    if len(reading) > _LONG:
                        yield reading
                    elif reading not in seen:
                        seen.add(reading)
                        yield reading

    def stays(self, text: str) -> bool:
        """Whether no link leads away from a plain text, so that its readings are known from it."""
        if not self.resolve:
            return True
        if is_absolute(text):
            return follow(text)[0] == text
        whole = [(join(base.real, text), base.real) for base in self._bases]
        return all(follow(path, real)[0] == path for path, real in whole)

    def _variants(self, stage: str, inner: list[str] | None) -> list[str]:
        found = [stage.strip()] if len(stage) > _LONGEST else [stage, stage.strip()]
        if scheme(stage):
            found.append(_CONTROLS.sub("", stage))
        if "\0" in stage:
            found.append(stage.partition("\0")[0])
        if "::$" in stage:
            found.append(_STREAM.sub("", stage))
        if "$" in stage and self.home is not None:
            home = self.home
            found.append(_HOME.sub(lambda _: home, stage))
        found.extend(
            [each for text in found for each in inner_values(text)] if inner is None else inner
        )
        found.extend([slashed(text) for text in found if "\\" in text])
        found.extend([without_device(text) for text in found if text.startswith("//")])
        found.extend([path for text in found if is_file_url(text) for path in file_paths(text)])
        found.extend([home for text in found for home in self._at_home(text)])
        # Texts can be too long to hash, and there are few.
        return [text for place, text in enumerate(found) if text not in found[:place]]

    def _at_home(self, text: str) -> list[str]:
        if not text.startswith("~"):
            return []
        if text == "~" or text.startswith("~/"):
            return [] if self.home is None else [self.home + text[1:]]
        other = home_of_another(text) if self.resolve else text
        return [] if other == text else [other]

    def _as_path_and_url(self, text: str) -> Iterator[str]:
        yield from self._as_path(text, fold(text))
        if scheme(text):
            yield from map(fold, url_readings(text))
        if is_address(text):
            yield from addresses(fold(text))

    def _as_path(self, text: str, low: str) -> Iterator[str]:
        """A text, of which `low` is the one without its case, and where it leads as a path."""
        yield low
        plain = normal(text)
        if plain != text:
            low = fold(plain)
            yield low
        if len(plain) > _LONGEST:
            return
        if is_absolute(text):
            yield from self._followed(text, plain, "")
            for path in dict.fromkeys((text, plain)):
                for there in self._in_the_server(path):
                    yield from self._as_path(there, fold(there))
            return
        if self.cwd is None:
            yield f"./{low}"
            if up := _UP.match(low):
                yield "/" + low[up.end() :]
        for base in self._bases:
            whole = join(base.low, low)
            yield normal(whole) if low.startswith("..") else whole
            if self.resolve and len(plain) < _LONG:
                whole = join(base.real, text if len(text) < _LONG else plain)
                yield from self._followed(whole, join(base.folder, plain), base.real)

    def _in_the_server(self, path: str) -> list[str]:
        """Where a path through `/proc/self` leads in the server's process, not in this one."""
        own = None if self.cwd is None else _OWN_PROCESS.match(path)
        if own is None:
            return []
        starts = [base.real for base in self._bases] if own[1] == "cwd" else [""]
        return [start + path[own.end() :] or "/" for start in starts]

    def _followed(self, text: str, plain: str, known: str) -> Iterator[str]:
        """Where links lead, by the path as it stands and by the path without its `..`."""
        if not self.resolve or len(plain) > _LONG:
            return
        direct = normal(text)
        for path in (direct,) if text == direct else (text, direct):
            real, _ = follow(path, known if path.startswith(known + "/") else "")
            if real != plain:
                yield fold(normal(real))

    def allowed_texts(self, text: str) -> list[str] | None:
        """For patterns of plain text: as it stands, and wherever slashes could come from."""
        if has_hidden(text):
            return None
        stages = boundary_stages(text)
        if stages is None:
            return None
        found = stages + [slashed(stage) for stage in stages if "\\" in stage]
        return found + [normal(stage) for stage in found if "/.." in stage]

    def allowed_urls(self, text: str) -> list[str] | None:
        stages = None if has_hidden(text) or _CONTROLS.search(text) else boundary_stages(text)
        if stages is None or not all(map(scheme, stages)):
            return None
        found: list[str] = []
        for stage in stages:
            readings = allowed_readings(stage)
            if readings is None:
                return None
            found.extend(readings)
        return found

    def allowed_public_urls(self, text: str) -> list[str] | None:
        """For patterns with `{public}`: with that word for a host that is not a local one."""
        found = self.allowed_urls(text)
        return None if found is None else list(map(with_public_host, found))

    def allowed_paths(self, text: str) -> list[str] | None:
        """For path patterns: absolute and real, or `./…` if the server's directory is unknown."""
        if _NO_PLAIN_PATH.match(text) or "$" in text or text.rstrip()[-1:] in _QUOTE_ENDS:
            return None  # A server may decode JSON, take off quotes or fill in variables.
        stages = None if has_hidden(text) or _CONTROLS.search(text) else boundary_stages(text)
        found: list[str] = []
        for stage in stages or ():
            for path in self._meant(stage) or (None,):
                settled = None if path is None else self._settled(path)
                if settled is None:
                    return None
                found.extend(settled)
        return found or None

    def _meant(self, stage: str) -> list[str] | None:
        """The paths that a text may stand for; None if it may stand for something else."""
        if is_file_url(stage):
            local = local_file_url(stage)
            return None if local is None or ".." in local else file_paths(local)
        if scheme(stage) or (not self.resolve and _OTHER_HOME.match(stage)):
            return None
        if has_drive(stage):
            return [slashed(stage)]
        found = [stage, stage.strip()]
        found.extend([slashed(text) for text in found if "\\" in text])
        found.extend([without_device(text) for text in found if text.startswith("//")])
        return [path for text in dict.fromkeys(found) for path in self._expanded(text)]

    def _expanded(self, text: str) -> list[str]:
        homes = self._at_home(text)
        if not homes:
            return [text]
        # A folder that is really called "~" would be what a server without a home opens.
        name = text.partition("/")[0]
        folders = [join(base.folder, name) for base in self._bases] if self.resolve else []
        return [text, *homes] if any(map(os.path.lexists, folders)) else homes

    def _climbs_out_of_folders(self, path: str) -> bool:
        """Whether each `..` leaves a folder: in `rm -r x;/../ls` it would make a command a path."""
        names = path.split("/")
        for place, name in enumerate(names):
            if name != ".." or not place or names[place - 1] in {"", ".", ".."}:
                continue
            if not _PLAIN.fullmatch(names[place - 1]):
                return False
            if self.resolve and not os.path.isdir("/".join(names[:place])):  # noqa: PTH112 - text that may be no path
                return False
        return True

    def _settled(self, path: str) -> list[str] | None:
        """Where a path leads from every directory that it may start from; None if that is open."""
        if is_absolute(path):
            return self._settled_from_root(path)
        found: list[str] = []
        if self.cwd is None:
            plain = normal(path)
            if _UP.match(plain) or not self._climbs_out_of_folders(path):
                return None
            found.append(f"./{plain}")
        for base in self._bases:
            settled = self._settled_from_root(join(base.folder, path))
            if settled is None:
                return None
            found.extend(settled)
        return found

    def _settled_from_root(self, path: str) -> list[str] | None:
        if ".." in path and not self._climbs_out_of_folders(path):
            return None
        plain = normal(path)
        if not self.resolve or not path.startswith("/"):
            return [plain]
        followed = [follow(each) for each in dict.fromkeys((path, plain))]
        return [normal(real) for real, _ in followed] if all(sure for _, sure in followed) else None


def is_plain(text: str) -> bool:
    """Whether a text can be read in one way only, but for its case and as a path."""
    return (
        text.isascii()
        and not ("%" in text or "\\" in text or "$" in text or "\0" in text)
        and not text[:1].isspace()
        and not text[-1:].isspace()
        and not text.startswith(("~", "//"))
        and not (":" in text[:50] and scheme(text))
        and not is_address(text)
        and not has_hidden(text)
    )


_PATH_NAMES = frozenset(
    {
        *("path", "paths", "file", "files", "filename", "filenames", "dir", "directory"),
        *("folder", "source", "destination", "src", "dst", "target", "cwd", "root"),
    }
)
_PATH_ENDS = ("path", "paths", "_file", "_files", "_dir", "_directory", "_folder")
# From the root, a home, a drive or here; or one word with a slash in it.
_PATH = re.compile(r"(?:[/~\\]|\.\.?(?:[/\\]|\Z)|[a-z]:[/\\]|file:)|\S*[/\\]\S*\Z", re.IGNORECASE)


def is_path_name(name: str) -> bool:
    """Whether an argument of this name is a path, whatever stands in it."""
    low = name.lower()
    return low in _PATH_NAMES or low.endswith(_PATH_ENDS)


def is_path(text: str) -> bool:
    """Whether a server could take a text for a path; one of several lines is a text."""
    text = text.strip()
    return "\n" not in text and _PATH.match(text) is not None


def holds_path(name: str, value: Any) -> bool:
    """Whether an argument is a path, or has one in it."""
    if is_path_name(name):
        return True
    if isinstance(value, str):
        found = None if "\n" in value.strip() else embedded_json(value)
        return is_path(value) or (found is not None and holds_path("", found))
    if (pairs := items(value)) is not None:
        return any(is_path(key) or holds_path(key, each) for key, each in pairs)
    return isinstance(value, list) and any(
        holds_path("", each) for each in cast("list[Any]", value)
    )
