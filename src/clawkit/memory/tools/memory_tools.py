"""The tools that search and change memories: recall, notes, merges, structured memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from clawkit.memory.caller import Caller
from clawkit.memory.records import EntryAction, Scene, Target
from clawkit.memory.tools.being_tool import BeingTool, choice, flag, number, text, texts
from clawkit.memory.validation import LONGEST_TEXT, MOST_AT_ONCE, clamped

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
    from clawkit.memory.recollection import line

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
    from clawkit.memory.recollection import line

    return [f"{line(hit.node)}\n  score {hit.score:.3f}: {_signals(hit)}" for hit in hits]


def _signals(hit: Hit) -> str:
    return ", ".join(f"{name} {value:.3f}" for name, value in hit.signals.items())


RECALL = BeingTool(
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

RECALL_MEMORY = BeingTool(
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

SEARCH_MEMORY = BeingTool(
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


class SceneArgument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A scene as a client writes it."""

    action: str
    actors: list[str]
    when: list[str]
    setting: str | None = None
    feeling: str | None = None
    themes: list[str] | None = None
    importance: float | None = None

    def scene(self) -> Scene:
        return Scene(
            self.action,
            tuple(self.actors),
            tuple(self.when),
            self.setting or "",
            self.feeling or "",
            tuple(self.themes or ()),
            0.5 if self.importance is None else self.importance,
        )


class NotesArguments(msgspec.Struct, frozen=True):
    """What `update_notes` takes."""

    action: Literal["append", "update"] | None = None
    scenes: list[SceneArgument] | None = None
    notes: list[str] | None = None
    scene_ids: list[str] | None = None


class MergeArguments(msgspec.Struct, frozen=True):
    """What `merge_nodes` takes."""

    node_ids: str
    summary: str
    feeling: str | None = None


def update_notes(memory: Memory, caller: Caller, given: NotesArguments) -> dict[str, Any]:
    return memory.take_notes(
        caller,
        scenes=[scene.scene() for scene in given.scenes or ()],
        notes=given.notes or (),
        scene_ids=given.scene_ids or (),
        replace=given.action == "update",
    )


def merge_nodes(memory: Memory, caller: Caller, given: MergeArguments) -> str:
    ids = {part.strip().lower(): None for part in given.node_ids.split(",") if part.strip()}
    sieve = memory.sieve()
    node = memory.merge(list(ids), given.summary, given.feeling or "", caller, sieve)
    merged = f"Merged {len(ids)} nodes into the new node {node.id}."
    return f"{merged} {sieve.said()}".strip()


_SCENE = {
    "type": "object",
    "properties": {
        "action": text("What happened"),
        "actors": texts("Who was involved"),
        "when": texts("Date(s) in YYYY-MM-DD format"),
        "setting": text("Where, or in which context"),
        "feeling": text("Subjective first-person impression"),
        "themes": texts("Theme tags"),
        "importance": number("0.0-1.0 (default 0.5)", minimum=0, maximum=1),
    },
    "required": ["action", "actors", "when"],
}

UPDATE_NOTES = BeingTool(
    "update_notes",
    "Record scenes of the conversation, and free-form notes. Scenes become memory nodes at the "
    "next patrol, which starts by itself when ten scenes wait; notes stay as they are. At least "
    f"one of scenes and notes is required; at most {MOST_AT_ONCE} of each at once, texts of at "
    f"most {LONGEST_TEXT:,} characters. Returns the ids of what was recorded.",
    {
        "action": choice(
            ("append", "update"),
            "append (default), or update: deletes scene_ids first, then inserts the new scenes",
        ),
        "scenes": {"type": "array", "items": _SCENE, "description": "Structured scenes"},
        "notes": texts("Free-form memos (to-dos, reminders); patrol leaves them alone"),
        "scene_ids": texts("Ids of existing scenes to delete when the action is update"),
    },
    (),
    NotesArguments,
    update_notes,
    destructive=True,
)

MERGE_NODES = BeingTool(
    "merge_nodes",
    "Merge several similar memory nodes into one. The merged node has their dates, people and "
    "themes; the others end, and the merge can be undone from the ledger.",
    {
        "node_ids": text("Comma-separated UUIDs of the nodes to merge"),
        "summary": text("The action text of the merged node"),
        "feeling": text("Feeling or emotion of the merged node"),
    },
    ("node_ids", "summary"),
    MergeArguments,
    merge_nodes,
    destructive=True,
)


class MemoryArguments(msgspec.Struct, frozen=True):
    """What `update_memory` takes."""

    target: Target
    action: EntryAction
    content: str | None = None
    key: str | None = None
    location: str | None = None
    to: str | None = None


class RelationArguments(msgspec.Struct, frozen=True):
    """What `update_relation` takes."""

    entity_name: str
    relation_type: str
    action: Literal["upsert", "delete"]
    content: str | None = None


def update_memory(memory: Memory, caller: Caller, given: MemoryArguments) -> dict[str, Any]:
    return memory.structured(
        caller,
        given.target,
        given.action,
        content=given.content,
        key=given.key,
        location=given.location,
        to=given.to,
    )


def update_relation(memory: Memory, caller: Caller, given: RelationArguments) -> dict[str, Any]:
    return memory.relate(
        caller, given.entity_name, given.relation_type, given.content, given.action
    )


UPDATE_MEMORY = BeingTool(
    "update_memory",
    "Read and write structured memory: preferences, knowledge, relationships, tools, map, diary, "
    "notes, messages to other partners, rules and souls. get returns all entries of a target, or "
    "those of a key; append adds one; update replaces the entry of a key, and creates it if there "
    "is none; delete removes the entries of a key. A rule is switched by updating it with the "
    "content enabled or disabled. Souls, rules, preferences and relationships are the owner's "
    "word: they are written only with a token that may.",
    {
        "target": choice(get_args(Target), "Which part of memory"),
        "action": choice(get_args(EntryAction), "What to do"),
        "content": text("Content for append and update"),
        "key": text(
            "Key or id of an entry, for update, delete and get; of notes, the id or how it begins"
        ),
        "location": text("Location, for partner_map"),
        "to": text("Recipient partner's name, for party_message only"),
    },
    ("target", "action"),
    MemoryArguments,
    update_memory,
    destructive=True,
)

UPDATE_RELATION = BeingTool(
    "update_relation",
    "Manage relationships to entities: create or overwrite one, or remove it. They are the owner's "
    "word, and are written only with a token that may. One that holds another Being's id and the "
    "words `messages: yes` is consent to exchange messages with it.",
    {
        "entity_name": text("Name or identifier of the related entity"),
        "relation_type": text("Category of the entity: person, device, ai, organization, …"),
        "content": text("What the relationship is (required for upsert)"),
        "action": choice(("upsert", "delete"), "Create or overwrite, or remove"),
    },
    ("entity_name", "relation_type", "action"),
    RelationArguments,
    update_relation,
    destructive=True,
)
