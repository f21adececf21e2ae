"""The tools over structured memory: `update_memory` and `update_relation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from clawkit.memory.caller import Caller
from clawkit.memory.targets import Action, Target
from clawkit.memory.tools.tool import Work, choice, text

if TYPE_CHECKING:
    from clawkit.memory.memory import Memory


class MemoryArguments(msgspec.Struct, frozen=True):
    """What `update_memory` takes."""

    target: Target
    action: Action
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


UPDATE_MEMORY = Work(
    "update_memory",
    "Read and write structured memory: preferences, knowledge, relationships, tools, map, diary, "
    "notes, messages to other partners, rules and souls. get returns all entries of a target, or "
    "those of a key; append adds one; update replaces the entry of a key, and creates it if there "
    "is none; delete removes the entries of a key. A rule is switched by updating it with the "
    "content enabled or disabled. Souls, rules, preferences and relationships are the owner's "
    "word: they are written only with a token that may.",
    {
        "target": choice(get_args(Target), "Which part of memory"),
        "action": choice(get_args(Action), "What to do"),
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

UPDATE_RELATION = Work(
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
