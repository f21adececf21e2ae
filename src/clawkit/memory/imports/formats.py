"""Which format a file or folder has, and reading it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from clawkit.errors import BeingError
from clawkit.memory.bundle import FORMAT
from clawkit.memory.imports.conversations import read_conversations
from clawkit.memory.imports.graph import read_graph
from clawkit.memory.imports.markdown import ENDINGS, read_markdown
from clawkit.memory.imports.reading import Reading

Format = Literal["bundle", "markdown", "jsonl", "server-memory"]
FORMATS: tuple[Format, ...] = get_args(Format)
_LOOKED_AT = 64 * 1024


def format_of(place: Path) -> Format:
    """What a file looks like by its first line, a folder by being one."""
    if place.is_dir() or place.suffix.lower() in ENDINGS:
        return "markdown"
    first = _first_object(place)
    if first.get("kind") == "bundle" and first.get("format") == FORMAT:
        return "bundle"
    if first.get("type") in ("entity", "relation"):
        return "server-memory"
    if "role" in first and "content" in first:
        return "jsonl"
    raise BeingError(
        f"{place}: what this is cannot be told by its first line: "
        f"say --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    )


def read(place: Path, kind: Format, *, as_memories: bool = False) -> Reading:
    """Everything but a bundle, which is no reading but a whole memory."""
    readers: dict[str, Callable[[Path], Reading]] = {
        "markdown": read_markdown,
        "jsonl": lambda file: read_conversations(file, as_memories=as_memories),
        "server-memory": read_graph,
    }
    if place.is_dir() and kind != "markdown":
        raise BeingError(f"{place} is a folder, and {kind} is a file")
    return readers[kind](place)


def _first_object(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            start = opened.read(_LOOKED_AT)
    except OSError as error:
        raise BeingError(f"{file} cannot be read: {error.strerror}") from None
    for line in start.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        if not line.strip():
            continue
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
    return {}
