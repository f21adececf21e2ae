"""Owns docstrings: which words describe the tool, and which describe each of its parameters.

Reads the Google, NumPy and Sphinx conventions. Only what is said about parameters is taken out;
what a docstring says about results and failures stays in the description, for the model to read.
"""

from __future__ import annotations

import re
from inspect import cleandoc

import msgspec

_GOOGLE = re.compile(r"(?:args|arguments|parameters|params):\s*$", re.IGNORECASE)
_NUMPY = re.compile(r"(?:other )?parameters\s*$", re.IGNORECASE)
_UNDERLINE = re.compile(r"[-=]{3,}\s*$")
_SPHINX = re.compile(
    r":(param|parameter|arg|argument|key|keyword|type)\s+([^:]*?\s)?\**(\w+):(.*)$"
)
_GOOGLE_ENTRY = re.compile(r"\**(\w+)\s*(?:\(.*?\))?\s*:(?:\s+(.*))?$")
_NUMPY_ENTRY = re.compile(r"(\**\w+(?:\s*,\s*\**\w+)*)\s*(?::.*)?$")

_Found = dict[str, list[str]]


class Docstring(msgspec.Struct, frozen=True):
    """A docstring, taken apart."""

    description: str
    parameters: dict[str, str]


def read_docstring(text: str | None) -> Docstring:
    """Take a docstring apart; lines that follow no convention are description."""
    lines = cleandoc(text or "").splitlines()
    kept: list[str] = []
    found: _Found = {}
    at = 0
    while at < len(lines):
        end = _read_section(lines, at, found)
        if end == at:
            kept.append(lines[at].rstrip())
            end += 1
        at = end
    return Docstring(
        re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip(),
        {name: joined for name, words in found.items() if (joined := _joined(words))},
    )


def _read_section(lines: list[str], at: int, found: _Found) -> int:
    """Read what is said about parameters at line `at`; the line after it, or `at` if nothing is."""
    line = lines[at]
    if _SPHINX.match(line.lstrip()):
        return _read_sphinx(lines, at, found)
    if _GOOGLE.match(line):
        return _read_google(lines, at, found)
    underlined = at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1])
    if underlined and _NUMPY.match(line):
        return _read_numpy(lines, at + 2, found)
    return at


def _read_sphinx(lines: list[str], at: int, found: _Found) -> int:
    match = _SPHINX.match(lines[at].lstrip())
    assert match is not None
    words = [match[4]]
    depth = _depth(lines[at])
    end = at + 1
    while end < len(lines) and lines[end].strip() and _depth(lines[end]) > depth:
        words.append(lines[end])
        end += 1
    if match[1] != "type":
        found[match[3]] = words
    return end


def _read_google(lines: list[str], at: int, found: _Found) -> int:
    end = _end_of_block(lines, at + 1, _depth(lines[at]) + 1)
    body = lines[at + 1 : end]
    depth = min((_depth(line) for line in body if line.strip()), default=0)
    entries: _Found = {}
    words: list[str] = []
    for line in body:
        match = _GOOGLE_ENTRY.match(line.strip()) if _depth(line) == depth else None
        if match:
            words = entries[match[1]] = [match[2] or ""]
        else:
            words.append(line)
    if not entries:
        return at
    found.update(entries)
    return end


def _read_numpy(lines: list[str], at: int, found: _Found) -> int:
    words: list[str] = []
    while at < len(lines) and not _starts_numpy_section(lines, at):
        line = lines[at]
        if line.strip() and _depth(line) == 0:
            match = _NUMPY_ENTRY.match(line)
            if match is None:
                break
            words = []
            for name in match[1].split(","):
                found[name.strip().lstrip("*")] = words
        else:
            words.append(line)
        at += 1
    return at


def _starts_numpy_section(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and _UNDERLINE.match(lines[at + 1]) is not None


def _end_of_block(lines: list[str], at: int, depth: int) -> int:
    """The first line from `at` on that is indented less than `depth`."""
    while at < len(lines) and (not lines[at].strip() or _depth(lines[at]) >= depth):
        at += 1
    return at


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(words: list[str]) -> str:
    return " ".join(" ".join(words).split())
