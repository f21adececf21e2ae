"""Commands on a Being of another server; the output is that of a local one."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from clawkit.assistant.api_keys import Keys
from clawkit.cli.commands import CommandFailure, print_json, print_lines
from clawkit.memory.details import DetailsRequest

if TYPE_CHECKING:
    from clawkit.assistant.memory.place import MemoryPlace
    from clawkit.memory.records import Node
    from clawkit.memory.remote_being import RemoteBeing

TOKEN_VARIABLE = "CLAW_BEING_TOKEN"


class SearchRequest(msgspec.Struct, frozen=True):
    """A search as it was typed."""

    text: str
    limit: int
    explain: bool = False
    as_of: str = ""
    mode: str = "or"


@contextmanager
def remote_being(place: MemoryPlace, url: str) -> Generator[RemoteBeing]:
    """The Being at an address, with the token that the config or the environment has for it."""
    from clawkit.memory.remote_being import RemoteBeing

    variable = place.config.memory.token_env or TOKEN_VARIABLE
    found = Keys(place.config).find(variable)
    if found is None:
        raise CommandFailure(f"the Being at {url} needs a token: set {variable}")
    with closing(RemoteBeing(url, found.value)) as being:
        yield being


def print_recalled(
    being: RemoteBeing, asked: SearchRequest, nothing: str, *, as_json: bool
) -> None:
    arguments = {"user_message": asked.text, **_more(asked)}
    _print_hits(being, "recall", arguments, asked, nothing, as_json=as_json)


def print_found(being: RemoteBeing, asked: SearchRequest, nothing: str, *, as_json: bool) -> None:
    arguments = {"query": asked.text, "mode": asked.mode, **_more(asked)}
    _print_hits(being, "search_memory", arguments, asked, nothing, as_json=as_json)


def _more(asked: SearchRequest) -> dict[str, Any]:
    more: dict[str, Any] = {"as_of": asked.as_of} if asked.as_of else {}
    return {**more, "explain": True} if asked.explain else more


def _print_hits(
    being: RemoteBeing,
    tool: str,
    arguments: dict[str, Any],
    asked: SearchRequest,
    nothing: str,
    *,
    as_json: bool,
) -> None:
    from clawkit.cli.memory.output import hit_lines, hits_json

    text, found = being.details(tool, arguments, DetailsRequest(asked.limit), _found_type())
    if found is None:  # a server that is not ours, or an older one
        print_lines((text,), {"text": text}, as_json=as_json)
        return
    told: dict[str, Any] = {"kind": found.kind, "hits": hits_json(found.hits)}
    if tool == "recall":
        told["text"] = text
    print_lines(hit_lines(found.hits, nothing), told, as_json=as_json)


def _found_type() -> Any:
    """Hits load numpy: not before they are needed."""
    from clawkit.memory.recall.search import Hit

    return msgspec.defstruct("Found", [("kind", str), ("hits", tuple[Hit, ...])], frozen=True)


def print_view(being: RemoteBeing, recent: int, *, as_json: bool) -> None:
    from clawkit.cli.memory import output
    from clawkit.memory.statistics import BeingView

    text, found = being.details("get_context", {}, DetailsRequest(recent), BeingView)
    if found is None:
        print_lines((text,), {"text": text}, as_json=as_json)
    elif as_json:
        print_json(found)
    else:
        output.print_view(found)


def print_node(being: RemoteBeing, called: str, *, as_json: bool) -> None:
    from clawkit.cli.memory.output import node_lines
    from clawkit.memory.records import Node

    wanted = DetailsRequest(node=called)
    text, found = being.details("recall_memory", {"node_id": called}, wanted, Node)
    if found is None:
        print_lines((text,), {"text": text}, as_json=as_json)
    else:
        print_lines(node_lines(found), found, as_json=as_json)


def retract(being: RemoteBeing, called: str) -> Node:
    """Take a memory back, and give it."""
    node = _node(being, called)
    _change(being, node, notes=[])
    return node


def replace(being: RemoteBeing, called: str, text: str) -> Node:
    """Say what is so now in place of a memory, and give that."""
    node = _node(being, called)
    today = datetime.now().astimezone().date().isoformat()
    scene: dict[str, Any] = {"actors": [], **msgspec.to_builtins(node.scene)}
    scene.pop("context", None)
    _change(being, node, scenes=[{**scene, "action": text, "when": [today]}])
    return _node(being, node.id)


def _change(being: RemoteBeing, node: Node, **given: Any) -> None:
    answer = being.call("update_notes", {"action": "update", "scene_ids": [node.id], **given})
    if node.id in msgspec.json.decode(answer)["not_found"]:
        raise CommandFailure(f"the memory {node.id[:8]} is replaced or taken back already")


def _node(being: RemoteBeing, called: str) -> Node:
    """The memory of an id or of the beginning of one, as it is now."""
    from clawkit.memory.records import Node

    wanted = DetailsRequest(node=called)
    text, found = being.details("recall_memory", {"node_id": called}, wanted, Node)
    if found is None:
        raise CommandFailure(f"{being.url} does not say which memory {called} is: {text}")
    return found
