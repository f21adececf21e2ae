"""The tools that bring memories to mind: `recall`, `recall_memory`, `search_memory`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from clawkit.memory.caller import Caller
from clawkit.memory.checking import clamped
from clawkit.memory.tools.tool import Work, choice, flag, number, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawkit.memory.memory import Memory
    from clawkit.memory.recall.engine import Hit

MODES = ("or", "and")
_EXPLAIN = flag("Also show the signals by which each memory was found")
_AS_OF = text("Answer with what was known at this moment: an ISO date or time")
_NODES_DEFAULT, _NODES_MOST = 5, 1000
_FOUND_DEFAULT, _FOUND_MOST = 10, 30


class RecallArguments(msgspec.Struct, frozen=True):
    """What `recall` takes."""

    user_message: str
    explain: bool | None = None
    as_of: str | None = None


class ExploreArguments(msgspec.Struct, frozen=True):
    """What `recall_memory` takes."""

    cluster_id: str | None = None
    node_id: str | None = None
    limit: float | None = None
    query: str | None = None
    no_nodes: bool | None = None


class SearchArguments(msgspec.Struct, frozen=True):
    """What `search_memory` takes."""

    query: str
    limit: float | None = None
    mode: Literal["or", "and"] | None = None
    explain: bool | None = None
    as_of: str | None = None


def recall(memory: Memory, caller: Caller, given: RecallArguments) -> str:
    told = memory.recall(given.user_message, caller, explain=bool(given.explain), as_of=given.as_of)
    if not given.explain:
        return told.text
    header = f"{told.kind} search, {len(told.hits)} told, {len(told.beside)} beside"
    return "\n".join([told.text, "", header, *_explained((*told.hits, *told.beside))])


def explore(memory: Memory, caller: Caller, given: ExploreArguments) -> str:
    return memory.explore(
        caller,
        cluster_id=given.cluster_id or None,
        node_id=given.node_id or None,
        limit=clamped("limit", given.limit, _NODES_DEFAULT, _NODES_MOST),
        query=given.query or "",
        no_nodes=bool(given.no_nodes),
    )


def search(memory: Memory, caller: Caller, given: SearchArguments) -> str:
    from clawkit.memory.exploring import line

    found = memory.search(
        given.query,
        caller,
        limit=clamped("limit", given.limit, _FOUND_DEFAULT, _FOUND_MOST),
        mode=given.mode or "or",
        explain=bool(given.explain),
        as_of=given.as_of,
    )
    header = f"Memories found: {len(found.hits)} ({found.kind} search)"
    if given.explain:
        return "\n".join([header, *_explained(found.hits)])
    return "\n".join([header, *(line(hit.node) for hit in found.hits)])


def _explained(hits: Sequence[Hit]) -> list[str]:
    from clawkit.memory.exploring import line

    return [f"{line(hit.node)}\n  score {hit.score:.3f}: {_signals(hit)}" for hit in hits]


def _signals(hit: Hit) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in hit.signals.items())


RECALL = Work(
    "recall",
    "Call at the start of every turn. Searches memory for what is relevant to the current user "
    "message and returns a <memory-recall> block with fragments of up to three memories, or "
    "says that nothing relevant was found.",
    {
        "user_message": text("The current user message to search against"),
        "explain": _EXPLAIN,
        "as_of": _AS_OF,
    },
    ("user_message",),
    RecallArguments,
    recall,
)

RECALL_MEMORY = Work(
    "recall_memory",
    "Explore memory clusters or individual nodes. Without cluster_id, returns the list of "
    "clusters. With cluster_id, returns the cluster's digest and its top nodes. With node_id, "
    "returns the details of a single node. Looking at a dead node makes it eligible for revival.",
    {
        "cluster_id": text("UUID of a cluster; omit to list all clusters", format="uuid"),
        "node_id": text(
            "UUID of a node, to get its details (cluster_id is not needed)", format="uuid"
        ),
        "limit": number(f"Max nodes to return (default {_NODES_DEFAULT})"),
        "query": text("Keyword filter applied to the action of nodes"),
        "no_nodes": flag("Return the digest only, no nodes"),
    },
    (),
    ExploreArguments,
    explore,
)

SEARCH_MEMORY = Work(
    "search_memory",
    "Search all memories by meaning and by words, without needing a cluster id. Falls back to "
    "keyword search where no vectors are available; the header of the result says which search "
    "was used: vector, keyword or hybrid.",
    {
        "query": text("Search query"),
        "limit": number(f"Max results (default {_FOUND_DEFAULT}, max {_FOUND_MOST})"),
        "mode": choice(MODES, 'Applies to the keyword part: "or" (default) or "and"'),
        "explain": _EXPLAIN,
        "as_of": _AS_OF,
    },
    ("query",),
    SearchArguments,
    search,
)
