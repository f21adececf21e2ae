"""The view of a memory as an MCP App: a page that hosts show beside the results of two tools.

It reads, through the tools of the document and with the caller's own token, and changes nothing.
What it draws comes in `_meta` of their results, which is for the page and not for the model; a
client that shows no pages gets neither. All texts are inert before they leave: what is hidden in
them is spelled out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.text.normalization import visible
from clawkit.wire.revisions import APP_TYPE

if TYPE_CHECKING:
    from clawkit.memory.being_store import BeingStore
    from clawkit.memory.browse import EndedFact
    from clawkit.memory.memory import Memory
    from clawkit.memory.records import Node
    from clawkit.memory.tokens import Caller
    from clawkit.memory.tools import ExploreArguments, SearchArguments
    from clawkit.wire.session import Context

URI = "ui://being/memory"
META_VIEW = "clawkit/view"
"""The key in a result's `_meta` under which the page finds what to draw."""

_FOLDER = Path(__file__).parent / "app"
MAP_SCRIPT = _FOLDER / "map.js"
"""Draws a map on a canvas; the console has the same."""

_MOST_MAPPED = 1000
_LISTED = 50
_LONGEST = 2000


class MemoryApp:
    """The page as a resource: one HTML document that loads nothing."""

    uri = URI
    definition = {  # noqa: RUF012 - the protocol wants an attribute
        "uri": URI,
        "name": "memory_view",
        "title": "Memory",
        "description": "What is remembered: a map, search, and what was so before",
        "mimeType": APP_TYPE,
    }

    async def read(self, context: Context) -> list[dict[str, Any]]:  # noqa: ARG002 - the same for all
        meta: dict[str, Any] = {"ui": {"csp": {}, "prefersBorder": True}}
        return [{"uri": URI, "mimeType": APP_TYPE, "text": document(), "_meta": meta}]


@cache
def document() -> str:
    """The page with its style and its scripts in it."""
    style = (_FOLDER / "app.css").read_text(encoding="utf-8")
    script = MAP_SCRIPT.read_text(encoding="utf-8").replace("export ", "")
    script += (_FOLDER / "app.js").read_text(encoding="utf-8")
    page = (_FOLDER / "app.html").read_text(encoding="utf-8")
    return page.replace("/* style */", style).replace("/* script */", script)


def _explored(
    store: BeingStore, memory: Memory, _caller: Caller, given: ExploreArguments
) -> dict[str, Any]:
    from clawkit.memory.browse import memory_map, story
    from clawkit.memory.store import clusters, nodes
    from clawkit.memory.validation import identifier

    with store.database.read(memory.being.n) as unit:
        if given.node_id:
            found = nodes.by_ids(unit, [identifier("node_id", given.node_id)]).values()
            # What was taken back is not told to anybody any more.
            stories = [story(unit, node) for node in found if node.ending != "retracted"]
            return {"kind": "memory", "stories": [_story_view(one) for one in stories]}
        if given.cluster_id:
            topic = clusters.by_id(unit, identifier("cluster_id", given.cluster_id))
            page = nodes.page(unit, cluster=topic.n, limit=_LISTED) if topic is not None else []
            name = visible(topic.name) if topic is not None else ""
            return {"kind": "topic", "name": name, "memories": [_line(node) for node in page]}
        drawn = memory_map(unit, _MOST_MAPPED)
        recent = nodes.page(unit, order="created DESC, seq DESC", limit=_LISTED)
    topics = [
        {**msgspec.to_builtins(one), "name": visible(one.name), "digest": visible(one.digest)}
        for one in drawn.topics
    ]
    return {
        "kind": "overview",
        "being": visible(memory.being.name),
        "map": {**msgspec.to_builtins(drawn), "topics": topics},
        "memories": [_line(node) for node in recent],
    }


def _searched(
    _store: BeingStore, memory: Memory, caller: Caller, given: SearchArguments
) -> dict[str, Any]:
    found = memory.search(
        given.query, caller, limit=_LISTED, mode=given.mode or "or", as_of=given.as_of
    )
    memories = [{**_line(hit.node), "score": round(hit.score, 3)} for hit in found.hits]
    query = visible(given.query, _LONGEST)
    return {"kind": "found", "query": query, "search": found.kind, "memories": memories}


def _story_view(found: Any) -> dict[str, Any]:
    node: Node = found.node
    return {
        **_line(node),
        "topic": visible(found.topic),
        "actors": [visible(name) for name in node.scene.actors],
        "setting": visible(node.scene.setting),
        "feeling": visible(node.scene.feeling),
        "before": [_ended(fact) for fact in found.before],
        "after": _ended(found.after) if found.after is not None else None,
    }


def _ended(fact: EndedFact) -> dict[str, Any]:
    now = _line(fact.now) if fact.now is not None and fact.now.ending != "retracted" else None
    return {**_line(fact.was), "until": fact.was.ended, "how": fact.how, "now": now}


def _line(node: Node) -> dict[str, Any]:
    """A memory as a line of a list."""
    return {
        "id": node.id,
        "text": visible(node.scene.action, _LONGEST),
        "days": [visible(day) for day in node.scene.when],
        "created": node.created,
        "state": node.status,
        "pinned": node.pinned,
    }


VIEWS: dict[str, Callable[[BeingStore, Memory, Caller, Any], dict[str, Any]]] = {
    "recall_memory": _explored,
    "search_memory": _searched,
}
"""The tools whose results are shown by the page, with what it draws of each."""
