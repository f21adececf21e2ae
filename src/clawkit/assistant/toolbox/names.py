"""What the model calls a tool: `mcp__{server}__{tool}`, in letters that every provider takes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

LONGEST = 64
_SERVER_PART = 24
_REFUSED = re.compile(r"[^a-zA-Z0-9_-]")
_SHOWN = 5


def assign_names(tools: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each (server, tool), in their order; tools without a server keep their own name.

    Names that need no change come first, so that a tool which had to be renamed never takes the
    name of one that is called so.
    """
    found: dict[int, str] = {}
    taken: set[str] = set()
    plain = {i for i, pair in enumerate(tools) if _safe(*pair) == _full(*pair)}
    for i in (*sorted(plain), *(i for i in range(len(tools)) if i not in plain)):
        name = _safe(*tools[i])
        if name in taken:
            name = _marked(*tools[i])
        taken.add(name)
        found[i] = name
    return [found[i] for i in range(len(tools))]


def near_names(wanted: str, known: Iterable[str]) -> list[str]:
    """The names that may have been meant; a model often leaves out `mcp__{server}__`."""
    by_end: dict[str, list[str]] = {}
    for name in known:
        for key in {name.lower(), name.rpartition("__")[2].lower()}:
            by_end.setdefault(key, []).append(name)
    wanted = wanted.lower()
    found: dict[str, None] = {}
    for sought in (wanted, wanted.rpartition("__")[2]):
        for key in get_close_matches(sought, by_end, n=_SHOWN, cutoff=0.6):
            found.update(dict.fromkeys(by_end[key]))
    return list(found)[:_SHOWN]


def _full(server: str, tool: str) -> str:
    return f"mcp__{server}__{tool}" if server else tool


def _safe(server: str, tool: str) -> str:
    name = _REFUSED.sub("_", _full(server, tool))
    return name if name and len(name) <= LONGEST else _marked(server, tool)


def _marked(server: str, tool: str) -> str:
    """A name that is cut where it must be, and ends in a mark of the whole."""
    mark = hashlib.sha256(f"{server}\0{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    name = _REFUSED.sub("_", _full(server[:_SERVER_PART], tool))
    return f"{name[: LONGEST - len(mark) - 1]}_{mark}"
