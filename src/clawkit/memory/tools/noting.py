"""The tools that write memories: `update_notes` and `merge_nodes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from clawkit.memory.caller import Caller
from clawkit.memory.checking import LONGEST_TEXT, MOST_AT_ONCE
from clawkit.memory.records import Scene
from clawkit.memory.tools.tool import Work, choice, number, text, texts

if TYPE_CHECKING:
    from clawkit.memory.memory import Memory


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

UPDATE_NOTES = Work(
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

MERGE_NODES = Work(
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
