"""What a pattern of a rule stands for: all its spellings for deny and prompt, one for allow."""

from __future__ import annotations

from typing import Literal

import msgspec

from clawkit.guard.policy.globs import Glob, is_any, is_wild
from clawkit.guard.policy.paths import (
    file_paths,
    has_drive,
    is_absolute,
    is_file_url,
    literal_head,
    local_file_url,
    normal_pattern,
    slashed,
)
from clawkit.guard.policy.readings import Reader
from clawkit.guard.policy.spellings import bare, fold, look_alike
from clawkit.guard.policy.urls import PUBLIC, allowed_pattern, scheme, url_pattern

Kind = Literal["any", "text", "path", "url", "public"]
_Spelling = tuple[str, str]  # a beginning in which stars are letters, and a pattern


class Allowed(msgspec.Struct, frozen=True):
    """A pattern that allows: how values are read for it, and what the readings must match."""

    kind: Kind
    globs: tuple[Glob, ...]


def kind_of(pattern: str) -> Kind:
    """How a pattern wants values to be read."""
    if is_any(pattern):
        return "any"
    if is_file_url(pattern) or has_drive(pattern) or pattern.startswith("~"):
        return "path"
    if name := scheme(pattern):
        if pattern[len(name) + 1 :].startswith(f"//{PUBLIC}/"):
            return "public"
        return "url" if pattern[len(name) + 1 :].startswith("//") else "text"
    return "path" if "/" in pattern else "text"


def denied_globs(pattern: str, reader: Reader) -> list[Glob]:
    """All spellings of a pattern that denies or asks, in lower case; `X/**` covers `X` too."""
    if is_any(pattern):
        return [Glob("**")]
    spellings = {("", pattern), ("", slashed(pattern)), ("", url_pattern(pattern))}
    spellings.update(_paths(pattern, reader))
    folders = {(head, rest[:-3]) for head, rest in spellings if rest.endswith("/**")}
    spellings.update((head, rest or ("" if head else "/")) for head, rest in folders)
    folded = {spelling for pair in spellings for spelling in _folded(*pair)}
    return [Glob(rest, head) for head, rest in sorted(folded)]


def allowed(pattern: str, reader: Reader, heads: dict[str, str], *, real: bool = False) -> Allowed:
    """A pattern that allows. `heads` remembers where its folders led when they were first seen:
    a link that is changed later must not widen it. One that is `real` has no links to follow."""
    kind = kind_of(pattern)
    if kind in ("url", "public"):
        return Allowed(kind, (Glob(allowed_pattern(pattern)),))
    if kind != "path":
        return Allowed(kind, (Glob(pattern),))
    rooted = _rooted(pattern, reader)
    if real:
        return Allowed(kind, (Glob(rooted[1], rooted[0]),))
    folder, name = _split(*rooted)
    spellings = {rooted, _moved(heads.setdefault(folder, reader.real(folder)), name)}
    return Allowed(kind, tuple(Glob(rest, head) for head, rest in sorted(spellings)))


def _paths(pattern: str, reader: Reader) -> set[_Spelling]:
    """A path pattern from the root, by name and by where its folders really are."""
    rooted = _rooted(pattern, reader)
    folder, name = _split(*rooted)
    return {rooted, _moved(reader.real(folder), name)}


def _moved(folder: str, name: str) -> _Spelling:
    return (folder.rstrip("/") if name else folder), name


def _split(head: str, rest: str) -> _Spelling:
    """The folders that have no wildcard, and what follows them."""
    folder, name = literal_head(rest)
    return head + folder, name


def _rooted(pattern: str, reader: Reader) -> _Spelling:
    """A pattern as a path from the root; `./…` where the server's directory is unknown."""
    path = _unwrapped(pattern)
    if path.startswith("**") or is_absolute(path):
        return "", normal_pattern(path)
    if reader.home is not None and (path == "~" or path.startswith("~/")):
        return reader.home, normal_pattern(path[1:])
    if reader.cwd is None:
        return "", f"./{normal_pattern(path)}"
    return _joined(reader.cwd, normal_pattern(path))


def _unwrapped(pattern: str) -> str:
    if not is_file_url(pattern):
        return slashed(pattern)
    return file_paths(local_file_url(pattern) or pattern)[0]


def _joined(folder: str, path: str) -> _Spelling:
    while path == ".." or path.startswith("../"):
        folder, path = folder.rpartition("/")[0], path[3:]
    return (folder, f"/{path}") if path else (folder or "/", "")


def _folded(head: str, rest: str) -> list[_Spelling]:
    plain = (bare(head), bare(rest))
    looks = (look_alike(plain[0]), look_alike(plain[1]))
    return [_lowered(*spelling) for spelling in {(head, rest), plain, looks}]


def _lowered(head: str, rest: str) -> _Spelling:
    return (fold(head), fold(rest)) if is_wild(head) else ("", fold(head + rest))
